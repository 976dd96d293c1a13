"""Long text into parts that fit: at sentence ends, else at clauses, else between tokens. Pure, in linear time.

Every pattern starts only where a run of its characters starts (a look-behind) and gives nothing back (possessive
repetition), so that no input makes it look at the same text twice.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.chunking.sentences import sentence_ends
from app.ports.embedder import TokenCounter

CHARACTERS_PER_TOKEN = 16
"""Texts longer than this many characters for each allowed token are cut further without being counted first."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, in characters."""

    start: int
    end: int
    tokens: int


Boundaries = Callable[[str], Iterator[int]]
"""Where a text may be cut: offsets in rising order, its two ends left out or not."""

_CLAUSE_END = re.compile(r"[，、：]++|(?<![,;:])[,;:]++(?=\s)|\n++")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n)++")
_LINE_END = re.compile(r"\n++")


def _ends(pattern: re.Pattern[str]) -> Boundaries:
    return lambda text: (match.end() for match in pattern.finditer(text))


def at(separator: str) -> Boundaries:
    """After each place where a separator stands, taken literally."""

    def ends(text: str) -> Iterator[int]:
        found = text.find(separator)
        while found >= 0:
            yield found + len(separator)
            found = text.find(separator, found + len(separator))

    return ends


TEXT_LEVELS: Sequence[Boundaries] = (sentence_ends, _ends(_CLAUSE_END))
CODE_LEVELS: Sequence[Boundaries] = (_ends(_BLANK_LINES), _ends(_LINE_END))
LINE_LEVELS: Sequence[Boundaries] = (_ends(_BLANK_LINES), _ends(_LINE_END), *TEXT_LEVELS)


def fits(text: str, room: int, tokens: TokenCounter) -> int | None:
    """Its tokens if they are at most `room`, else None. Never counts a text much longer than could fit."""
    if len(text) > room * CHARACTERS_PER_TOKEN:
        return None
    count = tokens.count(text)
    return count if count <= room else None


def split(text: str, room: int, tokens: TokenCounter, levels: Sequence[Boundaries] = TEXT_LEVELS) -> list[Span]:
    """Spans of at most `room` tokens each, in order, that hold everything but white space.

    They are as small as the first level whose parts fit makes them: packing them again is the caller's.
    """
    return list(_Splitter(text, room, tokens).spans(0, len(text), levels))


class _Splitter:
    def __init__(self, text: str, room: int, tokens: TokenCounter) -> None:
        self._text = text
        self._room = room
        self._tokens = tokens

    def spans(self, start: int, end: int, levels: Sequence[Boundaries]) -> Iterator[Span]:
        if not levels:
            yield from self._between_tokens(start, end)
            return
        for part_start, part_end in _parts(self._text, start, end, levels[0]):
            count = fits(self._text[part_start:part_end], self._room, self._tokens)
            if count is None:
                yield from self.spans(part_start, part_end, levels[1:])
            else:
                yield Span(part_start, part_end, count)

    def _between_tokens(self, start: int, end: int) -> Iterator[Span]:
        """Cuts between tokens, at white space where some is near. Looks at a window of some parts at a time."""
        step = max(1, self._room - max(2, self._room // 32))  # a cut word may count a token more on its own
        window = step * CHARACTERS_PER_TOKEN // 2
        while start < end:
            origin, stop = start, min(end, start + window)
            offsets = self._tokens.spans(self._text[start:stop])
            first = 0
            while len(offsets) - first > step:
                cut_at = _near_space(self._text, start, max(start + 1, origin + offsets[first + step - 1][1]))
                after = max(first + 1, bisect_left(offsets, cut_at - origin, key=_token_start))
                yield from self._span(start, cut_at, after - first)
                start, first = cut_at, after
            if stop == end or start == origin:  # else what is left of the window begins the next one
                yield from self._span(start, stop, len(offsets) - first)
                start = stop

    def _span(self, start: int, end: int, tokens: int) -> Iterator[Span]:
        part = _trimmed(self._text, start, end)
        if part:
            yield Span(*part, tokens)


def _token_start(offsets: tuple[int, int]) -> int:
    return offsets[0]


def _parts(text: str, start: int, end: int, boundaries: Boundaries) -> Iterator[tuple[int, int]]:
    previous = start
    for offset in boundaries(text[start:end]):
        part = _trimmed(text, previous, start + offset)
        if part:
            yield part
        previous = start + offset
    part = _trimmed(text, previous, end)
    if part:
        yield part


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The range without white space at its ends, except that a line's indentation stays: code needs it."""
    body = text[start:end].rstrip()
    if not body:
        return None
    white = len(body) - len(body.lstrip())
    at_line_start = start == 0 or text[start - 1] == "\n"
    line = body.rfind("\n", 0, white) + 1
    lead = line if line or at_line_start else white
    return start + lead, start + len(body)


def _near_space(text: str, start: int, offset: int) -> int:
    """The last white space of the 48 characters before `offset`, if there is one after `start`, else `offset`."""
    for position in range(offset, max(start + 1, offset - 48), -1):
        if text[position - 1].isspace():
            return position
    return offset
