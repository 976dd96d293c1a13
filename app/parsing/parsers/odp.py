"""OpenDocument presentations: each slide is a page, its title first."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from app.parsing.document import BoundingBox, Element, ElementKind, ParsedDocument
from app.parsing.parsers.odf_package import OdfPackage
from app.parsing.parsers.odf_styles import OdfStyles
from app.parsing.parsers.odf_text import OdfReader
from app.parsing.parsers.slide_order import in_reading_order
from app.parsing.parsers.xml_tree import attribute, children, first, local_name
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_RUNNING = frozenset(("header", "footer", "date-time", "page-number"))
_READ = frozenset(("frame", "custom-shape", "rect", "ellipse", "g", "line", "connector", "polygon", "path"))
_LENGTH = re.compile(r"(-?\d{1,7}(?:\.\d{1,9})?)(cm|mm|in|pt|pc|px)")
_POINTS = {"cm": 72 / 2.54, "mm": 72 / 25.4, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}


class OdpParser:
    def parse(self, source: Source) -> ParsedDocument:
        package = OdfPackage.read(source.path)
        reader = OdfReader(OdfStyles(package.content, package.styles), source.limits.cells, package.objects)
        slides = [node for node in children(package.body("presentation")) if local_name(node) == "page"]
        if len(slides) > source.limits.pages:
            raise parse_failure("too_complex", f"It has {len(slides)} slides.")
        running = _running_texts(slides)
        for number, slide in enumerate(slides, start=1):
            _read_slide(reader, slide, number, running)
            source.progress(number, len(slides))
        return ParsedDocument(
            media_type=source.media_type,
            parser="odf 1",
            title=package.properties.get("title", ""),
            elements=reader.elements,
            page_count=len(slides),
            metadata={key: value for key, value in package.properties.items() if key != "title"},
            warnings=["Comments were left out."] if _has_comments(reader, slides) else [],
        )


@dataclass(slots=True)
class _Shape:
    node: etree._Element
    role: str
    """`presentation:class`: what of the layout it fills; empty for a free shape."""
    box: BoundingBox | None


def _running_texts(slides: list[etree._Element]) -> frozenset[str]:
    """What stands in the header, footer, date or number of more than one slide. What stands there once was meant."""
    seen = Counter(
        text for slide in slides for text in {_plain(shape) for shape in _shapes(slide) if shape.role in _RUNNING}
    )
    return frozenset(text for text, count in seen.items() if count > 1)


def _plain(shape: _Shape) -> str:
    """Its text without what the program fills in: fields are elements of their own."""
    paragraphs = shape.node.iter("{*}p")
    spans = (span for paragraph in paragraphs for span in paragraph.iter("{*}p", "{*}span"))
    return "".join(span.text or "" for span in spans).strip()


def _read_slide(reader: OdfReader, slide: etree._Element, number: int, running: frozenset[str]) -> None:
    reader.page = number
    found = [shape for shape in _shapes(slide) if shape.role not in _RUNNING or _plain(shape) not in running | {""}]
    titles = [shape for shape in found if shape.role == "title"]
    rest = [shape for shape in found if shape.role != "title"]
    if not any(
        shape.role not in _RUNNING | {""} for shape in rest
    ):  # free shapes lie in the order in which they were drawn
        rest = in_reading_order(rest, lambda shape: shape.box)
    for shape in titles:
        _read_title(reader, shape)
    for shape in rest:
        reader.box = shape.box
        reader.read(shape.node)
    reader.box = None
    _read_notes(reader, slide, number)


def _read_title(reader: OdfReader, shape: _Shape) -> None:
    own = OdfReader(reader.styles, reader.max_cells, reader.objects)
    own.read(shape.node)
    text = " ".join(element.text for element in own.elements)
    if text:
        reader.elements.append(Element(kind=ElementKind.HEADING, text=text, level=1, page=reader.page, bbox=shape.box))


def _read_notes(reader: OdfReader, slide: etree._Element, number: int) -> None:
    """What the speaker wrote down for a slide, as one note that follows it."""
    notes = first(slide, "notes")
    own = OdfReader(reader.styles, reader.max_cells, reader.objects)
    for shape in _shapes(notes) if notes is not None else ():
        if shape.role == "notes":
            own.read(shape.node)
    text = "\n".join(element.text for element in own.elements if element.text)
    if text:
        reader.elements.append(Element(kind=ElementKind.FOOTNOTE, text=text, page=number))


def _shapes(container: etree._Element) -> Iterator[_Shape]:
    """Frames and shapes in the order of the file, groups taken apart: OpenDocument places their members by the page."""
    for node in children(container):
        name = local_name(node)
        if name == "g":
            yield from _shapes(node)
        elif name in _READ and attribute(node, "placeholder") != "true":
            yield _Shape(node, attribute(node, "class"), _box(node))


def _box(node: etree._Element) -> BoundingBox | None:
    lengths = [_points(attribute(node, name)) for name in ("x", "y", "width", "height")]
    x, y, width, height = lengths
    if x is None or y is None or width is None or height is None:
        return None
    return BoundingBox(left=round(x, 2), top=round(y, 2), right=round(x + width, 2), bottom=round(y + height, 2))


def _points(length: str) -> float | None:
    match = _LENGTH.fullmatch(length.strip())
    return float(match[1]) * _POINTS[match[2]] if match else None


def _has_comments(reader: OdfReader, slides: list[etree._Element]) -> bool:
    return reader.has_comments or any(first(slide, "annotation") is not None for slide in slides)
