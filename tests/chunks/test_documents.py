"""What a document holds: its tables, its headings, and what of it is new."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.chunks import parsed_form
from app.core.scope import TenantScope
from app.ports.parts import Parts
from tests.chunks.shelf import Shelf
from tests.conftest import Person, Register, until

SHEET = "型号,价格,Stock\n" + "".join(f"X{number},{number * 10},{number % 3}\n" for number in range(90))
BOOK = """Before everything.

# One

Text of one.

## One and a half

| name | size |
| --- | --- |
| cat | 3 |
| dog | 5 |

# Two

# Three

Text of three.
"""


@pytest.fixture
async def shelf(register: Register) -> Shelf:
    return await Shelf.of(await register(), {"min_tokens": 0})


async def test_tables_can_be_listed_and_read_row_by_row(shelf: Shelf) -> None:
    document_id = await shelf.upload("prices.csv", SHEET.encode())
    path = f"/v1/documents/{document_id}/tables"
    (table,) = (await shelf.get(path))["items"]
    assert table["columns"] == ["型号", "价格", "Stock"]
    assert (table["number"], table["header_rows"], table["row_count"]) == (1, 1, 90)
    rows: list[list[str]] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = await shelf.get(f"{path}/1", cursor=cursor, limit=40)
        rows += page["items"]
        cursor = page["next_cursor"]
    assert rows == [[f"X{number}", str(number * 10), str(number % 3)] for number in range(90)]


async def test_a_wide_table_has_few_rows_a_page(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/v1/documents/{await shelf.upload('prices.csv', SHEET.encode())}/tables/1"
    monkeypatch.setattr(parsed_form, "MOST_CELLS", 31)
    page = await shelf.get(path, cursor=5, limit=1000)
    assert ([row[0] for row in page["items"]], page["next_cursor"]) == ([f"X{number}" for number in range(5, 15)], "15")
    monkeypatch.setattr(parsed_form, "MOST_CELLS", 1)
    page = await shelf.get(path, limit=1000)
    assert (len(page["items"]), page["next_cursor"]) == (1, "1")


WIDE = [[f"{row}x{column}" for column in range(11)] for row in range(7)]
WIDE_JSON = json.dumps([{f"c{column}": cell for column, cell in enumerate(row)} for row in WIDE])


async def test_a_very_wide_table_is_read_in_bands_of_columns(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON may give a table a million columns, each with its name and profile."""
    path = f"/v1/documents/{await shelf.upload('wide.json', WIDE_JSON.encode())}/tables/1"
    whole = await shelf.get(path)
    assert (whole["next_cursor"], whole["next_column_cursor"]) == (None, None)
    monkeypatch.setattr(parsed_form, "MOST_COLUMNS", 4)
    monkeypatch.setattr(parsed_form, "MOST_CELLS", 12)
    rows: list[list[str]] = [[] for _ in WIDE]
    columns, profiles = [], []
    column_cursor: str | None = "0"
    while column_cursor is not None:
        cursor: str | None = "0"
        while cursor is not None:
            page = await shelf.get(path, cursor=cursor, column_cursor=column_cursor)
            assert len(page["table"]["columns"]) <= 4
            assert len(page["items"]) <= 3
            assert page["table"]["column_count"] == 11
            for number, row in enumerate(page["items"], start=int(cursor)):
                rows[number] += row
            cursor = page["next_cursor"]
        columns += page["table"]["columns"]
        profiles += page["table"]["profiles"]
        column_cursor = page["next_column_cursor"]
    assert rows == whole["items"] == WIDE
    assert (columns, profiles) == (whole["table"]["columns"], whole["table"]["profiles"])
    beyond = await shelf.get(path, column_cursor=11)
    assert (beyond["items"], beyond["next_cursor"], beyond["next_column_cursor"]) == ([], None, None)
    text = await shelf.person.client.get(path, params={"format": "markdown", "column_cursor": 4, "limit": 1})
    assert text.text.splitlines()[::2] == ["| c4 | c5 | c6 | c7 |", "| 0x4 | 0x5 | 0x6 | 0x7 |"]
    assert (text.headers["x-next-cursor"], text.headers["x-next-column-cursor"]) == ("1", "8")


async def test_a_list_of_wide_tables_has_few_a_page(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    widths = [2, 2, 9, 1, 3, 1]
    book = "\n\n".join("\n".join(cell * width + "|" for cell in ("| a ", "| --- ", "| b ")) for width in widths)
    path = f"/v1/documents/{await shelf.add(book)}/tables"
    monkeypatch.setattr(parsed_form, "MOST_COLUMNS", 4)
    pages: list[list[tuple[int, int, int]]] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = await shelf.get(path, cursor=cursor)
        pages.append([(one["number"], len(one["columns"]), one["column_count"]) for one in page["items"]])
        cursor = page["next_cursor"]
    assert pages == [[(1, 2, 2), (2, 2, 2)], [(3, 4, 9)], [(4, 1, 1), (5, 3, 3)], [(6, 1, 1)]]


async def test_a_table_as_markdown(shelf: Shelf) -> None:
    document_id = await shelf.upload("prices.csv", SHEET.encode())
    path = f"/v1/documents/{document_id}/tables/1"
    answer = await shelf.person.client.get(path, params={"format": "markdown", "limit": 2, "cursor": 10})
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.text.splitlines() == [
        "| 型号 | 价格 | Stock |", "| --- | --- | --- |", "| X10 | 100 | 1 |", "| X11 | 110 | 2 |",
    ]  # fmt: skip
    assert answer.headers["x-next-cursor"] == "12"
    last = await shelf.person.client.get(path, params={"format": "markdown", "limit": 1000})
    assert "x-next-cursor" not in last.headers


async def test_a_sheet_is_found_by_its_rows_and_by_what_it_is(shelf: Shelf) -> None:
    document_id = await shelf.upload("prices.csv", SHEET.encode())
    (row,) = (await shelf.retrieve("X45 价格", mode="bm25", top_k=1))["hits"]
    assert "型号: X45; 价格: 450; Stock: 0." in row["text"]
    summary = [one["text"] for one in await shelf.chunks(document_id) if "90 rows, 3 columns" in one["text"]]
    assert len(summary) == 1
    assert "价格 (number, 0 to 890)" in summary[0]


async def test_no_such_table(shelf: Shelf, stranger: Person) -> None:
    document_id = await shelf.add("No table here.")
    assert (await shelf.get(f"/v1/documents/{document_id}/tables"))["items"] == []
    for number, status in ((1, 404), (0, 422), (2**40, 422)):
        answer = await shelf.person.client.get(f"/v1/documents/{document_id}/tables/{number}")
        assert answer.status_code == status
    for path in ("tables", "tables/1", "outline"):
        answer = await stranger.client.get(f"/v1/documents/{document_id}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "document_not_found")


async def test_the_outline_leads_to_pages_and_chunks(shelf: Shelf) -> None:
    document_id = await shelf.add(BOOK)
    texts = {one["id"]: one["text"] for one in await shelf.chunks(document_id)}
    found = await shelf.get(f"/v1/documents/{document_id}/outline")
    assert not found["truncated"]
    assert [texts[one] for one in found["chunk_ids"]] == ["Before everything."]
    one, two, three = found["headings"]
    assert [(node["title"], node["level"]) for node in (one, two, three)] == [("One", 1), ("Two", 1), ("Three", 1)]
    assert [texts[chunk_id] for chunk_id in three["chunk_ids"]] == ["Text of three."]
    assert "Text of one." in texts[one["chunk_ids"][0]]
    (half,) = one["children"]
    assert half["title"] == "One and a half"
    assert any("| cat | 3 |" in texts[chunk_id] for chunk_id in half["chunk_ids"])
    assert any("2 rows, 2 columns" in texts[chunk_id] for chunk_id in half["chunk_ids"])
    # A heading without text stands in the text of the section before it.
    assert [texts[chunk_id].splitlines()[-1] for chunk_id in two["chunk_ids"]] == ["Two"]


async def test_a_new_version_embeds_only_what_is_new(shelf: Shelf) -> None:
    sections = [f"# Section {number}\n\n" + f"The rule number {number} says so. " * 12 for number in range(40)]
    _, first = await shelf.ingest("\n\n".join(sections), external_id="rules")
    assert first["counts"] == {"embedded": 40, "reused": 0, "chunks": 40}
    sections[17] += "And one more thing."
    document_id, second = await shelf.ingest("\n\n".join(sections), external_id="rules")
    assert second["counts"] == {"embedded": 1, "reused": 39, "chunks": 40}
    assert any("And one more thing." in one["text"] for one in await shelf.chunks(document_id))


class Gate:
    """Stands before the parsed forms: who comes is written down, and waits until told to go on."""

    def __init__(self, parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
        self._fetch = parts.blobs.fetch
        self._open = asyncio.Event()
        self.came: list[str] = []
        monkeypatch.setattr(parts.blobs, "fetch", self._pass)

    async def _pass(self, scope: TenantScope, key: str, path: Path) -> None:
        if key.startswith("parsed/"):
            self.came.append(str(scope.tenant_id))
            await self._open.wait()
        await self._fetch(scope, key, path)

    def open(self) -> None:
        self._open.set()

    async def has_come(self) -> bool:
        return bool(self.came)


@pytest.mark.parametrize(("what", "expected"), [("tables", "colour"), ("tables/1", "whale"), ("outline", "Second")])
async def test_a_new_version_while_the_old_one_is_read(
    shelf: Shelf, parts: Parts, monkeypatch: pytest.MonkeyPatch, what: str, expected: str
) -> None:
    """Purged before it was read, the old version is not missed."""
    newer = BOOK.replace("size", "colour").replace("cat", "whale").replace("Two", "Second")
    document_id = await shelf.add(BOOK, external_id="book")
    gate = Gate(parts, monkeypatch)
    asked = asyncio.create_task(shelf.person.client.get(f"/v1/documents/{document_id}/{what}"))
    await until(gate.has_come)
    await shelf.add(newer, external_id="book")

    async def purged() -> bool:
        found = await shelf.get("/v1/operations", document_id=document_id)
        return [one["state"] for one in found["items"] if one["kind"] == "purge"] == ["succeeded"]

    await until(purged)
    gate.open()
    answer = await asked
    assert answer.status_code == 200, answer.text
    assert expected in answer.text


async def test_a_tenant_who_asks_for_much_keeps_nobody_waiting(
    shelf: Shelf, register: Register, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await Shelf.of(await register(), {"min_tokens": 0})
    paths = {mine: f"/v1/documents/{await mine.add(BOOK)}/outline" for mine in (shelf, other)}
    gate = Gate(parts, monkeypatch)

    def ask(mine: Shelf) -> "asyncio.Task[Any]":
        return asyncio.create_task(mine.get(paths[mine]))

    asked = [ask(shelf)]
    await until(gate.has_come)
    asked += [ask(shelf) for _ in range(3)]
    await asyncio.sleep(0.5)  # so that they wait before the other one does
    asked.append(ask(other))
    await asyncio.sleep(0.5)
    gate.open()
    await asyncio.gather(*asked)
    mine, theirs = shelf.person.tenant_id, other.person.tenant_id
    assert gate.came == [mine, theirs, mine, mine, mine]
