"""The measures of `python -m tests.files.tables` and `tests.files.peers`."""

from tests.files import markdown
from tests.files.cells import CellCounts, compare, right_cells
from tests.files.tables import expected_tables

GRID = [["State", "1975", "1988"], ["Kerala", "5738", "6633"], ["Orissa", "3756", ""]]


def test_a_table_agrees_with_itself() -> None:
    assert right_cells(GRID, GRID) == 8
    assert compare([GRID], [GRID]) == CellCounts(right=8, expected=8, found=8)


def test_white_space_and_width_of_characters_do_not_matter() -> None:
    assert right_cells([["例 号", "(1)"]], [["例号", "（１）"]]) == 2


def test_an_extra_row_and_column_cost_only_themselves() -> None:
    found = [["", *row] for row in [["Table 1", "", ""], *GRID]]
    counts = compare([GRID], [found])
    assert (counts.right, counts.found) == (8, 9)
    assert counts.recall == 1
    assert 0.88 < counts.precision < 0.89


def test_a_missing_column_costs_its_cells() -> None:
    found = [[row[0], row[2]] for row in GRID]
    assert compare([GRID], [found]) == CellCounts(right=5, expected=8, found=5)


def test_cells_in_the_wrong_row_or_column_are_not_right() -> None:
    assert right_cells([["a", "b"], ["c", "d"]], [["c", "b"], ["a", "d"]]) == 2
    assert right_cells([["a", "b"]], [["b", "a"]]) == 1


def test_joined_cells_are_not_right() -> None:
    assert compare([[["a", "b"], ["c", "d"]]], [[["a b"], ["c d"]]]) == CellCounts(right=0, expected=4, found=2)


def test_each_table_is_matched_once_and_others_are_wrong() -> None:
    other = [["x", "y"], ["1", "2"]]
    assert compare([GRID, GRID], [other, GRID]) == CellCounts(right=8, expected=16, found=12)
    assert compare([GRID, GRID], [other, GRID], only_matched=True) == CellCounts(right=8, expected=16, found=8)


def test_nothing_found_has_no_recall() -> None:
    counts = compare([GRID], [])
    assert (counts.recall, counts.precision, counts.f1) == (0, 1, 0)


def test_tables_of_markdown() -> None:
    text = "words | with a bar\n\n|**Plan**|To<br>tals|\n|---|:-:|\n|*GMC*|1 \\| 2|\n|short|\n\n| a |\n| --- |\n| b |\n"
    assert markdown.tables(text) == [[["Plan", "To tals"], ["GMC", "1 | 2"], ["short", ""]], [["a"], ["b"]]]


def test_marks_of_markdown_are_no_text() -> None:
    text = "## **Bold** and _slanted_ snake_case\n\nLee<sup>4</sup> \\*x [link](http://a) &amp; `code`"
    assert " ".join(markdown.without_marks(text).split()) == "Bold and slanted snake_case Lee 4 *x link & code"


def test_expected_tables_are_rectangles() -> None:
    tables = expected_tables()
    assert len(tables) >= 12
    for name, expected in tables.items():
        for grid in expected.grids:
            assert len({len(row) for row in grid}) == 1, name
