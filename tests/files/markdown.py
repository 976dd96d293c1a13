"""Markdown to the text that a reader sees: without marks of emphasis, escapes and the HTML that stands in it."""

import html
import re

from app.parsing.tables import rectangle

_TAGS = re.compile(r"</?(?:br|sup|sub|b|i|u|s|em|strong|mark|span|div|p|a|img|table|thead|tbody|tr|td|th)\b[^<>]*>")
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
_LINKS = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_RULES = re.compile(r"^\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)*\|?$", re.MULTILINE)
_HEADS = re.compile(r"^\s{0,3}(?:#{1,6}|[-*+]|>)\s+", re.MULTILINE)
_ESCAPES = re.compile(r"\\([!-/:-@\[-`{-~])")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*{1,3}|~~|`{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w))")
_BARS = re.compile(r"(?<!\\)\|")


def without_marks(markdown: str) -> str:
    """What the marks are around stays; cells of tables are parted by blanks."""
    text = _COMMENTS.sub("", markdown)
    for pattern, put in ((_TAGS, " "), (_LINKS, r"\1"), (_RULES, ""), (_HEADS, ""), (_EMPHASIS, ""), (_BARS, " ")):
        text = pattern.sub(put, text)
    return html.unescape(_ESCAPES.sub(r"\1", text))


def tables(markdown: str) -> list[list[list[str]]]:
    """The pipe tables in it as rows of cells, without marks; short rows are filled up."""
    found: list[list[list[str]]] = []
    before = ""
    for line in markdown.splitlines():
        if "|" not in line:
            before = ""
            continue
        if _RULES.fullmatch(line.strip()) and before:
            found.append([_cells(before)])
        elif found and before:
            found[-1].append(_cells(line))
        before = line
    return [rectangle(rows) for rows in found]


def _cells(line: str) -> list[str]:
    return [without_marks(cell).strip() for cell in _BARS.split(line.strip().removeprefix("|").removesuffix("|"))]
