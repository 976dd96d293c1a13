"""Where the tables of a sheet are: blocks of cells with empty rows or columns between them.

Rows come one after another. A block that grows large is read on to its end row by row and kept as `TableBuilder` keeps
it, so that no sheet is in memory as a whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from app.parsing.cells import CellStore, TableBuilder
from app.parsing.document import Element, ElementKind, Table
from app.parsing.table_headers import is_figure, is_number, read_headers
from app.parsing.tables import telling_columns

NumberedRow = tuple[int, list[str]]
"""The number of a row (from 1) and its cells as text. All rows of a sheet are of one width; none is empty."""
_TEXT_LINES = 3
"""A column of more cells than this is a table, unless they were merged over several columns."""


@dataclass(slots=True)
class _Block:
    """Rows without a gap, and the columns (from 0, end excluded) that it fills."""

    first_row: int
    rows: list[list[str]]
    left: int
    right: int
    rest: Iterator[list[str]] | None = None
    """The rows that follow, where it is large; they are read before the next block is asked for."""

    @property
    def after(self) -> int:
        """The number of the row below it."""
        return self.first_row + len(self.rows)


class _RowStream:
    """Rows, of which the last one can be given back."""

    def __init__(self, rows: Iterator[NumberedRow]) -> None:
        self._rows = rows
        self._again: NumberedRow | None = None

    def __iter__(self) -> Iterator[NumberedRow]:
        return self

    def __next__(self) -> NumberedRow:
        again, self._again = self._again, None
        return next(self._rows) if again is None else again

    def give_back(self, row: NumberedRow) -> None:
        self._again = row


def sheet_elements(rows: Iterator[NumberedRow], sheet: str, page: int, store: CellStore) -> Iterator[Element]:
    """Tables, and text for blocks that are too small to be one, from top to bottom and left to right.

    Lines of text right above a table are its caption.
    """
    lines: list[str] = []
    below_lines = 0
    for block in _joined(_blocks(_RowStream(rows), store)):
        text = _text_lines(block)
        if lines:
            is_caption = not text and block.first_row - below_lines <= 1 and len(lines) <= _TEXT_LINES
            yield from _text_elements(lines, page, is_caption=is_caption)
        lines, below_lines = text, block.after
        if not text:
            yield Element(kind=ElementKind.TABLE, table=_table(block, sheet, store), page=page)
    yield from _text_elements(lines, page, is_caption=False)


def _text_lines(block: _Block) -> list[str]:
    """What a block says that is text rather than a table; nothing where it is one."""
    if block.rest is not None:
        return []
    rows = [list(dict.fromkeys(cell for cell in row[block.left : block.right] if cell)) for row in block.rows]
    if len(rows) == 1 and len(rows[0]) <= 2:
        return [" ".join(rows[0])]
    if any(len(row) > 1 for row in rows):
        return []
    is_merged = any(sum(map(bool, row[block.left : block.right])) > 1 for row in block.rows)
    return [row[0] for row in rows if row] if is_merged or len(rows) <= _TEXT_LINES else []


def _text_elements(lines: Sequence[str], page: int, *, is_caption: bool) -> Iterator[Element]:
    if lines and is_caption:
        yield Element(kind=ElementKind.CAPTION, text="\n".join(lines), page=page)
        return
    for line in lines:
        yield Element(kind=ElementKind.PARAGRAPH, text=line, page=page)


def _table(block: _Block, sheet: str, store: CellStore) -> Table:
    """With merged names of columns spread over them; a large one with all its columns, empty ones too."""
    if block.rest is None:
        rows = [row[block.left : block.right] for row in block.rows]
        columns = telling_columns(rows)
        rows = [[row[column] for column in columns] for row in rows]
    else:
        rows, columns = block.rows, telling_columns(block.rows)
    header = read_headers(rows, _neighbours(columns) if block.rest is None else _runs(columns))
    if block.rest is None:
        store.keep(len(rows) * len(columns))
        return Table(rows=rows, header_rows=header, sheet=sheet, first_row=block.first_row)
    builder = TableBuilder(store, lambda _: header)
    for row in chain(rows, block.rest):
        builder.add(row)
    return builder.table(sheet=sheet, first_row=block.first_row)


def _runs(columns: Sequence[int]) -> list[list[int]]:
    """Columns in groups without a gap."""
    groups: list[list[int]] = []
    for column in columns:
        if groups and groups[-1][-1] == column - 1:
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def _neighbours(columns: Sequence[int]) -> list[list[int]]:
    """The same groups, of the columns' positions among those that are left."""
    place = {column: position for position, column in enumerate(columns)}
    return [[place[column] for column in group] for group in _runs(columns)]


def _blocks(rows: _RowStream, store: CellStore) -> Iterator[_Block]:
    """Bands of rows without an empty row, each parted at empty columns where that makes tables of their own."""
    band: list[list[str]] = []
    first = previous = cells = 0
    for number, row in rows:
        if band and number != previous + 1:
            yield from _side_by_side(first, band, store)
            band, cells = [], 0
        if not band:
            first = number
        band.append(row)
        previous = number
        cells += len(row)
        if cells > store.allowance and len(band) > 1:
            yield _Block(first, band, 0, len(row), _rest(rows, number))
            band, cells = [], 0
    if band:
        yield from _side_by_side(first, band, store)


def _rest(rows: _RowStream, previous: int) -> Iterator[list[str]]:
    """The rows of a large block to its end: to a gap that is more than one blank row above figures."""
    for number, row in rows:
        gap = number - previous - 1
        if gap > 1 or (gap == 1 and not any(map(is_number, row))):
            rows.give_back((number, row))
            return
        previous = number
        yield row


def _side_by_side(first_row: int, band: list[list[str]], store: CellStore) -> Iterator[_Block]:
    groups = _runs(sorted({column for row in band for column, cell in enumerate(row) if cell}))
    parted = [_trimmed(first_row, band, group[0], group[-1] + 1) for group in groups]
    if len(parted) > 1 and _are_tables(parted, len(band)):
        for block in parted:
            yield from _again(block, store)
        return
    yield _Block(first_row, band, groups[0][0], groups[-1][-1] + 1)


def _again(block: _Block, store: CellStore) -> Iterator[_Block]:
    """Tables below one another that a taller neighbour had hidden the gap between."""
    rows = [
        (block.first_row + offset, [""] * block.left + row[block.left : block.right])
        for offset, row in enumerate(block.rows)
        if any(row[block.left : block.right])
    ]
    if len(rows) == len(block.rows):
        yield block
    else:
        yield from _blocks(_RowStream(iter(rows)), store)


def _trimmed(first_row: int, band: list[list[str]], left: int, right: int) -> _Block:
    filled = [offset for offset, row in enumerate(band) if any(row[left:right])]
    return _Block(first_row + filled[0], band[filled[0] : filled[-1] + 1], left, right)


def _are_tables(blocks: Sequence[_Block], band_rows: int) -> bool:
    """Whether groups of columns are tables of their own: they have width, and row labels or an extent of their own.

    Columns of figures behind an empty column belong to the labels at their left, as in financial statements; also where
    those are numbers themselves, unless each group has names that it begins with, below or as the first one does.
    """
    first, *others = blocks
    if any(block.right - block.left < 2 for block in blocks):
        return False
    named = [_has_own_names(block, first) for block in others]
    return (all(named) or _has_own_labels(first, band_rows)) and all(
        has_names or _has_own_labels(block, band_rows) for has_names, block in zip(named, others, strict=True)
    )


def _has_own_labels(block: _Block, band_rows: int) -> bool:
    labels = [row[block.left] for row in block.rows[1:] if len(row) > block.left and row[block.left]]
    named = sum(not is_figure(label) for label in labels)
    return named * 2 > len(labels) or len(block.rows) < band_rows


def _has_own_names(block: _Block, first: _Block) -> bool:
    """Whether it begins below the first one with a name for every column, or names its first column as that does."""
    names = block.rows[0][block.left : block.right]
    is_named = all(name and not is_figure(name) for name in names)
    return is_named and (block.first_row > first.first_row or names[0] == first.rows[0][first.left])


def _joined(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """Puts together what one blank row parts: the same columns again, and no row of names at its head."""
    held: _Block | None = None
    for block in blocks:
        if held and _continues(held, block):
            held.rows.extend(block.rows)
            held.rest = block.rest
        else:
            if held:
                yield held
            held = block
        if held.rest is not None:
            yield held
            held = None
    if held:
        yield held


def _continues(above: _Block, below: _Block) -> bool:
    if below.right - below.left < 2 or len(above.rows) < 2 or _text_lines(above):
        return False
    is_same = below.rest is not None or (above.left, above.right) == (below.left, below.right)
    has_figures = any(map(is_figure, below.rows[0][below.left : below.right]))
    return is_same and has_figures and 0 <= below.first_row - above.after <= 1
