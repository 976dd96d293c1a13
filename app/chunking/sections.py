"""A document's elements as sections: what stands under one heading, in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.chunking.chunk import cut
from app.parsing.document import Element, ElementKind

DEEPEST_LEVEL = 9
HEADING_BYTES = 160
"""A longer heading is cut in the path, and whole in the text of its section: it may be a misread paragraph."""


@dataclass(slots=True)
class Section:
    path: tuple[int, ...] = ()
    """Indexes of the headings it stands under, highest first."""
    members: list[int] = field(default_factory=list)
    """Indexes of its elements, in order. A heading among them is shown in the text."""


def sections(elements: Sequence[Element]) -> list[Section]:
    """Sections in order, each with at least one element. Every heading is in a path or in a text."""
    found = _by_heading(elements)
    _adopt_bare_headings(elements, found)
    return found


def heading_text(elements: Sequence[Element], path: Sequence[int]) -> tuple[str, ...]:
    return tuple(cut(elements[index].text, HEADING_BYTES) for index in path)


def merged(found: Sequence[Section], small: int, size: Callable[[Section], int]) -> list[Section]:
    """Puts small neighbours together: siblings, or a parent's own text and its first children.

    Two are merged while both are below `small` by `size`. Headings of siblings move from the path into the text.
    """
    groups: list[Section] = []
    sizes: list[int] = []
    for section in found:
        section_size = size(section)
        together = _together(groups[-1], section) if groups and max(sizes[-1], section_size) < small else None
        if together is None:
            groups.append(section)
            sizes.append(section_size)
        else:
            groups[-1] = together
            sizes[-1] += section_size
    return groups


@dataclass(slots=True)
class HeadingPath:
    """The headings that what is read next stands under, highest first, as indexes of elements."""

    path: list[int] = field(default_factory=list)
    _levels: list[int] = field(default_factory=list)

    def enter(self, index: int, heading: Element) -> None:
        """A heading closes those of its level and below."""
        level = _level(heading)
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
            self.path.pop()
        self._levels.append(level)
        self.path.append(index)


def _by_heading(elements: Sequence[Element]) -> list[Section]:
    found: list[Section] = []
    headings = HeadingPath()
    is_open = False
    for index, element in enumerate(elements):
        if is_blank(element):
            continue
        is_heading = element.kind is ElementKind.HEADING
        if is_heading:
            headings.enter(index, element)
            is_open = False
        if not is_heading or len(element.text.encode()) > HEADING_BYTES:
            if not is_open:
                found.append(Section(tuple(headings.path)))
                is_open = True
            found[-1].members.append(index)
    return found


def is_blank(element: Element) -> bool:
    if element.table is not None:
        return not any(cell.strip() for row in element.table.rows for cell in row)
    return not element.text.strip()


def _level(heading: Element) -> int:
    return min(max(heading.level, 1), DEEPEST_LEVEL)


def _adopt_bare_headings(elements: Sequence[Element], found: list[Section]) -> None:
    """Headings with nothing under them become text of the section before, else of the first: none is a chunk alone."""
    shown = {index for section in found for index in (*section.path, *section.members)}
    bare = [
        index
        for index, element in enumerate(elements)
        if element.kind is ElementKind.HEADING and element.text.strip() and index not in shown
    ]
    if not bare:
        return
    if not found:
        found.append(Section())
    first_members = [section.members[0] if section.members else 0 for section in found]
    position = 0
    for index in bare:
        while position + 1 < len(found) and first_members[position + 1] < index:
            position += 1
        found[position].members.append(index)
    for section in found:
        section.members.sort()


def _together(group: Section, section: Section) -> Section | None:
    if not section.path:
        return None
    parent = section.path[:-1]
    if group.path == parent:
        members = [*group.members, section.path[-1], *section.members]
    elif group.path and group.path[:-1] == parent:
        members = [group.path[-1], *group.members, section.path[-1], *section.members]
    else:
        return None
    return Section(parent, sorted(set(members)))
