"""What chunks are put together from."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.chunking.chunk import ChunkKind
from app.parsing.document import BoundingBox


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


def joined(pieces: Sequence[Piece], text: str) -> str:
    """The pieces' text. Neighbours are one verbatim slice of the document's text, so that offsets inside it hold."""
    parts: list[str] = []
    run_start = run_end = -1
    for piece in pieces:
        if piece.rendered is None and run_end >= 0 and not text[run_end : piece.start].strip():
            run_end = piece.end
            continue
        if run_end >= 0:
            parts.append(text[run_start:run_end])
        if piece.rendered is None:
            run_start, run_end = piece.start, piece.end
        else:
            parts.append(piece.rendered)
            run_start = run_end = -1
    if run_end >= 0:
        parts.append(text[run_start:run_end])
    return "\n\n".join(parts)


def union(boxes: Sequence[BoundingBox]) -> BoundingBox | None:
    if not boxes:
        return None
    return BoundingBox(
        left=min(box.left for box in boxes),
        top=min(box.top for box in boxes),
        right=max(box.right for box in boxes),
        bottom=max(box.bottom for box in boxes),
    )
