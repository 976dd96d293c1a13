"""How deep a page nests, before it is parsed: the HTML standard's rules take time by the square of that."""

import re

from app.parsing.reasons import parse_failure

_DEEPEST = 25_000
"""Two seconds; browsers stop at 512."""
_TAG = re.compile(
    r"<(?:!--.*?(?:-->|\Z)|(script|style)\b.*?(?:</\1|\Z)|(/?)([a-z][a-z0-9:-]{0,40})[^<>]*+>)",
    re.IGNORECASE | re.DOTALL,
)
# What is never closed, or by what follows, so that its tags say nothing of depth.
_NOT_COUNTED = frozenset(
    (
        *(
            "area",
            "base",
            "br",
            "col",
            "embed",
            "hr",
            "img",
            "input",
            "link",
            "meta",
            "param",
            "source",
            "track",
            "wbr",
        ),
        *("p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "a"),
        *("rt", "rp", "html", "head", "body"),
    )
)


def check_depth(text: str) -> None:
    """Raises `ParseFailed` (`too_complex`)."""
    if text.count("<") <= _DEEPEST:
        return
    depth = 0
    for tag in _TAG.finditer(text):
        if tag[3] is None or tag[0].endswith("/>") or tag[3].lower() in _NOT_COUNTED:
            continue
        depth = max(depth - 1, 0) if tag[2] else depth + 1
        if depth > _DEEPEST:
            raise parse_failure("too_complex", "Its elements are nested too deeply.")
