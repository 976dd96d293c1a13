"""The text of a Word paragraph, and what hangs on it: text boxes, graphics and references to notes."""

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from app.parsing.parsers.omml import formula_text
from app.parsing.parsers.symbol_fonts import is_symbol_font, symbol
from app.parsing.parsers.xml_tree import attribute, children, first, local_name

_LITERALS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Deleted and moved text, field codes, properties, phonetic guides, and fallbacks of drawings already read.
_LEFT_OUT = frozenset(
    ("del", "moveFrom", "delText", "instrText", "delInstrText", "pPr", "rPr", "rt", "Fallback", "sectPr", "tbl")
)
_GRAPHICS = frozenset(("chart", "relIds"))
_NOTES = {"footnoteReference": "f", "endnoteReference": "e"}
_OFF = ("0", "false", "off")


@dataclass(frozen=True, slots=True)
class Piece:
    text: str = ""
    box: etree._Element | None = None
    """Content of a text box."""
    note: str = ""
    """Key of a note in `DocxPackage.notes`."""
    graphic: etree._Element | None = None
    """What refers to a chart or a diagram."""


def paragraph_pieces(paragraph: etree._Element) -> Iterator[Piece]:
    """Pieces in order. The walk has a stack of its own; text boxes are handed over, not entered."""
    stack = list(reversed(list(children(paragraph))))
    while stack:
        node = stack.pop()
        name = local_name(node)
        if name == "t":
            yield Piece(text=_shown(node))
        elif name == "sym":
            yield Piece(text=symbol(attribute(node, "font"), _code(attribute(node, "char"))))
        elif name == "oMath":
            yield Piece(text=formula_text(node))
        elif name in _GRAPHICS:
            yield Piece(graphic=node)
        elif name in _LITERALS:
            yield Piece(text=_LITERALS[name])
        elif name in _NOTES:
            yield Piece(note=_NOTES[name] + attribute(node, "id"))
        elif name == "txbxContent":
            yield Piece(box=node)
        elif name in _LEFT_OUT or (name == "r" and _is_hidden(node)):
            continue
        else:
            stack.extend(reversed(list(children(node))))


def is_formula(paragraph: etree._Element) -> bool:
    """Whether a paragraph is a formula and nothing else."""
    if first(paragraph, "oMathPara") is None:
        return False
    return not any((node.text or "").strip() for run in paragraph.iterchildren("{*}r") for node in run.iter("{*}t"))


def _shown(node: etree._Element) -> str:
    """The text of a run, also in a font of symbols."""
    text, run = node.text or "", node.getparent()
    font = attribute(first(run, "rPr", "rFonts"), "ascii")
    if not is_symbol_font(font):
        return text
    return "".join(symbol(font, ord(letter)) or letter for letter in text)


def _code(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError:
        return 0


def mark_is_deleted(paragraph: etree._Element) -> bool:
    """Whether a tracked change joins this paragraph with the next, whose style it then has."""
    return first(paragraph, "pPr", "rPr", "del") is not None


def _is_hidden(run: etree._Element) -> bool:
    properties = first(run, "rPr")
    vanish = first(properties, "vanish") if properties is not None else None
    return vanish is not None and attribute(vanish, "val") not in _OFF
