"""The text of a shape on a slide: paragraphs, and which of them are list items.

Whether a paragraph has a bullet is said by itself, or by the shape, or by the placeholder that it is based on in the
layout, or in the master, or by the master's text styles (ECMA-376 part 1, 21.1.2.4): the nearest one decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lxml import etree

from app.parsing.document import ElementKind
from app.parsing.parsers.omml import formula_text
from app.parsing.parsers.xml_tree import attribute, children, first, local_name, number

_BULLETS = frozenset(("buChar", "buAutoNum", "buBlip"))
_PROPERTIES = frozenset(("pPr", "rPr", "endParaRPr", "Fallback"))
_MAX_LEVEL = 9


@dataclass(frozen=True, slots=True)
class SlideParagraph:
    kind: ElementKind
    text: str
    level: int = 0
    is_field: bool = False
    """All of it is a number or a date that the program fills in."""


def paragraphs(body: etree._Element | None, inherited: Sequence[etree._Element]) -> Iterator[SlideParagraph]:
    """Paragraphs of a `txBody` that hold text. `inherited` are list styles from the nearest to the farthest."""
    if body is None:
        return
    own = first(body, "lstStyle")
    styles = [*([own] if own is not None else []), *inherited]
    for node in body.iterchildren("{*}p"):
        text = paragraph_text(node)
        if not text.strip():
            continue
        properties = first(node, "pPr")
        level = min(max(number(attribute(properties, "lvl")), 0), _MAX_LEVEL - 1)
        by_level = (first(style, f"lvl{level + 1}pPr") for style in styles)
        if _has_bullet([properties, *by_level]):
            yield SlideParagraph(ElementKind.LIST_ITEM, text, level + 1)
        else:
            yield SlideParagraph(ElementKind.PARAGRAPH, text, is_field=first(node, "r") is None)


def paragraph_text(paragraph: etree._Element) -> str:
    """Runs, fields, formulas and line breaks."""
    parts: list[str] = []
    stack = list(reversed(list(children(paragraph))))
    while stack:
        node = stack.pop()
        name = local_name(node)
        if name == "t":
            parts.append(node.text or "")
        elif name == "oMath":
            parts.append(formula_text(node))
        elif name == "br":
            parts.append("\n")
        elif name not in _PROPERTIES:
            stack.extend(reversed(list(children(node))))
    return "".join(parts)


def body_lines(body: etree._Element | None) -> str:
    """All paragraphs of a cell or a title, a line each."""
    if body is None:
        return ""
    return "\n".join(line for node in body.iterchildren("{*}p") if (line := paragraph_text(node).strip()))


def _has_bullet(properties: Sequence[etree._Element | None]) -> bool:
    for node in properties:
        if node is None:
            continue
        for child in children(node):
            name = local_name(child)
            if name in _BULLETS:
                return True
            if name == "buNone":
                return False
    return False
