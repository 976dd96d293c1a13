"""Reading order of the lines of a page: columns are found by the gutters between them.

The page is cut into bands of lines that overlap in height. Bands below one another form a group as long as a common
gutter runs through them; a line across the gutter (a title, a wide table) ends the group. A group whose columns hold
prose is read column by column, any other row by row, since then the gutters are those of a table without rules.
This is the recursive X-Y cut (Nagy and Seth 1984) with the horizontal cuts chosen so as not to break columns.
"""

from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import itemgetter

from app.parsing.parsers.pdf_lines import Line, union

_MIN_GUTTER = 0.8  # of the type size
_PROSE_WIDTH = 9.0  # a column of prose is at least this many type sizes wide
_PROSE_LINES = 3
_MAX_DEPTH = 6
_MOST_GUTTERS = 60  # more of them are a table's or a drawing's: no page has so many columns of prose
_TABLE_ROWS = 4
_TABLE_GUTTERS = 2
Interval = tuple[float, float]
_from_top, _middle = itemgetter(0, 1), itemgetter(0)


@dataclass(slots=True)
class _Group:
    lines: list[Line] = field(default_factory=list)
    bands: list[list[Line]] = field(default_factory=list)
    covered: list[Interval] = field(default_factory=list)

    def add(self, band: list[Line], covered: list[Interval]) -> None:
        """`covered` is what the group covers with the band."""
        self.lines.extend(band)
        self.bands.append(band)
        self.covered = covered


def in_reading_order(lines: list[Line]) -> list[Line]:
    """The lines in order, those of one row of one column joined into one, with `column` set; tables stay alone."""
    ordered: list[Line] = []
    for number, column in enumerate(_columns(lines, 0)):
        for band in column:
            for line in _in_order(band):
                line.column = number
                ordered.append(line)
    return ordered


def shows_table(lines: list[Line]) -> bool:
    """Whether some lines stand in rows and columns of short texts, as in a table without rules."""
    for group in _groups(lines):
        size = _typical_size(group.lines)
        if len(_gaps(group.covered, size)) < _TABLE_GUTTERS or len(_prose_columns(group)) > 1:
            continue
        full = sum(len(_gaps(_merged(_spans(band)), size)) >= _TABLE_GUTTERS for band in group.bands)
        if full >= _TABLE_ROWS:
            return True
    return False


def _columns(lines: list[Line], depth: int) -> list[list[list[Line]]]:
    """Columns in reading order, each a list of rows, each a list of lines."""
    result: list[list[list[Line]]] = []
    for group in _groups(lines):
        parts = _prose_columns(group) if depth < _MAX_DEPTH else []
        if len(parts) > 1:
            for part in parts:
                result.extend(_columns(part, depth + 1))
        elif result and not _was_split(result[-1], group):
            result[-1].extend(group.bands)
        else:
            result.append(list(group.bands))
    return result


def _was_split(above: list[list[Line]], group: _Group) -> bool:
    """Whether what stands above is a narrow column, so that this group begins anew below it."""
    upper, lower = union([line.box for band in above for line in band]), union([line.box for line in group.lines])
    return upper[3] > lower[1] + 1 or (lower[2] - lower[0]) > 1.5 * (upper[2] - upper[0]) + 1


def _groups(lines: list[Line]) -> list[_Group]:
    groups: list[_Group] = []
    for band in _bands(lines):
        spans = _merged(_spans(band))
        covered = _merged([*groups[-1].covered, *spans]) if groups else spans
        if not groups or not _fits(groups[-1], band, spans, covered):
            groups.append(_Group())
            covered = spans
        groups[-1].add(band, covered)
    for upper, lower in pairwise(groups):
        _begin_columns_above(upper, lower)
    return groups


def _begin_columns_above(upper: _Group, lower: _Group) -> None:
    """Moves the first rows of columns from below what stands above the columns (a title) to where the others are.

    A short heading in one column and a line in the other keep a gutter open under a title that is centred between the
    columns, which only the rows that follow close.
    """
    size = _typical_size(lower.lines)
    if not _gaps(lower.covered, size) or len(_prose_columns(lower)) < 2:
        return
    spans = [_merged(_spans(band)) for band in upper.bands]
    down_to = list(accumulate(spans, lambda above, band: _merged([*above, *band])))
    covered, first = lower.covered, len(spans)
    for number in range(len(spans) - 1, 0, -1):
        covered = _merged([*covered, *spans[number]])
        if not _gaps(covered, size):
            break
        if _gaps(spans[number], size) and not _gaps(down_to[number - 1], size):
            first = number
    if first < len(spans):
        for group, bands in ((lower, [*upper.bands[first:], *lower.bands]), (upper, upper.bands[:first])):
            group.bands, group.lines = bands, [line for band in bands for line in band]
            group.covered = _merged(_spans(group.lines))


def _fits(group: _Group, band: list[Line], spans: list[Interval], covered: list[Interval]) -> bool:
    """Whether the band, which covers `spans`, keeps a gutter of the group open, or neither has any. Both together cover
    `covered`."""
    if len(spans) == 1 and len(group.covered) == 1:  # neither has any: most pages of prose
        return True
    size = _typical_size([*group.lines[-20:], *band])
    return bool(_gaps(covered, size)) or not (_gaps(group.covered, size) or _gaps(spans, size))


def _bands(lines: list[Line]) -> list[list[Line]]:
    """Lines whose heights overlap by more than a touch, from top to bottom."""
    bands: list[list[Line]] = []
    bottom = float("-inf")
    for top, _, end, line in sorted(map(_extent, lines), key=_from_top):
        if top < bottom:
            bands[-1].append(line)
            bottom = max(bottom, end)
        else:
            bands.append([line])
            bottom = end
    return bands


def _extent(line: Line) -> tuple[float, float, float, Line]:
    """Its top, left and bottom, less ascenders and descenders: those of neighbouring lines may overlap without their
    baselines being the same."""
    left, top, _, bottom = line.box
    inset = 0.3 * (bottom - top) if line.table is None else 0.0
    return top + inset, left, bottom - inset, line


def _prose_columns(group: _Group) -> list[list[Line]]:
    """The group's lines by column; one list where its gutters part no prose."""
    if len(group.covered) == 1:
        return [group.lines]
    size = _typical_size(group.lines)
    gaps = _gaps(group.covered, size)
    if len(gaps) > _MOST_GUTTERS:
        return [group.lines]
    gutters = [gap for gap in gaps if _is_prose_left_and_right(group.lines, gap, size)]
    if not gutters:
        return [group.lines]
    edges = [float("-inf"), *((left + right) / 2 for left, right in gutters), float("inf")]
    return [
        [line for line in group.lines if start <= (line.box[0] + line.box[2]) / 2 < end]
        for start, end in pairwise(edges)
    ]


def _is_prose_left_and_right(lines: list[Line], gap: Interval, size: float) -> bool:
    left = [line for line in lines if line.box[2] <= gap[0] + 0.1]
    right = [line for line in lines if line.box[0] >= gap[1] - 0.1]
    return _is_prose(left, size) and _is_prose(right, size)


def _is_prose(lines: list[Line], size: float) -> bool:
    """Enough lines, most of them wide for their type: cells of a table are few words each."""
    if any(line.table is not None for line in lines):
        return True
    if len(lines) < _PROSE_LINES:
        return False
    widths = sorted(line.box[2] - line.box[0] for line in lines)
    lengths = sorted(len(line.text) for line in lines)
    return widths[len(widths) // 2] >= _PROSE_WIDTH * size and lengths[len(lengths) // 2] >= 8


def _typical_size(lines: list[Line]) -> float:
    sizes = sorted([line.size for line in lines if line.size])
    return sizes[len(sizes) // 2] if sizes else 10.0


def _spans(lines: list[Line]) -> list[Interval]:
    return [(line.box[0], line.box[2]) for line in lines]


def _merged(intervals: list[Interval]) -> list[Interval]:
    if len(intervals) < 2:
        return intervals
    if len(intervals) == 2:  # mostly a line below those of its column
        one, other = intervals
        if one[0] <= other[1] and other[0] <= one[1]:
            return [(min(one[0], other[0]), max(one[1], other[1]))]
    merged: list[Interval] = []
    (start, end), *following = sorted(intervals)
    for left, right in following:
        if left > end:
            merged.append((start, end))
            start, end = left, right
        elif right > end:
            end = right
    merged.append((start, end))
    return merged


def _gaps(covered: list[Interval], size: float) -> list[Interval]:
    least = _MIN_GUTTER * size
    return [(end, start) for (_, end), (start, _) in pairwise(covered) if start - end >= least]


def _in_order(band: list[Line]) -> list[Line]:
    """One line, or tables with what stands beside them: first what is above or left of a table's middle."""
    if len(band) == 1:
        return band
    tables = [line for line in band if line.table is not None]
    if not tables:
        return [_joined(band)]
    ordered: list[Line] = []
    rest = [line for line in band if line.table is None]
    for table in sorted(tables, key=_left):
        ordered += [*map(_joined, _bands([line for line in rest if _precedes(line, table)])), table]
        rest = [line for line in rest if not _precedes(line, table)]
    return [*ordered, *map(_joined, _bands(rest))]


def _precedes(line: Line, table: Line) -> bool:
    left, top, right, bottom = line.box
    if (top + bottom) / 2 < table.box[1]:
        return True
    return (top + bottom) / 2 <= table.box[3] and left + right < table.box[0] + table.box[2]


def _joined(band: list[Line]) -> Line:
    """One line of what stands side by side; several rows in one band (a tall letter, a formula) are kept in order."""
    if len(band) == 1:
        return band[0]
    rows: list[list[Line]] = []
    first = 0.0
    for middle, line in sorted([((line.box[1] + line.box[3]) / 2, line) for line in band], key=_middle):
        if rows and middle - first < 0.5 * max(line.size, 4.0):
            rows[-1].append(line)
        else:
            rows.append([line])
            first = middle
    ordered = [line for row in rows for line in sorted(row, key=_left)]
    main = max(ordered, key=_length)
    return Line(
        text=_side_by_side(ordered),
        box=union([line.box for line in ordered]),
        place=union([line.place for line in ordered]),
        size=main.size,
        bold=all(line.bold for line in ordered),
        mono=all(line.mono for line in ordered),
        formula=main.formula,
        confidence=min([line.confidence for line in ordered if line.confidence is not None], default=None),
        role=main.role,
        region=main.region,
    )


def _left(line: Line) -> float:
    return line.box[0]


def _length(line: Line) -> int:
    return len(line.text)


def _side_by_side(lines: list[Line]) -> str:
    text = lines[0].text
    for before, line in pairwise(lines):
        touching = line.box[0] - before.box[2] < 0.1 * max(line.size, 1.0) and line.box[1] < before.box[3]
        text += line.text if touching else f" {line.text}"
    return text
