"""Where the tables of a sheet are: blocks of cells with empty rows or columns between them."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.parsing.document import Element, ElementKind, Table
from app.parsing.parsers.delimited import header_rows, is_number
from app.parsing.tables import without_empty_edges

Rows = dict[int, list[str]]
"""Cells as text by row number (from 1), rows that hold nothing left out."""


@dataclass(slots=True)
class _Block:
    """Rows without a gap, and the columns (from 0, end excluded) that it fills."""

    first_row: int
    rows: list[list[str]]
    left: int
    right: int


def sheet_elements(rows: Rows, sheet: str, page: int) -> Iterator[Element]:
    """Tables, and paragraphs for blocks that are too small to be one, from top to bottom and left to right."""
    for block in _joined(_blocks(rows)):
        cells = without_empty_edges([row[block.left : block.right] for row in block.rows])
        if not cells:
            continue
        if (len(cells[0]) == 1 and len(cells) <= 3) or (len(cells) == 1 and len(cells[0]) <= 2):
            for row in cells:
                yield Element(kind=ElementKind.PARAGRAPH, text=" ".join(row), page=page)
            continue
        table = Table(rows=cells, header_rows=_header_rows(cells), sheet=sheet, first_row=block.first_row)
        yield Element(kind=ElementKind.TABLE, table=table, page=page)


def _header_rows(rows: list[list[str]]) -> int:
    """Leading rows that name columns: a row of merged names (the same text side by side) has the names proper below."""
    count = header_rows(rows)
    if count and len(rows) > 2 and any(a and a == b for a, b in zip(rows[0], rows[0][1:], strict=False)):
        second = [cell for cell in rows[1] if cell]
        if second and not any(map(is_number, second)):
            return 2
    return count


def _blocks(rows: Rows) -> Iterator[_Block]:
    """Bands of rows without an empty row, each parted at empty columns where that makes tables of their own."""
    band: list[list[str]] = []
    first = previous = 0
    for number in sorted(rows):
        if band and number != previous + 1:
            yield from _side_by_side(first, band)
            band = []
        if not band:
            first = number
        band.append(rows[number])
        previous = number
    if band:
        yield from _side_by_side(first, band)


def _side_by_side(first_row: int, band: list[list[str]]) -> Iterator[_Block]:
    groups = _column_groups(band)
    parted = [_trimmed(first_row, band, left, right) for left, right in groups]
    if len(parted) > 1 and all(_stands_alone(block, len(band)) for block in parted):
        for block in parted:
            yield from _again(block)
        return
    yield _Block(first_row, band, groups[0][0], groups[-1][1])


def _again(block: _Block) -> Iterator[_Block]:
    """Tables below one another that a taller neighbour had hidden the gap between."""
    rows = {
        block.first_row + offset: row for offset, row in enumerate(block.rows) if any(row[block.left : block.right])
    }
    if len(rows) == len(block.rows):
        yield block
        return
    yield from _blocks({number: [""] * block.left + row[block.left : block.right] for number, row in rows.items()})


def _column_groups(band: list[list[str]]) -> list[tuple[int, int]]:
    used = sorted({column for row in band for column, cell in enumerate(row) if cell})
    groups: list[tuple[int, int]] = []
    for column in used:
        if groups and groups[-1][1] == column:
            groups[-1] = (groups[-1][0], column + 1)
        else:
            groups.append((column, column + 1))
    return groups


def _trimmed(first_row: int, band: list[list[str]], left: int, right: int) -> _Block:
    filled = [offset for offset, row in enumerate(band) if any(row[left:right])]
    return _Block(first_row + filled[0], band[filled[0] : filled[-1] + 1], left, right)


def _stands_alone(block: _Block, band_rows: int) -> bool:
    """Whether a group of columns is a table of its own: it has width, and row labels or an extent of its own.

    Columns of figures behind an empty column belong to the labels at their left, as in financial statements.
    """
    if block.right - block.left < 2:
        return False
    labels = [row[block.left] for row in block.rows[1:] if len(row) > block.left and row[block.left]]
    named = sum(not is_number(label) for label in labels)
    return named * 2 > len(labels) or len(block.rows) < band_rows


def _joined(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """Puts together what one blank row parts: the same columns again, and no row of names at its head."""
    held: _Block | None = None
    for block in blocks:
        if held and _continues(held, block):
            held.rows.extend(block.rows)
            continue
        if held:
            yield held
        held = block
    if held:
        yield held


def _continues(above: _Block, below: _Block) -> bool:
    if (above.left, above.right) != (below.left, below.right) or below.right - below.left < 2:
        return False
    follows = 0 <= below.first_row - (above.first_row + len(above.rows)) <= 1
    return follows and len(above.rows) > 1 and any(map(is_number, below.rows[0][below.left : below.right]))
