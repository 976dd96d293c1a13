"""OpenDocument spreadsheets: cells through calamine, after a look at how often they repeat and how far they reach.

`number-columns-repeated` and `number-rows-repeated` make a few bytes of XML a sheet of 17 billion cells. Merged cells,
which calamine does not tell in this format, are found on the same way.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from lxml import etree

from app.parsing.archives import UNREADABLE
from app.parsing.document import ParsedDocument
from app.parsing.parsers.xlsx import read_workbook
from app.parsing.parsers.xlsx_extent import CellRange, Extent
from app.parsing.parsers.xlsx_formats import Marks
from app.parsing.parsers.xml_tree import number
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_MAX_MERGES = 100_000
"""Of one sheet; those beyond are not filled."""
_MAX_REPEATS = 1000
"""Columns of one cell that are known to show percent."""
_PIECE = 256 * 1024


class OdsParser:
    def parse(self, source: Source) -> ParsedDocument:
        return read_workbook(source, sheet_extent(source.path))


def sheet_extent(path: Path) -> Extent:
    """How large the sheets are, and their merged cells. Raises `ParseFailed` (`damaged`)."""
    extent = _ExtentReader()
    parser = etree.XMLParser(target=extent, resolve_entities=False, no_network=True, load_dtd=False)
    try:
        with zipfile.ZipFile(path) as archive, archive.open("content.xml") as stream:
            while piece := stream.read(_PIECE):
                parser.feed(piece)
        parser.close()
    except (*UNREADABLE, KeyError, etree.XMLSyntaxError) as error:
        raise parse_failure("damaged") from error
    return Extent(extent.cells, extent.all_rows, extent.merged, extent.percents)


class _ExtentReader:
    """Follows the start tags of `content.xml`; keeps no tree."""

    def __init__(self) -> None:
        self.cells = 0
        """Of the rectangles that the sheets fill, repeats counted."""
        self.all_rows = 0
        self.merged: dict[str, list[CellRange]] = {}
        self.percents: dict[str, Marks] = {}
        self._merges: list[CellRange] = []
        self._percents = Marks()
        self._row = self._rows = self._column = self._columns = self._row_repeat = 0
        self._row_is_filled = False

    def start(self, tag: str | bytes, attrib: Mapping[str | bytes, str | bytes]) -> None:
        attributes = {str(name): str(value) for name, value in attrib.items()}
        if tag == _TABLE + "table":
            self._row = self._rows = self._columns = 0
            name = attributes.get(_TABLE + "name", "")
            self._merges = self.merged.setdefault(name, [])
            self._percents = self.percents.setdefault(name, Marks())
        elif tag == _TABLE + "table-row":
            self._column, self._row_is_filled = 0, False
            self._row_repeat = max(number(attributes.get(_TABLE + "number-rows-repeated", ""), 1), 1)
        elif tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            self._note_merge(attributes)
            repeats = max(number(attributes.get(_TABLE + "number-columns-repeated", ""), 1), 1)
            if attributes.get(_OFFICE + "value-type") == "percentage":
                for column in range(self._column, self._column + min(repeats, _MAX_REPEATS)):
                    self._percents.add(self._row, column, self._row_repeat)
            self._column += repeats
            if _OFFICE + "value-type" in attributes:
                self._row_is_filled = True
                self._columns = max(self._columns, self._column)

    def _note_merge(self, attributes: dict[str, str]) -> None:
        rows, columns = (
            max(number(attributes.get(f"{_TABLE}number-{name}-spanned", ""), 1), 1) for name in ("rows", "columns")
        )
        if rows * columns > 1 and len(self._merges) < _MAX_MERGES:
            start = (self._row, self._column)
            self._merges.append((start, (self._row + rows - 1, self._column + columns - 1)))

    def end(self, tag: str | bytes) -> None:
        if tag == _TABLE + "table-row":
            self._row += self._row_repeat
            if self._row_is_filled:
                self._rows = self._row
        elif tag == _TABLE + "table":
            self.cells += self._rows * self._columns
            self.all_rows += self._rows

    def data(self, data: str | bytes) -> None:
        """Text, which lxml brings in pieces."""

    def comment(self, text: str | bytes) -> None:
        """Comments, which lxml brings too."""

    def close(self) -> None:
        """Called by lxml at the end of the document."""
