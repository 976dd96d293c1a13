"""The horizontal rules of a page, and those of them that may be a table's: of one width, below one another."""

from operator import attrgetter

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
            if abs(stack[-1].start - rule.start) <= SAME_END and abs(stack[-1].end - rule.end) <= SAME_END:
                stack.append(rule)
                break
        else:
            stacks.append([rule])
    return [stack for stack in stacks if len(stack) >= LEAST_RULES]


def common_joints(of_rules: list[list[float]]) -> list[float]:
    """Where pieces of most rules begin; none where rules are dashed or dotted."""
    groups = near_one_another(sorted(joint for joints in of_rules for joint in joints), float, SAME_END)
    joints = [sum(group) / len(group) for group in groups if len(group) * 2 > len(of_rules)]
    return joints if len(joints) < _MOST_COLUMNS else []
