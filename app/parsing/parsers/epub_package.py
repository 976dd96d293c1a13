"""What an EPUB says of itself: metadata, chapters in reading order, their titles (EPUB 3.3, and 2.0.1 before it)."""

import posixpath
import zipfile
from dataclasses import dataclass, field
from urllib.parse import unquote

from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from app.parsing.encoding import decode
from app.parsing.parsers.html_bounds import check_bounds
from app.parsing.parsers.xml_tree import attribute, children, first, local_name, parse_xml
from app.parsing.reasons import parse_failure

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# Fonts may be scrambled in books without protection: they are no text.
_FONT_SCRAMBLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_PROPERTIES = {
    "title": "title",
    "creator": "author",
    "date": "date",
    "language": "language",
    "publisher": "publisher",
    "identifier": "identifier",
}


@dataclass(slots=True)
class EpubPackage:
    archive: zipfile.ZipFile
    chapters: list[str] = field(default_factory=list)
    """Names of the members in reading order."""
    titles: dict[str, str] = field(default_factory=dict)
    """By member: what the navigation calls it."""
    properties: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, archive: zipfile.ZipFile) -> "EpubPackage":
        """Raises `ParseFailed` (`encrypted`, `damaged`, `too_complex`), and of a part that it needs `KeyError` and
        `XMLSyntaxError`.
        """
        package = cls(archive)
        container = parse_xml(archive.read(_CONTAINER))
        roots = [attribute(node, "full-path") for node in container.iter("{*}rootfile")]
        if not roots:
            raise parse_failure("damaged")
        package._read_root(roots[0])
        package._refuse_encrypted()
        return package

    def _read_root(self, name: str) -> None:
        root = parse_xml(self.archive.read(name))
        self.properties = _properties(first(root, "metadata"))
        folder = posixpath.dirname(name)
        items: dict[str, str] = {}
        navigation = contents = ""
        manifest = first(root, "manifest")
        for item in children(manifest) if manifest is not None else ():
            member = _member(folder, attribute(item, "href"))
            if attribute(item, "media-type") in _PAGES:
                items[attribute(item, "id")] = member
                if "nav" in attribute(item, "properties").split():
                    navigation = member
            elif attribute(item, "media-type") == "application/x-dtbncx+xml":
                contents = member
        spine = first(root, "spine")
        wanted = [attribute(node, "idref") for node in children(spine)] if spine is not None else list(items)
        self.chapters = list(dict.fromkeys(items[identity] for identity in wanted if identity in items))
        self.chapters = [chapter for chapter in self.chapters if chapter != navigation]  # a table of contents
        self.titles = self._navigation(navigation) or self._contents(contents)

    def _navigation(self, name: str) -> dict[str, str]:
        """Titles by the first link to each chapter in the `nav` that is the table of contents."""
        content = self._optional(name)
        if not content:
            return {}
        text = decode(content).text
        check_bounds(text)
        tree = LexborHTMLParser(text)
        found: dict[str, str] = {}
        for nav in tree.css("nav"):
            if (nav.attributes.get("epub:type") or "toc") != "toc":
                continue
            for link in nav.css("a"):
                target, _, place = (link.attributes.get("href") or "").partition("#")
                member = _member(posixpath.dirname(name), target)
                if not place or member not in found:
                    found.setdefault(member, " ".join(link.text(deep=True).split()))
        return found

    def _contents(self, name: str) -> dict[str, str]:
        """The same from the `ncx` of EPUB 2."""
        content = self._optional(name)
        found: dict[str, str] = {}
        try:
            points = list(parse_xml(content).iter("{*}navPoint")) if content else []
        except etree.XMLSyntaxError:
            return {}
        for point in points:
            label = first(point, "navLabel", "text")
            target = attribute(first(point, "content"), "src").partition("#")[0]
            if label is not None and label.text and target:
                found.setdefault(_member(posixpath.dirname(name), target), " ".join(label.text.split()))
        return found

    def _optional(self, name: str) -> bytes:
        try:
            return self.archive.read(name) if name else b""
        except KeyError:
            return b""

    def _refuse_encrypted(self) -> None:
        content = self._optional(_ENCRYPTION)
        if not content:
            return
        for data in parse_xml(content).iter("{*}EncryptedData"):
            method = attribute(first(data, "EncryptionMethod"), "Algorithm")
            member = unquote(attribute(first(data, "CipherData", "CipherReference"), "URI"))
            if method not in _FONT_SCRAMBLING and member in self.chapters:
                raise parse_failure("encrypted", "The book has copy protection (DRM), which can't be opened here.")


def _member(folder: str, reference: str) -> str:
    """The archive's name for what a part in `folder` refers to."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join(folder, path)) if path else ""


def _properties(metadata: etree._Element | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in metadata.iter("*") if metadata is not None else ():
        name = _PROPERTIES.get(local_name(node))
        if name and node.text:
            found.setdefault(name, node.text)
    return found
