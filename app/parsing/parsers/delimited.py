"""Comma-, semicolon-, tab- and otherwise separated values (RFC 4180 and what spreadsheets write)."""

import csv
import io
import re
from collections import Counter
from itertools import islice

from app.parsing import media_types
from app.parsing.decoded import read_text
from app.parsing.document import Element, ElementKind, ParsedDocument, Table
from app.parsing.reasons import parse_failure
from app.parsing.source import Source
from app.parsing.tables import rectangle

_YEAR = re.compile("(?:19|20)[0-9]{2}")
_DELIMITERS = (",", "\t", ";", "|")
_SNIFFED_ROWS = 200
_SNIFFED_CHARACTERS = 256 * 1024
_MAX_COLUMNS = 16_384


class DelimitedParser:
    def parse(self, source: Source) -> ParsedDocument:
        text, encoding, warnings = read_text(source)
        csv.field_size_limit(max(csv.field_size_limit(), len(text)))
        text, declared = _excel_separator(text)
        default = "\t" if source.media_type == media_types.TSV else ","
        delimiter = declared or sniff_delimiter(text, default)
        rows, first_row = _read(text, delimiter, source)
        first_row += 1 if declared else 0
        table = Table(rows=rectangle(rows), header_rows=header_rows(rows), first_row=first_row)
        return ParsedDocument(
            media_type=source.media_type,
            parser="delimited 1",
            elements=[Element(kind=ElementKind.TABLE, table=table)],
            metadata={"encoding": encoding, "delimiter": {"\t": "tab"}.get(delimiter, delimiter)},
            warnings=warnings,
        )


def _excel_separator(text: str) -> tuple[str, str | None]:
    """Excel's own first line `sep=;` names the delimiter."""
    line, _, rest = text.partition("\n")
    line = line.strip()
    return (rest, line[4]) if len(line) == 5 and line.lower().startswith("sep=") else (text, None)


def sniff_delimiter(text: str, default: str = ",") -> str:
    """The delimiter by which most rows get the same number of cells, more than one."""
    head = text[:_SNIFFED_CHARACTERS]
    best, best_score = default, 0.0
    for delimiter in (default, *(other for other in _DELIMITERS if other != default)):
        try:
            rows = list(islice(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter), _SNIFFED_ROWS))
        except csv.Error:
            continue
        widths = Counter(len(row) for row in rows if any(row))
        width, rows_with_it = max(widths.items(), key=lambda item: (item[0] > 1, item[1]), default=(1, 0))
        score = rows_with_it / max(widths.total(), 1) if width > 1 else 0.0
        if score > best_score + 0.05:
            best, best_score = delimiter, score
    return best


def _read(text: str, delimiter: str, source: Source) -> tuple[list[list[str]], int]:
    """Rows that hold anything, and the number of the first one's line."""
    rows: list[list[str]] = []
    cells, first_row = 0, 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                first_row += not rows
                continue
            cells += len(row)
            if len(row) > _MAX_COLUMNS or cells > source.limits.cells:
                raise parse_failure("too_complex", "It holds more cells than one document may.")
            rows.append(row)
    except csv.Error as error:
        raise parse_failure("damaged") from error
    if rows and len(rows) * max(map(len, rows)) > 2 * max(source.limits.cells, cells):
        raise parse_failure("too_complex", "Its rows differ in width too much.")
    return rows, first_row


def header_rows(rows: list[list[str]]) -> int:
    """1 if the first row names columns: its cells are short and no figures, except years, and are not all empty."""
    if len(rows) < 2:
        return 0
    names = [cell.strip() for cell in rows[0] if cell.strip()]
    if any(len(name) > 200 or (is_number(name) and not _YEAR.fullmatch(name)) for name in names):
        return 0
    return 1 if any(not is_number(name) for name in names) else 0


def is_number(text: str) -> bool:
    """Whether a cell holds a figure as people write it: sign, currency, thousands, percent, accounting brackets."""
    core = text.strip().strip("()%$€£¥￥+-−").replace(",", "").replace(" ", "")
    return bool(core) and core.replace(".", "", 1).isdecimal()
