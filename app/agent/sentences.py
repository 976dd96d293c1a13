"""Sentences of text, as spans of it: Chinese and English first, and marks that end one in any other language."""

import re
from collections.abc import Iterable, Iterator

_END = re.compile(
    r"""
    (?:[。！？…؟۔।॥]|(?<![A-Za-z0-9/])[!?]|[!?](?![A-Za-z0-9%&=/]))+[”’"'」』）)\]】]*  # not that inside of an address
    | (?<=[^\s.])\.+[”’"')\]]*(?=\s|$)   # a full stop before white space, see _is_abbreviation
    | ；
    | \n[ \t]*\n\s*                      # a blank line
    | \n(?=\s*(?:[-*•·|]|\d{1,3}[.、)]\s)) # a new item or row
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|approx|no|nos|fig|figs|eq|sec|ch|vol|pp?|ed|eds|dr|mr|mrs|ms|prof|st|jr|sr|inc|ltd|co"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|\b[A-Za-z]|\b\d{1,3})\.$",
    re.IGNORECASE,
)
_CJK = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef"
_BREAK_IN_CJK = re.compile(rf"(?<=[{_CJK}])\s*\n\s*(?=[{_CJK}])")
_LONGEST = 400
_LONGEST_ROW = 1_200
_ROW = re.compile(r"^\|[^\n]*\|$", re.MULTILINE)
_SOFT_END = re.compile(r"[，,、;:：]\s*|\s+")


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, list item or row of a Markdown table, without the white space around it; empty
    ones left out.

    What is longer than 400 characters without an end is cut at commas or spaces, a row where it is longer than 1,200.
    """
    spans: list[tuple[int, int]] = []
    position = 0
    for row in _ROW.finditer(text):
        spans += _parts(text, _split(text, position, row.start()), _LONGEST)
        spans += _parts(text, [row.span()], _LONGEST_ROW)
        position = row.end()
    return spans + _parts(text, _split(text, position, len(text)), _LONGEST)


def row_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each line of a table's chunk: a row is not ended by a full stop in a cell.

    What is longer than 1,200 characters is cut at commas or spaces.
    """
    return _parts(text, (line.span() for line in re.finditer(r"[^\n]+", text)), _LONGEST_ROW)


def _parts(text: str, spans: Iterable[tuple[int, int]], longest: int) -> list[tuple[int, int]]:
    parts = (part for span in spans for part in _cut(text, *span, longest))
    return [trimmed for part in parts if (trimmed := _trim(text, *part))]


def _split(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    for end in _END.finditer(text, start, stop):
        if end.group().startswith(".") and _is_abbreviation(text, start, end):
            continue
        yield start, end.end()
        start = end.end()
    yield start, stop


def _is_abbreviation(text: str, start: int, end: re.Match[str]) -> bool:
    """`e.g.`, `No. 5`, an initial, or a list number; not where a new sentence plainly begins after a longer word."""
    before = text[max(start, end.start() - 12) : end.start() + 1]
    if not _ABBREVIATION.search(before):
        return False
    following = text[end.end() :].lstrip()
    number = re.search(r"\d\.$", before)
    # "in 1998. The" ends a sentence, "1. Open the lid" does not.
    return not number or start == end.start() - len(before.strip()) + 1 or not following[:1].isupper()


def _cut(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    while end - start > longest:
        places = [place.end() for place in _SOFT_END.finditer(text, start + longest // 2, start + longest)]
        middle = places[-1] if places else start + longest
        yield start, middle
        start = middle
    yield start, end


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    part = text[start:end]
    if not re.search(r"\w", part):
        return None
    return start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def shown(text: str) -> str:
    """A sentence on one line: line breaks inside it become a space, or nothing between Chinese characters."""
    return re.sub(r"\s+", " ", _BREAK_IN_CJK.sub("", text)).strip()
