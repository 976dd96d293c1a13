"""A sheet too large to be searched row by row: what is found of it, its cells page by page, and that all of it goes."""

from functools import partial

import pytest

from app.chunks import parsed_form
from app.ingestion import pipeline
from app.parsing.limits import ParseLimits
from tests.chunks.shelf import Shelf
from tests.conftest import Register, until

ROWS = 12_000
SHEET = "编号,City,Amount\n" + "".join(
    f"N{number},{'Oslo' if number % 2 == 0 else 'Rom'},{number}\n" for number in range(ROWS)
)


@pytest.fixture
async def shelf(register: Register, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(pipeline, "ParseLimits", partial(ParseLimits, kept_table_cells=120))
    return await Shelf.of(await register())


async def test_its_cells_are_read_a_page_at_a_time(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = await shelf.upload("large.csv", SHEET.encode())
    path = f"/v1/documents/{document_id}/tables"
    (table,) = (await shelf.get(path))["items"]
    assert (table["row_count"], table["columns"]) == (ROWS, ["编号", "City", "Amount"])
    assert [(column["kind"], column["greatest"]) for column in table["profiles"]] == [
        ("text", ""), ("text", ""), ("number", str(ROWS - 1)),
    ]  # fmt: skip
    across = await shelf.get(f"{path}/1", cursor=9_990, limit=20)  # two pages hold them
    assert [row[0] for row in across["items"]] == [f"N{number}" for number in range(9_990, 10_010)]
    last = await shelf.get(f"{path}/1", cursor=ROWS - 2, limit=20)
    assert (last["items"], last["next_cursor"]) == (
        [[f"N{ROWS - 2}", "Oslo", str(ROWS - 2)], [f"N{ROWS - 1}", "Rom", str(ROWS - 1)]], None,
    )  # fmt: skip
    assert (await shelf.get(f"{path}/1", cursor=ROWS, limit=20))["items"] == []
    monkeypatch.setattr(parsed_form, "MOST_CELLS", 15)
    narrowed = await shelf.get(f"{path}/1", cursor=9_997, limit=20)
    assert ([row[0] for row in narrowed["items"]], narrowed["next_cursor"]) == (
        [f"N{number}" for number in range(9_997, 10_002)], "10002",
    )  # fmt: skip


async def test_it_is_found_by_its_summary_and_its_first_rows_and_says_so(shelf: Shelf) -> None:
    document_id = await shelf.upload("large.csv", SHEET.encode())
    document = await shelf.get(f"/v1/documents/{document_id}")
    (warning,) = document["warnings"]
    assert "12000 rows. The first 39 are searched" in warning
    assert (document["parser"], document["page_modes"], document["confidence"]) == ("delimited 1", {}, None)
    texts = [chunk["text"] for chunk in await shelf.chunks(document_id)]
    assert any("12000 rows, 3 columns" in text and "Amount (number, 0 to 11999)" in text for text in texts)
    assert any("编号: N38; City: Oslo; Amount: 38." in text for text in texts)
    assert not any("N11999" in text for text in texts[:-1])


async def test_deleted_it_leaves_no_cells(shelf: Shelf) -> None:
    document_id = await shelf.upload("large.csv", SHEET.encode())
    assert (await shelf.person.client.delete(f"/v1/documents/{document_id}")).status_code == 204

    async def purged() -> bool:
        return (await shelf.get(f"/v1/documents/{document_id}/deletion"))["purged_at"] is not None

    await until(purged)
    receipt = await shelf.get(f"/v1/documents/{document_id}/deletion")
    assert receipt["counts"]["blobs"] == 4  # the original, the parsed form, two pages of cells


async def test_its_columns_are_read_in_bands(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/v1/documents/{await shelf.upload('large.csv', SHEET.encode())}/tables/1"
    monkeypatch.setattr(parsed_form, "MOST_COLUMNS", 2)
    first, last = [await shelf.get(path, cursor=9_999, limit=2, column_cursor=after) for after in (0, 2)]
    assert (first["items"], last["items"]) == ([["N9999", "Rom"], ["N10000", "Oslo"]], [["9999"], ["10000"]])
    assert (first["next_column_cursor"], last["next_column_cursor"]) == ("2", None)
    assert [column["kind"] for column in last["table"]["profiles"]] == ["number"]
