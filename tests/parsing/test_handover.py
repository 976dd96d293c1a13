"""What a parser process leaves is opened only where it is a plain file."""

import os
from pathlib import Path

import pytest

from app.parsing.handover import open_plain


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
