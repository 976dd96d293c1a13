"""The horizontal rules of a page, and those of them that may be a table's: of one width, below one another; and bands
of colour behind every second row, whose edges are as good as rules."""

from operator import attrgetter, itemgetter

from app.parsing.parsers.pdf_grids import Rule, near_one_another
from app.parsing.parsers.pdf_tables import MAX_RULE, MAX_STROKE
from app.parsing.parsers.pdf_text import Drawing

THIN = 2.5
"""Points between rules that are one, or a double one."""
SAME_END = 4.0
"""Points by which ends of the rules of one table may differ."""
LEAST_RULES = 3
_SHORTEST = 6.0  # points; shorter ones are dashes of a rule, or nothing
_NARROWEST = 72.0  # points
_MOST_COLUMNS = 40
_LEAST_BANDS, _MOST_BANDS = 2, 1_000
_LOWEST_BAND, _HIGHEST_BAND = 8.0, 80.0  # points
_WITHOUT = 1.5  # heights of a band: the most that is left without colour between two

_top = itemgetter(1)
PiecedRule = tuple[Rule, list[float]]
"""A horizontal rule, and where the pieces that it was drawn in begin: at the borders of cells, mostly."""


def horizontal_rules(drawings: list[Drawing]) -> list[PiecedRule]:
    """From top to bottom; pieces that meet are one rule."""
    pieces = sorted(
        Rule((top + bottom) / 2, left, right)
        for (left, top, right, bottom), stroked, plain in drawings
        if plain and right - left > bottom - top <= (MAX_STROKE if stroked else MAX_RULE)
    )
    heights = near_one_another(pieces, attrgetter("at"), THIN)
    joined = [rule for height in heights for rule in _joined(sorted(height, key=lambda piece: piece.start))]
    return [(rule, joints) for rule, joints in joined if rule.end - rule.start >= _SHORTEST]


def _joined(pieces: list[Rule]) -> list[PiecedRule]:
    joined: list[PiecedRule] = []
    for piece in pieces:
        before, joints = joined[-1] if joined else (None, [])
        if before is not None and piece.start <= before.end + SAME_END:
            last = joints[-1] if joints else before.start
            if piece.start > last + SAME_END and piece.end - piece.start >= _SHORTEST:  # neither doubled nor dashed
                joints.append(piece.start)
            joined[-1] = before._replace(end=max(before.end, piece.end)), joints
        else:
            joined.append((piece, []))
    return joined


def stacked(rules: list[Rule]) -> list[list[Rule]]:
    """Rules of one width below one another."""
    stacks: list[list[Rule]] = []
    for rule in rules:
        if rule.end - rule.start < _NARROWEST:
            continue
        for stack in stacks:
            if _are_one_width(stack[-1], rule):
                stack.append(rule)
                break
        else:
            stacks.append([rule])
    return [stack for stack in stacks if len(stack) >= LEAST_RULES]


def _are_one_width(one: Rule, other: Rule) -> bool:
    return abs(one.start - other.start) <= SAME_END and abs(one.end - other.end) <= SAME_END


def banded(drawings: list[Drawing]) -> list[list[PiecedRule]]:
    """For bands of one width with place for a row between each two, their edges from top to bottom. The last edge is as
    far below the last band, since a row without colour may follow it."""
    boxes = [
        box
        for box, stroked, plain in drawings
        if plain and not stroked and _LOWEST_BAND <= box[3] - box[1] <= _HIGHEST_BAND and box[2] - box[0] > _SHORTEST
    ]
    if not _LEAST_BANDS <= len(boxes) <= _MOST_BANDS:
        return []
    stacks: list[list[PiecedRule]] = []
    for side_by_side in near_one_another(sorted(boxes, key=_top), _top, THIN):
        _, top, _, bottom = side_by_side[0]
        for edge, joints in _joined(sorted(Rule(top, left, right) for left, _, right, _ in side_by_side)):
            if edge.end - edge.start >= _NARROWEST:
                _stack(stacks, (edge, joints), (edge._replace(at=bottom), joints))
    return [[*stack, _open(stack)] for stack in stacks if len(stack) >= 2 * _LEAST_BANDS]


def _stack(stacks: list[list[PiecedRule]], top: PiecedRule, bottom: PiecedRule) -> None:
    """Puts a band below others of its width that stand near enough, or begins anew."""
    most = _WITHOUT * (bottom[0].at - top[0].at)
    for stack in stacks:
        last = stack[-1][0]
        if _are_one_width(last, top[0]) and THIN < top[0].at - last.at <= most:
            stack += [top, bottom]
            return
    stacks.append([top, bottom])


def _open(stack: list[PiecedRule]) -> PiecedRule:
    rule, joints = stack[-1]
    gap = min(below.at - above.at for (above, _), (below, _) in zip(stack[1::2], stack[2::2], strict=False))
    return rule._replace(at=rule.at + gap), joints


def common_joints(of_rules: list[list[float]]) -> list[float]:
    """Where pieces of most rules begin; none where rules are dashed or dotted."""
    groups = near_one_another(sorted(joint for joints in of_rules for joint in joints), float, SAME_END)
    joints = [sum(group) / len(group) for group in groups if len(group) * 2 > len(of_rules)]
    return joints if len(joints) < _MOST_COLUMNS else []
