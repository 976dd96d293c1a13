"""What an OpenDocument style says about a paragraph: title, caption, code; and what it hides."""

from dataclasses import dataclass

from lxml import etree

from app.parsing.document import ElementKind
from app.parsing.parsers.xml_tree import attribute, children, first, local_name

_CAPTIONS = frozenset(("caption", "illustration", "figure", "drawing", "table", "题注"))
_CODE = ("preformatted", "source", "code", "代码")
_MAX_BASES = 20


@dataclass(frozen=True, slots=True)
class OdfStyle:
    kind: ElementKind = ElementKind.PARAGRAPH
    level: int = 0
    is_title: bool = False


class OdfStyles:
    """Styles of both parts by name, followed along what they are based on: automatic styles have telling parents."""

    def __init__(self, content: etree._Element, styles: etree._Element | None) -> None:
        self._nodes: dict[str, etree._Element] = {}
        self._resolved: dict[str, OdfStyle] = {}
        for part, names in ((styles, ("styles", "automatic-styles")), (content, ("automatic-styles",))):
            for name in names:
                section = first(part, name)
                for node in children(section) if section is not None else ():
                    if local_name(node) == "style":
                        self._nodes[attribute(node, "name")] = node

    def of(self, name: str) -> OdfStyle:
        if name not in self._resolved:
            self._resolved[name] = self._look_up(name)
        return self._resolved[name]

    def is_hidden(self, name: str) -> bool:
        node = self._nodes.get(name)
        return attribute(first(node, "text-properties"), "display") == "none"

    def _look_up(self, name: str) -> OdfStyle:
        for _ in range(_MAX_BASES):
            node = self._nodes.get(name)
            shown = (attribute(node, "display-name") or name).replace("_20_", " ").strip().lower()
            if shown in ("title", "标题", "標題"):
                return OdfStyle(ElementKind.HEADING, 1, is_title=True)
            if shown in _CAPTIONS:
                return OdfStyle(ElementKind.CAPTION)
            if any(word in shown for word in _CODE):
                return OdfStyle(ElementKind.CODE)
            if node is None:
                break
            name = attribute(node, "parent-style-name")
        return OdfStyle()
