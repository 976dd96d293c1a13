"""XHTML as HTML reads it."""

import html
import re

# XHTML closes in place what HTML does not: `<title/>` would swallow the page, `<h1/>` make a heading of it.
_CLOSED_IN_PLACE = re.compile(r"<([A-Za-z][\w:-]{0,40})((?:\s[^<>]{0,2000})?)/>")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
_LITERAL = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_BEGIN = re.compile(r"\s*<\?xml\s")


def is_xhtml(text: str) -> bool:
    return _BEGIN.match(text) is not None


def closed_as_html(text: str) -> str:
    """Elements that are closed where they open get an end tag of their own, and literal text is escaped."""
    text = _LITERAL.sub(lambda match: html.escape(match[1]), text)
    return _CLOSED_IN_PLACE.sub(
        lambda match: match[0] if match[1].lower() in _VOID else f"<{match[1]}{match[2]}></{match[1]}>", text
    )
