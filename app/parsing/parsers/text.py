"""Plain text: paragraphs, and headings where a line can hardly be anything else."""

import re
from array import array
from collections.abc import Iterator
from itertools import chain

from app.parsing.decoded import read_text
from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.source import Source

_MAX_HEADING = 60
_NUMERAL = r"(?:\d{1,4}|[IVXLCDM]{1,8}|ONE|TWO|THREE|FOUR|FIVE|SIX|SEVEN|EIGHT|NINE|TEN|ELEVEN|TWELVE|[A-Z]+TEEN)"
_CHINESE_NUMERAL = "[0-9０-９一二三四五六七八九十百千零〇两]{1,9}"
# What may follow: nothing, or a blank or punctuation and a short title. "第一章讲的是……" is a sentence.
_HEADINGS: tuple[tuple[int, re.Pattern[str]], ...] = (
    (1, re.compile(rf"第{_CHINESE_NUMERAL}[卷部编篇](?:$|[\s　:：.、])")),
    (2, re.compile(rf"第{_CHINESE_NUMERAL}[章回](?:$|[\s　:：.、])")),
    (3, re.compile(rf"第{_CHINESE_NUMERAL}节(?:$|[\s　:：.、])")),
    (1, re.compile(rf"(?:book|part|volume)\s+{_NUMERAL}(?:$|\s*[:.\-–—])", re.IGNORECASE)),
    (2, re.compile(rf"chapter\s+{_NUMERAL}(?:$|\s*[:.\-–—])", re.IGNORECASE)),
)
_SENTENCE_ENDS = ("。", "！", "？", "，", "；", ",", ";")


class TextParser:
    def parse(self, source: Source) -> ParsedDocument:
        text, encoding, warnings = read_text(source)
        return ParsedDocument(
            media_type=source.media_type,
            parser="text 1",
            elements=list(text_elements(text)),
            metadata={"encoding": encoding},
            warnings=warnings,
        )


def text_elements(text: str) -> Iterator[Element]:
    """Paragraphs and chapter headings of a text with any line ends."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    line_is_paragraph = _each_line_is_a_paragraph(text)
    paragraph: list[str] = []
    for line in chain(_lines(text), [""]):
        level = heading_level(line.strip())
        if paragraph and (level or line_is_paragraph or not line.strip()):
            yield Element(kind=ElementKind.PARAGRAPH, text="\n".join(paragraph))
            paragraph = []
        if level:
            yield Element(kind=ElementKind.HEADING, text=line, level=level)
        elif line.strip():
            paragraph.append(line)


def _lines(text: str) -> Iterator[str]:
    """One at a time: all lines of a large text would be the text once more."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


def _each_line_is_a_paragraph(text: str) -> bool:
    """Whether lines are wrapped by the reader's program: they are long, or no blank line ever parts them."""
    lengths = array("L", (len(line) for line in _lines(text) if line.strip()))
    if len(lengths) < 3:
        return False
    blank = text.count("\n") - len(lengths)  # less the one after the last line end
    median = sorted(lengths)[len(lengths) // 2]
    return median > 120 or blank < 0.02 * len(lengths)


def heading_level(line: str) -> int:
    """1 to 3 for chapter lines of books in Chinese and English, 0 for everything else."""
    if not line or len(line) > _MAX_HEADING or line.endswith(_SENTENCE_ENDS):
        return 0
    return next((level for level, pattern in _HEADINGS if pattern.match(line)), 0)
