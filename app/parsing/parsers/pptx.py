"""PowerPoint presentations: each slide is a page, its title first.

The XML is walked directly, as for Word: python-pptx raises on a placeholder that its layout lacks, and knows neither
alternatives, diagrams nor inherited bullets. Layouts and masters are only asked for places and bullets: what stands on
them repeats on every slide.
"""

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from app.parsing.archives import UNREADABLE
from app.parsing.document import BoundingBox, Element, ElementKind, ParsedDocument
from app.parsing.parsers.ooxml_package import OoxmlPackage, Relation
from app.parsing.parsers.pptx_graphics import chart_elements, diagram_elements, frame_content, slide_table
from app.parsing.parsers.pptx_shapes import Inherited, Shape, placeholders, shapes
from app.parsing.parsers.pptx_text import body_lines, paragraphs
from app.parsing.parsers.slide_order import in_reading_order
from app.parsing.parsers.xml_tree import attribute, first, local_name, qualified_attribute
from app.parsing.reasons import parse_failure
from app.parsing.source import Source

_DEFAULT_TITLE = re.compile(
    r"(?:(?:power\s?point|slide|presentation|演示文稿|簡報|幻灯片|投影片|プレゼンテーション|PRÉSENTATION|Präsentation)[\s-]*)+\d*",
    re.IGNORECASE,
)
_TITLES = ("title", "ctrTitle")
_RUNNING = ("dt", "ftr", "sldNum", "hdr")


class PptxParser:
    def parse(self, source: Source) -> ParsedDocument:
        try:
            with zipfile.ZipFile(source.path) as archive:
                deck = _Deck(OoxmlPackage(archive), source)
                deck.read()
                properties = deck.package.properties()
        except (*UNREADABLE, KeyError, etree.XMLSyntaxError) as error:
            raise parse_failure("damaged") from error
        return ParsedDocument(
            media_type=source.media_type,
            parser="pptx 1",
            title=_own_title(properties.get("title", "")),
            elements=deck.elements,
            page_count=deck.pages,
            metadata={key: value for key, value in properties.items() if key != "title"},
            warnings=deck.warnings,
        )


@dataclass(slots=True)
class _Slide:
    number: int
    root: etree._Element
    relations: dict[str, Relation]
    shapes: list[Shape]
    inherited: Inherited
    text_styles: etree._Element | None
    """The master's `txStyles`."""


@dataclass(slots=True)
class _Deck:
    package: OoxmlPackage
    source: Source
    elements: list[Element] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    pages: int = 0
    _bases: dict[str, tuple[list[Shape], str]] = field(default_factory=dict)
    _styles: dict[str, etree._Element | None] = field(default_factory=dict)
    _cells: int = 0

    def read(self) -> None:
        """Slides are opened twice and held one at a time: what repeats on them is known only at the end."""
        listed = self._listed()
        running = self._running_lines(listed)
        found = False
        for number, part in enumerate(listed, start=1):
            slide = self._slide(number, part)
            if slide is None:
                self.warnings.append(f"Slide {number} is damaged and was left out.")
                continue
            found = True
            self._read_slide(slide, running)
            self.source.progress(number, self.pages)
        if not found:
            raise parse_failure("damaged")

    def _listed(self) -> list[str]:
        """Names of the slides' parts in the order of the show, empty where one is missing."""
        main = self.package.main_part("ppt/presentation.xml")
        listed = first(self.package.root(main), "sldIdLst")
        relations = self.package.relations(main)
        identities = [qualified_attribute(node, "id") for node in listed] if listed is not None else []
        self.pages = len(identities)
        if self.pages > self.source.limits.pages:
            raise parse_failure("too_complex", f"It has {self.pages} slides.")
        return [relations[identity].target if identity in relations else "" for identity in identities]

    def _slide(self, number: int, part: str) -> _Slide | None:
        root = self.package.optional(part)
        tree = first(root, "cSld", "spTree")
        if root is None or tree is None:
            return None
        relations = self.package.relations(part)
        layout = next((found.target for found in relations.values() if found.kind == "slideLayout"), "")
        base, master = self._base(layout)
        above, _ = self._base(master)
        return _Slide(number, root, relations, list(shapes(tree)), Inherited(base, above), self._styles.get(master))

    def _running_lines(self, listed: list[str]) -> frozenset[str]:
        """Lines that stand in the footer, header or date of more than one slide. What stands there once was meant."""
        seen: Counter[str] = Counter()
        for part in listed:
            tree = first(self.package.optional(part), "cSld", "spTree")
            placed = [shape for shape in shapes(tree) if shape.placeholder in _RUNNING] if tree is not None else []
            seen.update({line for shape in placed for line in body_lines(first(shape.node, "txBody")).splitlines()})
        return frozenset(line for line, count in seen.items() if count > 1)

    def _base(self, part: str) -> tuple[list[Shape], str]:
        """Placeholders of a layout or master, and the name of a layout's master; read once each."""
        if part not in self._bases:
            root = self.package.optional(part)
            related = self.package.related(part) if root is not None else {}
            self._bases[part] = (placeholders(root), related.get("slideMaster", ""))
            self._styles[part] = first(root, "txStyles")
        return self._bases[part]

    def _read_slide(self, slide: _Slide, running: frozenset[str]) -> None:
        if attribute(slide.root, "show") in ("0", "false"):
            self.warnings.append(f"Slide {slide.number} is hidden; it was read as well.")
        if any(relation.kind == "comments" for relation in slide.relations.values()):
            self.warnings.append(f"The comments on slide {slide.number} were left out.")
        before = len(self.elements)
        for shape in _ordered(slide):
            self._read_shape(slide, shape, running)
        if len(self.elements) == before and next(slide.root.iter("{*}pic"), None) is not None:
            self.warnings.append(f"Slide {slide.number} holds pictures only; no text was read from them.")
        self._read_notes(slide)

    def _read_shape(self, slide: _Slide, shape: Shape, running: frozenset[str]) -> None:
        if local_name(shape.node) == "graphicFrame":
            for element in self._graphic(slide, shape.node):
                self.elements.append(element.model_copy(update={"bbox": shape.box}))
            return
        body = first(shape.node, "txBody")
        bases = slide.inherited.of(shape)
        box = _box(slide, shape)
        if shape.placeholder in _TITLES:
            title = body_lines(body)
            if title:
                self._add(Element(kind=ElementKind.HEADING, text=title, level=1, page=slide.number, bbox=box))
            return
        for found in paragraphs(body, _list_styles(slide, shape, bases)):
            if shape.placeholder in _RUNNING and (found.is_field or found.text.strip() in running):
                continue
            self._add(Element(kind=found.kind, text=found.text, level=found.level, page=slide.number, bbox=box))

    def _add(self, element: Element) -> None:
        self.elements.append(element)
        if len(self.elements) > self.source.limits.cells:
            raise parse_failure("too_complex")

    def _graphic(self, slide: _Slide, frame: etree._Element) -> Iterator[Element]:
        content = frame_content(frame)
        kind = local_name(content) if content is not None else ""
        if content is not None and kind == "tbl":
            table = slide_table(content)
            self._cells += sum(map(len, table.rows))
            if self._cells > self.source.limits.cells:
                raise parse_failure("too_complex", f"Its tables hold more than {self.source.limits.cells} cells.")
            if table.rows:
                yield Element(kind=ElementKind.TABLE, table=table, page=slide.number)
        elif content is not None and kind in ("chart", "relIds"):
            relation = slide.relations.get(attribute(content, "id" if kind == "chart" else "dm"))
            root = self.package.optional(relation.target if relation else None)
            if root is not None:
                yield from (chart_elements if kind == "chart" else diagram_elements)(root, slide.number)
        elif kind == "oleObj":
            self.warnings.append(f"An embedded object on slide {slide.number} was left out.")

    def _read_notes(self, slide: _Slide) -> None:
        """What the speaker wrote down for a slide, as notes that follow it."""
        part = next((found.target for found in slide.relations.values() if found.kind == "notesSlide"), None)
        tree = first(self.package.optional(part), "cSld", "spTree")
        for shape in shapes(tree) if tree is not None else ():
            if shape.placeholder == "body":
                text = body_lines(first(shape.node, "txBody"))
                if text:
                    self._add(Element(kind=ElementKind.FOOTNOTE, text=text, page=slide.number))


def _own_title(title: str) -> str:
    """Empty where it is only what the program calls every new file."""
    return "" if _DEFAULT_TITLE.fullmatch(title.strip()) else title


def _ordered(slide: _Slide) -> Iterator[Shape]:
    """Shapes in reading order, groups taken apart: the title, then the rest.

    The order of the file is the one that its author can see and change, and that screen readers follow, where content
    stands in placeholders. Free text boxes lie in the order in which they were drawn, so there places decide. Where
    some shape has no place at all, the order of the file stands as it is.
    """
    ordered = slide.shapes
    if all(_box(slide, shape) is not None for shape in ordered):
        titles = [shape for shape in ordered if shape.placeholder in _TITLES]
        rest = [shape for shape in ordered if shape.placeholder not in _TITLES]
        if not any(shape.placeholder is not None and shape.placeholder not in _RUNNING for shape in rest):
            rest = in_reading_order(rest, lambda shape: _box(slide, shape))
        ordered = titles + rest
    for shape in ordered:
        yield from _members(shape)


def _box(slide: _Slide, shape: Shape) -> BoundingBox | None:
    """Its own place, or that of the placeholder it is based on."""
    return shape.box or next((base.box for base in slide.inherited.of(shape) if base.box is not None), None)


def _members(shape: Shape) -> Iterator[Shape]:
    if not shape.is_group:
        yield shape
        return
    for member in in_reading_order(shape.members, lambda member: member.box):
        yield from _members(member)


def _list_styles(slide: _Slide, shape: Shape, bases: list[Shape]) -> list[etree._Element]:
    named = "otherStyle" if shape.placeholder is None or shape.placeholder in _RUNNING else "bodyStyle"
    found = [first(base.node, "txBody", "lstStyle") for base in bases]
    found.append(first(slide.text_styles, named))
    return [style for style in found if style is not None]
