"""Cells to a rectangle, and a rectangle to Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.parsing.reasons import parse_failure

_MARKDOWN_ESCAPES = str.maketrans({"|": "\\|", "\n": " ", "\r": " "})


@dataclass(frozen=True, slots=True)
class SpannedCell:
    """A cell as a source gives it: text, and how many columns and rows it covers (each >= 1)."""

    text: str
    columns: int = 1
    rows: int = 1


def fill_spans(
    rows: Iterable[Iterable[SpannedCell]], *, max_columns: int = 2000, max_cells: int = 4_000_000
) -> list[list[str]]:
    """Cells laid out by HTML's table model, each span filled with its text; all rows get the same width.

    A row span that reaches below the last row is cut, as are column spans beyond `max_columns`.

    Raises `ParseFailed` (`too_complex`) beyond `max_cells`: few cells that span many fill memory as many do, and so do
    short rows beside a long one.
    """
    hanging: dict[int, tuple[int, str]] = {}  # column -> (rows still covered, text)
    grid: list[list[str]] = []
    cells = 0
    for row in rows:
        line: list[str] = []
        for cell in row:
            _continue_spans(line, hanging)
            for _ in range(max(1, min(cell.columns, max_columns - len(line)))):
                if cell.rows > 1:
                    hanging[len(line)] = (cell.rows, cell.text)
                line.append(cell.text)
        _continue_spans(line, hanging, to_the_end=True)
        hanging = {column: (left - 1, text) for column, (left, text) in hanging.items() if left > 1}
        grid.append(line)
        cells += len(line)
        if cells > max_cells:
            raise parse_failure("too_complex", "The spans of a table's cells fill more than one document may.")
    if len(grid) * max(map(len, grid), default=0) > 2 * max_cells:
        raise parse_failure("too_complex", "The rows of a table differ in width too much.")
    return rectangle(grid)


def _continue_spans(line: list[str], hanging: dict[int, tuple[int, str]], *, to_the_end: bool = False) -> None:
    """Fills the columns at the end of `line` that cells of rows above reach into; `to_the_end`, over gaps as well."""
    last = max(hanging, default=-1) if to_the_end else -1
    while len(line) in hanging or len(line) <= last:
        line.append(hanging.get(len(line), (0, ""))[1])


def rectangle(rows: Sequence[list[str]], width: int = 0) -> list[list[str]]:
    """The rows, short ones filled up with empty cells: to the longest row, or to a greater width."""
    width = max(width, max((len(row) for row in rows), default=0))
    return [row + [""] * (width - len(row)) for row in rows]


def without_empty_edges(rows: Sequence[list[str]]) -> list[list[str]]:
    """Drops rows and columns that are empty, and columns that repeat their left neighbour cell by cell."""
    kept = [row for row in rows if any(row)]
    wanted = telling_columns(kept)
    return [[row[position] for position in wanted] for row in kept]


def telling_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """Columns that are neither empty nor repeat their left neighbour cell by cell; `rows` are of one width.

    The latter come from spans that cover the same columns in every row: one column drawn as several.
    """
    columns = list(zip(*rows, strict=True))
    return [
        position
        for position, column in enumerate(columns)
        if any(column) and (position == 0 or column != columns[position - 1])
    ]


def markdown(rows: Sequence[Sequence[str]], header_rows: int) -> str:
    """A GitHub-flavoured Markdown table. Without header rows its header is left blank."""
    if not rows:
        return ""
    lines = [_line(row) for row in rows]
    rule = "|" + " --- |" * len(rows[0])
    if header_rows == 0:
        return "\n".join(["|" + "  |" * len(rows[0]), rule, *lines])
    return "\n".join([lines[0], rule, *lines[1:]])


def _line(row: Sequence[str]) -> str:
    return "| " + " | ".join(cell.translate(_MARKDOWN_ESCAPES) for cell in row) + " |"
