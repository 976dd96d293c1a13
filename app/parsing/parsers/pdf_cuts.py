"""Sentences, words and headings that the end of a line, a column or a page cuts in two."""

import re
from collections import Counter

from app.parsing.parsers.pdf_lines import Line
from app.parsing.parsers.pdf_paragraphs import Paragraph, is_hyphenated, sentence_ended

_LARGER, _SMALLER = 1.12, 0.93  # times the body's size: headings above, notes and captions below
_HEADING_LEADING = 2.2  # sizes of type from line to line of one heading, at most
_FILLED = 0.7  # of its column's width: a heading's line that is shorter did not have to be broken
_NUMBERED = re.compile(r"\s*(?:\d|[IVX]+\.|[A-Z]\.|第|[一二三四五六七八九十]+、|[（(])")


def mend_cuts(pages: list[list[Paragraph]], sizes: Counter[float]) -> None:
    """Joins, in place, what belongs together. `sizes` are how many characters are set in each size of type.

    A heading that goes on in the next line, and a paragraph that goes on in the next column, become one. Over the end
    of a page only the rest of a hyphenated word moves, to the page on which the word begins: each element keeps to its
    page.
    """
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    before: Paragraph | None = None
    for page in pages:
        _join_headings(page, body)
        kept: list[Paragraph] = []
        for paragraph in page:
            if not _is_running_text(paragraph, body):
                kept.append(paragraph)
                continue
            if before is not None and before.page == paragraph.page and _goes_on_in_next_column(before, paragraph):
                before.lines.extend(paragraph.lines)
                continue
            if before is not None and before.page != paragraph.page and _word_goes_on(before, paragraph):
                _move_rest_of_word(before, paragraph)
            if paragraph.lines:
                kept.append(paragraph)
                before = paragraph
        page[:] = kept


def _join_headings(page: list[Paragraph], body: float) -> None:
    """Large type is set wider apart than the lines of a column are, and a word of another weight may stand in it."""
    kept: list[Paragraph] = []
    for paragraph in page:
        if kept and _heading_goes_on(kept[-1], paragraph, body) and _fills_its_line(kept[-1].last, page):
            kept[-1].lines.extend(paragraph.lines)
        else:
            kept.append(paragraph)
    page[:] = kept


def _fills_its_line(line: Line, page: list[Paragraph]) -> bool:
    widths = [right - left for left, _, right, _ in (each.box for each in page if each.first.column == line.column)]
    return line.box[2] - line.box[0] >= _FILLED * max(widths)


def _heading_goes_on(above: Paragraph, below: Paragraph, body: float) -> bool:
    """Whether the lower one is the rest of a heading, if that fills its line."""
    last, first = above.last, below.first
    if last.table is not None or first.table is not None or (last.column, last.region) != (first.column, first.region):
        return False
    if min(last.size, first.size) <= _LARGER * body or last.size != first.size:
        return False
    if not 0 < first.box[3] - last.box[3] <= _HEADING_LEADING * last.size:
        return False
    return not sentence_ended(last.text) and not _NUMBERED.match(first.text)


def _is_running_text(paragraph: Paragraph, body: float) -> bool:
    if paragraph.first.table is not None or paragraph.mono or paragraph.bold:
        return False
    return _SMALLER * body <= paragraph.size <= _LARGER * body


def _goes_on_in_next_column(before: Paragraph, paragraph: Paragraph) -> bool:
    last, first = before.last, paragraph.first
    if first.column == last.column or first.box[0] < last.box[2] or first.box[1] > last.box[1]:
        return False
    if _word_goes_on(before, paragraph):
        return True
    if sentence_ended(last.text) or paragraph.is_list_item or len(before.lines) < 2 or len(paragraph.lines) < 2:
        return False
    is_full = last.box[2] >= before.box[2] - 1.5 * last.size
    begins = first.text.lstrip()[:1]
    return is_full and (begins.islower() or not begins.isascii()) and not _is_indented(paragraph)


def _is_indented(paragraph: Paragraph) -> bool:
    return paragraph.first.box[0] > paragraph.box[0] + 0.8 * paragraph.size


def _word_goes_on(before: Paragraph, paragraph: Paragraph) -> bool:
    return is_hyphenated(before.last.text) and paragraph.first.text.lstrip()[:1].islower()


def _move_rest_of_word(before: Paragraph, paragraph: Paragraph) -> None:
    rest, _, following = paragraph.first.text.lstrip().partition(" ")
    before.last.text = before.last.text.rstrip()[:-1] + rest
    if following.strip():
        paragraph.first.text = following
    else:
        del paragraph.lines[0]
