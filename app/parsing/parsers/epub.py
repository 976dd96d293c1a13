"""EPUB books: the chapters of the spine, each read as the HTML page it is, headed by its title in the navigation."""

import re
import zipfile

from lxml import etree

from app.parsing.archives import UNREADABLE
from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.encoding import declared_html_encoding, decode
from app.parsing.parsers.epub_package import EpubPackage
from app.parsing.parsers.html import html_elements
from app.parsing.parsers.xhtml import closed_as_html
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

# The number of a note is no part of the sentence that it stands in (EPUB structural semantics, `noteref`).
_NOTE_REFERENCE = re.compile(r"""<a\s[^<>]{0,2000}\bepub:type=["']noteref["'][^<>]{0,2000}>[^<>]{0,20}</a>""")
_LOOKED_AT = 5


class EpubParser:
    def parse(self, source: Source) -> ParsedDocument:
        try:
            with zipfile.ZipFile(source.path) as archive:
                package = EpubPackage.read(archive)
                elements, warnings = _chapters(package, source)
        except (*UNREADABLE, KeyError, etree.XMLSyntaxError) as error:
            raise parse_failure("damaged") from error
        return ParsedDocument(
            media_type=source.media_type,
            parser="epub 1",
            title=package.properties.get("title", ""),
            elements=elements,
            metadata={key: value for key, value in package.properties.items() if key != "title"},
            warnings=warnings,
        )


def _chapters(package: EpubPackage, source: Source) -> tuple[list[Element], list[str]]:
    elements: list[Element] = []
    warnings: list[str] = []
    cells = source.limits.cells
    for done, name in enumerate(package.chapters, start=1):
        try:
            content = package.archive.read(name)
        except KeyError:
            warnings.append(f"Chapter {done} ({name}) is missing.")
            continue
        decoded = decode(content, declared=declared_html_encoding(content))
        found = html_elements(_NOTE_REFERENCE.sub("", closed_as_html(decoded.text)), max_cells=cells)
        cells -= sum(sum(map(len, element.table.rows)) for element in found if element.table)
        elements.extend(_headed(found, package.titles.get(name, "")))
        source.progress(done, len(package.chapters))
    if not package.chapters:
        raise parse_failure("damaged")
    return elements, warnings


def _headed(elements: list[Element], title: str) -> list[Element]:
    """The chapter with its title as heading, where it does not begin with a heading of its own."""
    begins = any(element.kind is ElementKind.HEADING for element in elements[:_LOOKED_AT])
    if not title or not elements or begins:
        return elements
    first = " ".join(elements[0].text.split())
    if first.casefold() == title.casefold():  # set as a plain paragraph, as converted books do
        return [elements[0].model_copy(update={"kind": ElementKind.HEADING, "level": 1}), *elements[1:]]
    return [Element(kind=ElementKind.HEADING, text=title, level=1), *elements]
