"""Bodies of the routes that look into a document: its chunks, tables and headings."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, Json, model_validator

from app.chunking.chunk import ChunkKind, DraftChunk, Provenance
from app.chunking.settings import ChunkingSettings
from app.core.described import ApiModel
from app.core.text import Storable
from app.documents.schemas import ChunkOut, FileFields
from app.ingestion.schemas import OperationOut
from app.parsing.document import BoundingBox, ColumnProfile, ElementKind

MOST_TEXT_CHARACTERS = 65_536


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("the text is empty: disable the chunk instead")
    return value


ChunkText = Annotated[str, Storable(max_length=MOST_TEXT_CHARACTERS), AfterValidator(_not_blank)]


class ChunkPatch(ApiModel):
    """Only what is given is changed."""

    model_config = ConfigDict(extra="forbid")

    text: ChunkText | None = Field(None, description="It is embedded again; searches find it by that within seconds.")
    enabled: bool | None = Field(None, description="Whether it may be found. Holds at once.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.text is None and self.enabled is None:
            raise ValueError("give `text`, `enabled`, or both")
        return self


class ChunkChangeOut(ApiModel):
    chunk: ChunkOut
    """As it is read now; a new text is `pending_text` until searches find it by that."""
    operation: OperationOut | None
    """Brings a changed text into the indexes; None where no text was changed."""


class ChunkEditOut(ApiModel):
    """One change that a person made."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    edited_by: UUID
    """The id of a person."""
    edited_at: datetime
    text_before: str | None
    """None where the text was left."""
    text_after: str | None
    """None where the text was left."""
    enabled: bool | None
    """What it was set to; None where that was left."""


class PreviewForm(FileFields):
    """The fields of a preview."""

    settings: Json[ChunkingSettings] | None = Field(
        None,
        description="Of chunking, instead of the knowledge base's.",
        examples=[{"strategy": "recursive", "target_tokens": 200}],
    )


class PreviewedChunk(ApiModel):
    """A chunk as ingestion would make it."""

    ordinal: int
    """Its place among the chunks of the document, from 0."""
    kind: ChunkKind
    """`table_summary` tells what the columns of a table hold, and is no text of the document."""
    level: int
    """0: it would be searched. Above: only read, in place of what was found of its children."""
    parent: int | None
    """Ordinal of the chunk that holds it, where the strategy makes parents."""
    text: str
    embedded_text: str | None
    """With title and headings, as the model reads it; None for a parent, which is not embedded."""
    heading_path: list[str]
    """Headings above it, the highest first."""
    section: int
    """Number of the section that it is cut from."""
    page: int | None
    """On which it begins, from 1; None where the format has no pages."""
    page_end: int | None
    """On which it ends."""
    bbox: BoundingBox | None
    """Around all that stands on `page`."""
    provenance: tuple[Provenance, ...]
    """Page and box of each part of the text."""
    start_offset: int
    """Where it begins in the text of the document, in characters."""
    end_offset: int
    """Where it ends there: the offset behind its last character."""
    token_count: int
    """Of the embedded text, as the embedding model counts."""

    @classmethod
    def of(cls, ordinal: int, draft: DraftChunk, title: str) -> Self:
        return cls(
            ordinal=ordinal,
            kind=draft.kind,
            level=draft.level,
            parent=draft.parent,
            text=draft.text,
            embedded_text=None if draft.level else draft.embedded_text(title),
            heading_path=list(draft.heading_path),
            section=draft.section,
            page=draft.page,
            page_end=draft.page_end,
            bbox=draft.bbox,
            provenance=draft.provenance,
            start_offset=draft.start,
            end_offset=draft.end,
            token_count=draft.token_count,
        )


class PreviewOut(ApiModel):
    """What ingestion would make of a file. Nothing of it was stored."""

    media_type: str
    """As told by the content."""
    parser: str
    """Name and version of what read it."""
    title: str
    """As the file says itself, else its name."""
    page_count: int | None
    """Pages, slides or sheets; None where the format has none."""
    element_count: int
    """Of all kinds."""
    elements: dict[str, int]
    """How many there are of each kind."""
    warnings: list[str]
    """What the parser left out or repaired."""
    settings: ChunkingSettings
    """That it was chunked by."""
    chunk_count: int
    """Of chunks that would be searched."""
    parent_count: int
    """Of chunks that would only be read in place of others."""
    token_count: int
    """Of all that would be embedded."""
    chunks: list[PreviewedChunk]
    """The first ones, parents among them."""
    truncated: bool
    """There are more than are shown."""


class ElementOut(ApiModel):
    """A part of what was read: a heading, a paragraph, a table."""

    number: int
    """From 1, in reading order."""
    kind: ElementKind
    """A page break stands between what is on one page and the next."""
    text: str
    """Empty for a table: `/tables/{number}` gives its cells; and for a page break."""
    level: int
    """Headings: 1 is the highest. List items: nesting from 1. Else 0."""
    page: int | None
    """From 1; None where the format has no pages."""
    page_mode: str | None
    """How the page was read: `fast`, `layout` or `ocr`; None of what is neither PDF nor picture."""
    bbox: BoundingBox | None
    """On `page`; None where the format has no boxes."""
    confidence: float | None
    """Of text that was recognised in a picture: 0 to 1."""
    language: str
    """Of code, as marked in the source."""
    table: int | None
    """Its number among the tables."""
    start: int
    """Where it begins in the text of the document, in characters."""
    end: int
    """Where it ends there: the offset behind its last character."""


class ContinuationOut(ApiModel):
    """Where a table goes on that does not end on its page."""

    page: int
    """From 1."""
    bbox: BoundingBox | None
    """Of the part that stands there."""
    first_row: int
    """From 1, without header rows: this one and those below it stand there, down to the next continuation."""


class TableOut(ApiModel):
    number: int
    """From 1, in reading order."""
    caption: str
    """Empty where it has none."""
    description: str
    """What a language model says of it; empty where none was asked."""
    sheet: str
    """Name of the sheet, in workbooks."""
    page: int | None
    """From 1; of a workbook the number of its sheet."""
    continuations: list[ContinuationOut]
    """Empty for a table that stands on one page."""
    columns: list[str]
    """One name a column; empty where the table has none. Of a very wide table not all of them: see `column_count`."""
    column_count: int
    """Of the whole table; those that are not shown are read by `column_cursor` of `/tables/{number}`."""
    header_rows: int
    """How many rows the names of `columns` were made of."""
    row_count: int
    """Without header rows."""
    profiles: list[ColumnProfile]
    """What each of `columns` holds."""


class TableRowsOut(ApiModel):
    table: TableOut
    items: list[list[str]]
    """Cells of each row under `table.columns`, merged ones filled in; header rows left out."""
    next_cursor: str | None
    """Give it as `cursor` to get the rows that follow; None at the last."""
    next_column_cursor: str | None
    """Give it as `column_cursor`, with the same `cursor`, to get the columns that follow; None at the last."""


class OutlineNode(ApiModel):
    """A heading and what stands under it."""

    title: str
    level: int
    """1 is the highest."""
    page: int | None
    """On which it stands, from 1; None where the format has no pages."""
    chunk_ids: list[UUID]
    """Chunks with text of its own, in order; those of the headings below it are there."""
    children: list["OutlineNode"]
    """The headings below it."""


class OutlineOut(ApiModel):
    document_id: UUID
    title: str
    chunk_ids: list[UUID]
    """Chunks with text before the first heading."""
    headings: list[OutlineNode]
    """The highest ones."""
    truncated: bool
    """The document has more headings than are shown."""
