import pytest

from app.chunking.chunk import ChunkKind, DraftChunk
from app.chunking.options import TableOptions
from app.chunking.settings import ChunkingSettings
from app.parsing.document import Element
from tests.chunking.documents import caption, document, drafts, paragraph, sentences, table

AS_MARKDOWN = TableOptions(rows=False, summary=False)
SMALL = ChunkingSettings(
    target_tokens=60, max_tokens=90, max_embedded_tokens=120, min_tokens=8, overlap_tokens=20, tables=AS_MARKDOWN
)
PEOPLE = [["id", "name"], *([str(number), f"person {number}"] for number in range(60))]


def chunks(*elements: Element, settings: ChunkingSettings = SMALL) -> list[DraftChunk]:
    return drafts(document(*elements), settings)


def test_a_table_that_fits_is_kept_whole_beside_its_text() -> None:
    small = table(PEOPLE[:4])
    (only,) = chunks(paragraph("Who is who:"), small)
    assert only.text == "Who is who:\n\n" + small.text
    (alone,) = chunks(small)
    assert alone.kind is ChunkKind.TABLE


def test_a_split_table_repeats_caption_and_header_and_keeps_every_row() -> None:
    made = chunks(table(PEOPLE, caption="Table 1: people"))
    assert len(made) > 3
    for one in made:
        assert one.kind is ChunkKind.TABLE
        assert one.text.startswith("Table 1: people\n\n| id | name |\n| --- | --- |\n| ")
        assert one.token_count <= SMALL.max_tokens
    rows = [line for one in made for line in one.text.splitlines()[4:]]
    assert rows == [f"| {number} | person {number} |" for number in range(60)]


def test_parts_know_where_their_rows_stand() -> None:
    parsed = document(paragraph("Before."), table(PEOPLE))
    made = [one for one in drafts(parsed, SMALL) if one.kind is ChunkKind.TABLE]
    for one in made:
        first, last = one.text.splitlines()[2], one.text.splitlines()[-1]
        assert parsed.text[one.start : one.end].startswith(first)
        assert parsed.text[one.start : one.end].endswith(last)


def test_a_caption_element_before_a_table_goes_with_it() -> None:
    made = chunks(paragraph(sentences(8)), caption("表1 人员"), table(PEOPLE))
    tables = [one for one in made if one.kind is ChunkKind.TABLE]
    assert all(one.text.startswith("表1 人员\n\n| id | name |") for one in tables)
    assert not any("表1" in one.text for one in made if one.kind is ChunkKind.TEXT)


def test_a_caption_of_something_else_stays_in_the_text() -> None:
    (only,) = chunks(caption("Figure 1: a cat"), paragraph("It sleeps."))
    assert only.text == "Figure 1: a cat\n\nIt sleeps."


def test_a_row_that_does_not_fit_is_split_by_columns_under_their_names() -> None:
    names = [f"column{number}" for number in range(30)]
    made = chunks(table([names, [f"value {number}" for number in range(30)]]))
    assert len(made) > 1
    for one in made:
        assert one.token_count <= SMALL.max_tokens
    bands = [one.text.splitlines() for one in made if "value" in one.text]
    pairs = [
        pair
        for header, _, row in bands
        for pair in zip(header.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True)
    ]
    wanted = [(f"column{number}", f"value {number}") for number in range(30)]
    assert [pair for pair in pairs if pair != wanted[0]] == wanted[1:]
    assert pairs.count(wanted[0]) == len(bands)


def test_a_cell_that_does_not_fit_is_split_by_sentences_under_its_name() -> None:
    long = sentences(40)
    made = chunks(table([["id", "report"], ["1", "short"], ["2", long], ["3", "short"]]))
    assert all(one.token_count <= SMALL.max_tokens for one in made)
    rows = [one.text.splitlines()[-1].strip("| ") for one in made if "quick" in one.text]
    assert all(row.startswith("2 | ") for row in rows)
    assert " ".join(row.removeprefix("2 | ") for row in rows) == long
    assert all(one.text.startswith("| id | report |") for one in made)
    assert [one.text.splitlines()[-1] for one in (made[0], made[-1])] == ["| 1 | short |", "| 3 | short |"]


def test_column_names_too_long_to_repeat_are_given_whole_once() -> None:
    name = "a very long column name " * 12
    made = chunks(table([[name, "b"], *([str(number), "x"] for number in range(30))]))
    assert all(one.token_count <= SMALL.max_tokens for one in made)
    together = " ".join(one.text for one in made)
    assert together.count("a very long column name") >= 12
    assert all(f"| {number} | x |" in together for number in range(30))


def test_line_breaks_and_borders_in_cells_do_not_break_rows() -> None:
    (only,) = chunks(table([["a", "b"], ["one\ntwo", "x|y"]]))
    assert only.text.splitlines()[-1] == r"| one two | x\|y |"


@pytest.mark.parametrize("cell", ["|" * 400, "漢" * 1000, "word " * 500])
def test_no_cell_makes_a_chunk_too_long(cell: str) -> None:
    made = chunks(table([["id", "value"], ["1", cell]]))
    assert all(one.token_count <= SMALL.max_embedded_tokens for one in made)
    kept = sum(one.text.replace("\\", "").count(cell[0]) for one in made)
    assert kept >= cell.count(cell[0])


def test_a_table_without_header_and_one_of_nothing_else() -> None:
    made = chunks(table([[str(number), "x"] for number in range(60)], header_rows=0))
    assert all(f"| {number} | x |" in "\n".join(one.text for one in made) for number in range(60))
    (only,) = chunks(table([["id", "name"]], header_rows=1))
    assert "| id | name |" in only.text


def test_a_large_table_takes_one_chunk_for_each_handful_of_rows() -> None:
    rows = [["id", "name", "value"], *([str(number), f"name {number}", "x"] for number in range(4_000))]
    rows[777][1] = "an endless cell " * 1_000
    made = chunks(table(rows), settings=ChunkingSettings(tables=AS_MARKDOWN))
    assert all(one.token_count <= 450 for one in made)
    assert "| 3999 | name 3999 | x |" in made[-1].text


BOTH = ChunkingSettings(target_tokens=60, max_tokens=90, max_embedded_tokens=120, min_tokens=8, overlap_tokens=20)


def test_rows_of_a_long_table_are_sentences_that_name_every_column() -> None:
    rows = [["型号", "价格", "Stock"], *([f"X{number}", f"{number * 10} 元", ""] for number in range(60))]
    rows[7][2] = "4"
    made = [one for one in chunks(table(rows, caption="报价表"), settings=BOTH) if "rows" not in one.text]
    assert all(one.text.startswith("报价表\n\n") and one.token_count <= 90 for one in made)
    lines = [line for one in made for line in one.text.splitlines()[2:]]
    assert lines[0] == "型号: X0; 价格: 0 元."
    assert lines[6] == "型号: X6; 价格: 60 元; Stock: 4."
    assert len(lines) == 60


def test_a_row_too_long_for_a_chunk_names_its_columns_in_every_part() -> None:
    names = ["id", *(f"column{number}" for number in range(30))]
    made = chunks(table([names, ["7", *(f"value {number}" for number in range(30))]]), settings=BOTH)
    rows = [one.text for one in made if "value" in one.text]
    assert len(rows) > 1
    assert all(one.startswith("id: 7; ") for one in rows)
    together = " ".join(rows)
    assert all(f"column{number}: value {number}" in together for number in range(30))


def test_what_no_row_names_is_given_once() -> None:
    """Two header rows, and a column in which nothing stands."""
    rows = [["", "2024", "2024", "remarks"], ["name", "Q1", "Q2", "(none)"]]
    rows += [[f"person {number}", "1", "2", ""] for number in range(60)]
    made = chunks(table(rows, header_rows=2), settings=BOTH)
    assert made[0].text == "2024 2024 remarks name Q1 Q2 (none)"
    assert "name: person 0; 2024 / Q1: 1; 2024 / Q2: 2." in made[1].text


def test_every_table_is_described_beside_its_rows() -> None:
    rows = [["model", "price", "since", "sold", "code", "note"]]
    rows += [
        [f"X{n}", f"{n * 1000:,}", f"2024-0{n % 9 + 1}-15", "yes" if n % 2 else "no", f"00{n}", ""] for n in range(30)
    ]
    (summary,) = [
        one for one in chunks(table(rows, caption="Prices"), settings=ChunkingSettings()) if "columns" in one.text
    ]
    assert summary.kind is ChunkKind.TABLE_SUMMARY
    assert summary.text.splitlines() == [
        "Prices: 30 rows, 6 columns.",
        "model (text, 30 different, such as X0, X1, X2)",
        "price (number, 0 to 29,000)",
        "since (date, 2024-01-15 to 2024-09-15)",
        "sold (yes or no: no, yes)",
        "code (text, 30 different, such as 000, 001, 002)",
        "note (empty)",
        *(
            f"model: X{n}; price: {n * 1000:,}; since: 2024-0{n + 1}-15; sold: {'yes' if n % 2 else 'no'}; code: 00{n}."
            for n in range(5)
        ),
    ]


@pytest.mark.parametrize("rows", [[["a", "b"], ["1", "2"]], [["a"], ["1"], ["2"]], [["a", "b"]], [["", ""], ["", ""]]])
def test_a_table_that_says_all_itself_is_not_described(rows: list[list[str]]) -> None:
    assert not any("columns" in one.text for one in chunks(table(rows), settings=BOTH))


def test_what_is_said_of_a_table_is_cut_to_what_fits() -> None:
    said = "该表列出每个泊位的长度。" * 3 + "船东可以查到每晚的价格。" * 20
    rows = [["泊位", "价格"], ["甲", "1"], ["乙", "2"]]
    (summary,) = [
        one for one in chunks(table(rows, description=said), settings=BOTH) if one.kind is ChunkKind.TABLE_SUMMARY
    ]
    held = summary.text.splitlines()[1]
    assert held.startswith("该表列出每个泊位的长度。")
    assert held.endswith("。")
    assert len(held) < len(said)


def test_a_description_of_many_columns_ends_in_time() -> None:
    rows = [[f"column{number}" for number in range(2_000)], *([["x" * 99] * 2_000] * 3)]
    made = [one for one in chunks(table(rows), settings=BOTH) if "2000 columns" in one.text]
    assert len(made) == 1
    assert made[0].token_count <= 90
    assert "more columns" in made[0].text


def test_without_either_space_a_table_is_markdown() -> None:
    made = chunks(table(PEOPLE), settings=SMALL)
    assert all(one.text.startswith("| id | name |") for one in made)
