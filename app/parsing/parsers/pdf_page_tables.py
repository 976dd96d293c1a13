"""Tables that go on over the end of a page become one, which knows where its parts stand."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.parsing.document import Continuation, Table
from app.parsing.parsers.pdf_lines import Box, Line, PageLines, displayed
from app.parsing.parsers.pdf_paragraphs import Paragraph
from app.parsing.table_headers import is_figure

_EDGE = 6.0  # points by which left and right edges of the parts may differ
_LOW, _HIGH = 0.7, 0.3  # of a page's height: a table that goes on ends below the one, and goes on above the other
_SAYS_SO = re.compile(
    r"\bcontinued\b|\bcont['’]?d\b|[（(]续(?:表|上表|前表)?[)）]|续表|续上表|接上表|接下页|续下页", re.IGNORECASE
)
_LONGEST_NOTE = 120  # characters


@dataclass(slots=True)
class _Whole:
    """A table that stood last on its page."""

    line: Line
    table: Table
    rows: list[list[str]]
    box: Box
    """Of its last part."""
    continuations: list[Continuation] = field(default_factory=list)

    def add(self, rows: list[list[str]], part: Line, place: Continuation) -> None:
        if rows:
            self.continuations.append(place)
            self.rows.extend(rows)
        self.box = part.box

    def close(self) -> None:
        if self.continuations:
            self.line.table = self.table.model_copy(update={"rows": self.rows, "continuations": self.continuations})


def join_tables(by_page: Sequence[list[Paragraph]], pages: Sequence[PageLines]) -> None:
    """Takes, in place, what goes on of a table out of its page and puts it below the rows of the table's first part.

    A repeated header goes, and a line that only says that the table goes on.
    """
    whole: _Whole | None = None
    for number, (paragraphs, lines) in enumerate(zip(by_page, pages, strict=True), start=1):
        part = _first_table(paragraphs)
        rest = None if whole is None or part is None else _rest(whole, part, lines.height)
        if whole is not None and part is not None and rest is not None:
            bbox = displayed(part.place, lines.shown)
            whole.add(rest, part, Continuation(first_row=len(whole.rows), page=number, bbox=bbox))
            del paragraphs[: 1 + (paragraphs[0].first is not part)]
            if _ends_low(part, lines) and all(map(_says_so, paragraphs)):
                continue
        if whole is not None:
            whole.close()
        whole = _last_table(paragraphs, lines)
    if whole is not None:
        whole.close()


def _first_table(paragraphs: list[Paragraph]) -> Line | None:
    """A table with which the page begins, but for a line that says that it goes on."""
    lines = [paragraph.first for paragraph in paragraphs[1 if paragraphs and _says_so(paragraphs[0]) else 0 :][:1]]
    return lines[0] if lines and lines[0].table is not None else None


def _last_table(paragraphs: list[Paragraph], lines: PageLines) -> _Whole | None:
    last = [paragraph.first for paragraph in paragraphs[-2:] if not _says_so(paragraph)][-1:]
    table = last[0].table if last else None
    return _Whole(last[0], table, list(table.rows), last[0].box) if table and _ends_low(last[0], lines) else None


def _ends_low(line: Line, page: PageLines) -> bool:
    return line.box[3] >= _LOW * page.height


def _says_so(paragraph: Paragraph) -> bool:
    if paragraph.first.table is not None or len(paragraph.lines) > 2:
        return False
    text = paragraph.text()
    return len(text) <= _LONGEST_NOTE and _SAYS_SO.search(text) is not None


def _rest(whole: _Whole, part: Line, height: float) -> list[list[str]] | None:
    """The rows by which the table goes on in a part below it; None where that is another table."""
    table = part.table
    if table is None or part.box[1] > _HIGH * height or len(table.rows[0]) != len(whole.rows[0]):
        return None
    if abs(part.box[0] - whole.box[0]) > _EDGE or abs(part.box[2] - whole.box[2]) > _EDGE:
        return None
    header = whole.rows[: whole.table.header_rows]
    if header and _same(table.rows[: len(header)], header):
        return table.rows[len(header) :]
    return table.rows if table.header_rows <= 1 and _may_be_body(table.rows[0], whole) else None


def _same(rows: list[list[str]], others: list[list[str]]) -> bool:
    return [["".join(cell.split()) for cell in row] for row in rows] == [
        ["".join(cell.split()) for cell in row] for row in others
    ]


def _may_be_body(row: list[str], whole: _Whole) -> bool:
    """Whether a row stands below others rather than names columns: it has figures where most of them have."""
    body = whole.rows[whole.table.header_rows :]
    columns = [[row[column] for row in body if row[column].strip()] for column in range(len(row))]
    of_figures = [
        number
        for number, cells in enumerate(columns)
        if cells and 2 * sum(is_figure(cell) for cell in cells) > len(cells)
    ]
    return all(is_figure(row[number]) or not row[number].strip() for number in of_figures)
