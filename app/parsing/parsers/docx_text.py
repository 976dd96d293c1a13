"""The text of a Word paragraph, and what hangs on it: text boxes and references to notes."""

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from app.parsing.parsers.xml_tree import attribute, children, first, local_name

_LITERALS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# Deleted and moved text, field codes, properties, phonetic guides, and fallbacks of drawings already read.
_LEFT_OUT = frozenset(
    ("del", "moveFrom", "delText", "instrText", "delInstrText", "pPr", "rPr", "rt", "Fallback", "sectPr", "tbl")
)
_NOTES = {"footnoteReference": "f", "endnoteReference": "e"}
_OFF = ("0", "false", "off")


@dataclass(frozen=True, slots=True)
class Piece:
    text: str = ""
    box: etree._Element | None = None
    """Content of a text box."""
    note: str = ""
    """Key of a note in `DocxPackage.notes`."""


def paragraph_pieces(paragraph: etree._Element) -> Iterator[Piece]:
    """Pieces in order. The walk has a stack of its own; text boxes are handed over, not entered."""
    stack = list(reversed(list(children(paragraph))))
    while stack:
        node = stack.pop()
        name = local_name(node)
        if name == "t":
            yield Piece(text=node.text or "")
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


def mark_is_deleted(paragraph: etree._Element) -> bool:
    """Whether a tracked change joins this paragraph with the next, whose style it then has."""
    return first(paragraph, "pPr", "rPr", "del") is not None


def _is_hidden(run: etree._Element) -> bool:
    properties = first(run, "rPr")
    vanish = first(properties, "vanish") if properties is not None else None
    return vanish is not None and attribute(vanish, "val") not in _OFF
