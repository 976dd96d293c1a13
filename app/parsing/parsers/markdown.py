"""Markdown: CommonMark with tables, strikethrough and formulas, front matter, HTML inside it.

Comments are read as text: in a Markdown file they are part of what its author wrote and what its readers see.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.parsing.decoded import read_text
from app.parsing.document import Element, ElementKind, ParsedDocument, Table
from app.parsing.parsers.html import html_elements
from app.parsing.parsers.markdown_math import with_formulas
from app.parsing.parsers.text import text_elements
from app.parsing.source import Source
from app.parsing.tables import rectangle

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z][\w-]{0,63})\s*:\s*(\S.*)")
_HOLDERS = frozenset(("blockquote_open", "list_item_open"))
_TAG = re.compile(r"<[^<>]{0,1000}>")
_MAX_FRONT_MATTER = 64 * 1024
_MOST_BLOCKS = 1000
"""Of Markdown, in which the end of a table in HTML is looked for."""
_DEEPEST = 50
"""Levels of lists (two each) and quotes; what stands deeper is left out by the parser."""


class MarkdownParser:
    def parse(self, source: Source) -> ParsedDocument:
        text, encoding, warnings = read_text(source)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        metadata, body = split_front_matter(text)
        parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
        tokens = with_formulas(parser).parse(body)
        if any(token.level == _DEEPEST - 1 and token.type in _HOLDERS for token in tokens):
            warnings.append("Its lists or quotes are nested too deeply; it was read as plain text.")
            elements = list(text_elements(body))
        else:
            elements = list(_Reader().elements(tokens))
        return ParsedDocument(
            media_type=source.media_type,
            parser="markdown-it",
            title=metadata.get("title", ""),
            elements=elements,
            metadata={**metadata, "encoding": encoding},
            warnings=warnings,
        )


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Plain `key: value` lines of YAML front matter, and the text after it. Nested values are left out."""
    match = _FRONT_MATTER.match(text[:_MAX_FRONT_MATTER])
    if not match:
        return {}, text
    fields = (_FIELD.fullmatch(line.rstrip()) for line in match[1].split("\n"))
    values = {field[1].lower(): field[2].strip("\"' ") for field in fields if field}
    return values, text[match.end() :]


class _Reader:
    """Block tokens to elements; keeps what they stand in."""

    def __init__(self) -> None:
        self._lists = 0
        self._item_begins = False
        self._heading = 0

    def elements(self, tokens: Sequence[Token]) -> Iterator[Element]:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.type == "table_open":
                position, table = _table(tokens, position)
                yield Element(kind=ElementKind.TABLE, table=table)
            elif token.type == "inline":
                yield self._text(token)
            elif token.type in ("fence", "code_block"):
                language = token.info.split()[0] if token.info.strip() else ""
                yield Element(kind=ElementKind.CODE, text=token.content, language=language.strip("{}."))
            elif token.type == "math_block":
                yield Element(kind=ElementKind.FORMULA, text=token.content)
            elif token.type == "html_block":
                position, content = _html(tokens, position)
                yield from html_elements(content.replace("<!--", " ").replace("-->", " "))
            else:
                self._enter_or_leave(token)
            position += 1

    def _enter_or_leave(self, token: Token) -> None:
        if token.type in ("bullet_list_open", "bullet_list_close", "ordered_list_open", "ordered_list_close"):
            self._lists += token.nesting
        elif token.type == "list_item_open":
            self._item_begins = True
        elif token.type in ("heading_open", "heading_close"):
            self._heading = int(token.tag[1:]) if token.nesting == 1 else 0

    def _text(self, token: Token) -> Element:
        text = _inline_text(token.children or [])
        if self._heading:
            return Element(kind=ElementKind.HEADING, text=text, level=self._heading)
        if self._lists and self._item_begins:
            self._item_begins = False
            return Element(kind=ElementKind.LIST_ITEM, text=text, level=self._lists)
        return Element(kind=ElementKind.PARAGRAPH, text=text)


def _html(tokens: Sequence[Token], position: int) -> tuple[int, str]:
    """The HTML that begins at `position`, and the position of its last token.

    A blank line ends a block of HTML in Markdown, but no table: that goes on to its end, if it has one.
    """
    content = tokens[position].content
    if not _is_open(content):
        return position, content
    parts = [content]
    for at in range(position + 1, min(len(tokens), position + _MOST_BLOCKS)):
        parts.append(tokens[at].content)
        if tokens[at].type == "html_block" and "</table" in tokens[at].content.lower():
            whole = "\n".join(parts)
            if not _is_open(whole):
                return at, whole
    return position, content


def _is_open(content: str) -> bool:
    lowered = content.lower()
    return lowered.count("<table") > lowered.count("</table")


def _inline_text(children: Sequence[Token]) -> str:
    parts = []
    for child in children:
        if child.type in ("text", "code_inline", "math_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif child.type == "image":
            parts.append(child.content)
        elif child.type == "html_inline":
            parts.append("\n" if child.content.startswith("<br") else _TAG.sub("", child.content))
    return "".join(parts)


def _table(tokens: Sequence[Token], position: int) -> tuple[int, Table]:
    """The table that opens at `position`, and the position of the token that closes it."""
    rows: list[list[str]] = []
    while tokens[position].type != "table_close":
        token = tokens[position]
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline_text(token.children or []))
        position += 1
    return position, Table(rows=rectangle(rows), header_rows=1)
