"""Comma-, semicolon-, tab- and otherwise separated values (RFC 4180 and what spreadsheets write)."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from app.parsing import cells, media_types
from app.parsing.cells import CellStore, TableBuilder
from app.parsing.decoded import read_text
from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.reasons import parse_failure
from app.parsing.source import Source
from app.parsing.table_headers import read_headers

_LINE = re.compile("[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
_QUOTE_OPENS = re.compile('(?:^|\t)"', re.MULTILINE)
_QUOTE_CLOSES = re.compile('"\r?(?:$|\t)', re.MULTILINE)
_DELIMITERS = (",", "\t", ";", "|")
_SNIFFED_ROWS = 200
_SNIFFED_CHARACTERS = 256 * 1024
_MAX_COLUMNS = 16_384
_ROWS_A_STEP = 1000


class DelimitedParser:
    def parse(self, source: Source) -> ParsedDocument:
        text, encoding, warnings = read_text(source)
        csv.field_size_limit(max(csv.field_size_limit(), len(text)))
        text, declared = _excel_separator(text)
        default = "\t" if source.media_type == media_types.TSV else ","
        delimiter = declared or sniff_delimiter(text, default)
        store = CellStore(source)
        builder = TableBuilder(store, read_headers)
        first_row = _read(text, delimiter, source, builder, store) + (1 if declared else 0)
        table = builder.table(first_row=first_row)
        return ParsedDocument(
            media_type=source.media_type,
            parser="delimited 1",
            elements=[Element(kind=ElementKind.TABLE, table=table)],
            metadata={"encoding": encoding, "delimiter": {"\t": "tab"}.get(delimiter, delimiter)},
            warnings=[*warnings, *cells.warnings([table])],
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


def _read(text: str, delimiter: str, source: Source, builder: TableBuilder, store: CellStore) -> int:
    """Adds the rows that hold anything; returns the number of the first one's line."""
    first_row, is_empty = 1, True
    lines = text.count("\n") + (not text.endswith("\n"))
    plain = delimiter == "\t" and _quotes_are_text(text)
    reader = csv.reader(_lines(text), delimiter=delimiter, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL)
    try:
        for number, row in enumerate(reader, start=1):
            if number % _ROWS_A_STEP == 0:
                source.progress(min(reader.line_num, lines), lines)
            if not any(cell.strip() for cell in row):
                first_row += is_empty
                continue
            store.count(len(row))
            if len(row) > _MAX_COLUMNS:
                raise parse_failure("too_complex", "It holds more columns than one document may.")
            builder.add(row)
            is_empty = False
    except csv.Error as error:
        raise parse_failure("damaged") from error
    source.progress(lines, lines)
    return first_row


def _quotes_are_text(text: str) -> bool:
    """Whether a tab-separated text has no quoting, as by its media type: spreadsheets, which do quote, close each quote
    that they open at the begin of a cell; one that is left open would take in all rows below."""
    opened, closed = (sum(1 for _ in pattern.finditer(text)) for pattern in (_QUOTE_OPENS, _QUOTE_CLOSES))
    return opened != closed


def _lines(text: str) -> Iterator[str]:
    """With their ends. `io.StringIO` would take four bytes for every character."""
    return (match.group() for match in _LINE.finditer(text))
