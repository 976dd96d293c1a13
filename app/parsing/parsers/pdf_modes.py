"""Which way a page is read: by its text layer, by a model of page layout, or by OCR; and the record of it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.parsing.parsers.pdf_lines import Line

_BROKEN = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff\x00-\x08\x0e-\x1f\x7f-\x9f]")
_MANY_BROKEN = 0.3  # of the characters
_A_STAMP = 100  # characters: a scan with fewer bears a page number or a stamp, not its text
_COVERS = 0.5  # of the page
_PICTURE = 0.02
_MANY_STROKES = 100  # text that was turned into outlines
DOTS_PER_INCH = 200
"""Of the picture of a page that OCR is given."""
MOST_PIXELS = 12_000_000
"""Of such a picture, by fewer dots an inch; A3 has 7.7 million at 200."""
MOST_PAINTED = 100
"""How often a page may be painted over, by pictures and shadings, or ten times as often by lines and areas, to be drawn
as a picture: some seconds. Scans do it a few times at most."""
UNSURE = 0.6
"""OCR below this confidence is flagged."""


class PageMode(StrEnum):
    FAST = "fast"
    LAYOUT = "layout"
    OCR = "ocr"


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What tells whether a text layer can be trusted. Looked up only as far as it is needed."""

    characters: int
    """Of the text layer, without blanks."""
    broken: int
    """Of them: characters without a meaning outside their font."""
    pictured: float = 0.0
    """Share of the page that its largest picture covers."""
    strokes: int = 0
    """Pieces of drawings."""

    @property
    def is_broken(self) -> bool:
        return self.broken > _MANY_BROKEN * self.characters

    @property
    def needs_ocr(self) -> bool:
        if self.characters == 0:
            return self.pictured >= _PICTURE or self.strokes >= _MANY_STROKES
        return self.is_broken or (self.characters < _A_STAMP and self.pictured >= _COVERS)


def text_facts(lines: Iterable[Line]) -> PageFacts:
    """What the text layer itself tells."""
    text = "".join("".join([line.text for line in lines]).split())
    if text.isprintable() and "\ufffd" not in text:  # which most are, and is told faster
        return PageFacts(len(text), 0)
    return PageFacts(len(text), len(_BROKEN.findall(text)))


def is_suspect(facts: PageFacts) -> bool:
    """Whether pictures have to be looked at before the text layer is taken."""
    return facts.characters < _A_STAMP or facts.is_broken


def counted(modes: Sequence[str]) -> str:
    """For people: `fast 10, ocr 2`."""
    return ", ".join(f"{mode} {count}" for mode, count in sorted(Counter(modes).items()))


def listed(pages: Iterable[int]) -> str:
    """Page numbers for a warning, the first twenty of them."""
    numbers = sorted(set(pages))
    return ", ".join(map(str, numbers[:20])) + (" and more" if len(numbers) > 20 else "")


def low_confidence(pages: Iterable[int]) -> str:
    """The warning about them."""
    return f"Text was recognised with low confidence (below {UNSURE}) on pages: {listed(pages)}."


def unsure_pages(pages: Iterable[tuple[int, Iterable[Line]]]) -> list[int]:
    """Numbers of the pages on which OCR was not sure of some line."""
    return [
        number
        for number, lines in pages
        if any(line.confidence is not None and line.confidence < UNSURE for line in lines)
    ]
