"""Rows of text that end in figures: what of a line is a name, and what stands in columns of figures at its right."""

import re
from collections import defaultdict
from collections.abc import Callable
from enum import Enum, auto
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from app.parsing.parsers.pdf_grids import Word, middle, text_lines
from app.parsing.parsers.pdf_lines import Line, LineNumber, union

_SPACE = 0.5  # heights of type: runs that are nearer are one
_TOUCHING = 0.1
_MOST_COLUMNS = 24
_CURRENCY = r"(?:[$€£¥￥₩₹]|(?:US|HK|NT|A|C|S)\$|RMB|USD|EUR|GBP|CHF|JPY)"
_DIGITS = r"\d(?:[\d,.'’]*|\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?)"
_FIGURE = re.compile(rf"[-+−–(]?\s?(?:{_CURRENCY}\s?)?[-−(]?\s?{_DIGITS}(?:\s?[%‰])?\s?\)?(?:\s?%)?")
_YEAR = re.compile(r"(?:19|20)\d\d(?:\s+(?:19|20)\d\d)*")
_NOTHING = re.compile(r"[-–—−―]+|\(?n/?[am]\.?\)?|N/?[AM]\.?|不适用|[*)%]+", re.ASCII)
"""What stands in place of a figure, or hangs on one."""
_NOTE = re.compile(r"\d{1,2}(?:\.\d{1,2})?(?:\([a-z]+\)|[a-z])?(?:[,;&]\s?\d{1,2}(?:\.\d{1,2})?(?:\([a-z]+\)|[a-z])?)*")
"""Which notes a row refers to."""
_HANGING = re.compile(r"[*)%]+")
_SIGN = re.compile(_CURRENCY)
_LEADERS = re.compile(r"\.{4}|(?:\. ){3}|…{2}|·{4}")
_PADDED = "  "
_line_of = itemgetter(5, 6)
_ENDS = frozenset("0123456789)%‰")


WordsOfLines = Callable[[], dict[LineNumber, list[Word]]]


class Kind(Enum):
    TEXT = auto()
    FIGURE = auto()
    NOTHING = auto()
    SIGN = auto()
    """Of a currency, apart from its figure."""


class Run(NamedTuple):
    """Text that no gap parts, in points from the left and from the top."""

    left: float
    top: float
    right: float
    bottom: float
    text: str
    kind: Kind

    @property
    def centre(self) -> float:
        return (self.left + self.right) / 2


class Row(NamedTuple):
    """What stands side by side."""

    top: float
    bottom: float
    names: list[Run]
    """Texts, from left to right: the name of the row, which may be a year, or heads of columns."""
    figures: list[Run]
    """And what stands in their place; empty where texts stand among them, or all are years: then they are `names`."""
    lines: frozenset[LineNumber]
    is_nested: bool
    """Whether one of the lines goes around another."""

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        """Of its type."""
        first = (self.names or self.figures)[0]
        return first.bottom - first.top

    @property
    def is_plain(self) -> bool:
        """Whether it has figures, as many as a table may, behind one name at most."""
        return 0 < len(self.figures) <= _MOST_COLUMNS and len(self.names) < 2

    @property
    def runs(self) -> list[Run]:
        return self.names + self.figures


def _ends_in_figure(text: str) -> bool:
    """Whether it is a figure, or padded with spaces up to one."""
    return text[-1:] in _ENDS and (_PADDED in text or _FIGURE.fullmatch(text) is not None)


def has_leaders(row: Row) -> bool:
    """Whether dots lead to the figure, as in a table of contents."""
    return any(_LEADERS.search(run.text) for run in row.names)


def is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


def is_note(run: Run) -> bool:
    return run.kind is Kind.NOTHING or _NOTE.fullmatch(run.text) is not None


def rows_of(lines: list[Line], words: WordsOfLines, least: int) -> list[Row]:
    """From top to bottom; none where fewer than `least` seem to end in figures. A line of the text layer is not parted
    by gaps, mostly, and stands for its words: these are asked for only where it is padded with spaces."""
    if sum(map(_ends_in_figure, [line.text.strip() for line in lines])) < least:
        return []
    wholes: list[Word] = [(*line.box, line.text.strip(), *line.number, 0) for line in lines if line.number is not None]
    wholes.sort(key=middle)
    side_by_side = list(map(sorted, text_lines(wholes)))
    if sum(_ends_in_figure(row[-1][4]) for row in side_by_side if len(row) > 1 or _PADDED in row[0][4]) < least:
        return []
    return [_whole_row(row, words) for row in side_by_side]


def _whole_row(wholes: list[Word], words: WordsOfLines) -> Row:
    numbers = frozenset(map(_line_of, wholes))
    is_padded = any(_PADDED in whole[4] for whole in wholes)
    return _row((is_padded and _of_lines(words, numbers)) or wholes, numbers)


def reread(row: Row, words: WordsOfLines) -> Row:
    """By its words, where a line goes around another: a raised mark within a name."""
    of_row = _of_lines(words, row.lines) if row.is_nested else []
    return _row(of_row, row.lines) if of_row else row


def by_line(words: list[Word]) -> dict[LineNumber, list[Word]]:
    found: dict[LineNumber, list[Word]] = defaultdict(list)
    for word in words:
        found[_line_of(word)].append(word)
    return found


def _of_lines(words: WordsOfLines, numbers: frozenset[LineNumber]) -> list[Word]:
    of_line = words()
    return sorted(word for number in numbers for word in of_line.get(number, ()))


def _row(words: list[Word], lines: frozenset[LineNumber]) -> Row:
    runs = _signed(_runs(words))
    first = next((at for at, run in enumerate(runs) if run.kind is not Kind.TEXT), len(runs))
    if first == 0 and len(runs) > 1 and is_year(runs[0].text):
        first = 1
    names, figures = runs[:first], runs[first:]
    says_figures = any(run.kind is Kind.FIGURE and not is_year(run.text) for run in figures)
    if not says_figures or any(run.kind is Kind.TEXT for run in figures):
        names, figures = runs, []
    _, top, _, bottom = union([word[:4] for word in words])
    is_nested = any(after[0] < before[2] - 1 for before, after in pairwise(words))
    return Row(top, bottom, names, figures, lines, is_nested)


def _runs(words: list[Word]) -> list[Run]:
    parts: list[list[Word]] = [words[:1]]
    for before, word in pairwise(words):
        if word[0] - before[2] < _SPACE * (before[3] - before[1]):
            parts[-1].append(word)
        else:
            parts.append([word])
    return list(map(_run, parts))


def _run(words: list[Word]) -> Run:
    text = words[0][4]
    for before, word in pairwise(words):
        text += word[4] if word[0] - before[2] < _TOUCHING * (before[3] - before[1]) else f" {word[4]}"
    return Run(*union([word[:4] for word in words]), text, _kind(text))


def _kind(text: str) -> Kind:
    if _FIGURE.fullmatch(text):
        return Kind.FIGURE
    if _NOTHING.fullmatch(text) or _NOTE.fullmatch(text):
        return Kind.NOTHING
    return Kind.SIGN if _SIGN.fullmatch(text) else Kind.TEXT


def _signed(runs: list[Run]) -> list[Run]:
    """Signs of currencies together with what they stand before, and what hangs on a figure together with it."""
    joined: list[Run] = []
    for run in runs:
        before = joined[-1] if joined else None
        if before is not None and before.kind is Kind.SIGN and run.kind in {Kind.FIGURE, Kind.NOTHING}:
            text = f"{before.text} {run.text}" if before.text.isalpha() else before.text + run.text
            joined[-1] = Run(before.left, before.top, run.right, run.bottom, text, run.kind)
        elif before is not None and before.kind is Kind.FIGURE and _HANGING.fullmatch(run.text):
            joined[-1] = before._replace(right=run.right, text=before.text + run.text)
        else:
            joined.append(run)
    return joined
