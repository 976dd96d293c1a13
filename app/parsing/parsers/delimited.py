"""Comma-, semicolon-, tab- and otherwise separated values (RFC 4180 and what spreadsheets write)."""

import csv
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from app.parsing import cells, media_types
from app.parsing.cells import CellStore, TableBuilder
from app.parsing.decoded import read_text
from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.parsers.delimited_records import Records
from app.parsing.reasons import parse_failure
from app.parsing.source import Source
from app.parsing.table_headers import is_figure, read_headers

_DELIMITERS = (",", "\t", ";", "|")
_SEPARATOR = re.compile('sep=([^"\\w ])\r?', re.IGNORECASE)
_SNIFFED_ROWS = 200
_SNIFFED_CHARACTERS = 256 * 1024
_MAX_COLUMNS = 16_384
_ROWS_A_STEP = 1000
_MOST_TITLES = 10


class DelimitedParser:
    def parse(self, source: Source) -> ParsedDocument:
        text, encoding, warnings = read_text(source)
        csv.field_size_limit(max(csv.field_size_limit(), len(text)))
        text, declared = _excel_separator(text)
        default = "\t" if source.media_type == media_types.TSV else ","
        delimiter = declared or sniff_delimiter(text, default)
        store = CellStore(source)
        builder = TableBuilder(store, read_headers)
        records = Records(text, delimiter)
        titles = _Titles()
        first_row = _read(records, source, builder, store, titles) + (1 if declared else 0)
        caption = [Element(kind=ElementKind.CAPTION, text="\n".join(titles.lines))] if titles.lines else []
        table = builder.table(first_row=first_row)
        return ParsedDocument(
            media_type=source.media_type,
            parser="delimited 1",
            elements=[*caption, Element(kind=ElementKind.TABLE, table=table)],
            metadata={"encoding": encoding, "delimiter": {"\t": "tab"}.get(delimiter, delimiter)},
            warnings=[*warnings, *_open_quotes(records), *cells.warnings([table])],
        )


@dataclass(slots=True)
class _Titles:
    """Rows of one cell at the top, which are a title where names of columns follow; else they are rows like others."""

    lines: list[str] = field(default_factory=list)
    _rows: list[tuple[int, list[str]]] = field(default_factory=list)
    _is_over: bool = False

    def rows(self, number: int, row: list[str]) -> list[tuple[int, list[str]]]:
        """The rows, with their numbers, that are known to be the table's when this one was read."""
        if self._is_over:
            return [(number, row)]
        filled = [cell for cell in row if cell.strip()]
        if len(filled) == 1 and len(self._rows) < _MOST_TITLES:
            self._rows.append((number, row))
            return []
        waiting, self._rows, self._is_over = self._rows, [], True
        parted = bool(waiting) and number > waiting[-1][0] + 1
        if (len(filled) > 2 or (len(filled) == 2 and parted)) and not any(map(is_figure, filled)):
            self.lines = ["".join(cells).strip() for _, cells in waiting]
            return [(number, row)]
        return [*waiting, (number, row)]

    def rest(self) -> list[tuple[int, list[str]]]:
        """The rows of a text that has no others."""
        waiting, self._rows = self._rows, []
        return waiting


def _excel_separator(text: str) -> tuple[str, str | None]:
    """Excel's own first line `sep=;` names the delimiter."""
    line, _, rest = text.partition("\n")
    declared = _SEPARATOR.fullmatch(line)
    return (rest, declared[1]) if declared else (text, None)


def sniff_delimiter(text: str, default: str = ",") -> str:
    """The delimiter by which most rows get the same number of cells, more than one."""
    head = text[:_SNIFFED_CHARACTERS]
    best, best_score = default, 0.0
    for delimiter in (default, *(other for other in _DELIMITERS if other != default)):
        rows = list(islice(Records(head, delimiter).rows(), _SNIFFED_ROWS))
        widths = Counter(len(row) for row in rows if any(row))
        width, rows_with_it = max(widths.items(), key=lambda item: (item[0] > 1, item[1]), default=(1, 0))
        score = rows_with_it / max(widths.total(), 1) if width > 1 else 0.0
        if score > best_score + 0.05:
            best, best_score = delimiter, score
    return best


def _read(records: Records, source: Source, builder: TableBuilder, store: CellStore, titles: _Titles) -> int:
    """Adds the rows that hold anything; returns the number of the first one that is no title."""
    first_row = 1

    def add(rows: list[tuple[int, list[str]]]) -> None:
        nonlocal first_row
        for number, row in rows:
            if builder.is_empty:
                first_row = number
            builder.add(row)

    for number, row in enumerate(records.rows(), start=1):
        if number % _ROWS_A_STEP == 0:
            source.progress(records.lines_read, records.lines)
        if not any(cell.strip() for cell in row):
            continue
        store.count(len(row))
        if len(row) > _MAX_COLUMNS:
            raise parse_failure("too_complex", "It holds more columns than one document may.")
        add(titles.rows(number, row))
    add(titles.rest())
    source.progress(records.lines, records.lines)
    return first_row


def _open_quotes(records: Records) -> list[str]:
    if not records.open_quotes:
        return []
    return [f"{records.open_quotes} quotes that open a cell are closed nowhere; they were read as text."]
