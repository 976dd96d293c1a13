"""Page numbers in HTML that was made for paper: filings and office exports mark where their pages end."""

import re
from collections.abc import Sequence

from selectolax.lexbor import LexborNode

from app.parsing.document import Element, ElementKind

_BREAK = re.compile(r"(?:page-)?break-(before|after)\s*:\s*(?:always|page)", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,5}")
_MIN_PAGES = 3
_LONGEST = 120
"""Characters of a running line."""


def page_break(node: LexborNode) -> str:
    """Whether paper is changed `before` or `after` a node, by its own style; else nothing."""
    found = _BREAK.search(node.attributes.get("style") or "")
    return found[1].lower() if found else ""


def without_page_numbers(elements: Sequence[Element], ends: Sequence[int]) -> list[Element]:
    """Leaves out the last lines of pages that are all the same but for one number, which goes up by one a page.

    `ends` are positions in `elements` before which pages end, in order; the last page has none. A line is left out
    only in a row of three pages.
    """
    lasts = [position - 1 for position in dict.fromkeys((*ends, len(elements))) if position > 0]
    dropped: set[int] = set()
    row: list[int] = []
    for position in lasts:
        if row and not _follows(elements[row[-1]], elements[position]):
            dropped.update(row if len(row) >= _MIN_PAGES else ())
            row = []
        row.append(position)
    dropped.update(row if len(row) >= _MIN_PAGES else ())
    return [element for position, element in enumerate(elements) if position not in dropped]


def _follows(one: Element, other: Element) -> bool:
    if one.kind is not ElementKind.PARAGRAPH or other.kind is not ElementKind.PARAGRAPH:
        return False
    if max(len(one.text), len(other.text)) > _LONGEST or _NUMBER.sub("#", one.text) != _NUMBER.sub("#", other.text):
        return False
    pairs = zip(_NUMBER.findall(one.text), _NUMBER.findall(other.text), strict=True)
    return [int(later) - int(sooner) for sooner, later in pairs if sooner != later] == [1]
