"""Tables that go on over the end of a page become one, which knows where its parts stand.

What can't be told from another table stays apart: two parts of one are found as well, but rows under the names of
other columns say what is not true.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from app.parsing.document import Continuation, Table
from app.parsing.parsers.pdf_lines import Line, PageLines, displayed
from app.parsing.parsers.pdf_paragraphs import Paragraph
from app.parsing.parsers.pdf_table_rows import BodyColumns, Likeness
from app.parsing.table_headers import MOST_HEADER_ROWS, is_figure, is_year

_EDGE = 6.0  # points by which left and right edges of the parts may differ
_APART = 12.0  # points between the texts of one column, which may be set to the left, the middle or the right
_OVERLAP = 1.0  # points by which the texts of two columns may
_LOW, _HIGH = 0.7, 0.3  # of a page's height: a table that goes on ends below the one, and goes on above the other
_SAYS_SO = re.compile(
    r"[(\[（]\s*(?:continued|cont['’]?d)\b|^(?:continued|cont['’]?d)(?:\s+(?:from|on|overleaf)\b|[\s.:]*$)"
    r"|[\s,–—-](?:continued|cont['’]?d)[\s.:]*$"
    r"|(?:^|[\s(（])(?:续(?:上|前)?表|接上[表页]|接下页|续下页|下页续)|[(（]\s*续\s*[)）]|表\s*[\d一二三四五六七八九十.–-]+\s*续$",
    re.IGNORECASE,
)
"""Not wherever the words stand: profits from continued operations are no table that goes on, nor is a 手续表."""
_LONGEST_NOTE = 120  # characters


@dataclass(slots=True)
class _Whole:
    """A table that stood last on its page."""

    line: Line
    table: Table
    rows: list[list[str]]
    header_rows: int
    last: Line
    """Its last part."""
    columns: BodyColumns
    says_so: bool = False
    """Whether a line below it does."""
    continuations: list[Continuation] = field(default_factory=list)

    @classmethod
    def of(cls, line: Line, table: Table, *, says_so: bool) -> "_Whole":
        body = BodyColumns(table.rows[table.header_rows :])
        return cls(line, table, list(table.rows), table.header_rows, line, body, says_so)

    def add(self, rows: list[list[str]], part: Line, place: Continuation) -> None:
        if rows:
            self.continuations.append(place)
            self.rows.extend(rows)
            self.columns.add(rows)
        self.last = part

    def close(self) -> None:
        if self.continuations:
            self.line.table = self.table.model_copy(
                update={"rows": self.rows, "header_rows": self.header_rows, "continuations": self.continuations}
            )


def join_tables(by_page: Sequence[list[Paragraph]], pages: Sequence[PageLines]) -> None:
    """Takes, in place, what goes on of a table out of its page and puts it below the rows of the table's first part.

    A repeated header goes, and a line that only says that the table goes on.
    """
    whole: _Whole | None = None
    for number, (paragraphs, lines) in enumerate(zip(by_page, pages, strict=True), start=1):
        part = _first_table(paragraphs)
        says_so = part is not None and paragraphs[0].first is not part
        rest = None if whole is None or part is None else _rest(whole, part, lines.height, says_so=says_so)
        if whole is not None and part is not None and rest is not None:
            bbox = displayed(part.place, lines.shown)
            whole.add(rest, part, Continuation(first_row=len(whole.rows), page=number, bbox=bbox))
            del paragraphs[: 1 + says_so]
            if _ends_low(part, lines) and all(map(_says_so, paragraphs)):
                whole.says_so = bool(paragraphs)
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
    if not table or not _ends_low(last[0], lines):
        return None
    return _Whole.of(last[0], table, says_so=paragraphs[-1].first is not last[0])


def _ends_low(line: Line, page: PageLines) -> bool:
    return line.box[3] >= _LOW * page.height


def _says_so(paragraph: Paragraph) -> bool:
    if paragraph.first.table is not None or len(paragraph.lines) > 2:
        return False
    text = paragraph.text()
    return len(text) <= _LONGEST_NOTE and _SAYS_SO.search(text) is not None


def _rest(whole: _Whole, part: Line, height: float, *, says_so: bool) -> list[list[str]] | None:
    """The rows by which the table goes on in a part below it; None where that is another table."""
    table = part.table
    if table is None or part.box[1] > _HIGH * height or not _has_columns_of(whole.last, part):
        return None
    repeated = _repeated_header(whole.rows, whole.header_rows, table.rows)
    if 0 < whole.header_rows <= repeated:
        if not whole.continuations:
            whole.header_rows = repeated
        return table.rows[repeated:]
    if table.header_rows > 1:
        return None
    match whole.columns.likeness(table.rows):
        case Likeness.OTHER:
            return None
        case Likeness.SAME:
            return table.rows
    has_header_of_its_own = part.look is not None and part.look.bold_head
    was_set_off = whole.line.look is not None and whole.line.look.bold_head
    goes_on = says_so or whole.says_so or was_set_off
    return table.rows if goes_on and not has_header_of_its_own else None


def _has_columns_of(above: Line, below: Line) -> bool:
    """Whether two parts have as many columns, in the same places."""
    if above.table is None or below.table is None or len(above.table.rows[0]) != len(below.table.rows[0]):
        return False
    if abs(above.box[0] - below.box[0]) > _EDGE or abs(above.box[2] - below.box[2]) > _EDGE:
        return False
    if above.look is None or below.look is None:
        return True
    upper, lower = above.look.columns, below.look.columns
    if any(_gap(one, other) > _APART for one, other in zip(upper, lower, strict=True)):
        return False
    beside = (*zip(upper, lower[1:], strict=False), *zip(upper[1:], lower, strict=False))
    return all(_gap(one, other) >= -_OVERLAP for one, other in beside)


def _gap(one: tuple[float, float] | None, other: tuple[float, float] | None) -> float:
    """Between two stretches of a line, negative where they overlap; 0 where one is not known."""
    return 0.0 if one is None or other is None else max(one[0], other[0]) - min(one[1], other[1])


def _repeated_header(rows: list[list[str]], header_rows: int, below: list[list[str]]) -> int:
    """With how many of a table's first rows a part below it begins: its header, and what names columns below that."""
    pairs = zip(rows[: max(header_rows, MOST_HEADER_ROWS)], below, strict=False)
    same = [row for row, _ in takewhile(lambda pair: _is_same(*pair), pairs)]
    return len(same[:header_rows]) + len(list(takewhile(_names_columns, same[header_rows:])))


def _names_columns(row: list[str]) -> bool:
    """Rather than a group of rows, by one text, or what a row holds."""
    return len(set(filter(None, row))) > 1 and not any(map(_is_amount, row))


def _is_same(row: list[str], other: list[str]) -> bool:
    return ["".join(cell.split()) for cell in row] == ["".join(cell.split()) for cell in other]


def _is_amount(cell: str) -> bool:
    return is_figure(cell) and not is_year(cell)
