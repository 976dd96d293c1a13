"""The structure-aware strategy: sections by heading, tables and code in one where they fit, nothing lost.

A section that fits is one chunk. A longer one is packed from its elements up to the target size, and an element that
does not fit itself is split where its kind breaks best. Headings are kept as the chunk's path, apart from its text.
"""

from collections.abc import Iterator, Sequence

from app.chunking.chunk import ChunkKind, DraftChunk, context_line
from app.chunking.packing import pack
from app.chunking.pieces import Piece, joined, page_starts, union
from app.chunking.sections import Section, heading_text, merged, sections
from app.chunking.sizes import ChunkSizes
from app.chunking.splitting import CODE_LEVELS, TEXT_LEVELS, fits, split
from app.chunking.tables import CAPTION_BYTES, TablePart, table_parts
from app.core.errors import InvalidInput
from app.parsing.document import Element, ElementKind, ParsedDocument, Table
from app.ports.embedder import TokenCounter

LEAST_ROOM = 24
"""Chunks with room for fewer tokens of text than this would be nothing but title and headings."""
JOIN_MARGIN = 4
"""Tokens by which context line and text may come to more together than apart."""


def chunk(document: ParsedDocument, sizes: ChunkSizes, tokens: TokenCounter, title: str) -> list[DraftChunk]:
    return list(_Chunker(document, sizes, tokens, title).chunks())


class _Chunker:
    def __init__(self, document: ParsedDocument, sizes: ChunkSizes, tokens: TokenCounter, title: str) -> None:
        self._elements = document.elements
        self._text = document.text
        self._starts = _starts(document.elements)
        self._sizes = sizes
        self._tokens = tokens
        self._title = title
        self._longest = min(sizes.max_embedded_tokens, tokens.max_tokens)

    def chunks(self) -> Iterator[DraftChunk]:
        found = merged(sections(self._elements), self._sizes.min_tokens, self._size)
        for number, section in enumerate(found):
            path, room = self._path_and_room(heading_text(self._elements, section.path))
            pieces = list(self._pieces(section, room))
            for group in pack(pieces, self._text, room, self._sizes, self._tokens):
                yield from self._fitting(group, path, number)

    def _size(self, section: Section) -> int:
        """Tokens of a section and its heading, if it is small; else as large as need be."""
        small = self._sizes.min_tokens
        total = 0
        for index in {*section.members, *section.path[-1:]}:
            count = fits(self._elements[index].text, small, self._tokens)
            if count is None:
                return small + 1
            total += count
            if total > small:
                break
        return total

    def _path_and_room(self, path: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """The heading path and the tokens left for text under it; headings give way where they would leave none."""
        for kept in (path, path[-1:], ()):
            context = self._tokens.count(context_line(self._title, kept))
            room = min(self._sizes.max_tokens, self._longest - context - JOIN_MARGIN)
            if room >= LEAST_ROOM:
                return kept, room
        raise InvalidInput(
            f"The title takes {context} of the {self._longest} tokens that can be embedded at once, which leaves no "
            "room for text. Choose a shorter title, or an embedding model that reads more.",
            code="chunks_do_not_fit",
        )

    def _pieces(self, section: Section, room: int) -> Iterator[Piece]:
        members = section.members
        for position, index in enumerate(members):
            before = members[position - 1] if position else None
            after = members[position + 1] if position + 1 < len(members) else None
            if after is not None and self._is_caption(index, after):
                continue  # shown with its table
            if self._elements[index].table is None:
                yield from self._verbatim(index, room)
            else:
                caption = before if before is not None and self._is_caption(before, index) else None
                yield from self._table(index, caption, room)

    def _is_caption(self, index: int, table_index: int) -> bool:
        """Whether an element is the caption of the table after it, short enough to be repeated on every part."""
        element, table = self._elements[index], self._elements[table_index].table
        is_short = element.kind is ElementKind.CAPTION and len(element.text.encode()) <= CAPTION_BYTES
        return is_short and table is not None and not table.caption

    def _verbatim(self, index: int, room: int) -> Iterator[Piece]:
        element, start = self._elements[index], self._starts[index]
        kind = ChunkKind.CODE if element.kind is ElementKind.CODE else ChunkKind.TEXT
        kind = ChunkKind.TABLE if element.kind is ElementKind.TABLE else kind
        count = fits(element.text, room, self._tokens)
        if count is not None:
            yield Piece(kind, start, start + len(element.text), count, element.page, element.bbox)
            return
        levels = TEXT_LEVELS if kind is ChunkKind.TEXT else CODE_LEVELS
        for span in split(element.text, room, self._tokens, levels):
            yield Piece(kind, start + span.start, start + span.end, span.tokens, element.page, element.bbox)

    def _table(self, index: int, caption_index: int | None, room: int) -> Iterator[Piece]:
        element, start = self._elements[index], self._starts[index]
        if element.table is None:
            return
        caption = element.table.caption if caption_index is None else self._elements[caption_index].text
        parts = table_parts(element.table, caption, room, min(self._sizes.target_tokens, room), self._tokens)
        rows = _RowOffsets(element.text, element.table, start)
        for number, part in enumerate(parts):
            begin, end = rows.of(part) if len(parts) > 1 else (start, start + len(element.text))
            if number == 0 and caption_index is not None:
                begin = self._starts[caption_index]
            rendered = None if self._text[begin:end] == part.text else part.text
            yield Piece(
                ChunkKind.TABLE, begin, end, part.tokens, element.page, element.bbox, rendered, alone=len(parts) > 1
            )

    def _fitting(self, pieces: Sequence[Piece], path: tuple[str, ...], section: int) -> Iterator[DraftChunk]:
        """The pieces as one chunk; as several, should they count for more together than each alone."""
        made = self._chunk(pieces, path, section)
        if made.token_count <= self._longest or len(pieces) == 1:
            yield made
            return
        middle = len(pieces) // 2
        yield from self._fitting(pieces[:middle], path, section)
        yield from self._fitting(pieces[middle:], path, section)

    def _chunk(self, pieces: Sequence[Piece], path: tuple[str, ...], section: int) -> DraftChunk:
        kinds = {piece.kind for piece in pieces}
        pages = [piece.page for piece in pieces if piece.page is not None]
        page = min(pages, default=None)
        text, begins = joined(pieces, self._text)
        draft = DraftChunk(
            kind=kinds.pop() if len(kinds) == 1 else ChunkKind.TEXT,
            text=text,
            heading_path=path,
            section=section,
            page=page,
            page_end=max(pages, default=None),
            page_starts=page_starts(pieces, begins, page),
            bbox=union([piece.bbox for piece in pieces if piece.bbox is not None and piece.page == page]),
            start=min(piece.start for piece in pieces),
            end=max(piece.end for piece in pieces),
        )
        return draft.model_copy(update={"token_count": self._tokens.count(draft.embedded_text(self._title))})


class _RowOffsets:
    """Where rows stand in a table's Markdown: one line a row; a header row and the rule under it come before."""

    def __init__(self, markdown: str, table: Table, start: int) -> None:
        self._start = start
        self._ends = [start + offset for offset, character in enumerate(markdown) if character == "\n"]
        self._ends.append(start + len(markdown))
        self._lines_before = len(self._ends) - len(table.rows)
        self._has_header = table.header_rows > 0

    def of(self, part: TablePart) -> tuple[int, int]:
        if self._lines_before not in (1, 2):  # not one line a row: the table as a whole
            return self._start, self._ends[-1]
        line = part.first_row + self._lines_before
        is_head = part.first_row == 0 and self._has_header
        return self._start if is_head else self._ends[line - 1] + 1, self._ends[part.last_row + self._lines_before]


def _starts(elements: Sequence[Element]) -> list[int]:
    """Offset of each element in `ParsedDocument.text`."""
    starts: list[int] = []
    position = 0
    for element in elements:
        starts.append(position)
        if element.text:
            position += len(element.text) + len("\n\n")
    return starts
