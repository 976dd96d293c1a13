"""The parts of a Word file that are read."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from app.parsing.archives import UNREADABLE
from app.parsing.document import Element
from app.parsing.parsers.ooxml_package import OoxmlPackage, Relation
from app.parsing.parsers.pptx_graphics import chart_elements, diagram_elements
from app.parsing.parsers.xml_tree import attribute, children, first, local_name
from app.parsing.reasons import parse_failure

_GRAPHICS = ("chart", "diagramData")


@dataclass(slots=True)
class DocxPackage:
    document: etree._Element
    styles: etree._Element | None
    footnotes: etree._Element | None
    endnotes: etree._Element | None
    properties: dict[str, str]
    has_comments: bool
    graphics: dict[str, etree._Element]
    """Charts and data of diagrams by the id that the text refers to them by."""
    inserted: dict[str, bytes]
    """Whole files of other formats that stand in the text, by that id."""

    @classmethod
    def read(cls, path: Path) -> "DocxPackage":
        """Raises `ParseFailed` (`damaged`). The archive has been checked against bombs before."""
        try:
            with zipfile.ZipFile(path) as archive:
                package = OoxmlPackage(archive)
                main = package.main_part("word/document.xml")
                related = package.related(main)
                relations = package.relations(main)
                return cls(
                    document=package.root(main),
                    styles=package.optional(related.get("styles")),
                    footnotes=package.optional(related.get("footnotes")),
                    endnotes=package.optional(related.get("endnotes")),
                    properties=package.properties(),
                    has_comments=_holds_anything(package.optional(related.get("comments"))),
                    graphics=_graphics(package, relations),
                    inserted=_inserted(archive, relations),
                )
        except (*UNREADABLE, KeyError, etree.XMLSyntaxError) as error:
            raise parse_failure("damaged") from error

    def body(self) -> etree._Element:
        body = first(self.document, "body")
        if body is None:
            raise parse_failure("damaged")
        return body

    def notes(self) -> dict[str, etree._Element]:
        """Footnotes as `f` and endnotes as `e` followed by their id; separators are left out."""
        found: dict[str, etree._Element] = {}
        for prefix, part in (("f", self.footnotes), ("e", self.endnotes)):
            for note in children(part) if part is not None else ():
                if attribute(note, "type") in ("", "normal"):
                    found[prefix + attribute(note, "id")] = note
        return found

    def graphic(self, reference: etree._Element) -> list[Element]:
        """What the text refers to: the figures of a chart, the points of a diagram."""
        is_chart = local_name(reference) == "chart"
        root = self.graphics.get(attribute(reference, "id" if is_chart else "dm"))
        if root is None:
            return []
        return list(chart_elements(root) if is_chart else diagram_elements(root))


def _graphics(package: OoxmlPackage, relations: dict[str, Relation]) -> dict[str, etree._Element]:
    wanted = {identity: found.target for identity, found in relations.items() if found.kind in _GRAPHICS}
    # Each once, however often it is named.
    roots = {target: package.optional(target) for target in set(wanted.values())}
    return {identity: root for identity, target in wanted.items() if (root := roots[target]) is not None}


def _inserted(archive: zipfile.ZipFile, relations: dict[str, Relation]) -> dict[str, bytes]:
    wanted = {identity: found.target for identity, found in relations.items() if found.kind == "aFChunk"}
    files = {target: archive.read(target) for target in set(wanted.values()) & set(archive.namelist())}
    return {identity: files[target] for identity, target in wanted.items() if target in files}


def _holds_anything(part: etree._Element | None) -> bool:
    return part is not None and len(part) > 0
