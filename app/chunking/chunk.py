"""What a chunker makes of a parsed document."""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from app.parsing.document import BoundingBox

TITLE_BYTES = 192
PATH_BYTES = 192
"""How much of the title and of the heading path is embedded, in bytes of UTF-8: no tokenizer makes more tokens of it."""


class ChunkKind(StrEnum):
    TEXT = "text"
    TABLE = "table"
    CODE = "code"


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
    bbox: BoundingBox | None = None
    """Union of its elements' boxes on the first page."""
    start: int = 0
    end: int = 0
    """Offsets in `ParsedDocument.text`."""
    token_count: int = 0
    """Tokens of `embedded_text` by the embedding model, special tokens left out."""

    def embedded_text(self, title: str) -> str:
        return embedded_text(title, self.heading_path, self.text)


def embedded_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """What is embedded and tokenized: title and heading path as a first line, then the text."""
    path = [part for part in (title, *heading_path) if part]
    if len(path) > 1 and path[0] == path[1]:
        path = path[1:]
    return " > ".join(path) + "\n" + text if path else text
