"""What a chunker makes of a parsed document."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from itertools import zip_longest

from pydantic import BaseModel, ConfigDict

from app.parsing.document import BoundingBox

TITLE_BYTES = 256
PATH_BYTES = 192
"""How much of the title and of the heading path is embedded, in bytes of UTF-8: no more tokens than that."""


class ChunkKind(StrEnum):
    TEXT = "text"
    TABLE = "table"
    TABLE_SUMMARY = "table_summary"
    """Tells of a table what its columns hold: found by questions about the table, and no words of the document."""
    CODE = "code"


class Provenance(BaseModel):
    """Where a part of a chunk's text stands in the document. The part ends where the next one begins."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    start: int
    """Offset in the chunk's text, in characters."""
    page: int
    """From 1."""
    bbox: BoundingBox | None = None
    """Of the element (a paragraph, a table) that the part is of; None where the format has no boxes."""


class DraftChunk(BaseModel):
    """A chunk before it has an id. Ordinals are its position in the list, from 0."""

    model_config = ConfigDict(frozen=True)

    kind: ChunkKind
    text: str
    """What is stored, shown and cited: verbatim text of the document, without the heading path."""
    heading_path: tuple[str, ...] = ()
    """Headings it stands under, highest first."""
    section: int = 0
    """Number of the section it belongs to, from 0: chunks of one section share it, in order."""
    page: int | None = None
    """First page it touches."""
    page_end: int | None = None
    provenance: tuple[Provenance, ...] = ()
    """Page and box of each part of `text`, in order; empty where the format has no pages."""
    bbox: BoundingBox | None = None
    """Union of its elements' boxes on the first page."""
    start: int = 0
    end: int = 0
    """Offsets in `ParsedDocument.text`."""
    token_count: int = 0
    """Tokens of `embedded_text` by the embedding model, special tokens left out."""
    level: int = 0
    """0: it is embedded and searched. Above: it is only read, in place of what was found of its children."""
    parent: int | None = None
    """Ordinal of the chunk of a higher level that holds its text and its neighbours'."""
    always_read: bool = False
    """Of a parent: it is read wherever one of its children is found, however few of them are."""

    def embedded_text(self, title: str) -> str:
        return embedded_text(title, self.heading_path, self.text)


def provenance_of(provenance: Sequence[Provenance], start: int, end: int) -> list[Provenance]:
    """The parts of a chunk's text that the characters from `start` to before `end` stand in, in order."""
    ends = [part.start for part in provenance[1:]]
    return [
        part
        for part, part_end in zip_longest(provenance, ends)
        if part.start < end and (part_end is None or part_end > start)
    ]


def embedded_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """What is embedded and tokenized: title and heading path as a first line, then the text."""
    return context_line(title, heading_path) + text


def text_hash(text: str) -> bytes:
    """SHA-256 of an embedded text: what its vector is cached under."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def context_line(title: str, heading_path: Sequence[str]) -> str:
    """Title and headings, ending in a newline; empty where there is neither.

    A first heading that repeats the title is left out. Both are bounded; of a long path the last headings are kept.
    """
    headings = heading_path[1:] if title and heading_path and heading_path[0] == title else heading_path
    kept: list[str] = []
    room = PATH_BYTES
    for heading in reversed(headings):
        part = cut(heading, room)
        if part:
            kept.append(part)
        room -= len(part.encode()) + len(" > ")
        if room <= 0:
            break
    parts = [part for part in (cut(title, TITLE_BYTES), *reversed(kept)) if part]
    return " > ".join(parts) + "\n" if parts else ""


def cut(text: str, size: int) -> str:
    """The start of a text, on one line, in at most `size` bytes of UTF-8; "…" stands for what was left out."""
    line = " ".join(text.split())
    encoded = line.encode()
    if len(encoded) <= size:
        return line
    ellipsis = "…"
    if size <= len(ellipsis.encode()):
        return ""
    return encoded[: size - len(ellipsis.encode())].decode(errors="ignore").rstrip() + ellipsis
