"""Everything that was read of a document, as it is given over HTTP."""

import pytest

from app.chunks import parsed_form
from tests.chunks.shelf import Shelf
from tests.conftest import Register
from tests.parsing.drawing import pdf, scanned, texts

TEXT = """# Boats

The boat sails.

| Boat | Crew |
| --- | --- |
| Tern | 4 |

- one
  - two

```python
sail()
```

| Port | Depth |
| --- | --- |
| Oslo | 9 |
"""


@pytest.fixture
async def shelf(register: Register) -> Shelf:
    return await Shelf.of(await register())


async def test_they_come_in_order_with_what_they_are(shelf: Shelf) -> None:
    document_id = await shelf.add(TEXT)
    path = f"/v1/documents/{document_id}/elements"
    found = (await shelf.get(path))["items"]
    assert [(one["kind"], one["text"], one["level"], one["table"]) for one in found] == [
        ("heading", "Boats", 1, None),
        ("paragraph", "The boat sails.", 0, None),
        ("table", "", 0, 1),
        ("list_item", "one", 1, None),
        ("list_item", "two", 2, None),
        ("code", "sail()", 0, None),
        ("table", "", 0, 2),
    ]
    assert (found[5]["language"], found[0]["page"], found[0]["page_mode"]) == ("python", None, None)
    [chunk] = [one for one in await shelf.chunks(document_id) if one["text"].startswith("The boat")]
    assert (found[1]["start"], found[1]["end"]) == (
        chunk["start_offset"],
        chunk["start_offset"] + len("The boat sails."),
    )
    table = await shelf.get(f"/v1/documents/{document_id}/tables/{found[6]['table']}")
    assert table["items"] == [["Oslo", "9"]]


async def test_they_are_read_a_page_at_a_time(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = await shelf.add(TEXT)
    path = f"/v1/documents/{document_id}/elements"

    async def numbers(limit: int) -> list[list[int]]:
        pages, cursor = [], 0
        while cursor is not None:
            answer = await shelf.get(path, limit=limit, cursor=cursor)
            pages.append([one["number"] for one in answer["items"]])
            cursor = answer["next_cursor"]
        return pages

    assert await numbers(3) == [[1, 2, 3], [4, 5, 6], [7]]
    monkeypatch.setattr(parsed_form, "MOST_CHARACTERS", 10)  # "The boat sails." alone is longer
    assert await numbers(100) == [[1], [2], [3, 4, 5], [6, 7]]
    assert (await shelf.get(path, cursor=7))["items"] == []


async def test_those_of_a_scan_say_how_sure_they_are(shelf: Shelf) -> None:
    content = pdf(
        texts((72, 100, "A page of plain text, with words enough to be read.")),
        scanned(texts((60, 100, "A picture of words"), size=16)),
    )
    path = f"/v1/documents/{await shelf.upload('scan.pdf', content)}/elements"
    [plain] = [one for one in (await shelf.get(path, page=1))["items"] if one["text"]]
    assert (plain["page"], plain["page_mode"], plain["confidence"]) == (1, "fast", None)
    assert plain["bbox"]["left"] == pytest.approx(72, abs=1)
    [recognised] = [one for one in (await shelf.get(path, page=2))["items"] if one["text"]]
    assert (recognised["text"], recognised["page_mode"]) == ("A picture of words", "ocr")
    assert 0.6 < recognised["confidence"] <= 1
    assert (await shelf.get(path, page=3))["items"] == []
