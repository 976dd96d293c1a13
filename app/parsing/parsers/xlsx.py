"""Excel workbooks: each sheet is a page, its tables are found by the gaps between them."""

import contextlib
import datetime
import itertools
from collections.abc import Iterator, Sequence

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from app.parsing import cells
from app.parsing.cells import CellStore
from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.parsers.xlsx_extent import CellRange, Extent, workbook_extent
from app.parsing.parsers.xlsx_formats import Marks
from app.parsing.parsers.xlsx_regions import NumberedRow, sheet_elements
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_Value = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta
_ROWS_A_STEP = 1000


class XlsxParser:
    def parse(self, source: Source) -> ParsedDocument:
        return read_workbook(source, workbook_extent(source.path))


def read_workbook(source: Source, extent: Extent) -> ParsedDocument:
    """Any workbook that calamine reads.

    Raises `ParseFailed`: `too_complex`, `encrypted`, `damaged`.
    """
    store = CellStore(source)
    if extent.cells > max(source.limits.cells * 4, store.most):
        raise parse_failure("too_complex", "Its cells are scattered over far more rows and columns than they fill.")
    try:
        with _panics_as_errors(), CalamineWorkbook.from_path(str(source.path)) as workbook:
            reader = _Reader(workbook, source, extent, store)
            reader.read()
            pages = len(workbook.sheet_names)
    except PasswordError as error:
        raise parse_failure("encrypted") from error
    except (CalamineError, OSError, ValueError) as error:
        raise parse_failure("damaged") from error
    return ParsedDocument(
        media_type=source.media_type,
        parser="calamine",
        elements=reader.elements,
        page_count=pages,
        warnings=[*reader.warnings, *cells.warnings([element.table for element in reader.elements])],
    )


@contextlib.contextmanager
def _panics_as_errors() -> Iterator[None]:
    """Rust's panics, which calamine has on some broken containers, as `CalamineError`.

    PyO3 raises them as a class that can't be imported and is no `Exception`.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise CalamineError(str(error)) from error
        raise


class _Reader:
    def __init__(self, workbook: CalamineWorkbook, source: Source, extent: Extent, store: CellStore) -> None:
        self.elements: list[Element] = []
        self.warnings: list[str] = []
        self._workbook = workbook
        self._source = source
        self._extent = extent
        self._store = store
        self._rows_done = 0

    def read(self) -> None:
        sheets = self._workbook.sheets_metadata
        if len(sheets) > self._source.limits.pages:
            raise parse_failure("too_complex", f"It has {len(sheets)} sheets.")
        for page, metadata in enumerate(sheets, start=1):
            if metadata.typ is not SheetTypeEnum.WorkSheet:
                self.warnings.append(f"Sheet “{metadata.name}” holds no cells (it is a chart or a macro sheet).")
                continue
            if metadata.visible is not SheetVisibleEnum.Visible:
                self.warnings.append(f"Sheet “{metadata.name}” is hidden; it was read as well.")
            found = list(sheet_elements(self._rows(metadata.name), metadata.name, page, self._store))
            boxes = self._extent.texts.get(metadata.name, ())
            found.extend(Element(kind=ElementKind.PARAGRAPH, text=text, page=page) for text in boxes)
            if found:
                self.elements.append(Element(kind=ElementKind.HEADING, text=metadata.name, level=1, page=page))
                self.elements.extend(found)
            if not self._extent.rows:
                self._source.progress(page, len(sheets))
        if self._extent.has_comments:
            self.warnings.append("Comments were left out.")
        if self._extent.lacks_results:
            self.warnings.append(
                "Some formulas were never calculated and their cells are empty. Open the file in a spreadsheet program "
                "and save it there."
            )
        if self._extent.rows:
            self._source.progress(self._extent.rows, self._extent.rows)

    def _rows(self, name: str) -> Iterator[NumberedRow]:
        """Rows that hold something, as text, with merged cells filled; from the first column that the sheet uses."""
        sheet = self._workbook.get_sheet_by_name(name)
        if sheet.start is None:
            return
        merges = _Merges(sheet.merged_cell_ranges or self._extent.merged.get(name, ()), sheet.start[1])
        percents = self._extent.percents.get(name, Marks()).by_row(itertools.count())
        for number, (values, in_percent) in enumerate(zip(_laid_out(sheet), percents, strict=False), start=1):
            if number % _ROWS_A_STEP == 0 and self._extent.rows:
                self._source.progress(min(self._rows_done + number, self._extent.rows), self._extent.rows)
            row = [cell_text(value) for value in values]
            for column in in_percent:
                _show_percent(values, row, column - sheet.start[1])
            filled = sum(map(bool, row))
            if filled:
                self._store.count(filled)
                merges.fill(number - 1, row)
                yield number, row
        self._rows_done += sheet.height


def _laid_out(sheet: CalamineSheet) -> Iterator[list[_Value]]:
    """All rows from the sheet's first one, one at a time."""
    return iter(sheet.iter_rows())


class _Merges:
    """Repeats a merged cell's value over its range, within rows and columns that hold something already.

    A file may say any range.
    """

    def __init__(self, ranges: Sequence[CellRange], first_column: int) -> None:
        self._waiting = sorted(ranges, reverse=True)
        self._first_column = first_column
        self._open: dict[int, tuple[int, int, str]] = {}
        """By their first column: last row, last column, value."""

    def fill(self, number: int, row: list[str]) -> None:
        """The row of that number, from 0. Rows come in order."""
        while self._waiting and self._waiting[-1][0][0] <= number:
            (top, left), (bottom, right) = self._waiting.pop()
            left, right = left - self._first_column, right - self._first_column
            if top == number and 0 <= left < len(row) and row[left]:
                self._open[left] = (bottom, right, row[left])
        if self._open:
            self._open = {left: merge for left, merge in self._open.items() if merge[0] >= number}
        filled = 0  # ranges of an honest file don't overlap, and those of any other fill no column twice
        for left, (_, right, value) in sorted(self._open.items()):
            end = min(right + 1, len(row))
            for column in range(max(left, filled), end):
                row[column] = row[column] or value
            filled = max(filled, end)


def _show_percent(values: Sequence[_Value], row: list[str], column: int) -> None:
    if 0 <= column < len(row) and isinstance(value := values[column], float | int) and not isinstance(value, bool):
        row[column] = f"{cell_text(value * 100.0)}%"


def cell_text(value: _Value) -> str:
    """A value as a sheet shows it without a number format; floats with Excel's 15 digits."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ") if value.time() != datetime.time() else value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return _duration(value) if isinstance(value, datetime.timedelta) else str(value)


def _duration(value: datetime.timedelta) -> str:
    """Hours, minutes and seconds, however many hours."""
    minutes, seconds = divmod(abs(round(value.total_seconds())), 60)
    sign = "-" if value < datetime.timedelta() else ""
    return f"{sign}{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
