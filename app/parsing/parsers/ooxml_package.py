"""The parts of an OOXML file (ECMA-376 part 2) and how they refer to one another."""

import posixpath
import zipfile
from dataclasses import dataclass

from lxml import etree

from app.parsing.parsers.xml_tree import attribute, children, local_name, parse_xml

_PROPERTIES = {
    "title": "title",
    "creator": "author",
    "created": "created",
    "modified": "modified",
    "subject": "subject",
}


@dataclass(frozen=True, slots=True)
class Relation:
    kind: str
    """The last word of its type: `slide`, `footnotes`."""
    target: str
    """Name of the part."""


class OoxmlPackage:
    """An archive that has been checked against bombs and stays open as long as its owner holds it open."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def main_part(self, default: str) -> str:
        relations = self.relations("")
        return next((found.target for found in relations.values() if found.kind == "officeDocument"), default)

    def relations(self, part: str) -> dict[str, Relation]:
        """By id; of the package itself where `part` is empty. What points out of the file is left out."""
        folder, name = posixpath.split(part)
        root = self.optional(posixpath.join(folder, "_rels", f"{name}.rels"))
        found: dict[str, Relation] = {}
        for node in children(root) if root is not None else ():
            target = attribute(node, "Target")
            if not target or attribute(node, "TargetMode") == "External":
                continue
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            found[attribute(node, "Id")] = Relation(attribute(node, "Type").rpartition("/")[2], path)
        return found

    def related(self, part: str) -> dict[str, str]:
        """Names of the parts that `part` refers to, by kind; of several of one kind the last."""
        return {relation.kind: relation.target for relation in self.relations(part).values()}

    def root(self, name: str) -> etree._Element:
        """Raises `KeyError` for a missing part, `XMLSyntaxError` for a broken one."""
        return parse_xml(self._archive.read(name))

    def optional(self, name: str | None) -> etree._Element | None:
        """A part's root; None where it is missing or broken, since the text can be read without it."""
        if not name:
            return None
        try:
            return self.root(name)
        except (KeyError, etree.XMLSyntaxError):
            return None

    def properties(self) -> dict[str, str]:
        core = self.optional("docProps/core.xml")
        if core is None:
            return {}
        named = ((_PROPERTIES.get(local_name(node)), node.text) for node in children(core))
        return {name: text for name, text in named if name and text}
