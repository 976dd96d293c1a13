"""Bodies of the routes for documents, and what may be said of one."""

import json
import re
import unicodedata
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, SecretStr, field_validator

from app.chunking.chunk import ChunkKind, Provenance
from app.core.described import ApiModel
from app.core.text import Storable, storable
from app.ingestion.schemas import OperationOut
from app.models import DocumentStatus

Scalar = str | int | float | bool
MAX_METADATA_KEYS = 64
MAX_METADATA_BYTES = 16 * 1024
_LONGEST_NAME = 255


def _clean_metadata(value: dict[str, Scalar]) -> dict[str, Scalar]:
    if len(value) > MAX_METADATA_KEYS:
        raise ValueError(f"at most {MAX_METADATA_KEYS} keys")
    if any(not key or len(key) > 100 for key in value):
        raise ValueError("keys have 1 to 100 characters")
    for text in (*value, *(item for item in value.values() if isinstance(item, str))):
        storable(text)
    if len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode()) > MAX_METADATA_BYTES:
        raise ValueError(f"at most {MAX_METADATA_BYTES} bytes as JSON")
    return value


def _clean_name(value: str) -> str:
    # Much longer ones are not even normalised, which of very many combining marks takes time by their square.
    value = unicodedata.normalize("NFC", value).strip() if len(value) <= 4 * _LONGEST_NAME else ""
    if not 1 <= len(value) <= _LONGEST_NAME:
        raise ValueError(f"a document's name has 1 to {_LONGEST_NAME} characters")
    if any(sign in value for sign in "/\\") or value in (".", ".."):
        raise ValueError("a document's name holds no path: leave out folders, `/` and `\\`")
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in value):
        raise ValueError("a document's name holds no control characters")
    return value


Metadata = Annotated[dict[str, Scalar], AfterValidator(_clean_metadata)]
Tag = Annotated[str, Storable(strip_whitespace=True, min_length=1, max_length=100)]
Tags = Annotated[list[Tag], Field(max_length=64), AfterValidator(lambda tags: list(dict.fromkeys(tags)))]
DocumentName = Annotated[str, AfterValidator(_clean_name)]
ExternalId = Annotated[str, Storable(min_length=1, max_length=255)]


class DocumentFacts(ApiModel):
    """What an upload says of a document beside its content."""

    model_config = ConfigDict(extra="forbid")

    metadata: Metadata = Field(
        default_factory=dict,
        description="Flat: text, numbers, true and false.",
        examples=[{"department": "People", "year": 2026}],
    )
    tags: Tags = Field(default_factory=list, description="A list of words.", examples=[["policy", "leave"]])
    external_id: ExternalId | None = Field(None, description="Your own id: uploading it again replaces the document.")
    replace_same_name: bool = Field(
        False,
        description="Replaces the newest document of the same name, if there is one and neither has an external id. "
        "Else only the same content is taken for the same document.",
    )


class TextDocumentIn(DocumentFacts):
    """A document given as text."""

    text: str = Field(min_length=1)
    title: Annotated[str, Storable(strip_whitespace=True, max_length=1000)] = Field(
        "", description="Searched with the text. Without one the text is searched alone."
    )
    name: DocumentName | None = Field(None, description="Instead of a name made from the title.")
    format: Literal["text", "markdown"] = "text"

    @property
    def display_name(self) -> str:
        """What the document is called in lists: its name, or what of its title, or its external id, may be one."""
        made = re.sub(r"[/\\\s\x00-\x1f\x7f-\x9f]+", " ", self.title or self.external_id or "")[:200].strip(" .")
        return self.name or made or "Untitled"

    @field_validator("text")
    @classmethod
    def _has_content(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the text is empty: give a text that has content")
        return value


class FileFields(ApiModel):
    """The fields that stand beside `file` in every form that sends one."""

    model_config = ConfigDict(extra="forbid")

    name: DocumentName = Field(description="Instead of the file's own name.")
    password: SecretStr | None = Field(
        None, max_length=1024, description="Opens a protected file. Kept encrypted, and until the file has been read."
    )


class FileForm(FileFields, DocumentFacts):
    """The fields of an upload: `metadata` and `tags` as JSON."""

    @field_validator("metadata", "tags", mode="before")
    @classmethod
    def _from_json(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError("this must be JSON: `metadata` an object, `tags` an array of strings") from error


class DocumentPatch(ApiModel):
    """Only what is given is changed; `metadata` and `tags` replace what was there."""

    model_config = ConfigDict(extra="forbid")

    name: DocumentName | None = None
    metadata: Metadata | None = None
    tags: Tags | None = None


class ReprocessIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    password: SecretStr | None = Field(
        None, max_length=1024, description="Opens a protected file: the one of the upload has been forgotten."
    )


class DocumentError(ApiModel):
    code: str
    """Stable: what programs may go by."""
    detail: str
    """What happened, and what to do about it."""


class DocumentOut(ApiModel):
    id: UUID
    knowledge_base_id: UUID
    name: str
    external_id: str | None
    """Your own id of it."""
    media_type: str | None
    """As told by the content; None until it has been read."""
    size_bytes: int
    """Of the newest upload."""
    sha256: str
    """Of the newest upload, hexadecimal."""
    metadata: dict[str, Any]
    tags: list[str]
    status: DocumentStatus
    """Of the newest upload. `failed` also where it was cancelled: then `error.code` is `cancelled`."""
    error: DocumentError | None
    """Why the newest upload failed. An earlier generation may still be searched: see `active_generation`."""
    active_generation: int | None
    """The version that is searched, from 1; None while none is."""
    page_count: int | None
    """Pages, slides or sheets; None where the format has none."""
    parser: str | None
    """Name and version of what read the active generation, as the three that follow."""
    warnings: list[str]
    """What was left out, repaired or uncertain, in sentences."""
    page_modes: dict[str, int]
    """Of PDFs and pictures: how many pages were read by their text layer (`fast`), a layout model, or `ocr`."""
    confidence: float | None
    """Of text recognised in pictures: 0 to 1, the mean over its characters."""
    chunk_count: int
    """Of the version that is searched."""
    created_at: datetime
    updated_at: datetime


class UploadOut(ApiModel):
    document: DocumentOut
    operation: OperationOut | None
    """The ingestion; None where nothing has to be done."""
    outcome: Literal["created", "replaced", "unchanged"]
    """`unchanged`: the same content is there, or on its way, already."""


class ChunkOut(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    document_id: UUID
    generation: int
    """The version of the document that it is of."""
    ordinal: int
    """Its place among the chunks of the document, from 0."""
    kind: ChunkKind
    """`table_summary` tells what the columns of a table hold, and is no text of the document."""
    text: str
    heading_path: list[str]
    """Headings above it, the highest first. They are embedded with the text."""
    section: int
    """Number of the section that it is cut from: chunks of one section have the same."""
    page: int | None
    """On which it begins, from 1; None where the format has no pages."""
    page_end: int | None
    """On which it ends."""
    bbox: dict[str, float] | None
    """Around all that stands on `page`."""
    provenance: list[Provenance]
    """Page and box of each part of the text; empty where the format has no pages, or a person edited the text."""
    start_offset: int
    """Where it begins in the text of the document, in characters."""
    end_offset: int
    """Where it ends there: the offset behind its last character."""
    token_count: int
    """Of the embedded text, as the embedding model counts."""
    enabled: bool
    """Whether searches may find it."""
    level: int
    """0: it is searched. Above: it is only read, in place of what was found of its children."""
    parent_id: UUID | None
    """The chunk of a higher level that holds its text."""
    outdated: bool
    """Of a parent: a chunk that it holds was edited or disabled, so that it is not read in the place of any."""
    edited_at: datetime | None
    """When a person last changed its text. `start_offset`, `end_offset` and `bbox` stay those of the original."""
    pending_text: str | None
    """What a person has changed the text to, until searches find it by that. It takes seconds."""


class DeletionReceiptOut(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    document_id: UUID
    knowledge_base_id: UUID
    document_name: str
    requested_by: UUID | None
    """The id of a person."""
    requested_at: datetime
    """Since when nothing finds the document."""
    purged_at: datetime | None
    """None while the purge is still going on; searches find nothing since `requested_at` all the same."""
    counts: dict[str, int]
    """What was removed: `chunks`, `vectors`, `terms`, `blobs`."""
