"""Lines of all pages to elements: running lines go, paragraphs are put together, and each is told what it is."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.parsing.document import Element, ElementKind, Table
from app.parsing.parsers.pdf_cuts import mend_cuts
from app.parsing.parsers.pdf_kinds import KindOf, Outline, names_table
from app.parsing.parsers.pdf_lines import PageLines, displayed
from app.parsing.parsers.pdf_margins import drop_running_lines
from app.parsing.parsers.pdf_order import in_reading_order
from app.parsing.parsers.pdf_page_tables import join_tables
from app.parsing.parsers.pdf_paragraphs import Paragraph, characters_by_size, paragraphs

_LONE_BREAK = re.compile("(?<!\ufffd)\ufffd(?!\ufffd)")
"""A character without a meaning, among others that have one: mostly a space of a width of its own."""
_NEAR = 3.0  # sizes of type between a table and its caption
_INDENT = 0.6  # sizes of type that a list item is set in at least, to be of a deeper level


def elements(pages: Sequence[PageLines], outline: Outline) -> Iterator[Element]:
    """In reading order, with a page break before each page but the first. `pages` are changed."""
    drop_running_lines(list(pages))
    for lines in pages:
        for line in (*lines.lines, *lines.strays):
            if "\ufffd" in line.text:
                line.text = _LONE_BREAK.sub(" ", line.text)
    by_page = [paragraphs(in_reading_order(page.lines), number) for number, page in enumerate(pages, start=1)]
    join_tables(by_page, pages)
    for number, (page, lines) in enumerate(zip(by_page, pages, strict=True), start=1):
        page += [Paragraph(number, [line]) for line in lines.strays]
    sizes = characters_by_size(by_page)
    mend_cuts(by_page, sizes)
    kind_of = KindOf([paragraph for page in by_page for paragraph in page], outline, sizes)
    for number, (page, lines) in enumerate(zip(by_page, pages, strict=True), start=1):
        if number > 1:
            yield Element(kind=ElementKind.PAGE_BREAK, page=number)
        found = [kind_of.element(paragraph, displayed(paragraph.place, lines.shown)) for paragraph in page]
        tie_captions(found, page)
        nest_list_items(found, page)
        yield from found


def tie_captions(found: list[Element], page: list[Paragraph]) -> None:
    """Gives a table the caption that stands right above it, else the one right below."""
    taken: set[int] = set()
    pairs = list(pairwise(range(len(found))))
    for caption, table in (*pairs, *((below, above) for above, below in pairs)):
        held = found[table].table
        if held is None or held.caption or caption in taken or not _is_caption_of_table(found[caption]):
            continue
        if _distance(page[caption], page[table]) <= _NEAR * max(page[caption].size, 8.0):
            taken.add(caption)
            found[table] = _with_caption(found[table], held, found[caption].text)


def nest_list_items(found: list[Element], page: list[Paragraph]) -> None:
    """Levels of list items by how far they are indented, as long as nothing else stands between them."""
    edges: list[float] = []
    column = -1
    for place, (element, paragraph) in enumerate(zip(found, page, strict=True)):
        if element.kind is not ElementKind.LIST_ITEM or paragraph.first.column != column:
            edges = []
        if element.kind is not ElementKind.LIST_ITEM:
            continue
        column, left = paragraph.first.column, paragraph.first.box[0]
        step = _INDENT * max(paragraph.size, 1.0)
        while edges and left < edges[-1] - step:
            edges.pop()
        if not edges or left > edges[-1] + step:
            edges.append(left)
        found[place] = element.model_copy(update={"level": len(edges)})


def _with_caption(element: Element, table: Table, caption: str) -> Element:
    return element.model_copy(update={"table": table.model_copy(update={"caption": caption})})


def _is_caption_of_table(element: Element) -> bool:
    return element.kind is ElementKind.CAPTION and names_table(element.text)


def _distance(one: Paragraph, other: Paragraph) -> float:
    """From the lower edge of the upper to the upper edge of the lower one; negative where they overlap."""
    return max(one.box[1], other.box[1]) - min(one.box[3], other.box[3])
