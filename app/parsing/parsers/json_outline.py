"""Nested JSON as a text with headings: objects become sections, their values `path: value`, flat objects tables."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from app.parsing.document import Element, ElementKind
from app.parsing.parsers.json_table import is_flat_list, is_scalar, looks_like_rows, rows_to_table, scalar_text
from app.parsing.parsers.json_values import Value
from app.parsing.reasons import parse_failure

_NAMES = ("title", "name", "label", "subject", "question", "标题", "名称", "id", "_id", "key")
_LONG = 200
"""Characters from which a value is a paragraph of its own."""
_SMALL = 6
"""Values up to which an object stays within the paragraph of what holds it."""
_MAX_HEADING = 120


@dataclass(slots=True)
class Outline:
    max_cells: int
    elements: list[Element] = field(default_factory=list)
    _values: int = 0

    def value(self, value: Value, level: int = 1) -> None:
        """A whole value, its sections headed from `level` on."""
        if isinstance(value, dict):
            self._object(value, level)
        elif isinstance(value, list):
            self.items(value, level)
        else:
            self._add(ElementKind.PARAGRAPH, scalar_text(value))

    def items(self, items: Iterable[Value], level: int = 1) -> None:
        """The items of an array: one table where they are rows, else each a section of its own."""
        is_table, again = looks_like_rows(items)
        if is_table:
            table = rows_to_table(again, self.max_cells - self._values)
            self._values += sum(map(len, table.rows))
            self.elements.append(Element(kind=ElementKind.TABLE, table=table))
            return
        for number, item in enumerate(again, start=1):
            if is_scalar(item):
                self._add(ElementKind.LIST_ITEM, scalar_text(item), 1)
            elif not item:
                continue
            elif is_flat_list(item):
                self._add(ElementKind.LIST_ITEM, _joined(item), 1)
            else:
                self._add(ElementKind.HEADING, _name(item) or f"[{number}]", level)
                self.value(item, level + 1)

    def _object(self, value: dict[str, Value], level: int) -> None:
        """Short values in one paragraph, long ones in paragraphs of their own, what has an inside in sections below."""
        lines: list[str] = []
        sections: list[tuple[str, Value]] = []
        for path, inner in _paths(value):
            if not (is_scalar(inner) or is_flat_list(inner)):
                sections.append((path, inner))
                continue
            text = _joined(inner) if isinstance(inner, list) else scalar_text(inner)
            if len(text) <= _LONG and "\n" not in text:
                lines.append(f"{path}: {text}")
                self._count()
                continue
            self._paragraph(lines)
            self._add(ElementKind.PARAGRAPH, f"{path}: {text}")
        self._paragraph(lines)
        for path, inner in sections:
            self._add(ElementKind.HEADING, path, level)
            self.value(inner, level + 1)

    def _paragraph(self, lines: list[str]) -> None:
        if lines:
            self.elements.append(Element(kind=ElementKind.PARAGRAPH, text="\n".join(lines)))
            lines.clear()

    def _add(self, kind: ElementKind, text: str, level: int = 0) -> None:
        self._count()
        self.elements.append(Element(kind=kind, text=text, level=min(level, 6)))

    def _count(self) -> None:
        self._values += 1
        if self._values > self.max_cells:
            raise parse_failure("too_complex", f"It holds more than {self.max_cells} values.")


def _paths(value: dict[str, Value], prefix: str = "") -> Iterable[tuple[str, Value]]:
    """The values of an object; those of small objects inside it with their path."""
    for key, inner in value.items():
        if isinstance(inner, dict) and _is_small(inner):
            yield from _paths(inner, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", inner


def _is_small(value: dict[str, Value]) -> bool:
    """Whether an object holds few values and no objects in lists; looked at no further than needed."""
    left = _SMALL
    stack: list[Value] = [value]
    while stack:
        found = stack.pop()
        if isinstance(found, dict):
            left -= len(found)
            if left < 0:
                return False
            stack.extend(found.values())
        elif isinstance(found, list) and not is_flat_list(found):
            return False
    return True


def _name(item: Value) -> str:
    """What an object calls itself."""
    if not isinstance(item, dict):
        return ""
    names = (scalar_text(item[key]).strip() for key in _NAMES if key in item)
    return next((name for name in names if name and len(name) <= _MAX_HEADING and "\n" not in name), "")


def _joined(values: Value) -> str:
    return ", ".join(map(scalar_text, values)) if isinstance(values, list) else ""
