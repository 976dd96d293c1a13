"""The parts of an OpenDocument file (OASIS OpenDocument 1.3, part 2)."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from app.parsing.archives import UNREADABLE
from app.parsing.parsers.xml_tree import children, first, local_name, parse_xml
from app.parsing.reasons import parse_failure

_PROPERTIES = {
    "title": "title",
    "initial-creator": "author",
    "creator": "author",
    "creation-date": "created",
    "date": "modified",
    "subject": "subject",
}


@dataclass(slots=True)
class OdfPackage:
    content: etree._Element
    styles: etree._Element | None
    properties: dict[str, str]
    objects: dict[str, etree._Element]
    """Formulas (MathML) and charts that stand in the document, by the name that it refers to them by."""

    @classmethod
    def read(cls, path: Path) -> "OdfPackage":
        """Raises `ParseFailed` (`damaged`). The archive has been checked against bombs before."""
        try:
            with zipfile.ZipFile(path) as archive:
                content = parse_xml(archive.read("content.xml"))
                return cls(
                    content,
                    _optional(archive, "styles.xml"),
                    _properties(_optional(archive, "meta.xml")),
                    _objects(archive),
                )
        except (*UNREADABLE, KeyError, etree.XMLSyntaxError) as error:
            raise parse_failure("damaged") from error

    def body(self, kind: str) -> etree._Element:
        """`office:text` or `office:presentation`. Raises `ParseFailed` (`damaged`)."""
        body = first(self.content, "body", kind)
        if body is None:
            raise parse_failure("damaged")
        return body


def _objects(archive: zipfile.ZipFile) -> dict[str, etree._Element]:
    names = (name for name in archive.namelist() if name.endswith("/content.xml"))
    found = {name.removesuffix("/content.xml"): _optional(archive, name) for name in names}
    return {name: root for name, root in found.items() if root is not None}


def _optional(archive: zipfile.ZipFile, name: str) -> etree._Element | None:
    try:
        return parse_xml(archive.read(name))
    except (KeyError, etree.XMLSyntaxError):
        return None


def _properties(meta: etree._Element | None) -> dict[str, str]:
    """The first of several names for one property wins: who began a document is its author."""
    found: dict[str, str] = {}
    inside = first(meta, "meta")
    for node in children(inside) if inside is not None else ():
        name = _PROPERTIES.get(local_name(node))
        if name and node.text:
            found.setdefault(name, node.text)
    return found
