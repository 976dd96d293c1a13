"""What every parser makes of a file: an ordered list of elements, each knowing where it came from. JSON both ways."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

GAP = "\n\n"
"""Between the texts of elements in `ParsedDocument.text`."""


AnyElement = TypeVar("AnyElement")


class ElementKind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    CAPTION = "caption"
    FORMULA = "formula"
    FOOTNOTE = "footnote"
    PAGE_BREAK = "page_break"


class BoundingBox(BaseModel):
    """In points (1/72 inch) from the top left corner of the page; of pictures, in pixels as they are shown."""

    model_config = ConfigDict(frozen=True)

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, boxes: Sequence["BoundingBox"]) -> "BoundingBox | None":
        """The smallest box that holds them all; None for none."""
        if not boxes:
            return None
        return cls(
            left=min(box.left for box in boxes),
            top=min(box.top for box in boxes),
            right=max(box.right for box in boxes),
            bottom=max(box.bottom for box in boxes),
        )


class ColumnKind(StrEnum):
    EMPTY = "empty"
    NUMBER = "number"
    DATE = "date"
    TRUTH = "truth"
    TEXT = "text"


class ColumnProfile(BaseModel):
    """What a column of a table holds below its header."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    kind: ColumnKind
    """What all of its cells are, empty ones aside."""
    least: str = ""
    """Of numbers and dates, as it is written."""
    greatest: str = ""
    """Of numbers and dates, as it is written."""
    values: list[str] = Field(default_factory=list)
    """The first different ones."""
    different: int = 0
    """How many there are; where it is more than `table_profile.MOST_VALUES`, at least so many."""


class StoredCells(BaseModel):
    """The rows of a table that is too large to be kept whole in the parsed form: pages of them, beside it."""

    model_config = ConfigDict(frozen=True)

    number: int = Field(ge=1)
    """Of the table among those that are stored, from 1: its pages are named `{number}-{page}.json`, from page 1."""
    rows: int = Field(ge=1)
    """In all, header rows among them."""
    starts: list[int]
    """The row, from 0, that each page begins with."""
    columns: list[ColumnProfile]


class Continuation(BaseModel):
    """Where a table goes on that does not end on its page."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    first_row: int = Field(ge=0)
    """Of `Table.rows`, from 0: this one and those below it stand here, down to the next continuation."""
    page: int
    """From 1."""
    bbox: BoundingBox | None = None


class Table(BaseModel):
    """A table as cells: merged cells are filled in, so every row has the same width."""

    model_config = ConfigDict(frozen=True)

    rows: list[list[str]]
    """All of them; of a table whose cells are `stored` the first ones, of which text is made."""
    header_rows: int = 1
    """How many of the first rows are headers; 0 where none is."""
    caption: str = ""
    sheet: str = ""
    """Name of the sheet it stands on, for workbooks."""
    first_row: int = 1
    """Number of its first row in the source (from 1), for sheets and delimited text."""
    stored: StoredCells | None = None
    continuations: list[Continuation] = Field(default_factory=list)
    """In order; the rows before the first stand where the table's element does."""
    description: str = ""
    """What a language model says of it, if one was asked."""

    @property
    def row_count(self) -> int:
        """Of all rows, header rows among them."""
        return len(self.rows) if self.stored is None else self.stored.rows


class Element(BaseModel):
    """A part of a document. Where it stands in `ParsedDocument.text` is told by `placed`."""

    model_config = ConfigDict(frozen=True)

    kind: ElementKind
    text: str = ""
    """Clean text; of a table its Markdown, of a page break nothing."""
    level: int = 0
    """Headings: 1 is the highest. List items: nesting from 1. Else 0."""
    page: int | None = None
    """From 1. Pages of PDFs and slides; sheets of workbooks; None where the format has no pages."""
    bbox: BoundingBox | None = None
    table: Table | None = None
    language: str = ""
    """Of code: as marked in the source."""
    confidence: float | None = None
    """Of text that was recognised in a picture: 0 to 1. None where the file itself holds the text."""


def placed(elements: Iterable[AnyElement], text_of: Callable[[AnyElement], str]) -> Iterator[tuple[int, AnyElement]]:
    """Elements, in whatever form, each after its offset in `ParsedDocument.text`, in characters."""
    position = 0
    for element in elements:
        yield position, element
        text = text_of(element)
        position += len(text) + len(GAP) if text else 0


def add_joined(elements: list[Element], element: Element) -> None:
    """Adds an element; code goes on in the code before it, for formats in which each of its lines is a paragraph."""
    last = elements[-1] if elements else None
    if last is not None and element.kind is last.kind is ElementKind.CODE:
        elements[-1] = last.model_copy(update={"text": f"{last.text}\n{element.text}"})
    else:
        elements.append(element)


class Reading(BaseModel):
    """How a file was read, for whoever wants to know what became of it. JSON both ways."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    parser: str | None = None
    """Name and version."""
    warnings: list[str] = Field(default_factory=list)
    """What was left out, repaired or uncertain, in sentences."""
    page_modes: dict[str, int] = Field(default_factory=dict)
    """Of PDFs and pictures: how many pages were read in each way (`fast`, `layout`, `ocr`)."""
    confidence: float | None = None
    """Mean over the characters that were recognised in pictures, 0 to 1; None where none were."""


class ParsedDocument(BaseModel):
    """A parsed file. Elements stand in reading order."""

    media_type: str
    parser: str
    """Name and version of what parsed it, for provenance."""
    title: str = ""
    elements: list[Element] = Field(default_factory=list)
    page_count: int | None = None
    page_modes: list[str] = Field(default_factory=list)
    """Of PDFs and pictures: how each page was read (`fast`, `layout`, `ocr`)."""
    metadata: dict[str, str] = Field(default_factory=dict)
    """Author, creation date and the like, as the file itself tells them."""
    warnings: list[str] = Field(default_factory=list)
    """What was left out or repaired, in sentences."""

    @property
    def reading(self) -> Reading:
        recognised = [(one.confidence, len(one.text)) for one in self.elements if one.confidence is not None]
        characters = sum(count for _, count in recognised)
        mean = sum(sure * count for sure, count in recognised) / characters if characters else None
        return Reading(
            parser=self.parser,
            warnings=self.warnings,
            page_modes=dict(Counter(self.page_modes)),
            confidence=None if mean is None else round(mean, 3),
        )

    @property
    def has_text(self) -> bool:
        return any(element.text.strip() for element in self.elements)

    @property
    def text(self) -> str:
        """All elements' text joined by blank lines: what offsets count in."""
        return GAP.join(element.text for element in self.elements if element.text)

    def write(self, path: Path) -> None:
        """As lines of JSON: the document without its elements, then each of these. It is never all in memory as JSON.

        Without what is as by default, which of short elements would be longer than their text.
        """
        with path.open("w", encoding="utf-8") as file:
            for part in (self.model_copy(update={"elements": []}), *self.elements):
                file.write(part.model_dump_json(exclude_defaults=True) + "\n")

    @classmethod
    def read(cls, lines: Iterable[bytes]) -> "ParsedDocument":
        """What `write` has written. Raises pydantic's `ValidationError`."""
        parts = iter(lines)
        document = cls.model_validate_json(next(parts, b""))
        document.elements.extend(map(Element.model_validate_json, parts))
        return document
