"""What a parser process leaves is opened only where it is a plain file."""

import os
from pathlib import Path

import pytest

from app.parsing.document import Element, ElementKind, ParsedDocument, Table
from app.parsing.handover import load_document, open_plain
from app.parsing.limits import ParseLimits


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(b"text")
    with open_plain(path) as file:
        assert file.read() == b"text"


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "nothing"])
def test_nothing_else_is_opened_or_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "plain").write_bytes(b"text")
        path.symlink_to(tmp_path / "plain")
    with pytest.raises(OSError):  # noqa: PT011 - each has an errno of its own
        open_plain(path)


def test_many_short_elements_are_handed_over_in_little_more_than_their_text(tmp_path: Path) -> None:
    table = Element(
        kind=ElementKind.TABLE, text="t", page=1, table=Table(rows=[["a"], ["b"]], header_rows=0, sheet="s")
    )
    lines = [Element(kind=ElementKind.PARAGRAPH, text="x" * 90)] * 1000
    document = ParsedDocument(media_type="text/plain", parser="text 1", elements=[table, *lines])
    path = tmp_path / "result"
    document.write(path)
    assert path.stat().st_size < 2 * len(document.text)
    assert load_document(path, ParseLimits()) == document
