"""Text between the rules of a table: its lines, and the columns that the gaps between its words make."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from statistics import median
from typing import NamedTuple

from app.parsing.parsers.pdf_grids import Rule, Word, column_of, middle, text_lines
from app.parsing.parsers.pdf_order import Interval
from app.parsing.parsers.pdf_row_rules import SAME_END

_GAP = 0.6  # of the height of the type, between two columns


class TextLine(NamedTuple):
    """A line of text across all columns."""

    top: float
    bottom: float
    words: list[Word]

    @property
    def text(self) -> str:
        return " ".join(word[4] for word in sorted(self.words))


def lines_of(words: list[Word]) -> list[TextLine]:
    """From top to bottom, as `words` are sorted."""
    return [TextLine(min(word[1] for word in row), max(word[3] for word in row), row) for row in text_lines(words)]


def words_of(bands: list[list[TextLine]]) -> list[Word]:
    return [word for lines in bands for line in lines for word in line.words]


def between(above: Rule, below: Rule, from_top: list[Word]) -> list[Word]:
    """The words between two rules, as sorted by their middles."""
    left, right = above.start - SAME_END, above.end + SAME_END
    first, end = bisect_right(from_top, above.at, key=middle), bisect_left(from_top, below.at, key=middle)
    return [word for word in from_top[first:end] if left <= (word[0] + word[2]) / 2 <= right]


def filled_columns(line: TextLine, xs: list[float]) -> set[int]:
    """Numbers of the columns, from 0, that the line has words in: as they will fill cells."""
    return {column_of(word, xs) for word in line.words}


def fill_all_columns(lines: list[TextLine], xs: list[float]) -> bool:
    """Whether each has words in all columns."""
    return all(len(filled_columns(line, xs)) == len(xs) - 1 for line in lines)


def column_widths(lines: list[TextLine], xs: list[float]) -> list[list[float]]:
    """For each column, how wide the text of each line is in it, in points."""
    widths = [[0.0] * len(lines) for _ in xs[1:]]
    for number, line in enumerate(lines):
        runs: dict[int, list[Word]] = defaultdict(list)
        for word in line.words:
            runs[column_of(word, xs)].append(word)
        for column, run in runs.items():
            widths[column][number] = max(word[2] for word in run) - min(word[0] for word in run)
    return widths


def column_borders(head: list[TextLine], body: list[Word]) -> list[float]:
    """In the gaps of the body, where the head leaves them open."""
    runs = [run for line in head for run in runs_of(line.words)]
    return [_free_middle(gap, runs) for gap in gaps_through(body)]


def _free_middle(gap: Interval, runs: list[Interval]) -> float:
    """The middle of what runs of words in the head, which may be wider than the column below, leave of a gap."""
    left, right = gap
    centre = (left + right) / 2
    for start, end in runs:
        if start + end < 2 * centre:
            left = max(left, min(end, gap[1]))
        else:
            right = min(right, max(start, gap[0]))
    return (left + right) / 2 if left < right else centre


def runs_of(words: list[Word]) -> list[Interval]:
    """Words of one line that no gap parts, as left and right ends."""
    left, right = min(word[0] for word in words), max(word[2] for word in words)
    edges = [left, *(edge for gap in gaps_through(words) for edge in gap), right]
    return list(zip(edges[::2], edges[1::2], strict=True))


def gaps_through(words: list[Word]) -> list[Interval]:
    """That run through all of the text, from left to right."""
    if not words:
        return []
    least = _GAP * type_height(words)
    gaps: list[Interval] = []
    (_, end), *following = sorted((word[0], word[2]) for word in words)
    for left, right in following:
        if left - end >= least:
            gaps.append((end, left))
        end = max(end, right)
    return gaps


def type_height(words: list[Word]) -> float:
    return median([word[3] - word[1] for word in words])
