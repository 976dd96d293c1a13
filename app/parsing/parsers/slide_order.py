"""Reading order of what stands on a slide, by where it stands.

The recursive X-Y cut (Nagy and Seth 1984), each time along the axis with the widest gap: a card's heading stands nearer
to its own text than to the next card, and a label nearer to its value than to the row below.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from app.parsing.document import BoundingBox

T = TypeVar("T")
_Interval = tuple[float, float]
_MAX_DEPTH = 30
_OVERLAP = 4.0
"""Points by which the frames of neighbours may overlap: frames are drawn wider than their text."""


def in_reading_order(items: Sequence[T], box_of: Callable[[T], BoundingBox | None]) -> list[T]:
    """The items as people read them; in the order given where a position is missing."""
    placed: list[tuple[BoundingBox, T]] = []
    for item in items:
        box = box_of(item)
        if box is None:
            return list(items)
        placed.append((box, item))
    return [item for _, item in _cut(placed, 0)]


def _cut(placed: list[tuple[BoundingBox, T]], depth: int) -> list[tuple[BoundingBox, T]]:
    if len(placed) < 2:
        return placed
    down = _gaps([(box.top, box.bottom) for box, _ in placed])
    across = _gaps([(box.left, box.right) for box, _ in placed])
    widest_down, widest_across = max(map(_width, down), default=0.0), max(map(_width, across), default=0.0)
    if depth >= _MAX_DEPTH or not (down or across):
        return _by_rows(placed)
    vertical = widest_across > widest_down
    widest = widest_across if vertical else widest_down
    cuts = [(start + end) / 2 for start, end in (across if vertical else down) if end - start >= widest / 2]
    parts: list[list[tuple[BoundingBox, T]]] = [[] for _ in range(len(cuts) + 1)]
    for entry in placed:
        box = entry[0]
        middle = (box.left + box.right) / 2 if vertical else (box.top + box.bottom) / 2
        parts[sum(middle > cut for cut in cuts)].append(entry)
    if max(map(len, parts)) == len(placed):
        return _by_rows(placed)
    return [entry for part in parts for entry in _cut(part, depth + 1)]


def _by_rows(placed: list[tuple[BoundingBox, T]]) -> list[tuple[BoundingBox, T]]:
    """For what overlaps: from top to bottom, and from left to right what stands beside one another."""
    rows: list[list[tuple[BoundingBox, T]]] = []
    for entry in sorted(placed, key=lambda entry: entry[0].top):
        first = rows[-1][0][0] if rows else None
        if first is not None and entry[0].top < (first.top + first.bottom) / 2:
            rows[-1].append(entry)
        else:
            rows.append([entry])
    return [entry for row in rows for entry in sorted(row, key=lambda entry: entry[0].left)]


def _gaps(intervals: list[_Interval]) -> list[_Interval]:
    """What no interval covers, between the first and the last of them, each shortened by the overlap borne."""
    gaps: list[_Interval] = []
    reach: float | None = None
    for start, end in sorted(_shortened(interval) for interval in intervals):
        if reach is not None and start > reach:
            gaps.append((reach, start))
        reach = end if reach is None else max(reach, end)
    return gaps


def _shortened(interval: _Interval) -> _Interval:
    start, end = interval
    margin = min(_OVERLAP / 2, (end - start) / 4)
    return start + margin, end - margin


def _width(gap: _Interval) -> float:
    return gap[1] - gap[0]
