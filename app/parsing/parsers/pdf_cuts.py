"""Sentences and words that the end of a column or a page cuts in two."""

from collections import Counter

from app.parsing.parsers.pdf_paragraphs import Paragraph, is_hyphenated, sentence_ended

_LARGER, _SMALLER = 1.12, 0.93  # times the body's size: headings above, notes and captions below


def mend_cuts(pages: list[list[Paragraph]], sizes: Counter[float]) -> None:
    """Joins, in place, what belongs together. `sizes` are how many characters are set in each size of type.

    A paragraph that goes on in the next column becomes one. Over the end of a page only the rest of a hyphenated word
    moves, to the page on which the word begins: each element keeps to its page.
    """
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    before: Paragraph | None = None
    for page in pages:
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
