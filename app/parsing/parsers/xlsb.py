"""Binary Excel workbooks (MS-XLSB): cells through calamine, after a look at how far apart they stand.

Merged cells are not filled: calamine does not tell them in this format.
"""

import io
import zipfile
from pathlib import Path
from typing import IO, cast

from app.parsing.archives import UNREADABLE
from app.parsing.document import ParsedDocument
from app.parsing.parsers.xlsx import read_workbook
from app.parsing.parsers.xlsx_extent import Extent
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_ROW = 0  # BrtRowHdr
_CELLS = range(1, 12)  # BrtCellBlank to BrtFmlaError
_HEAD = 4
_MAX_RECORD = 1024 * 1024  # the longest text of a cell has 32,767 characters of two bytes
_BUFFER = 1024 * 1024


class XlsbParser:
    def parse(self, source: Source) -> ParsedDocument:
        return read_workbook(source, laid_out(source.path))


def laid_out(path: Path) -> Extent:
    """The rectangles around the cells of all sheets. Raises `ParseFailed` (`damaged`)."""
    extent = Extent()
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("xl/worksheets/") and name.endswith(".bin"):
                    with archive.open(name) as member:
                        rows, columns = _sheet(io.BufferedReader(cast(io.RawIOBase, member), _BUFFER))
                    extent.rows += rows
                    extent.cells += rows * columns
    except UNREADABLE as error:
        raise parse_failure("damaged") from error
    return extent


def _sheet(stream: IO[bytes]) -> tuple[int, int]:
    """Rows and columns between the first and the last cell of a sheet's records (MS-XLSB 2.1.4)."""
    first_row = last_row = row = -1
    left, right = 1 << 14, -1
    while (kind := _variable(stream, 2)) is not None and (size := _variable(stream, 4)) is not None:
        if size > _MAX_RECORD:
            raise parse_failure("damaged")
        head = stream.read(size)[:_HEAD]
        if kind == _ROW:
            row = int.from_bytes(head, "little")
        elif kind in _CELLS:
            column = int.from_bytes(head, "little")
            first_row, last_row = (row if first_row < 0 else min(first_row, row)), max(last_row, row)
            left, right = min(left, column), max(right, column)
    return (last_row - first_row + 1, right - left + 1) if right >= 0 else (0, 0)


def _variable(stream: IO[bytes], longest: int) -> int | None:
    """A number of seven bits a byte, the lowest first; None at the end. Record types keep their high bits."""
    value = 0
    for position in range(longest):
        piece = stream.read(1)
        if not piece:
            return None
        value |= (piece[0] & 0x7F) << (7 * position)
        if piece[0] < 0x80:
            break
    return value
