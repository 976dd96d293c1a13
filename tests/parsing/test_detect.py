import tracemalloc
import zipfile
from pathlib import Path

import pytest

from app.core.errors import ParseFailed
from app.parsing import media_types
from app.parsing.detect import detect
from tests.parsing import bombs
from tests.parsing.office_files import archive, docx

ODT = archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<x/>"})


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"%PDF-1.7\n", "report.txt", media_types.PDF),
        (b"junk before\n%PDF-1.4\n", "report.pdf", media_types.PDF),
        (docx("<w:p/>"), "report.pdf", media_types.DOCX),
        (archive({"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"}), "a", media_types.XLSX),
        (archive({"[Content_Types].xml": "<x/>", "ppt/presentation.xml": "<x/>"}), "a.docx", media_types.PPTX),
        (ODT, "a.docx", media_types.ODT),
        (archive({"readme.txt": "hello"}), "a.docx", media_types.ZIP),
        (b"{\\rtf1 hello}", "a.doc", media_types.RTF),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "a.pdf", media_types.PNG),
        (b"<!DOCTYPE html><html></html>", "a.txt", media_types.HTML),
        (b"<?xml version='1.0'?><!-- x --><html/>", "a.txt", media_types.HTML),
        ("<html><p>中文</p></html>".encode("utf-16"), "a.txt", media_types.HTML),
        (b"<p>fragment</p>", "a.html", media_types.HTML),
        (b"a,b\n1,2\n", "a.csv", media_types.CSV),
        (b"a\tb\n", "a.TSV", media_types.TSV),
        (b"\n" * 100_000 + b"text", "a", media_types.TEXT),
        (b"# title\n", "folder\\a.md", media_types.MARKDOWN),
        ("第一章".encode("gb18030"), "a", media_types.TEXT),
        (b"a,b\n1,2\n", "a.pdf", media_types.TEXT),
        (b"a bell\x07 and a null separator\x1f", "a", media_types.TEXT),
    ],
)
def test_type_is_told_by_content(content: bytes, name: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert detect(path, name).media_type == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty_file"),
        (b" \r\n\t\0\0" * 50_000, "empty_file"),
        (bytes(range(256)) * 10, "unsupported_type"),
        (docx("<w:p/>")[:200], "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "damaged"),
    ],
)
def test_what_has_no_type_has_a_reason(content: bytes, reason: str, tmp_path: Path) -> None:
    assert reason_of(content, tmp_path) == reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bombs.packed_otherwise(archive({}), "mimetype", zipfile.ZIP_BZIP2), "damaged"),
        (bombs.packed_otherwise(archive({}), "mimetype", zipfile.ZIP_LZMA), "damaged"),
        (bombs.crowded_directory(100_000), "too_complex"),
        (bombs.circular_container(), "damaged"),
    ],
    ids=["bzip2", "lzma", "directory", "circle"],
)
def test_what_would_exhaust_whoever_receives_it_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    """The type is told in the application itself, before any sandbox."""
    assert reason_of(content, tmp_path) == reason


def test_of_a_container_only_the_top_is_read(tmp_path: Path) -> None:
    content = bombs.crowded_container(20_000)
    path = tmp_path / "file"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        assert detect(path, "a").media_type == media_types.DOC
        assert tracemalloc.get_traced_memory()[1] < len(content) / 10
    finally:
        tracemalloc.stop()


def reason_of(content: bytes, folder: Path) -> str:
    """Why a file of that content, called `file.docx`, has no type."""
    path = folder / "file"
    path.write_bytes(content)
    with pytest.raises(ParseFailed) as failed:
        detect(path, "file.docx")
    return failed.value.error_code
