"""What chunks are put together from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.chunking.chunk import ChunkKind, Provenance
from app.parsing.document import BoundingBox

SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document that stays in one: an element that fits, or a part of one that does not."""

    kind: ChunkKind
    start: int
    end: int
    """Offsets in the document's text."""
    tokens: int
    page: int | None = None
    bbox: BoundingBox | None = None
    rendered: str | None = None
    """Text that stands for the range where it is not verbatim: tables."""
    alone: bool = False
    """A chunk of its own: part of a table that had to be split, with its header."""


class Text(Protocol):
    """A document's text, of which pieces are ranges: a `str`, or what gives its slices."""

    def __getitem__(self, wanted: slice, /) -> str: ...


def joined(pieces: Sequence[Piece], text: Text) -> tuple[str, list[int]]:
    """The pieces' text, and where in it each of them begins.

    Neighbours are one verbatim slice of the document's text, so that offsets inside it hold.
    """
    parts: list[str] = []
    begins: list[int] = []
    before = 0
    """Length of what comes before the last part, with its separators."""
    run_start = run_end = -1
    for piece in pieces:
        if piece.rendered is None and run_end >= 0 and not text[run_end : piece.start].strip():
            begins.append(before + piece.start - run_start)
            run_end = piece.end
            parts[-1] = text[run_start:run_end]
            continue
        before += len(parts[-1]) + len(SEPARATOR) if parts else 0
        begins.append(before)
        run_start, run_end = (piece.start, piece.end) if piece.rendered is None else (-1, -1)
        parts.append(text[piece.start : piece.end] if piece.rendered is None else piece.rendered)
    return SEPARATOR.join(parts), begins


def provenance(pieces: Sequence[Piece], begins: Sequence[int]) -> tuple[Provenance, ...]:
    """Where the pieces stand, as `DraftChunk.provenance`; neighbours that were cut from one element are one part."""
    parts: list[Provenance] = []
    for piece, begin in zip(pieces, begins, strict=True):
        if piece.page is None or (parts and (parts[-1].page, parts[-1].bbox) == (piece.page, piece.bbox)):
            continue
        parts.append(Provenance(start=begin, page=piece.page, bbox=piece.bbox))
    return tuple(parts)
