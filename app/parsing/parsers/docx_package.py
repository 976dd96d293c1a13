"""The parts of a Word file that are read."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from app.parsing.archives import UNREADABLE
from app.parsing.parsers.ooxml_package import OoxmlPackage
from app.parsing.parsers.xml_tree import attribute, children, first
from app.parsing.reasons import parse_failure


@dataclass(slots=True)
class DocxPackage:
    document: etree._Element
    styles: etree._Element | None
    footnotes: etree._Element | None
    endnotes: etree._Element | None
    properties: dict[str, str]
    has_comments: bool

    @classmethod
    def read(cls, path: Path) -> "DocxPackage":
        """Raises `ParseFailed` (`damaged`). The archive has been checked against bombs before."""
        try:
            with zipfile.ZipFile(path) as archive:
                package = OoxmlPackage(archive)
                main = package.main_part("word/document.xml")
                related = package.related(main)
                return cls(
                    document=package.root(main),
                    styles=package.optional(related.get("styles")),
                    footnotes=package.optional(related.get("footnotes")),
                    endnotes=package.optional(related.get("endnotes")),
                    properties=package.properties(),
                    has_comments=_holds_anything(package.optional(related.get("comments"))),
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


def _holds_anything(part: etree._Element | None) -> bool:
    return part is not None and len(part) > 0
