"""When the items of a JSON array are rows of a table, and the table that they make."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from app.parsing.document import Table
from app.parsing.parsers.json_values import Value
from app.parsing.reasons import parse_failure

_SAMPLE = 100
_MAX_COLUMNS = 500
_LONGEST_CELL = 400
"""Characters; a text that is longer is to be read, not looked up in a column."""
_MOSTLY = 0.8


def scalar_text(value: Value) -> str:
    """A value without an inside as it reads; null is nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else ""


def is_scalar(value: Value) -> bool:
    return value is None or isinstance(value, str | bool)


def is_flat_list(value: Value) -> bool:
    return isinstance(value, list) and all(map(is_scalar, value))


def looks_like_rows(items: Iterable[Value]) -> tuple[bool, Iterator[Value]]:
    """Whether the items are flat objects of much the same keys; and the items again, the sample with them."""
    rest = iter(items)
    sample = list(islice(rest, _SAMPLE))
    rows = [item for item in sample if isinstance(item, dict) and _is_row(item)]
    keys = {key for row in rows for key in row}
    filled = sum(map(len, rows))
    is_table = (
        bool(rows)
        and len(rows) == len(sample)
        and len(keys) <= _MAX_COLUMNS
        and filled >= len(rows) * len(keys) * 0.3
        and sum(_is_short(row) for row in rows) >= _MOSTLY * len(rows)
    )
    return is_table, chain(sample, rest)


def _is_row(item: dict[str, Value]) -> bool:
    return bool(item) and all(is_scalar(value) or is_flat_list(value) for value in item.values())


def _is_short(item: dict[str, Value]) -> bool:
    return all(len(value) <= _LONGEST_CELL for value in item.values() if isinstance(value, str))


def rows_to_table(items: Iterable[Value], max_cells: int) -> Table:
    """A column for each key, in the order in which keys are met. What is no row after all becomes its text.

    Raises `ParseFailed` (`too_complex`) beyond `max_cells`.
    """
    columns: dict[str, int] = {}
    rows: list[list[str]] = []
    cells = 0
    for item in items:
        row = [""] * len(columns)
        for key, value in (item if isinstance(item, dict) else {"": item}).items():
            position = columns.setdefault(key, len(columns))
            if position == len(row):
                row.append("")
            row[position] = cell_text(value)
        rows.append(row)
        cells += len(row)
        if cells > max_cells or len(columns) * len(rows) > 2 * max_cells:
            raise parse_failure("too_complex", f"It holds more than {max_cells} cells.")
    width = len(columns)
    filled = [row + [""] * (width - len(row)) for row in rows]
    return Table(rows=[list(columns), *filled], header_rows=1)


def cell_text(value: Value) -> str:
    """Lists are joined by commas, what is nested deeper is written as `key: value`."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(cell_text, value)))
    if isinstance(value, dict):
        return "; ".join(f"{key}: {cell_text(inner)}" for key, inner in value.items())
    return scalar_text(value)
