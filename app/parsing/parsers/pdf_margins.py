"""Running headers, footers and page numbers: what stands at the same place in the margin of page after page.

A line repeats where it says the same, or the same but for a number that counts with the pages. Other numbers that
change are content: totals and rows of tables stand at one place on many pages, too.

A footer may also stand right below the text, wherever that ends, as in filings: there only its page number tells it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from statistics import median

from app.parsing.parsers.pdf_lines import Line, PageLines

_MARGIN = 0.12  # of the page's height
_MIN_PAGES = 3
_NUMBER = re.compile(r"\d+")
_BLANKS = re.compile(r"\s+")
_MOST_NUMBERS = 8
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.|第)?[\s\-–—·|]*(?:\d{1,4}|[ivxlc]{1,7})[\s\-–—·|]*(?:页|頁)?"
    r"(?:\s*(?:of|/|von|共)\s*\d{1,4}\s*页?)?",
    re.IGNORECASE,
)

_Sign = tuple[str, int]
"""What a line has in common with others: its text with a mark for the page number, and how far that is ahead."""
_Place = tuple[_Sign, int]


def drop_running_lines(pages: list[PageLines]) -> None:
    """Removes them in place. Heights in the margins may differ by a few points."""
    marginal = [(number, line, _places(line, zone, number)) for number, line, zone in _in_margins(pages)]
    repeated: dict[_Place, set[int]] = defaultdict(set)
    for number, _, places in marginal:
        for place in places:
            repeated[place].add(number)
    running = set(map(id, _footers(pages).values()))
    for _, line, places in marginal:
        if line.table is None and _runs(line, max(len(repeated[place]) for place in places), len(pages)):
            running.add(id(line))
    for page in pages:
        page.lines = [line for line in page.lines if id(line) not in running]


def _in_margins(pages: list[PageLines]) -> Iterator[tuple[int, Line, int]]:
    """Number of the page, line, and -1 for the upper margin, 1 for the lower."""
    for number, page in enumerate(pages):
        top, bottom = page.height * _MARGIN, page.height * (1 - _MARGIN)
        for line in page.lines:
            if line.box[3] <= top:
                yield number, line, -1
            elif line.box[1] >= bottom:
                yield number, line, 1


def _places(line: Line, zone: int, page: int) -> list[_Place]:
    """What it says at which height, in overlapping steps from 1: near lines share at least one."""
    step = int(line.box[1] // 8)
    return [(sign, zone * slot) for sign in _signs(line.text, page) for slot in (step + 1, step + 2)]


def _runs(line: Line, seen: int, pages: int) -> bool:
    """Whether a line runs that is at its place on so many pages."""
    if _PAGE_NUMBER.fullmatch(line.text.strip()):
        return seen >= min(_MIN_PAGES, max(pages, 2))
    return seen >= _MIN_PAGES and seen >= 0.03 * pages


def _signs(text: str, page: int) -> Iterator[_Sign]:
    """The text itself; with each of its numbers as the page's; and, where it is a page number alone, as any such."""
    bare = _BLANKS.sub("", text)
    yield bare, 0
    yield from _numbered(bare, page)
    if _PAGE_NUMBER.fullmatch(text.strip()):
        yield _NUMBER.sub("#", bare), 0


def _numbered(bare: str, page: int) -> Iterator[_Sign]:
    for match in islice(_NUMBER.finditer(bare), _MOST_NUMBERS):
        if len(match[0]) <= 5:
            yield f"{bare[: match.start()]}\0{bare[match.end() :]}", int(match[0]) - page


def _footers(pages: list[PageLines]) -> dict[int, Line]:
    """Last lines of pages that are the same on half of the pages, and three at least, but for a page number.

    A line that is all of its page, or larger than most of it, is none: slides may be numbered in their titles.
    """
    lasts = {number: line for number, page in enumerate(pages) if (line := _last_line(page)) is not None}
    signs = {number: set(_numbered(_BLANKS.sub("", line.text), number)) for number, line in lasts.items()}
    counts = Counter(sign for found in signs.values() for sign in found)
    running = {sign for sign, count in counts.items() if count >= max(_MIN_PAGES, len(pages) / 2)}
    return {number: line for number, line in lasts.items() if signs[number] & running}


def _last_line(page: PageLines) -> Line | None:
    if len(page.lines) < 2:
        return None
    last = max(page.lines, key=lambda line: line.box[3])
    is_large = last.size > 1.05 * median([line.size for line in page.lines])
    return None if last.table is not None or is_large else last
