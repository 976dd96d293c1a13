"""The sandbox: what gets through, what is stopped and why, and that nothing is left behind."""

import asyncio
import contextlib
import gc
import io
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import psutil
import pytest
from openpyxl import Workbook

from app.core.errors import ParseFailed
from app.parsing.limits import MEBIBYTE, ParseLimits
from app.parsing.sandbox import ParseUsage, parse_file
from tests.parsing.office_files import archive, docx, paragraph

pytestmark = pytest.mark.usefixtures("sandbox", "scratch")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
SLOW_TEXT = "第一章 字\n\n" * 600_000  # some seconds of work


def write(folder: Path, content: bytes | str, name: str = "upload") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


async def reason(path: Path, name: str, limits: ParseLimits | None = None) -> str:
    with pytest.raises(ParseFailed) as failed:
        await parse_file(path, file_name=name, limits=limits)
    assert failed.value.detail
    return failed.value.error_code


def names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def held_by(pid: int) -> tuple[dict[str, str], bytes]:
    """What a process has open, by number, and its environment."""
    process = Path(f"/proc/{pid}")
    return {link.name: os.readlink(link) for link in (process / "fd").iterdir()}, (process / "environ").read_bytes()


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def running_parser() -> int:
    """The process id of the one parser at work."""
    while True:
        for server in fork_servers():
            for child in children_of(server):
                return child
        await asyncio.sleep(0.02)


def fork_servers() -> list[int]:
    servers = []
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if any("fork_server" in word for word in process.cmdline()):
                servers.append(process.pid)
    return servers


async def test_a_document_comes_back_whole(tmp_path: Path, scratch: Path) -> None:
    usage: list[ParseUsage] = []
    path = write(tmp_path, "# 标题\n\ntext\n")
    document = await parse_file(path, file_name="手册.md", usage=usage)
    assert [element.text for element in document.elements] == ["标题", "text"]
    assert usage[0].peak_memory_kib > 0
    assert names_in(scratch) == []


async def test_many_at_once_do_not_mix(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"document {number}", f"{number}") for number in range(12)]
    documents = await asyncio.gather(*(parse_file(path, file_name=f"{path.name}.txt") for path in paths))
    assert [document.text for document in documents] == [f"document {number}" for number in range(12)]


async def test_loops_of_several_threads_may_share_it(tmp_path: Path) -> None:
    path = write(tmp_path, "shared")

    def in_a_loop_of_its_own() -> str:
        return asyncio.run(parse_file(path, file_name="a.txt")).text

    assert await asyncio.gather(*(asyncio.to_thread(in_a_loop_of_its_own) for _ in range(4))) == ["shared"] * 4


async def test_progress_is_told(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    book = Workbook()
    for number in range(3):
        book.create_sheet(f"s{number}").append(["a", "b", "c"])
    workbook = tmp_path / "book"
    book.save(workbook)
    await parse_file(workbook, file_name="a.xlsx", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)  # rows


async def test_time_is_bounded(tmp_path: Path, scratch: Path) -> None:
    path = write(tmp_path, SLOW_TEXT)
    assert await reason(path, "a.txt", ParseLimits(wall_seconds=0.3)) == "timed_out"
    assert names_in(scratch) == []


async def test_processor_time_is_bounded(tmp_path: Path) -> None:
    assert await reason(write(tmp_path, SLOW_TEXT), "a.txt", ParseLimits(cpu_seconds=1)) == "timed_out"


@linux_only
async def test_memory_is_bounded(tmp_path: Path) -> None:
    path = write(tmp_path, "word " * 20_000_000)
    assert await reason(path, "a.txt", ParseLimits(memory_bytes=64 * MEBIBYTE)) == "out_of_memory"


async def test_the_result_is_bounded(tmp_path: Path) -> None:
    path = write(tmp_path, "word " * 1_000_000)
    assert await reason(path, "a.txt", ParseLimits(result_bytes=MEBIBYTE)) == "too_complex"
    assert await reason(path, "a.txt", ParseLimits(scratch_bytes=MEBIBYTE)) == "too_complex"


@linux_only
async def test_a_crash_is_told_and_leaves_the_others_alone(tmp_path: Path) -> None:
    failing = asyncio.create_task(reason(write(tmp_path, SLOW_TEXT), "a.txt"))
    os.kill(await running_parser(), signal.SIGSEGV)
    assert await failing == "parser_crashed"
    assert (await parse_file(write(tmp_path, "fine"), file_name="a.txt")).text == "fine"


@linux_only
async def test_cancelling_kills_the_parser(tmp_path: Path, scratch: Path) -> None:
    task = asyncio.create_task(parse_file(write(tmp_path, SLOW_TEXT), file_name="a.txt"))
    parser = await running_parser()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert str(parser) not in names_in(Path("/proc"))
    assert names_in(scratch) == []


async def test_cancelled_while_the_parser_starts_nothing_is_left(tmp_path: Path, scratch: Path) -> None:
    path = write(tmp_path, SLOW_TEXT)
    for turns in range(12):  # of the event loop: at each of them the start has come a little further
        task = asyncio.create_task(parse_file(path, file_name="a.txt"))
        for _ in range(turns):
            await asyncio.sleep(0.002)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert names_in(scratch) == []
    gc.collect()  # a socket left open is a warning, and so an error


@linux_only
async def test_a_parser_holds_nothing_of_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGGRAPH_SECRET_FOR_TEST", "x")
    task = asyncio.create_task(parse_file(write(tmp_path, SLOW_TEXT), file_name="a.txt"))
    parser = await running_parser()
    await asyncio.sleep(0.3)
    descriptors, environment = held_by(parser)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert set(descriptors) <= {"0", "1", "2", "3", "4"}
    assert [target for target in descriptors.values() if target.startswith("socket:")] == [descriptors["3"]]
    assert b"BIGGRAPH" not in environment


@linux_only
async def test_a_lost_server_is_started_again(tmp_path: Path) -> None:
    for server in fork_servers():
        os.kill(server, signal.SIGKILL)
        await asyncio.to_thread(os.waitid, os.P_PID, server, os.WEXITED | os.WNOWAIT)  # dead, and not told to its owner
    assert (await parse_file(write(tmp_path, "again"), file_name="a.txt")).text == "again"


CONFINED = """
import os, socket, sys, threading
from app.parsing.confinement import confine
from app.parsing.limits import ParseLimits
confine(ParseLimits())
def refused(call):
    try:
        call()
    except PermissionError:
        return True
    return False
thread = threading.Thread(target=lambda: print("thread runs"))
thread.start(); thread.join()
print(refused(socket.socket), refused(socket.socketpair), refused(os.fork), refused(lambda: os.kill(os.getppid(), 0)),
      refused(lambda: os.execv(sys.executable, [sys.executable])), refused(os.setsid))
"""


@linux_only
def test_a_confined_process_has_no_network_and_no_company() -> None:
    done = subprocess.run([sys.executable, "-c", CONFINED], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["thread runs", "True True True True True True"], done.stderr


ZEROS = 1024 * MEBIBYTE


@pytest.fixture(scope="module")
def zeros() -> bytes:
    """A Word file of 1 MB whose one part holds a gigabyte of zeros."""
    buffer = io.BytesIO(docx(paragraph("x")))
    archive_file = zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive_file, archive_file.open("word/media.bin", "w") as member:
        for _ in range(64):
            member.write(bytes(16 * MEBIBYTE))
    return buffer.getvalue()


ENTITIES = '<!DOCTYPE w [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">]><w:document/>'


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"", "a.pdf", "empty_file"),
        (b"\x00\x01\x02\x03" * 100, "a.pdf", "unsupported_type"),
        (b"%PDF-1.7\n1 0 obj\n", "a.pdf", "damaged"),
        (docx(paragraph("x"))[:-30], "a.docx", "damaged"),
        (docx("", extra={"word/document.xml": ENTITIES}), "a.docx", "too_complex"),
        (docx("", extra={"word/document.xml": "<broken"}), "a.docx", "damaged"),
        (archive({"inner.zip": archive({"inner.zip": archive({"a": "x"})})}), "a.zip", "unsupported_type"),
        (docx(""), "a.docx", "no_text"),
    ],
)
async def test_bad_files_end_with_a_reason(content: bytes, name: str, expected: str, tmp_path: Path) -> None:
    assert await reason(write(tmp_path, content), name) == expected


async def test_a_zip_bomb_is_refused_unopened(zeros: bytes, tmp_path: Path) -> None:
    usage: list[ParseUsage] = []
    with pytest.raises(ParseFailed) as failed:
        await parse_file(write(tmp_path, zeros), file_name="a.docx", usage=usage)
    assert failed.value.error_code == "too_complex"
    assert usage[0].peak_memory_kib < 200 * 1024


async def test_a_bomb_that_lies_about_its_size_is_refused(zeros: bytes, tmp_path: Path) -> None:
    """The declared size of the large member is set to a kilobyte, in both headers."""
    real = ZEROS.to_bytes(4, "little")
    assert zeros.count(real) >= 1
    path = write(tmp_path, zeros.replace(real, (1024).to_bytes(4, "little")))
    assert await reason(path, "a.docx") == "damaged"
