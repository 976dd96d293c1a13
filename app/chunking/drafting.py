"""What every strategy does alike: elements become pieces that fit, and pieces become chunks that know where they stand.

An element that does not fit is split where its kind breaks best; tables and code are kept apart from running text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from app.chunking.chunk import ChunkKind, DraftChunk, Provenance, context_line
from app.chunking.options import ChunkingOptions
from app.chunking.pieces import Piece, cut_out, joined, provenance
from app.chunking.splitting import CODE_LEVELS, TEXT_LEVELS, Boundaries, Span, fits, split
from app.chunking.table_summary import table_summary
from app.chunking.tables import CAPTION_BYTES, TablePart, table_parts
from app.core.errors import InvalidInput
from app.parsing.document import GAP, BoundingBox, Element, ElementKind, ParsedDocument, Table, placed
from app.ports.embedder import TokenCounter

LEAST_ROOM = 24
"""Chunks with room for fewer tokens of text than this would be nothing but title and headings."""
JOIN_MARGIN = 4
"""Tokens by which context line and text may come to more together than apart."""


@dataclass(frozen=True, slots=True)
class TextCut:
    """Where running text is cut."""

    levels: Sequence[Boundaries] = TEXT_LEVELS
    everywhere: bool = False
    """Also what fits is cut, at the first level; else only what does not."""


WHERE_IT_MUST = TextCut()


class Drafter:
    """One document, and how large its chunks may be."""

    def __init__(self, document: ParsedDocument, options: ChunkingOptions, tokens: TokenCounter, title: str) -> None:
        self.elements = document.elements
        self.starts = [start for start, _ in placed(document.elements, attrgetter("text"))]
        self.text = _Text(document.elements, self.starts)
        self.options = options
        self.tokens = tokens
        self._title = title
        self._longest = min(options.max_embedded_tokens, tokens.max_tokens)

    def path_and_room(self, path: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """The heading path and the tokens left for text under it; headings give way where they would leave none."""
        for kept in (path, path[-1:], ()):
            context = self.tokens.count(context_line(self._title, kept))
            room = min(self.options.max_tokens, self._longest - context - JOIN_MARGIN)
            if room >= LEAST_ROOM:
                return kept, room
        raise InvalidInput(
            f"The title takes {context} of the {self._longest} tokens that can be embedded at once, which leaves no "
            "room for text. Choose a shorter title, or an embedding model that reads more.",
            code="chunks_do_not_fit",
        )

    def pieces(self, members: Sequence[int], room: int, cut: TextCut = WHERE_IT_MUST) -> Iterator[Piece]:
        """The elements of these indexes, in order, each in as many pieces as it needs to fit in `room` tokens."""
        for position, index in enumerate(members):
            before = members[position - 1] if position else None
            after = members[position + 1] if position + 1 < len(members) else None
            if after is not None and self._is_caption(index, after):
                continue  # shown with its table
            if self.elements[index].table is None:
                yield from self._verbatim(index, room, cut)
            else:
                yield from self._table(index, self._caption_index(before, index), room)

    def _summaries(self, members: Sequence[int], room: int) -> Iterator[Piece]:
        """A piece for each table among the elements that is worth describing, to be a chunk of its own."""
        if not self.options.tables.summary:
            return
        for position, index in enumerate(members):
            element = self.elements[index]
            if element.table is None:
                continue
            caption_index = self._caption_index(members[position - 1] if position else None, index)
            made = table_summary(element.table, self._caption(element.table, caption_index), room, self.tokens)
            if made is not None:
                start = self.starts[index]
                span = (start, start + len(element.text))
                yield Piece(
                    ChunkKind.TABLE_SUMMARY, *span, made.tokens, _element_provenance(element), made.text, alone=True
                )

    def _caption_index(self, before: int | None, table_index: int) -> int | None:
        return before if before is not None and self._is_caption(before, table_index) else None

    def _caption(self, table: Table, caption_index: int | None) -> str:
        return table.caption if caption_index is None else self.elements[caption_index].text

    def _is_caption(self, index: int, table_index: int) -> bool:
        """Whether an element is the caption of the table after it, short enough to be repeated on every part."""
        element, table = self.elements[index], self.elements[table_index].table
        is_short = element.kind is ElementKind.CAPTION and len(element.text.encode()) <= CAPTION_BYTES
        return is_short and table is not None and not table.caption

    def _verbatim(self, index: int, room: int, cut: TextCut) -> Iterator[Piece]:
        element, start = self.elements[index], self.starts[index]
        kind = _kind(element)
        is_text = kind is ChunkKind.TEXT
        count = None if is_text and cut.everywhere else fits(element.text, room, self.tokens)
        if count is None:
            spans = split(element.text, room, self.tokens, cut.levels if is_text else CODE_LEVELS)
        else:
            spans = [Span(0, len(element.text), count)]
        for span in spans:
            yield Piece(kind, start + span.start, start + span.end, span.tokens, _element_provenance(element))

    def _table(self, index: int, caption_index: int | None, room: int) -> Iterator[Piece]:
        element, start = self.elements[index], self.starts[index]
        if element.table is None:
            return
        caption = self._caption(element.table, caption_index)
        target, as_rows = min(self.options.target_tokens, room), self.options.tables.rows
        parts = table_parts(element.table, caption, room, target, self.tokens, as_rows=as_rows)
        rows = _RowOffsets(element.text, element.table, start)
        for number, part in enumerate(parts):
            begin, end = rows.of(part) if len(parts) > 1 else (start, start + len(element.text))
            if number == 0 and caption_index is not None:
                begin = self.starts[caption_index]
            rendered = None if self.text[begin:end] == part.text else part.text
            yield Piece(
                ChunkKind.TABLE,
                begin,
                end,
                part.tokens,
                _element_provenance(element, partial(part.begin_of, rows=element.table.rows)),
                rendered,
                alone=len(parts) > 1,
            )

    def chunks_of_tables(
        self, members: Sequence[int], room: int, path: tuple[str, ...], section: int
    ) -> Iterator[DraftChunk]:
        """What stands beside the chunks of a section for its tables: a summary of each."""
        for piece in self._summaries(members, room):
            yield from self.fitting([piece], path, section)

    def fitting(self, pieces: Sequence[Piece], path: tuple[str, ...], section: int) -> Iterator[DraftChunk]:
        """The pieces as one chunk; as several, should they count for more together than each alone."""
        made = self._chunk(pieces, path, section)
        if made.token_count <= self._longest or len(pieces) == 1:
            yield made
            return
        middle = len(pieces) // 2
        yield from self.fitting(pieces[:middle], path, section)
        yield from self.fitting(pieces[middle:], path, section)

    def verbatim(self, start: int, end: int, path: tuple[str, ...], section: int) -> DraftChunk:
        """A range of the document's text as a chunk that is read, not embedded: no limit holds for it."""
        first = bisect_right(self.starts, start) - 1
        inside = [at for at in range(first, bisect_left(self.starts, end)) if self.elements[at].text]
        pieces = [
            Piece(
                _kind(element := self.elements[at]),
                self.starts[at],
                0,
                0,
                _element_provenance(element, _row_begins(element)),
            )
            for at in inside
        ]
        kinds = {piece.kind for piece in pieces}
        text = self.text[start:end]
        return DraftChunk(
            kind=kinds.pop() if len(kinds) == 1 else ChunkKind.TEXT,
            text=text,
            heading_path=path,
            section=section,
            start=start,
            end=end,
            token_count=self.tokens.count(context_line(self._title, path) + text),
            **_standing(cut_out(provenance(pieces, [piece.start for piece in pieces]), start, end)),
        )

    def _chunk(self, pieces: Sequence[Piece], path: tuple[str, ...], section: int) -> DraftChunk:
        kinds = {piece.kind for piece in pieces}
        text, begins = joined(pieces, self.text)
        draft = DraftChunk(
            kind=kinds.pop() if len(kinds) == 1 else ChunkKind.TEXT,
            text=text,
            heading_path=path,
            section=section,
            start=min(piece.start for piece in pieces),
            end=max(piece.end for piece in pieces),
            **_standing(provenance(pieces, begins)),
        )
        return draft.model_copy(update={"token_count": self.tokens.count(draft.embedded_text(self._title))})


def _standing(parts: Sequence[Provenance]) -> dict[str, Any]:
    """What a chunk tells of where it stands."""
    page = min([part.page for part in parts], default=None)
    return {
        "page": page,
        "page_end": max([part.page for part in parts], default=None),
        "provenance": tuple(parts),
        "bbox": BoundingBox.around([part.bbox for part in parts if part.bbox is not None and part.page == page]),
    }


def _element_provenance(
    element: Element, begin_of: Callable[[int], int | None] = lambda _: None
) -> tuple[Provenance, ...]:
    """Where what is shown of an element stands. `begin_of` tells at which offset of that a row of its table begins; 0
    where nothing is shown of the rows before, None where it is not shown itself."""
    if element.page is None:
        return ()
    found = [Provenance(start=0, page=element.page, bbox=element.bbox)]
    for there in element.table.continuations if element.table else ():
        at = begin_of(there.first_row)
        if at is not None:
            part = Provenance(start=at, page=there.page, bbox=there.bbox)
            found = [*found, part] if at else [part]
    return tuple(found)


class _Text:
    """`ParsedDocument.text`, of which only what is asked for is copied: all of it would be all text once more, and all
    of an element for each of its parts takes time by the square of its length."""

    def __init__(self, elements: Sequence[Element], starts: Sequence[int]) -> None:
        self._elements = elements
        self._starts = starts

    def __getitem__(self, wanted: slice, /) -> str:
        first = max(0, bisect_right(self._starts, wanted.start) - 1)
        last = bisect_left(self._starts, wanted.stop)
        return "".join(self._of_element(at, wanted) for at in range(first, last) if self._elements[at].text)

    def _of_element(self, at: int, wanted: slice) -> str:
        """Its share, and that of the gap after it."""
        text, start = self._elements[at].text, self._starts[at]
        gap = start + len(text)
        return (
            text[max(0, wanted.start - start) : wanted.stop - start]
            + GAP[max(0, wanted.start - gap) : max(0, wanted.stop - gap)]
        )


def _row_begins(element: Element) -> Callable[[int], int | None]:
    """Of a table that is shown whole, as its own text."""
    if element.table is None:
        return lambda _: None
    return _RowOffsets(element.text, element.table, 0).begin_of


class _RowOffsets:
    """Where rows stand in a table's Markdown: one line a row; a header row and the rule under it come before."""

    def __init__(self, markdown: str, table: Table, start: int) -> None:
        self._start = start
        self._ends = [start + match.start() for match in re.finditer("\n", markdown)]
        self._ends.append(start + len(markdown))
        self._lines_before = len(self._ends) - len(table.rows)
        self._has_header = table.header_rows > 0
        # Else a row is not a line, and only the table as a whole is known.
        self._is_by_line = self._lines_before in (1, 2)

    def begin_of(self, row: int) -> int | None:
        return self._ends[row + self._lines_before - 1] + 1 if self._is_by_line else None

    def of(self, part: TablePart) -> tuple[int, int]:
        if not self._is_by_line:
            return self._start, self._ends[-1]
        line = part.first_row + self._lines_before
        is_head = part.first_row == 0 and self._has_header
        return self._start if is_head else self._ends[line - 1] + 1, self._ends[part.last_row + self._lines_before]


_KINDS = {ElementKind.CODE: ChunkKind.CODE, ElementKind.TABLE: ChunkKind.TABLE}


def _kind(element: Element) -> ChunkKind:
    return _KINDS.get(element.kind, ChunkKind.TEXT)
