"""The parts of a Word file that are read, and short ways through its XML.

Elements are compared by local name: transitional and strict OOXML differ in nothing else that matters here.
"""

import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from app.parsing.archives import UNREADABLE
from app.parsing.reasons import parse_failure

_PROPERTIES = {
    "title": "title",
    "creator": "author",
    "created": "created",
    "modified": "modified",
    "subject": "subject",
}


def local_name(node: etree._Element) -> str:
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def children(node: etree._Element) -> Iterator[etree._Element]:
    return node.iterchildren("*")


def first(node: etree._Element, name: str) -> etree._Element | None:
    """The first child of that local name."""
    return next(node.iterchildren("{*}" + name), None)


def attribute(node: etree._Element, name: str) -> str:
    """The value of an attribute in any namespace, empty where it is missing."""
    for key, value in node.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return ""


@dataclass(slots=True)
class DocxPackage:
    document: etree._Element
    styles: etree._Element | None
    footnotes: etree._Element | None
    endnotes: etree._Element | None
    core: etree._Element | None

    @classmethod
    def read(cls, path: Path) -> "DocxPackage":
        """Raises `ParseFailed` (`damaged`). The archive has been checked against bombs before."""
        try:
            with zipfile.ZipFile(path) as archive:
                main = _main_part(archive)
                related = _related(archive, main)
                return cls(
                    document=_parse(archive.read(main)),
                    styles=_optional(archive, related.get("styles")),
                    footnotes=_optional(archive, related.get("footnotes")),
                    endnotes=_optional(archive, related.get("endnotes")),
                    core=_optional(archive, "docProps/core.xml"),
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

    def properties(self) -> dict[str, str]:
        if self.core is None:
            return {}
        named = ((_PROPERTIES.get(local_name(node)), node.text) for node in children(self.core))
        return {name: text for name, text in named if name and text}


def _main_part(archive: zipfile.ZipFile) -> str:
    root = _optional(archive, "_rels/.rels")
    for relation in children(root) if root is not None else ():
        if attribute(relation, "Type").endswith("/officeDocument"):
            return attribute(relation, "Target").lstrip("/")
    return "word/document.xml"


def _related(archive: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Parts by the last word of their relationship's type."""
    folder, name = posixpath.split(part)
    root = _optional(archive, f"{folder}/_rels/{name}.rels")
    targets: dict[str, str] = {}
    for relation in children(root) if root is not None else ():
        target = attribute(relation, "Target")
        path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        targets[attribute(relation, "Type").rpartition("/")[2]] = path
    return targets


def _optional(archive: zipfile.ZipFile, name: str | None) -> etree._Element | None:
    """A part's root; None where it is missing or broken, since the text can be read without it."""
    if name is None:
        return None
    try:
        return _parse(archive.read(name))
    except (KeyError, etree.XMLSyntaxError):
        return None


def _parse(content: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True)
    return etree.fromstring(content, parser)
