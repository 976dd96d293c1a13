"""Old Office formats: what LibreOffice may do, what is said where it is missing, and real files where it is not."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from app.core.errors import ParseFailed
from app.parsing.converter import find_libreoffice
from app.parsing.limits import ParseLimits
from app.parsing.sandbox import parse_file
from tests.parsing.conftest import Parse, outline
from tests.parsing.open_document_files import cell, flat_document, paragraph, row, table
from tests.parsing.workbook_files import ole, xls

pytestmark = pytest.mark.usefixtures("sandbox")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="system call filters are Linux's")
needs_libreoffice = pytest.mark.skipif(find_libreoffice() is None, reason="LibreOffice is not installed")
TRIES = """
import os, socket
from app.parsing.confinement import confine_converter
from app.parsing.limits import ParseLimits
here, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
confine_converter(ParseLimits())
def refused(call, *arguments):
    try:
        call(*arguments)
    except PermissionError:
        return True
    return False
local = socket.socket(socket.AF_UNIX)
local.bind("pipe")
local.listen()
print(
    refused(socket.socket, socket.AF_INET), refused(socket.socket, socket.AF_INET6), refused(local.connect, "pipe"),
    refused(here.sendmsg, [b"x"]), refused(os.fork), refused(os.setsid), refused(os.kill, os.getppid(), 0),
    flush=True,
)
os.execv("/bin/echo", ["echo", "replaced"])
"""


@pytest.mark.parametrize("stream", ["WordDocument", "PowerPoint Document"])
def test_without_libreoffice_it_is_said_what_to_install(parse: Parse, stream: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(ole(stream, b"\xec\xa5" + bytes(2000)), "a.doc")
    assert failed.value.error_code == "converter_missing"
    assert "libreoffice-writer" in failed.value.detail


@linux_only
def test_a_converter_reaches_nobody_and_starts_nothing_beside_itself(tmp_path: Path) -> None:
    home = str(Path(__file__).resolve().parents[2])
    tried = subprocess.run(
        [sys.executable, "-c", TRIES], cwd=tmp_path, env={"PYTHONPATH": home}, capture_output=True, check=True
    )
    assert tried.stdout.decode().split() == ["True"] * 7 + ["replaced"]


def old(kind: str, body: str, wanted: str, folder: Path) -> Path:
    """A flat OpenDocument file saved in the old format, by LibreOffice itself."""
    source = folder / f"made.fod{kind[0]}"
    source.write_text(flat_document(kind, body), encoding="utf-8")
    command = [str(find_libreoffice()), f"-env:UserInstallation={(folder / 'profile').as_uri()}", "--headless"]
    command += ["--convert-to", wanted, "--outdir", str(folder / "out"), str(source)]
    for _ in range(2):  # the first start may only set up the profile
        subprocess.run(command, capture_output=True, check=False)
    return folder / "out" / f"made.{wanted}"


@needs_libreoffice
async def test_old_documents_are_read_through_libreoffice(tmp_path: Path) -> None:
    columns = '<table:table-column table:number-columns-repeated="2"/>'
    cells = columns + row(cell("a"), cell("b")) + row(cell("1"), cell("2"))
    body = '<text:h text:outline-level="1">第一章</text:h>' + paragraph("Text 中文") + table(cells)
    document = await parse_file(old("text", body, "doc", tmp_path), file_name="a.doc")
    assert outline(document) == [
        ("heading", 1, "第一章"),
        ("paragraph", 0, "Text 中文"),
        ("table", 0, "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ]
    assert (document.media_type, document.parser) == ("application/msword", "docx 1, libreoffice")


@needs_libreoffice
async def test_old_presentations_are_read_through_libreoffice(tmp_path: Path) -> None:
    def frame(role: str, text: str, top: int) -> str:
        place = f'svg:x="2cm" svg:y="{top}cm" svg:width="20cm" svg:height="3cm"'
        return f'<draw:frame presentation:class="{role}" {place}><draw:text-box>{text}</draw:text-box></draw:frame>'

    item = f"<text:list><text:list-item>{paragraph('one')}</text:list-item></text:list>"
    page = f"<draw:page>{frame('title', paragraph('标题'), 1)}{frame('outline', item, 6)}</draw:page>"
    document = await parse_file(old("presentation", page, "ppt", tmp_path), file_name="a.ppt")
    assert [element.text for element in document.elements] == ["标题", "one"]
    assert (document.page_count, document.parser) == (1, "pptx 1, libreoffice")


@needs_libreoffice
async def test_what_libreoffice_cannot_read_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(ole("WordDocument", b"\xec\xa5" + bytes(2000)))
    with pytest.raises(ParseFailed) as failed:
        await parse_file(path, file_name="a.doc")
    assert failed.value.error_code in {"damaged", "no_text"}  # it may make an empty document of it


@needs_libreoffice
async def test_a_broken_workbook_is_not_read_as_the_text_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(xls([["a"]])[:1500])
    with pytest.raises(ParseFailed) as failed:
        await parse_file(path, file_name="a.xls")
    assert failed.value.error_code == "damaged"


@needs_libreoffice
async def test_a_conversion_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old("text", paragraph("Text"), "doc", tmp_path)
    # Names the processes: what a conversion starts has its scratch folder in the command.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ParseFailed) as failed:
        await parse_file(path, file_name="a.doc", limits=ParseLimits(wall_seconds=0.2))
    assert failed.value.error_code == "timed_out"
    assert _running(bytes(tmp_path)) == []


def _running(word: bytes) -> list[str]:
    """Processes that were started with this word and have not ended."""
    lines = {path.parent.name: path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()}
    return [pid for pid, command in lines.items() if word in command]
