"""Old Office formats through LibreOffice, in a process that is as confined as the parser and can start nothing else.

A confined parser can't start a program. So before it gives that up, it forks a process that waits at a pipe: a request
makes it start LibreOffice, confined in a way of its own. Both are of the parser's process group, and die with it.
"""

import os
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from app.parsing import containers
from app.parsing.confinement import confine_converter, die_with_parent
from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure

Converter = Callable[[Path, str, str], Path]
"""Takes a file, the extension of its format and that of the one wanted; gives the path of the converted file.

Raises `ParseFailed`: `converter_missing`, `damaged`, `timed_out`, `out_of_memory`.
"""

_PLACES = (
    *("/usr/bin", "/usr/local/bin", "/usr/lib/libreoffice/program", "/opt/libreoffice/program"),
    *("/usr/lib64/libreoffice/program", "/Applications/LibreOffice.app/Contents/MacOS"),
)
_FORMATS = ("docx", "pptx", "xlsx")
_OUTPUT = "converted"
_INPUT = "to-convert"
# Named, because LibreOffice reads as text, byte by byte, what it can't make out.
_FILTERS = {"doc": "MS Word 97", "ppt": "MS PowerPoint 97", "xls": "MS Excel 97"}
_GIVEN = frozenset(f"{_INPUT}.{extension}" for extension in _FILTERS)
_PROFILE = "office-profile"
_AGAIN = 81
"""How LibreOffice ends when it only set its profile up and wants to be started again."""
_SIGNALLED = 128
# No macros, no active content, no links followed: what a stranger's file may ask for beside being shown.
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop>
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop>
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop>
</item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update">
<prop oor:name="Link" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""


def find_libreoffice() -> Path | None:
    """The program itself, past the scripts that start it; None where it is not installed."""
    found = shutil.which("soffice", path=os.pathsep.join(_PLACES))
    if found is None:
        return None
    program = Path(found).resolve()
    inner = program.with_name("soffice.bin")
    return inner if inner.exists() else program


def converter_is_missing(path: Path, source: str, target: str) -> NoReturn:
    """A `Converter` for where there is no LibreOffice."""
    raise parse_failure("converter_missing")


@contextmanager
def converter_for(path: Path, scratch: Path, limits: ParseLimits) -> Iterator[Converter]:
    """What converts this file, should it have to be. Entered before this process is confined.

    Only OLE containers are ever converted, so only for them, and where LibreOffice is, a process is forked.
    """
    program = find_libreoffice()
    if program is None or not containers.is_container(path):
        yield converter_is_missing
        return
    waiting = WaitingConverter.start(program, scratch, limits)
    try:
        yield waiting
    finally:
        waiting.dismiss()


@dataclass(slots=True)
class WaitingConverter:
    """Made before this process is confined; called, once, after that."""

    scratch: Path
    _pid: int
    _request: int

    @classmethod
    def start(cls, program: Path, scratch: Path, limits: ParseLimits) -> "WaitingConverter":
        """Forks. The new process ends without a word when this one closes its pipe or ends."""
        receiver, request = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.close(request)
            _wait_and_convert(receiver, parent, program, scratch, limits)
        os.close(receiver)
        return cls(scratch, pid, request)

    def __call__(self, path: Path, source: str, target: str) -> Path:
        given = self.scratch / f"{_INPUT}.{source}"
        given.symlink_to(path.resolve())
        os.write(self._request, f"{given.name} {target}\n".encode())
        _, status = os.waitpid(self._pid, 0)
        self._close()
        converted = self.scratch / _OUTPUT / f"{_INPUT}.{target}"
        if converted.is_file():
            return converted
        raise parse_failure(_reason(status))

    def dismiss(self) -> None:
        """Ends the process if it was never needed, and waits for it."""
        if self._request >= 0:
            self._close()
            os.waitpid(self._pid, 0)

    def _close(self) -> None:
        os.close(self._request)
        self._request = -1


def _wait_and_convert(receiver: int, parent: int, program: Path, scratch: Path, limits: ParseLimits) -> NoReturn:
    """In the forked process, which ends as LibreOffice did, by exit status; signals as 128 and more."""
    status = 0
    try:
        die_with_parent(parent)
        request = os.read(receiver, 4096).decode().split()
        os.close(receiver)
        if len(request) == 2 and request[0] in _GIVEN and request[1] in _FORMATS:
            given, target = request
            _write_profile(program, scratch)
            status = _run(program, scratch, given, target, limits)
            if status == _AGAIN:
                status = _run(program, scratch, given, target, limits)
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        os._exit(status)


def _write_profile(program: Path, scratch: Path) -> None:
    """Settings, and the mark without which a new profile is set up by a start of its own, which takes a second."""
    folder = scratch / _PROFILE / "user"
    (folder / "extensions").mkdir(parents=True)
    (folder / "registrymodifications.xcu").write_text(_SETTINGS, encoding="utf-8")
    version = program.with_name("versionrc")
    build = (
        re.search(r"^buildid=(.+)$", version.read_text(encoding="utf-8"), re.MULTILINE) if version.exists() else None
    )
    if build:
        (folder / "extensions" / "buildid").write_text(build[1].strip(), encoding="utf-8")


def _run(program: Path, scratch: Path, given: str, target: str, limits: ParseLimits) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent(parent)
            _become(program, scratch, given, target, limits)
        finally:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return _SIGNALLED + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _become(program: Path, scratch: Path, given: str, target: str, limits: ParseLimits) -> NoReturn:
    profile = (scratch / _PROFILE).as_uri()
    arguments = [
        *(str(program), f"-env:UserInstallation={profile}", "--headless", "--norestore", "--nolockcheck"),
        *("--nodefault", "--nologo", "--nofirststartwizard", f"--infilter={_FILTERS[given.rpartition('.')[2]]}"),
        *("--convert-to", target),
        *("--outdir", str(scratch / _OUTPUT), str(scratch / given)),
    ]
    environment = {
        **{"HOME": str(scratch), "TMPDIR": str(scratch), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"},
        **{"SAL_USE_VCLPLUGIN": "svp", "MALLOC_ARENA_MAX": "2"},
    }
    confine_converter(limits)
    os.execve(program, arguments, environment)  # noqa: S606 - the program found, with arguments of our own


def _reason(status: int) -> str:
    """Why LibreOffice ended without a file."""
    if os.WIFSIGNALED(status):
        return "parser_crashed"
    ended = os.WEXITSTATUS(status) - _SIGNALLED
    if ended in (signal.SIGXCPU, signal.SIGKILL):
        return "timed_out"
    return "parser_crashed" if ended > 0 else "damaged"
