"""OCR where it really runs: in the confined process, with its limits."""

import asyncio
from pathlib import Path

import pytest

from app.core.errors import ParseFailed
from app.parsing.limits import MEBIBYTE, ParseLimits
from app.parsing.sandbox import ParseUsage, parse_file
from tests.parsing.drawing import pdf, scanned, texts
from tests.parsing.test_sandbox import linux_only, names_in, running_parser

WORDS = texts(
    *((60, 100 + 20 * row, f"row {row} tells of the harbour and its lighthouse") for row in range(4)), size=13
)


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    path = tmp_path / "scans"
    path.write_bytes(pdf(*[scanned(WORDS)] * 3))
    return path


async def test_scans_are_read_page_by_page_in_bounded_memory(scans: Path) -> None:
    seen: list[tuple[int, int]] = []
    usage: list[ParseUsage] = []
    limits = ParseLimits(cpu_seconds=2, ocr_seconds=200)  # three pages take more than two, for which OCR has its own
    document = await parse_file(
        scans, file_name="a.pdf", limits=limits, usage=usage, progress=lambda done, total: seen.append((done, total))
    )
    assert document.page_modes == ["ocr"] * 3
    assert seen[-1] == (3, 3)
    assert usage[0].peak_memory_kib < 900 * 1024


async def test_too_little_memory_is_told(scans: Path) -> None:
    with pytest.raises(ParseFailed) as failed:
        await parse_file(scans, file_name="a.pdf", limits=ParseLimits(memory_bytes=600 * MEBIBYTE))
    assert failed.value.error_code == "out_of_memory"


@linux_only
async def test_cancelling_ends_a_recognition(scans: Path) -> None:
    begun = asyncio.Event()
    task = asyncio.create_task(parse_file(scans, file_name="a.pdf", progress=lambda *_: begun.set()))
    parser = await running_parser()
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert str(parser) not in names_in(Path("/proc"))
