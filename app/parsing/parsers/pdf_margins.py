"""Running headers, footers and page numbers: what stands at the same place in the margin of page after page."""

import re
from collections import defaultdict

from app.parsing.parsers.pdf_lines import Line, PageLines

_MARGIN = 0.12  # of the page's height
_MIN_PAGES = 3
_DIGITS = re.compile(r"\d+")
_BLANKS = re.compile(r"\s+")
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.|第)?[\s\-–—·|]*(?:\d{1,4}|[ivxlc]{1,7})[\s\-–—·|]*(?:页|頁)?"
    r"(?:\s*(?:of|/|von|共)\s*\d{1,4}\s*页?)?",
    re.IGNORECASE,
)


def drop_running_lines(pages: list[PageLines]) -> None:
    """Removes them in place. Digits count as equal, so numbered footers repeat; heights may differ by a few points."""
    repeated: dict[tuple[str, int], set[int]] = defaultdict(set)
    for number, page in enumerate(pages):
        for line in page.lines:
            zone = _zone(line, page)
            if zone:
                for slot in _slots(line):
                    repeated[_key(line), zone * slot].add(number)
    for page in pages:
        page.lines = [line for line in page.lines if not _runs(line, page, repeated, len(pages))]


def _runs(line: Line, page: PageLines, repeated: dict[tuple[str, int], set[int]], pages: int) -> bool:
    zone = _zone(line, page)
    if not zone or line.table is not None:
        return False
    seen = max(len(repeated[_key(line), zone * slot]) for slot in _slots(line))
    if _PAGE_NUMBER.fullmatch(line.text.strip()):
        return seen >= min(_MIN_PAGES, max(pages, 2))
    return seen >= _MIN_PAGES and seen >= 0.03 * pages


def _zone(line: Line, page: PageLines) -> int:
    """-1 in the upper margin, 1 in the lower, 0 between."""
    if line.box[3] <= page.height * _MARGIN:
        return -1
    return 1 if line.box[1] >= page.height * (1 - _MARGIN) else 0


def _slots(line: Line) -> tuple[int, int]:
    """Heights in overlapping steps, from 1: near lines share at least one."""
    step = int(line.box[1] // 8)
    return step + 1, step + 2


def _key(line: Line) -> str:
    return _DIGITS.sub("#", _BLANKS.sub("", line.text))
