"""From what is stored of an answer to what is shown, and never more than the reader may see now.

Stored are the answer's own words and references: citations name a chunk and a span of its text, and an extractive
answer holds a place (`\\ue000<index of the citation>\\ue001`) where a sentence of a document stands. The text itself is
put in when the answer is read. So what was deleted since is not shown, and needs no search for copies. Nor is what was
edited since: other words, at the place of those that were cited, would be a quote that the answer never rested on.
"""

import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import NotRequired
from uuid import UUID

from pydantic import BaseModel, Field
from typing_extensions import TypedDict  # typing's is refused by pydantic before Python 3.12

from app.agent.language import Language, language_of
from app.agent.markers import MARKER_GROUP
from app.agent.sentences import shown
from app.chunking.chunk import Provenance, provenance_of
from app.core.described import ApiModel

PLACE = re.compile("\ue000(\\d+)\ue001")
REMOVED = {Language.CHINESE: "（内容已删除）", Language.ENGLISH: "(removed)"}


class CitationReference(TypedDict):
    """A citation as it is stored: ids and a span, no text."""

    number: int
    chunk_id: str
    document_id: str
    start: int
    end: int
    crc32: NotRequired[int]
    """Of the words cited: tells whether they still stand there, and not what they were. Answers of old have none."""


class Span(ApiModel):
    """Offsets in the text of the chunk, in characters."""

    start: int
    end: int


class Citation(ApiModel):
    """A passage that an answer rests on."""

    number: int
    """That of its markers: `[1]`."""
    chunk_id: UUID
    document_id: UUID
    document_name: str | None = None
    """Null once the document is deleted."""
    page: int | None = None
    """The page on which the quote begins."""
    provenance: list[Provenance] = Field(default_factory=list)
    """Pages and boxes of what holds the quote; empty where the format has no pages, or for edited text."""
    heading_path: list[str] = Field(default_factory=list)
    """Headings above it, the highest first."""
    quote: str | None = None
    """The words in the document; null where they can't be shown any more."""
    span: Span
    """Where the quote stands in the text of the chunk."""
    removed: bool = False
    """The passage is not there any more: deleted, edited, or replaced by a new version."""


class ShownChunk(BaseModel):
    """What a reader may see of a chunk."""

    document_name: str
    page: int | None
    provenance: list[Provenance] = []
    heading_path: list[str]
    text: str


def place(index: int) -> str:
    """Stands for the quote of the citation at `index`."""
    return f"\ue000{index}\ue001"


def unmarked(text: str) -> str:
    """Words of a document without what would pass for the server's markers: its `[2]` is its own footnote, or a lie."""
    return re.sub(r"\[(\d{1,3})\]", r"(\1)", text)


def without_places(text: str) -> str:
    """Text of a model without the two characters that mark places, and without what Postgres and UTF-8 don't take."""
    return re.sub("[\0\ue000\ue001\ud800-\udfff]", "", text)


def checksum(words: str) -> int:
    return zlib.crc32(words.encode())


def render_citation(
    reference: CitationReference, chunk: ShownChunk | None, document_name: str | None = None
) -> Citation:
    """`chunk` is None where it can't be read any more; `document_name` then names a document that still lives."""
    start, end = reference["start"], reference["end"]
    if chunk is not None and reference.get("crc32") not in (None, checksum(chunk.text[start:end])):
        document_name, chunk = chunk.document_name, None
    provenance = provenance_of(chunk.provenance, start, end) if chunk else []
    page = chunk.page if chunk else None
    return Citation(
        number=reference["number"],
        chunk_id=UUID(reference["chunk_id"]),
        document_id=UUID(reference["document_id"]),
        document_name=chunk.document_name if chunk else document_name,
        page=provenance[0].page if provenance else page,
        provenance=provenance,
        heading_path=chunk.heading_path if chunk else [],
        quote=shown(chunk.text[start:end]) if chunk else None,
        span=Span(start=start, end=end),
        removed=chunk is None,
    )


def render_answer(
    content: str, references: Sequence[CitationReference], citations: Sequence[Citation], deleted: Collection[UUID]
) -> str:
    """The answer with quotes in their places, and without what was said of documents that are `deleted`.

    A model puts the words of a document into its own, so words before a marker of a deleted document are withheld
    together with its quote; words that end without a marker are withheld if any cited document is deleted.
    """
    removed = REMOVED[language_of(content)]
    if any(reference for reference in references if UUID(reference["document_id"]) in deleted):
        content = _withhold(content, references, deleted, removed)
    quotes: Mapping[int, str | None] = {
        index: citation.quote and unmarked(citation.quote) for index, citation in enumerate(citations)
    }
    return PLACE.sub(lambda found: quotes.get(int(found[1])) or removed, content)


def _withhold(content: str, references: Sequence[CitationReference], deleted: Collection[UUID], removed: str) -> str:
    gone = {reference["number"] for reference in references if UUID(reference["document_id"]) in deleted}
    kept: list[str] = []
    end = 0
    for group in MARKER_GROUP.finditer(content):
        words, end_of_group = content[end : group.start()], group.end()
        if gone & {int(number) for number in re.findall(r"\d+", group.group())} and not PLACE.search(words):
            words = re.sub(r"\S(?:.*\S)?", lambda _: removed, words, count=1, flags=re.DOTALL)
        kept.append(words + group.group())
        end = end_of_group
    tail = content[end:]
    if re.search(r"\w", tail) and not PLACE.search(tail):
        tail = f" {removed}"
    return "".join(kept) + tail
