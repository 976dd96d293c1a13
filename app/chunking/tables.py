"""Tables as text: whole where they fit, else by rows, each part with caption and names. Pure, in linear time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from app.chunking.chunk import cut
from app.chunking.splitting import fits, split
from app.chunking.table_forms import (
    HEADER_CELL_BYTES,
    MarkdownForm,
    Row,
    SentenceForm,
    TableForm,
    column_names,
    filled,
)
from app.parsing.document import Table
from app.ports.embedder import TokenCounter

CAPTION_BYTES = 160
"""How much of a caption is repeated where it is too long to be repeated whole."""

BORDER_TOKENS = 12
"""What the borders of one column cost at most: in its header, in the rule and in its row."""


@dataclass(frozen=True, slots=True)
class TablePart:
    text: str
    tokens: int
    first_row: int
    last_row: int
    """Rows of `Table.rows` that it holds, header left out, both inclusive; (0, 0) for the header itself."""

    def begin_of(self, row: int, *, rows: Sequence[Row]) -> int | None:
        """Offset in the text from which on rows from this one stand, of all the table's `rows`; 0 where all do, None
        where none does. Each is a line, but blank ones are left out."""
        if row <= self.first_row:
            return 0
        at = len(self.text)
        for _ in filled(rows[row : self.last_row + 1]):
            at = self.text.rfind("\n", 0, at)
        return at + 1 if at < len(self.text) else None


def table_parts(
    table: Table, caption: str, room: int, target: int, tokens: TokenCounter, *, as_rows: bool = True
) -> list[TablePart]:
    """One part if the whole fits in `room` tokens, as Markdown; else parts of about `target` tokens, never more than
    `room`: with `as_rows` sentences that name every column, where the table has names for them, else Markdown.

    A row that does not fit is split by columns, a cell that does not fit by sentences.
    """
    header, body = table.rows[: table.header_rows], table.rows[table.header_rows :]
    last = len(table.rows) - 1
    if sum(len(cell) for row in table.rows for cell in row) <= room * 16:
        whole = MarkdownForm().text(caption, header, body)
        count = fits(whole, room, tokens)
        if count is not None:
            return [TablePart(whole, count, min(table.header_rows, last), last)]
    form: TableForm = SentenceForm(column_names(header)) if as_rows and header else MarkdownForm()
    width = max(map(len, table.rows), default=0)
    return list(_Splitter(form, caption, header, width, room, target, tokens).parts(body, table.header_rows))


class _Splitter:
    def __init__(
        self,
        form: TableForm,
        caption: str,
        header: Sequence[Row],
        width: int,
        room: int,
        target: int,
        tokens: TokenCounter,
    ) -> None:
        self._form = form
        self._tokens = tokens
        self._room = room
        self._target = target
        self._full_header = header
        self._full_caption = caption
        self._caption = cut(caption, CAPTION_BYTES)
        self._names = column_names(header)
        self._header: Sequence[Row] = header
        self._head_tokens = tokens.count(form.head(self._caption, header, width))
        self._is_cut = self._caption != " ".join(caption.split())
        if self._head_tokens > room // 2:
            self._header = [[cut(cell, HEADER_CELL_BYTES) for cell in row] for row in header]
            self._head_tokens = tokens.count(form.head(self._caption, self._header, width))
            self._is_cut = True

    def parts(self, body: Sequence[Row], first_row: int) -> Iterator[TablePart]:
        is_head_whole = False
        if self._is_cut or self._form.loses(self._full_header, body):
            yield from self._whole_head()
            is_head_whole = True
        rows: list[Row] = []
        used = start = 0
        for number, row in enumerate(body, start=first_row):
            if not any(cell.strip() for cell in row):
                continue
            cost = self._cost(row)
            if rows and self._head_tokens + used + cost > self._target:
                yield self._part(rows, start, number - 1)
                is_head_whole = is_head_whole or self._form.repeats_header
                rows, used = [], 0
            if self._head_tokens + cost > self._room:
                if not is_head_whole:  # beside parts of a row stand only the names of its columns
                    yield from self._whole_head()
                    is_head_whole = True
                yield from self._wide(row, number)
                continue
            if not rows:
                start = number
            rows.append(row)
            used += cost
        if rows:
            yield self._part(rows, start, first_row + len(body) - 1)

    def _cost(self, row: Row) -> int:
        """Tokens of a row's line, on the safe side; more than the room where it can't fit."""
        count = fits(self._form.row(row), self._room, self._tokens)
        return self._room + 1 if count is None else count + 1

    def _part(self, rows: Sequence[Row], first: int, last: int) -> TablePart:
        text = self._form.text(self._caption, self._header, rows)
        return TablePart(text, self._tokens.count(text), first, last)

    def _whole_head(self) -> Iterator[TablePart]:
        """Caption and column names in full, for once."""
        text = "\n\n".join([self._full_caption, *(cell for row in self._full_header for cell in row if cell.strip())])
        words: list[str] = []
        used = 0
        for span in split(text, self._room, self._tokens):
            if words and used + span.tokens + 1 > self._room:
                yield TablePart(" ".join(words), used, 0, 0)
                words, used = [], 0
            words += text[span.start : span.end].split()
            used += span.tokens + 1
        if words:
            yield TablePart(" ".join(words), used, 0, 0)

    def _wide(self, row: Row, number: int) -> Iterator[TablePart]:
        """A row that does not fit, as tables side by side; each begins with the row's first cell if that is short."""
        # Where even one name would take half the room, the columns go without.
        names = [name if self._tokens.count(name) * 2 <= self._room else "" for name in self._names]
        cells = [(name, cell) for name, cell in zip_longest(names, row, fillvalue="") if cell.strip()]
        key, key_tokens = self._key(cells)
        columns, used = list(key), key_tokens
        for name, cell in cells[len(key) :]:
            for text, cost in self._cell_parts(name, cell, self._room - key_tokens):
                if len(columns) > len(key) and used + cost > self._room:
                    yield self._band(columns, number)
                    columns, used = list(key), key_tokens
                columns.append((name, text))
                used += cost
        yield self._band(columns, number)

    def _key(self, cells: Sequence[tuple[str, str]]) -> tuple[Sequence[tuple[str, str]], int]:
        """What names a row: its first cell, if that and its column's name take a quarter of the room at most."""
        if len(cells) < 2:
            return [], 0
        name, cell = cells[0]
        count = fits(self._form.cell(f"{name} {cell}"), self._room // 4 - BORDER_TOKENS, self._tokens)
        return ([], 0) if count is None else (cells[:1], count + BORDER_TOKENS)

    def _cell_parts(self, name: str, cell: str, room: int) -> Iterator[tuple[str, int]]:
        """The cell, or the parts of it that fit beside its column's name, and what each costs with the name."""
        named = self._tokens.count(name) + BORDER_TOKENS
        room = max(4, room - named)
        cell = " ".join(cell.split())
        count = fits(self._form.cell(cell), room, self._tokens)
        if count is not None:
            yield cell, named + count
            return
        if "|" in cell:  # escaping may double the tokens
            room = max(2, room // 2)
        start = end = used = 0
        for span in split(cell, room, self._tokens):
            if used and used + span.tokens + 1 > room:
                yield cell[start:end], named + used
                start, used = span.start, 0
            end = span.end
            used += span.tokens + 1
        yield cell[start:end], named + used

    def _band(self, columns: Sequence[tuple[str, str]], number: int) -> TablePart:
        text = self._form.band(columns)
        return TablePart(text, self._tokens.count(text), number, number)
