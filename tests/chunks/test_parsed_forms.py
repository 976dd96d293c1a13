"""The parsed form of a document as the blob store holds it."""

import json
from pathlib import Path
from uuid import uuid4

from app.chunks.parsed_form import ParsedForm, outline_of, tables_of
from app.parsing.document import Element, ElementKind, ParsedDocument, Table

ELEMENTS = [
    Element(kind=ElementKind.HEADING, text="Prices", level=1),
    Element(kind=ElementKind.TABLE, text="t", table=Table(rows=[["Item", "Price"], ["lamp", "3"]])),
]
DOCUMENT = ParsedDocument(media_type="text/html", parser="test 1", title="Shop", elements=ELEMENTS)


def told(lines: list[bytes]) -> tuple[str, list[str], list[list[str]]]:
    tree = outline_of(ParsedForm.of(lines), uuid4(), [])
    found, _ = tables_of(ParsedForm.of(lines), 0, 10)
    return tree.title, [heading.title for heading in tree.headings], [table.columns for table in found]


def test_it_is_read_an_element_a_line(tmp_path: Path) -> None:
    path = tmp_path / "parsed.json"
    DOCUMENT.write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + len(ELEMENTS)
    assert told(lines) == ("Shop", ["Prices"], [["Item", "Price"]])
    assert ParsedDocument.read(lines) == DOCUMENT


def test_forms_whose_elements_say_where_they_stand_are_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "parsed.json"
    DOCUMENT.write(path)
    head, *elements = path.read_bytes().splitlines()
    lines = [head, *(json.dumps({**json.loads(element), "start": 9, "end": 11}).encode() for element in elements)]
    assert told(lines) == ("Shop", ["Prices"], [["Item", "Price"]])
    assert ParsedDocument.read(lines) == DOCUMENT


def test_forms_of_one_line_are_read_as_well() -> None:
    lines = [DOCUMENT.model_dump_json(exclude_defaults=True).encode()]
    assert told(lines) == ("Shop", ["Prices"], [["Item", "Price"]])
    assert ParsedDocument.read(lines) == DOCUMENT
