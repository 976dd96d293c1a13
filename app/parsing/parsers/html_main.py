"""What an HTML page is about, without menus, asides and footers.

trafilatura (Barbaresi 2021) decides which text is main, our own reader keeps the structure: an element stays if its
text is in what trafilatura gives. Texts are compared by letters and digits alone, since marks and white space differ.
"""

from collections.abc import Sequence

import trafilatura

from app.parsing.document import Element, ElementKind

_WINDOW = 40
_SHORT = 24
"""Letters below which a text must be a line of its own: “Home” is part of many a sentence."""


def main_elements(page: str, elements: Sequence[Element]) -> tuple[list[Element], list[str]]:
    """The elements that belong to the main content, and warnings; all of them where none can be told apart."""
    text = trafilatura.extract(
        page, output_format="txt", include_comments=False, include_tables=True, favor_recall=True
    )
    kept = _kept(text or "", elements)
    if not any(kept):
        return list(elements), ["No main content could be told from the rest of the page; everything was kept."]
    left_out = len(elements) - sum(kept)
    warnings = [f"{left_out} of {len(elements)} paragraphs are not part of the main content and were left out."]
    return [element for element, stays in zip(elements, kept, strict=True) if stays], warnings if left_out else []


def _kept(text: str, elements: Sequence[Element]) -> list[bool]:
    main = _folded(text)
    lines = frozenset(map(_folded, text.splitlines()))
    kept = [_is_in(element, main, lines) for element in elements]
    for position in range(len(elements) - 2, -1, -1):  # what heads or names something that stays
        if elements[position].kind in (ElementKind.HEADING, ElementKind.CAPTION) and kept[position + 1]:
            kept[position] = True
    return kept


def _is_in(element: Element, main: str, lines: frozenset[str]) -> bool:
    if element.table is not None:
        cells = {folded for row in element.table.rows for cell in row if (folded := _folded(cell))}
        return sum(cell in main for cell in cells) * 2 > len(cells)
    folded = _folded(element.text)
    if len(folded) < _SHORT:
        return folded in lines
    if len(folded) < 3 * _WINDOW:
        return folded in main
    middle = len(folded) // 2
    windows = (folded[:_WINDOW], folded[middle : middle + _WINDOW], folded[-_WINDOW:])
    return sum(window in main for window in windows) >= 2


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text))
