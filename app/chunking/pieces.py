"""What chunks are put together from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.chunking.chunk import ChunkKind, Provenance, provenance_of

SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a document that stays in one: an element that fits, or a part of one that does not."""

    kind: ChunkKind
    start: int
    end: int
    """Offsets in the document's text."""
    tokens: int
    provenance: tuple[Provenance, ...] = ()
    """Of its parts, by offset in its own text; empty where the format has no pages."""
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
    position = 0
    for run in _runs(pieces, text):
        first = run[0]
        parts.append(text[first.start : run[-1].end] if first.rendered is None else first.rendered)
        begins += [position + piece.start - first.start for piece in run]
        position += len(parts[-1]) + len(SEPARATOR)
    return SEPARATOR.join(parts), begins


def _runs(pieces: Sequence[Piece], text: Text) -> Iterator[list[Piece]]:
    """Pieces between which nothing but white space stands; each rendered one by itself."""
    run: list[Piece] = []
    for piece in pieces:
        are_verbatim = piece.rendered is None and run and run[-1].rendered is None
        if run and not (are_verbatim and not text[run[-1].end : piece.start].strip()):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def provenance(pieces: Sequence[Piece], begins: Sequence[int]) -> tuple[Provenance, ...]:
    """Where the pieces stand, as `DraftChunk.provenance`; neighbours that were cut from one element are one part."""
    parts: list[Provenance] = []
    for piece, begin in zip(pieces, begins, strict=True):
        for part in piece.provenance:
            if not parts or (parts[-1].page, parts[-1].bbox) != (part.page, part.bbox):
                parts.append(part.model_copy(update={"start": begin + part.start}))
    return tuple(parts)


def cut_out(parts: Sequence[Provenance], start: int, end: int) -> list[Provenance]:
    """The parts of the characters from `start` to before `end`, by offsets in these."""
    return [part.model_copy(update={"start": max(0, part.start - start)}) for part in provenance_of(parts, start, end)]
