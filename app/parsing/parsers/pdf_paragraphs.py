"""Lines in reading order to paragraphs: which lines go on, and how they are joined."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from app.parsing.parsers.pdf_lines import Box, Line, Role, union

_LIST_ITEM = re.compile(
    r"(?:[•‣▪▫◦●○■□◆◇►▶➢➤✓✔·*–—-]|[\uf0b7\uf0a7\uf0d8])\s+\S"
    r"|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]\s+\S"
    r"|[(（](?:\d{1,3}|[a-z]|[一二三四五六七八九十]{1,3})[)）]"
    r"|[①-⑳]|\[\d{1,3}\]"
)
_SENTENCE_END = re.compile(r"[.!?。！？:：;；][\"”’)）]?$")
_HYPHENATED = re.compile(r"[A-Za-zÀ-ɏ]{2}[-\u00ad\u2010]$")
_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]")
_UNSPACED = re.compile("[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u303f]")


@dataclass(slots=True)
class Paragraph:
    page: int
    lines: list[Line] = field(default_factory=list)

    @property
    def first(self) -> Line:
        return self.lines[0]

    @property
    def last(self) -> Line:
        return self.lines[-1]

    @property
    def place(self) -> Box:
        return union([line.place for line in self.lines])

    @property
    def box(self) -> Box:
        return union([line.box for line in self.lines])

    @property
    def confidence(self) -> float | None:
        """Of OCR: the mean of its lines', by their lengths. None where nothing of it was recognised."""
        known = [(line.confidence, len(line.text)) for line in self.lines if line.confidence is not None]
        if not known:
            return None
        return round(sum(sure * length for sure, length in known) / sum(length for _, length in known), 3)

    @property
    def formula(self) -> bool:
        """Whether more than half of it is set in type for mathematics."""
        return sum([len(line.text) * (1 if line.formula else -1) for line in self.lines]) > 0

    @property
    def role(self) -> Role | None:
        return self.first.role

    @property
    def size(self) -> float:
        return (max(self.lines, key=_length) if len(self.lines) > 1 else self.lines[0]).size

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines)

    @property
    def mono(self) -> bool:
        return all(line.mono for line in self.lines)

    @property
    def is_list_item(self) -> bool:
        return is_list_item(self.first.text)

    def text(self) -> str:
        """Lines joined: hyphens at line ends taken out where a word goes on, no space between Chinese or Japanese."""
        text = self.lines[0].text.strip()
        for line in self.lines[1:]:
            text = join(text, line.text.strip())
        return text

    def code(self) -> str:
        """Lines kept apart, with indentation by their left edges."""
        left = min(line.box[0] for line in self.lines)
        width = max(self.size * 0.6, 1.0)
        return "\n".join(" " * round((line.box[0] - left) / width) + line.text.strip() for line in self.lines)


def _length(line: Line) -> int:
    return len(line.text)


def join(text: str, following: str) -> str:
    if not text or not following:
        return text or following
    if is_hyphenated(text) and following[0].islower():
        return text[:-1] + following
    if _UNSPACED.match(text[-1]) and _UNSPACED.match(following[0]):
        return text + following
    return f"{text} {following}"


def is_hyphenated(text: str) -> bool:
    return _HYPHENATED.search(text.rstrip()[-3:]) is not None


def sentence_ended(text: str) -> bool:
    return _SENTENCE_END.search(text.rstrip()[-2:]) is not None


@lru_cache(maxsize=64)  # the first line of a paragraph is asked about with each that may go on
def is_list_item(text: str) -> bool:
    return _LIST_ITEM.match(text.lstrip()) is not None


def paragraphs(lines: list[Line], page: int) -> list[Paragraph]:
    """Lines of one page in reading order; a table is a paragraph of its own."""
    columns: dict[int, list[Line]] = {}
    for line in lines:
        columns.setdefault(line.column, []).append(line)
    edges = {column: _edges(members) for column, members in columns.items()}
    spacing = {column: _line_distance(members) for column, members in columns.items()}
    found: list[Paragraph] = []
    for line in lines:
        last = found[-1] if found else None
        if last is not None and _goes_on(last, line, edges[line.column], spacing[line.column]):
            last.lines.append(line)
        else:
            found.append(Paragraph(page, [line]))
    return found


def characters_by_size(pages: list[list[Paragraph]]) -> Counter[float]:
    """How many characters of a document are set in each size of type."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for paragraph in page:
            for line in paragraph.lines:
                sizes[line.size] += len(line.text)
    return sizes


def _edges(lines: list[Line]) -> tuple[float, float]:
    """Left and right edge of most of a column's lines."""
    lefts, rights = sorted([line.box[0] for line in lines]), sorted([line.box[2] for line in lines])
    return lefts[len(lefts) // 4], rights[len(rights) * 3 // 4]


def _line_distance(lines: list[Line]) -> float:
    """From baseline to baseline, the usual one of the column."""
    distances = sorted(
        [
            distance
            for above, below in pairwise(lines)
            if 0 < (distance := below.box[3] - above.box[3]) < 3 * max(above.size, 1)
        ]
    )
    return distances[len(distances) // 2] if distances else 0.0


def _goes_on(paragraph: Paragraph, line: Line, edges: tuple[float, float], distance: float) -> bool:
    last = paragraph.last
    if line.table is not None or last.table is not None or line.column != last.column or line.region != last.region:
        return False
    if not _is_near(last, line, distance):
        return False
    if line.mono or last.mono:
        return line.mono == last.mono
    if is_list_item(line.text) or _parts_by_weight(last, line):
        return False
    ended = sentence_ended(last.text)
    if paragraph.is_list_item:
        return not ended or line.box[0] >= paragraph.first.box[0] - 0.5 * line.size
    return not _begins_anew(last, line, edges, ended=ended)


def _is_near(last: Line, line: Line, distance: float) -> bool:
    """Whether it stands at the usual distance below, in type of the same size."""
    size = max(last.size, line.size, 1.0)
    if abs(line.size - last.size) > 0.12 * size:
        return False
    usual = min(max(distance, size), 2.2 * size)
    return -size <= line.box[3] - last.box[3] <= 1.35 * usual + 1


def _begins_anew(last: Line, line: Line, edges: tuple[float, float], *, ended: bool) -> bool:
    """By an indent, or after a sentence that ended before the right edge."""
    left, right = edges
    size = max(last.size, line.size, 1.0)
    ends_early = last.box[2] < right - 3 * size
    indented = line.box[0] - left > 0.8 * size and line.box[0] - last.box[0] > 0.8 * size
    return (ends_early and ended) or (indented and (ends_early or ended))


def _parts_by_weight(last: Line, line: Line) -> bool:
    """A bold line above a plain one is a heading, unless a sentence runs through both."""
    return last.bold != line.bold and not (last.text.rstrip().endswith((",", "，")) or line.text.lstrip()[:1].islower())
