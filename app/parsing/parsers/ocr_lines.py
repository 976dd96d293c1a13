"""What OCR read on a page, as lines that the same code puts in order as it does those of a text layer.

Lines are turned the way most of the page runs, and a skewed scan is made straight: `box` says where a line would stand
on the straight page, `place` where it stands on the page as it is.
"""

import math
from collections import Counter

from app.parsing.ocr import OcrLine, Point
from app.parsing.parsers.pdf_lines import Box, Line, PageLines, direction, turned

_TYPE_SIZE = 0.72  # of the height of the box that detection draws around a line
_SAME_SIZE = 0.25  # heights of boxes tell the size of type no better than that
_ENOUGH_TO_SHOW_SKEW = 8  # times as long as high
_SHORT = 2  # characters: too few to tell how they stand


def recognised_page(found: list[OcrLine], width: float, height: float, scale: float) -> PageLines:
    """Lines of a page of `width` times `height` points; `scale` points make a pixel."""
    turn = _turn(found)
    page = PageLines(turn=turn, height=height if turn[1] == 0 else width)
    corners = {id(line): [(x * scale, y * scale) for x, y in line.corners] for line in found}
    ours = [line for line in found if _runs_with(line, turn)]
    straight = {id(line): [_turned_point(point, turn, width, height) for point in corners[id(line)]] for line in ours}
    skew = _skew([straight[id(line)] for line in ours])
    middle = (width / 2, height / 2) if turn[1] == 0 else (height / 2, width / 2)
    sizes = _sizes([straight[id(line)] for line in ours])
    for line, size in zip(ours, sizes, strict=True):
        upright = [_rotated(point, -skew, middle) for point in straight[id(line)]]
        page.lines.append(
            Line(line.text, _around(upright), _around(corners[id(line)]), size, confidence=line.confidence)
        )
    for line in found:
        if not _runs_with(line, turn):
            place = _around(corners[id(line)])
            page.strays.append(Line(line.text, place, place, confidence=line.confidence))
    return page


def _turn(found: list[OcrLine]) -> tuple[int, int]:
    """The direction in which most of the text runs."""
    weights: Counter[tuple[int, int]] = Counter()
    for line in found:
        weights[_way(line)] += len(line.text) if len(line.text) > _SHORT else 0
    return weights.most_common(1)[0][0] if weights else (1, 0)


def _way(line: OcrLine) -> tuple[int, int]:
    (x0, y0), (x1, y1) = line.corners[:2]
    return direction(x1 - x0, y1 - y0)


def _runs_with(line: OcrLine, turn: tuple[int, int]) -> bool:
    """A line the other way round is one whose classifier was wrong; one across is a stamp or a label of an axis."""
    way = _way(line)
    return abs(way[0]) == abs(turn[0]) or len(line.text) <= _SHORT


def _turned_point(point: Point, turn: tuple[int, int], width: float, height: float) -> Point:
    x, y, _, _ = turned((*point, *point), turn, width, height)
    return x, y


def _rotated(point: Point, angle: float, around: Point) -> Point:
    x, y = point[0] - around[0], point[1] - around[1]
    cosine, sine = math.cos(angle), math.sin(angle)
    return around[0] + x * cosine - y * sine, around[1] + x * sine + y * cosine


def _skew(quadrangles: list[list[Point]]) -> float:
    """In radians, clockwise: the middle one of the angles of long lines; 0 where there are none."""
    angles = []
    for points in quadrangles:
        box = _around(points)
        width, height = box[2] - box[0], max(_height(points), 1.0)
        if width >= _ENOUGH_TO_SHOW_SKEW * height:
            left, upper = _middle(sorted(points)[:2])
            right, lower = _middle(sorted(points)[2:])
            angles.append(math.atan2(lower - upper, right - left))
    return sorted(angles)[len(angles) // 2] if angles else 0.0


def _middle(points: list[Point]) -> Point:
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def _height(points: list[Point]) -> float:
    """Of the line across its direction."""
    return math.dist(points[0], points[3])


def _sizes(quadrangles: list[list[Point]]) -> list[float]:
    """Type sizes in points: near the middle one they are taken for the same."""
    heights = [_height(points) for points in quadrangles]
    usual = sorted(heights)[len(heights) // 2] if heights else 0.0
    return [
        round(2 * _TYPE_SIZE * (usual if abs(height - usual) <= _SAME_SIZE * usual else height)) / 2
        for height in heights
    ]


def _around(points: list[Point]) -> Box:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)
