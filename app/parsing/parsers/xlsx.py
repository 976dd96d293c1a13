"""Excel workbooks: each sheet is a page, its tables are found by the gaps between them."""

import contextlib
import datetime
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.parsers.xlsx_extent import dense_cells
from app.parsing.parsers.xlsx_regions import Rows, sheet_elements
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

CellRange = tuple[tuple[int, int], tuple[int, int]]
"""First and last cell, each as row and column from 0."""
_Value = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta


class XlsxParser:
    def parse(self, source: Source) -> ParsedDocument:
        return read_workbook(source, dense_cells(source.path))


def read_workbook(
    source: Source, laid_out: int, merged: Mapping[str, Sequence[CellRange]] = MappingProxyType({})
) -> ParsedDocument:
    """Any workbook that calamine reads. `laid_out` is how many cells its sheets have as rectangles.

    `merged` are merged cells by sheet, for formats whose merged cells calamine does not tell.

    Raises `ParseFailed`: `too_complex`, `encrypted`, `damaged`.
    """
    if laid_out > source.limits.cells * 4:
        raise parse_failure("too_complex", "Its cells are scattered over far more rows and columns than they fill.")
    try:
        with _panics_as_errors(), CalamineWorkbook.from_path(str(source.path)) as workbook:
            elements, warnings = _read(workbook, source, merged)
            pages = len(workbook.sheet_names)
    except PasswordError as error:
        raise parse_failure("encrypted") from error
    except (CalamineError, OSError, ValueError) as error:
        raise parse_failure("damaged") from error
    return ParsedDocument(
        media_type=source.media_type,
        parser="calamine",
        elements=elements,
        page_count=pages,
        warnings=warnings,
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


def _read(
    workbook: CalamineWorkbook, source: Source, merged: Mapping[str, Sequence[CellRange]]
) -> tuple[list[Element], list[str]]:
    elements: list[Element] = []
    warnings: list[str] = []
    cells = 0
    sheets = workbook.sheets_metadata
    for page, metadata in enumerate(sheets, start=1):
        if metadata.typ is not SheetTypeEnum.WorkSheet:
            warnings.append(f"Sheet “{metadata.name}” holds no cells (it is a chart or a macro sheet).")
            continue
        if metadata.visible is not SheetVisibleEnum.Visible:
            warnings.append(f"Sheet “{metadata.name}” is hidden; it was read as well.")
        rows, filled = _rows(workbook.get_sheet_by_name(metadata.name), merged.get(metadata.name, ()))
        cells += filled
        if cells > source.limits.cells:
            raise parse_failure("too_complex", f"It holds more than {source.limits.cells} cells.")
        found = list(sheet_elements(rows, metadata.name, page))
        if found:
            elements.append(Element(kind=ElementKind.HEADING, text=metadata.name, level=1, page=page))
            elements.extend(found)
        source.progress(page, len(sheets))
    return elements, warnings


def _rows(sheet: CalamineSheet, merged: Sequence[CellRange]) -> tuple[Rows, int]:
    """Cells as text by row number (from 1), merged cells filled; and how many cells hold something."""
    if sheet.start is None:
        return {}, 0
    first_row, first_column = sheet.start
    rows: Rows = {}
    filled = 0
    for number, values in enumerate(sheet.to_python(skip_empty_area=True), start=first_row + 1):
        cells = [cell_text(value) for value in values]
        count = sum(map(bool, cells))
        if count:
            rows[number] = [""] * first_column + cells
            filled += count
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or merged:
        _fill(rows, top, left, bottom, right)
    return rows, filled


def _fill(rows: Rows, top: int, left: int, bottom: int, right: int) -> None:
    """Repeats a merged cell's value over its range, within rows and columns that hold something already."""
    origin = rows.get(top + 1)
    if origin is None or left >= len(origin) or not origin[left]:
        return
    for number in range(top + 1, min(bottom + 1, max(rows)) + 1):  # a file may say any number
        row = rows.get(number)
        if row is None:
            continue
        for column in range(left, min(right + 1, len(row))):
            row[column] = row[column] or origin[left]


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
    return str(value)
