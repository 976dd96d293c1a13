"""Sentences and rows as spans of a text: what may be quoted alone."""

import re
from collections.abc import Iterable, Iterator

from app.chunking.sentences import sentence_ends

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
    begin = start
    for end in sentence_ends(text[start:stop]):
        yield begin, start + end
        begin = start + end
    yield begin, stop


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
