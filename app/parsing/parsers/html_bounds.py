"""What is bounded of a page before it is parsed: some of the HTML standard's rules take time by the square of it.

That is how deep elements nest, how many attributes one tag has, and how many names there are in all, which the parser
looks for in a table of fixed size.
"""

import re

from app.parsing.reasons import parse_failure

_DEEPEST = 25_000
"""Two seconds; browsers stop at 512."""
_MOST_ATTRIBUTES = 2000
"""Of one tag; and of all tags together that give theirs to one element, as `<body>` in the body does."""
_MOST_NAMES = 20_000
"""Different ones of tags, and as many of attributes."""
_SMALL = 16 * 1024
"""Characters of a page that can do no harm."""
_ATTRIBUTE = (
    r"""[ \t\n\f\r/]*+[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"""
    r"""(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:"[^"]*+"|'[^']*+'|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)?+)?+"""
)
"""As the standard reads tags (13.2.5.32 and after), which may hold `<` and, in quotes, `>`."""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TAG = re.compile(
    r"<(?:!--(?:-?>|.*?(?:--!?>|\Z))|(script|style)(?=[ \t\n\f\r/>]).*?(?:</\1|\Z)"
    rf"|(/?)([a-z][^ \t\n\f\r/>]*+)((?:{_ATTRIBUTE})*+)[ \t\n\f\r/]*+(>|\Z))",
    re.IGNORECASE | re.DOTALL,
)
_NAME_END = re.compile(r"[ \t\n\f\r]*=")
_SHARED = frozenset(("html", "body"))
# What is never closed, or by what follows, so that its tags say nothing of depth.
_NOT_COUNTED = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track"),
        *("wbr", "rt", "rp", "html", "head", "body"),
        *("p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "a"),
    )
)


def check_bounds(text: str) -> None:
    """Raises `ParseFailed` (`too_complex`)."""
    if len(text) <= _SMALL:
        return
    depth = shared = 0
    tags: set[str] = set()
    written: set[str] = set()
    names: set[str] = set()
    for tag in _TAG.finditer(text):
        name = (tag[3] or "").lower()
        if not name or not tag[5]:  # what is never closed is no tag: nothing else may begin inside of it
            continue
        tags.add(name)
        if tag[4] and tag[4] not in written:
            written.add(tag[4])
            found = _names(tag[4])
            names.update(found)
            shared += len(found) if name in _SHARED else 0
            if max(len(found), shared) > _MOST_ATTRIBUTES:
                raise parse_failure("too_complex", "One of its tags has too many attributes.")
        if max(len(tags), len(names)) > _MOST_NAMES:
            raise parse_failure("too_complex", "It has too many different names of tags or attributes.")
        if not tag[0].endswith("/>") and name not in _NOT_COUNTED:
            depth = max(depth - 1, 0) if tag[2] else depth + 1
            if depth > _DEEPEST:
                raise parse_failure("too_complex", "Its elements are nested too deeply.")


def _names(attributes: str) -> set[str]:
    """Of the attributes of one tag, as they are written after its name. What is named again is dropped."""
    return {_NAME_END.split(found, maxsplit=1)[0].lstrip(" \t\n\f\r/") for found in _ATTRIBUTES.findall(attributes)}
