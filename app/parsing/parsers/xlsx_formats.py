"""Which cells of a workbook show their number as percent: the file holds 0.155 where people read 15.5%."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.parsing.parsers.ooxml_package import OoxmlPackage
from app.parsing.parsers.xml_tree import attribute, children, first, number

_BUILT_IN = frozenset((9, 10))
"""Number formats `0%` and `0.00%` (ECMA-376 part 1, 18.8.30)."""
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


def percent_styles(package: OoxmlPackage, styles_part: str | None) -> list[int]:
    """Numbers of the cell formats that show percent."""
    root = package.optional(styles_part)
    formats = first(root, "numFmts")
    custom = {
        number(attribute(node, "numFmtId"), -1)
        for node in (children(formats) if formats is not None else ())
        if "%" in _LITERAL.sub("", attribute(node, "formatCode"))
    }
    cell_formats = first(root, "cellXfs")
    return [
        at
        for at, node in enumerate(children(cell_formats) if cell_formats is not None else ())
        if number(attribute(node, "numFmtId"), -1) in _BUILT_IN | custom
    ]


@dataclass(slots=True)
class Marks:
    """Cells of a sheet, by column as runs of rows: a column that is marked whole takes no more room than one cell."""

    columns: dict[int, list[list[int]]] = field(default_factory=dict)
    """First and last row of each run, both from 0, in order."""

    def add(self, row: int, column: int, rows: int = 1) -> None:
        """Rows come in order."""
        runs = self.columns.setdefault(column, [])
        if runs and row <= runs[-1][1] + 1:
            runs[-1][1] = max(runs[-1][1], row + rows - 1)
        else:
            runs.append([row, row + rows - 1])

    def by_row(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        """The marked columns of each of these rows, which come in order."""
        waiting = {column: runs[::-1] for column, runs in self.columns.items()}
        for row in numbers:
            marked = []
            for column, runs in waiting.items():
                while runs and runs[-1][1] < row:
                    runs.pop()
                if runs and runs[-1][0] <= row:
                    marked.append(column)
            yield marked
