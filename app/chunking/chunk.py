"""What a chunker makes of a parsed document."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from app.parsing.document import BoundingBox


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
        """What is embedded and tokenized: title and heading path as a first line, then the text."""
        path = [part for part in (title, *self.heading_path) if part]
        if path and path[0] == title and len(path) > 1 and path[1] == title:
            path = path[1:]
        return " > ".join(path) + "\n" + self.text if path else self.text
