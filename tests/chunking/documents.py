"""A token counter that can be checked by hand, and documents in a line."""

import re
from collections.abc import Sequence

import pytest

from app.chunking.chunk import DraftChunk
from app.chunking.registry import chunk
from app.chunking.settings import ChunkingSettings
from app.parsing.document import Element, ElementKind, ParsedDocument, Table
from app.parsing.tables import markdown
from app.ports.embedder import TokenCounter
from app.ports.vector_index import Vectors


class WordsAndIdeographs:
    """Counts a token for every three letters of a word, every ideograph and every mark: simple enough to do by hand."""

    max_tokens = 512

    _TOKEN = re.compile(r"[^\W一-鿿]{1,3}|\S")

    def count(self, text: str) -> int:
        return len(self.spans(text))

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in self._TOKEN.finditer(text)]


COUNTER = WordsAndIdeographs()


def drafts(
    parsed: ParsedDocument, settings: ChunkingSettings, title: str = "", *, tokens: TokenCounter = COUNTER
) -> list[DraftChunk]:
    """By a strategy that needs no embedding."""
    return list(chunk(parsed, settings, tokens, title, embed=nothing_to_embed))


def nothing_to_embed(texts: Sequence[str]) -> Vectors:
    pytest.fail(f"{len(texts)} texts were to be embedded")


def document(*elements: Element) -> ParsedDocument:
    return ParsedDocument(media_type="text/plain", parser="test 1", elements=list(elements))


def heading(text: str, level: int = 1) -> Element:
    return Element(kind=ElementKind.HEADING, text=text, level=level)


def paragraph(text: str, page: int | None = None) -> Element:
    return Element(kind=ElementKind.PARAGRAPH, text=text, page=page)


def code(text: str) -> Element:
    return Element(kind=ElementKind.CODE, text=text)


def caption(text: str) -> Element:
    return Element(kind=ElementKind.CAPTION, text=text)


def table(
    rows: Sequence[Sequence[str]],
    *,
    header_rows: int = 1,
    caption: str = "",
    page: int | None = None,
    description: str = "",
) -> Element:
    cells = [list(row) for row in rows]
    return Element(
        kind=ElementKind.TABLE,
        text=markdown(cells, header_rows),
        table=Table(rows=cells, header_rows=header_rows, caption=caption, description=description),
        page=page,
    )


def sentences(count: int, text: str = "The quick brown fox jumps over number {}.") -> str:
    return " ".join(text.format(number) for number in range(count))
