"""How large a sheet is when it is laid out as a rectangle, read off its XML without unpacking it into memory.

A single cell at XFD1048576 makes a rectangle of 17 billion cells, and readers that lay sheets out densely fail on it.
"""

import re
import zipfile
from pathlib import Path

from app.parsing.archives import UNREADABLE
from app.parsing.parsers.ooxml_package import OoxmlPackage
from app.parsing.reasons import parse_failure

_PIECE = 1024 * 1024
_OVERLAP = 64  # a reference cut in two by the end of a piece is whole in the next
_CELL = re.compile(rb"""<(?:\w+:)?c\s[^>]{0,200}?\br\s{0,9}=\s{0,9}["']([A-Z]{1,3})(\d{1,7})["']""")


def workbook_extent(path: Path) -> tuple[int, int]:
    """Cells, and rows, of the rectangles around the cells of all sheets that hold something, together.

    The `dimension` that a file declares is not believed. Empty cells that carry only a style count as well: readers lay
    them out too.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            sheets = [_sheet(archive, name) for name in _sheets(archive)]
    except UNREADABLE as error:
        raise parse_failure("damaged") from error
    return sum(rows * columns for rows, columns in sheets), sum(rows for rows, _ in sheets)


def _sheets(archive: zipfile.ZipFile) -> set[str]:
    """Members by the usual folder, and those that the workbook says are its sheets, whatever their names."""
    package = OoxmlPackage(archive)
    related = package.relations(package.main_part("xl/workbook.xml")).values()
    members = set(archive.namelist())
    usual = {name for name in members if name.startswith("xl/worksheets/") and name.endswith(".xml")}
    return usual | ({relation.target for relation in related if relation.kind == "worksheet"} & members)


def _sheet(archive: zipfile.ZipFile, name: str) -> tuple[int, int]:
    """Rows and columns."""
    columns: set[bytes] = set()
    first_row, last_row = 0, 0
    tail = b""
    with archive.open(name) as stream:
        while piece := stream.read(_PIECE):
            piece = tail + piece
            found = _CELL.findall(piece)
            if found:
                columns.update(column for column, _ in found)
                first_row = first_row or int(found[0][1])
                last_row = max(last_row, *(int(row) for _, row in found))
            tail = piece[-_OVERLAP:]
    if not columns:
        return 0, 0
    numbers = [_column_number(column) for column in columns]
    return last_row - first_row + 1, max(numbers) - min(numbers) + 1


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
