"""Tables too large to be kept whole: all cells on pages beside the parsed form, what is told of them, limits."""

import asyncio
import json
from pathlib import Path

import pytest

from app.core.errors import ParseFailed
from app.parsing.cells import page_name
from app.parsing.document import ColumnKind, ParsedDocument, StoredCells, Table
from app.parsing.handover import take_page
from app.parsing.limits import ParseLimits
from app.parsing.sandbox import parse_file
from tests.parsing.bombs import xlsx
from tests.parsing.conftest import Parse
from tests.parsing.test_sandbox import names_in, write

pytestmark = pytest.mark.usefixtures("sandbox", "scratch")
ROWS = 30_000
CITIES = ("上海", "Oslo", "北京")
HEADER = ["Order", "Day", "City", "Amount"]
FEW = ParseLimits(kept_table_cells=4_000)


def order(number: int) -> list[str]:
    return [f"ORD-{number}", f"2026-03-{number % 28 + 1:02d}", CITIES[number % 3], str(number % 500)]


def as_csv(rows: int = ROWS) -> str:
    return "".join(",".join(row) + "\n" for row in (HEADER, *map(order, range(1, rows + 1))))


def as_xlsx(rows: int = ROWS) -> bytes:
    def row(number: int, cells: list[str]) -> str:
        places = zip("ABCD", cells, strict=True)
        return (
            "<row>"
            + "".join(
                f'<c r="{column}{number}" t="{"n" if cell.isdecimal() else "inlineStr"}">'
                + (f"<v>{cell}</v></c>" if cell.isdecimal() else f"<is><t>{cell}</t></is></c>")
                for column, cell in places
            )
            + "</row>"
        )

    return xlsx(row(1, HEADER), *(row(number + 1, order(number)) for number in range(1, rows + 1)))


def stored(document: ParsedDocument) -> tuple[Table, StoredCells]:
    (table,) = [element.table for element in document.elements if element.table is not None]
    assert table.stored is not None
    return table, table.stored


@pytest.mark.parametrize(("content", "name"), [(as_csv(), "a.csv"), (as_xlsx(), "a.xlsx")], ids=["csv", "xlsx"])
async def test_every_row_is_on_a_page_and_only_the_first_are_text(
    content: bytes | str, name: str, tmp_path: Path, scratch: Path
) -> None:
    cells, seen = tmp_path / "cells", list[tuple[int, int]]()
    cells.mkdir()
    document = await parse_file(
        write(tmp_path, content),
        file_name=name,
        limits=FEW,
        cells=cells,
        progress=lambda done, total: seen.append((done, total)),
    )
    table, pages = stored(document)
    assert (table.header_rows, table.row_count, len(table.rows)) == (1, ROWS + 1, 1_000)
    assert table.rows[:2] == [HEADER, order(1)]
    assert [json.loads((cells / page_name(1, number)).read_bytes())[0] for number in (1, 2, 3, 4)] == [
        HEADER, order(10_000), order(20_000), order(30_000),
    ]  # fmt: skip
    assert pages.starts == [0, 10_000, 20_000, 30_000]
    assert [column.kind for column in pages.columns] == [
        ColumnKind.TEXT, ColumnKind.DATE, ColumnKind.TEXT, ColumnKind.NUMBER,
    ]  # fmt: skip
    assert (pages.columns[3].least, pages.columns[3].greatest) == ("0", "499")
    assert pages.columns[2].values == [CITIES[1], CITIES[2], CITIES[0]]
    assert "30000 rows" in document.warnings[0]
    assert "first 999" in document.warnings[0]
    assert f"ORD-{ROWS}" not in document.text
    assert {total for _, total in seen} == {ROWS + 1}
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert seen[-1][0] == ROWS + 1
    assert names_in(scratch) == []


async def test_cells_nobody_asks_for_are_dropped(tmp_path: Path, scratch: Path) -> None:
    document = await parse_file(write(tmp_path, as_csv(2_000)), file_name="a.csv", limits=FEW)
    assert stored(document)[1].rows == 2_001
    assert names_in(scratch) == []


async def test_cancelled_while_rows_are_read_nothing_is_left(tmp_path: Path, scratch: Path) -> None:
    moving = asyncio.Event()
    parsing = asyncio.create_task(
        parse_file(write(tmp_path, as_csv()), file_name="a.csv", limits=FEW, progress=lambda done, total: moving.set())
    )
    await moving.wait()
    parsing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await parsing
    assert names_in(scratch) == []


async def test_two_large_tables_on_a_sheet_stay_apart(tmp_path: Path) -> None:
    cells = tmp_path / "cells"
    cells.mkdir()

    def rows(first: int, name: str) -> list[str]:
        made = [f'<row><c r="A{first}" t="inlineStr"><is><t>{name}</t></is></c>'
                f'<c r="B{first}" t="inlineStr"><is><t>n</t></is></c></row>']  # fmt: skip
        for number in range(first + 1, first + 101):
            made.append(f'<row><c r="A{number}"><v>{number}</v></c><c r="B{number}"><v>1</v></c></row>')
        return made

    content = xlsx(*rows(1, "one"), *rows(110, "two"))
    document = await parse_file(
        write(tmp_path, content), file_name="a.xlsx", limits=ParseLimits(kept_table_cells=40), cells=cells
    )
    tables = [element.table for element in document.elements if element.table is not None]
    assert [(table.rows[0], table.row_count, table.first_row) for table in tables] == [
        (["one", "n"], 101, 1), (["two", "n"], 101, 110),
    ]  # fmt: skip
    assert [table.stored.number for table in tables if table.stored is not None] == [1, 2]
    assert sorted(names_in(cells)) == ["1-1.json", "2-1.json"]


@pytest.mark.parametrize(
    "limits",
    [ParseLimits(kept_table_cells=40, sheet_cells=3_000), ParseLimits(kept_table_cells=40, stored_bytes=20_000)],
    ids=["cells", "bytes"],
)
async def test_large_tables_have_limits_too(limits: ParseLimits, tmp_path: Path, scratch: Path) -> None:
    with pytest.raises(ParseFailed) as failed:
        await parse_file(write(tmp_path, as_csv(2_000)), file_name="a.csv", limits=limits)
    assert failed.value.error_code == "too_complex"
    assert names_in(scratch) == []


async def test_one_wide_row_among_many_narrow_ones_does_not_widen_them(tmp_path: Path) -> None:
    limits = ParseLimits(kept_table_cells=4_000, cells=10_000)
    with pytest.raises(ParseFailed) as failed:
        await parse_file(write(tmp_path, "a,b\n" * 3_000 + "," * 9_000 + "c\n"), file_name="a.csv", limits=limits)
    assert failed.value.error_code == "too_complex"


def test_without_a_folder_all_cells_are_kept(parse: Parse) -> None:
    (element,) = parse(as_csv(2_000), "a.csv", limits=FEW).elements
    assert element.table is not None
    assert (len(element.table.rows), element.table.stored) == (2_001, None)


@pytest.mark.parametrize("content", [b"[[1]]", b"[", b'[["a"],["b"]]', b'{"a": 1}'])
def test_pages_that_are_not_what_they_should_be_are_refused(content: bytes, tmp_path: Path) -> None:
    cells = StoredCells(number=1, rows=1, starts=[0], columns=[])
    (tmp_path / page_name(1, 1)).write_bytes(content)
    with pytest.raises(ParseFailed) as failed:
        take_page(tmp_path, tmp_path, cells, 1, 1_000)
    assert failed.value.error_code == "parser_crashed"


def test_pages_behind_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('[["a"]]')
    (tmp_path / page_name(1, 1)).symlink_to(tmp_path / "secret")
    with pytest.raises(ParseFailed) as failed:
        take_page(tmp_path, tmp_path, StoredCells(number=1, rows=1, starts=[0], columns=[]), 1, 1_000)
    assert failed.value.error_code == "parser_crashed"
