"""What calamine does not tell of a workbook, read off its XML without unpacking that into memory: how large a sheet is
when it is laid out as a rectangle, which cells show percent, what stands in text boxes.

A single cell at XFD1048576 makes a rectangle of 17 billion cells, and readers that lay sheets out densely fail on it.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from app.parsing.archives import UNREADABLE
from app.parsing.parsers.ooxml_package import OoxmlPackage, Relation
from app.parsing.parsers.pptx_text import body_lines
from app.parsing.parsers.xlsx_formats import Marks, percent_styles
from app.parsing.parsers.xml_tree import attribute, children, first, local_name
from app.parsing.reasons import parse_failure

CellRange = tuple[tuple[int, int], tuple[int, int]]
"""First and last cell, each as row and column from 0."""
_PIECE = 1024 * 1024
_OVERLAP = 300  # what is cut in two by the end of a piece is whole in the next
_PLACE = re.compile(rb"""\br\s{0,9}=\s{0,9}["']([A-Z]{1,3})(\d{1,7})["']""")
# A formula whose result is an empty text is of type `str`, and has an empty value as well.
_WITHOUT_RESULT = re.compile(
    rb"""<(?:\w+:)?c\s(?![^>]{0,200}\bt\s?=\s?["']str)[^>]{0,200}><(?:\w+:)?f\b"""
    rb"""(?:[^>]{0,200}/>|[^>]{0,200}>[^<]{0,9000}</(?:\w+:)?f>)(?:<(?:\w+:)?v\s?/>|<v></v>)?</(?:\w+:)?c>"""
)
_CELL = re.compile(rb"""<(?:\w+:)?c\s[^>]{0,200}?\br\s{0,9}=\s{0,9}["']([A-Z]{1,3})(\d{1,7})["']""")


@dataclass(slots=True)
class Extent:
    """What is known of a workbook before its cells are read."""

    cells: int = 0
    """Of its sheets, laid out as rectangles."""
    rows: int = 0
    """Of all sheets; 0 where nobody knows."""
    merged: Mapping[str, Sequence[CellRange]] = field(default_factory=lambda: MappingProxyType({}))
    """Merged cells by sheet, for formats whose merged cells calamine does not tell."""
    percents: dict[str, Marks] = field(default_factory=dict)
    """Cells that show percent, by sheet."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """What stands in text boxes and shapes, by sheet."""
    has_comments: bool = False
    lacks_results: bool = False
    """Whether some formula was never calculated, so that its cell is empty."""


def workbook_extent(path: Path) -> Extent:
    """Of the rectangles around the cells of all sheets that hold something, together.

    The `dimension` that a file declares is not believed. Empty cells that carry only a style count as well: readers lay
    them out too.
    """
    extent = Extent()
    try:
        with zipfile.ZipFile(path) as archive:
            package = OoxmlPackage(archive)
            main = package.main_part("xl/workbook.xml")
            relations = package.relations(main)
            in_percent = percent_styles(package, package.related(main).get("styles"))
            names = _names(package, main, relations)
            for part in _parts(archive, relations):
                marks = Marks()
                rows, columns, lacks_results = _sheet(archive, part, _styled(in_percent), marks)
                extent.lacks_results = extent.lacks_results or lacks_results
                extent.rows += rows
                extent.cells += rows * columns
                if part in names:
                    extent.percents[names[part]] = marks
                    _beside_the_cells(package, part, names[part], extent)
    except UNREADABLE as error:
        raise parse_failure("damaged") from error
    return extent


def _names(package: OoxmlPackage, main: str, relations: dict[str, Relation]) -> dict[str, str]:
    """The names of sheets by their parts."""
    listed = first(package.optional(main), "sheets")
    sheets = list(children(listed)) if listed is not None else []
    named = ((relations.get(attribute(node, "id")), attribute(node, "name")) for node in sheets)
    return {relation.target: name for relation, name in named if relation is not None}


def _parts(archive: zipfile.ZipFile, relations: dict[str, Relation]) -> set[str]:
    """Members by the usual folder, and those that the workbook says are its sheets, whatever their names."""
    members = set(archive.namelist())
    usual = {name for name in members if name.startswith("xl/worksheets/") and name.endswith(".xml")}
    return usual | ({relation.target for relation in relations.values() if relation.kind == "worksheet"} & members)


def _beside_the_cells(package: OoxmlPackage, part: str, sheet: str, extent: Extent) -> None:
    for relation in package.relations(part).values():
        extent.has_comments = extent.has_comments or relation.kind in ("comments", "threadedComment")
        if relation.kind == "drawing":
            extent.texts.setdefault(sheet, []).extend(_texts(package, relation.target))


def _texts(package: OoxmlPackage, part: str) -> Iterator[str]:
    root = package.optional(part)
    for body in root.iter("{*}txBody") if root is not None else ():
        is_again = any(local_name(node) == "Fallback" for node in body.iterancestors())
        text = "" if is_again else body_lines(body)
        if text:
            yield text


def _styled(styles: Sequence[int]) -> re.Pattern[bytes] | None:
    """The tags of cells of these formats."""
    if not styles:
        return None
    named = "|".join(map(str, styles)).encode()
    return re.compile(rb"""<(?:\w+:)?c\s[^>]{0,200}?\bs\s{0,9}=\s{0,9}["'](?:%b)["'][^>]{0,200}""" % named)


def _sheet(
    archive: zipfile.ZipFile, name: str, styled: re.Pattern[bytes] | None, marks: Marks
) -> tuple[int, int, bool]:
    """Rows, columns, and whether a formula lacks its result; the cells of the wanted formats are marked."""
    columns: set[bytes] = set()
    first_row, last_row = 0, 0
    tail, lacks_results = b"", False
    with archive.open(name) as stream:
        while piece := stream.read(_PIECE):
            piece = tail + piece
            found = _CELL.findall(piece)
            if found:
                columns.update(column for column, _ in found)
                first_row = first_row or int(found[0][1])
                last_row = max(last_row, *(int(row) for _, row in found))
            for tag in styled.finditer(piece) if styled is not None else ():
                place = _PLACE.search(tag[0])
                if place is not None:
                    marks.add(int(place[2]) - 1, _column_number(place[1]) - 1)
            lacks_results = lacks_results or _WITHOUT_RESULT.search(piece) is not None
            tail = piece[-_OVERLAP:]
    if not columns:
        return 0, 0, lacks_results
    numbers = [_column_number(column) for column in columns]
    return last_row - first_row + 1, max(numbers) - min(numbers) + 1, lacks_results


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
