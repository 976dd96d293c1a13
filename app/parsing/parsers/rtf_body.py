"""What an RTF reader has gathered, to elements: paragraphs by style, cells to tables, notes after their text."""

from dataclasses import dataclass, field
from itertools import pairwise

from app.parsing.document import Element, ElementKind, Table, add_joined
from app.parsing.parsers.docx_styles import ParagraphStyle
from app.parsing.reasons import parse_failure
from app.parsing.tables import SpannedCell, fill_spans, without_empty_edges

_SAME_EDGE = 30  # twips: cell edges of one column differ by rounding
_MAX_EDGES = 2000


@dataclass(slots=True)
class CellDefinition:
    right: int
    """Its right edge in twips."""
    joins_left: bool = False
    joins_above: bool = False


@dataclass(slots=True)
class RowDefinition:
    cells: list[CellDefinition] = field(default_factory=list)
    is_header: bool = False


@dataclass(slots=True)
class Body:
    max_cells: int
    elements: list[Element] = field(default_factory=list)
    title: str = ""
    _paragraph: list[str] = field(default_factory=list)
    _notes: list[str] = field(default_factory=list)
    _cell: list[str] = field(default_factory=list)
    _row: list[str] = field(default_factory=list)
    _rows: list[tuple[list[str], RowDefinition]] = field(default_factory=list)
    _cells: int = 0

    def write(self, text: str) -> None:
        self._paragraph.append(text)

    def note(self, text: str) -> None:
        """A footnote, which follows the paragraph or the table that it stands in."""
        if text.strip():
            self._notes.append(text)

    def end_paragraph(self, style: ParagraphStyle, *, in_table: bool) -> None:
        text = "".join(self._paragraph)
        self._paragraph.clear()
        if in_table:
            self._cell.append(text)
            return
        self.end_table()
        if text.strip():
            if style.is_title:
                self.title = self.title or " ".join(text.split())
            add_joined(self.elements, Element(kind=style.kind, text=text, level=style.level))
        self._end_notes()

    def end_cell(self) -> None:
        self._cell.append("".join(self._paragraph))
        self._paragraph.clear()
        self._row.append("\n".join(line for line in map(str.strip, self._cell) if line))
        self._cell.clear()
        self._cells += 1
        if self._cells > self.max_cells:
            raise parse_failure("too_complex", "Its tables hold more cells than one document may.")

    def end_row(self, definition: RowDefinition) -> None:
        if self._row:
            self._rows.append((self._row, definition))
        self._row = []

    def end_table(self) -> None:
        if self._row:
            self.end_row(RowDefinition())
        if not self._rows:
            return
        table = _table(self._rows)
        self._rows = []
        if len(table.rows) == 1 and len(table.rows[0]) == 1:  # a frame around text
            add_joined(self.elements, Element(kind=ElementKind.PARAGRAPH, text=table.rows[0][0]))
        elif table.rows:
            add_joined(self.elements, Element(kind=ElementKind.TABLE, table=table))
        self._end_notes()

    def end(self, style: ParagraphStyle) -> None:
        """The last paragraph has no mark of its own in what some programs write."""
        if self._cell or self._row:
            self.end_cell()
        self.end_paragraph(style, in_table=False)

    def _end_notes(self) -> None:
        self.elements.extend(Element(kind=ElementKind.FOOTNOTE, text=text.strip()) for text in self._notes)
        self._notes.clear()


def _table(rows: list[tuple[list[str], RowDefinition]]) -> Table:
    """Columns are what lies between any two neighbouring edges; a cell covers those up to its own edge."""
    edges = _edges(rows)
    grid: list[list[str]] = []
    for texts, definition in rows:
        line: list[SpannedCell] = []
        column = 0
        for position, own in enumerate(texts):
            cell = definition.cells[position] if position < len(definition.cells) else None
            end = _column_after(edges, cell.right) if cell is not None else column + 1
            width, text = max(end - column, 1), own
            if cell is not None and cell.joins_left and line:
                text = line[-1].text
            elif cell is not None and cell.joins_above and grid and column < len(grid[-1]):
                text = grid[-1][column]
            line.append(SpannedCell(text, width))
            column += width
        grid.extend(fill_spans([line]))
    filled = without_empty_edges(fill_spans([SpannedCell(cell) for cell in row] for row in grid))
    headers = 0
    for _, definition in rows:
        if not definition.is_header:
            break
        headers += 1
    return Table(rows=filled, header_rows=min(headers or 1, max(len(filled) - 1, 0)))


def _edges(rows: list[tuple[list[str], RowDefinition]]) -> list[int]:
    found = sorted({cell.right for _, definition in rows for cell in definition.cells})[:_MAX_EDGES]
    kept = found[:1]
    for before, edge in pairwise(found):
        if edge - before > _SAME_EDGE:
            kept.append(edge)
    return kept


def _column_after(edges: list[int], right: int) -> int:
    """Number of the column that follows a cell with this right edge."""
    return sum(edge <= right + _SAME_EDGE for edge in edges)
