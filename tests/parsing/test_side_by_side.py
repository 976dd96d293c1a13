"""Tables that stand beside one another in a sheet, and tables that only have an empty column."""

import pytest

from tests.parsing.conftest import Parse
from tests.parsing.test_table_headers import Cells, sheet, tables


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (
            [["n", "square"], [1, 1], [2, 4, None, "n", "cube"], [3, 9, None, 1, 1], [4, 16, None, 2, 8]],
            [
                [["n", "square"], ["1", "1"], ["2", "4"], ["3", "9"], ["4", "16"]],
                [["n", "cube"], ["1", "1"], ["2", "8"]],
            ],
        ),
        (
            [["n", "square", None, "n", "cube"], [1, 1, None, 1, 1], [2, 4, None, 2, 8]],
            [[["n", "square"], ["1", "1"], ["2", "4"]], [["n", "cube"], ["1", "1"], ["2", "8"]]],
        ),
        (
            [["n", "square", None, "cube", "root"], [1, 1, None, 1, 1], [4, 16, None, 64, 2]],
            [[["n", "square", "cube", "root"], ["1", "1", "1", "1"], ["4", "16", "64", "2"]]],
        ),
        (
            [["year", "sales", None, "growth", "margin"], [2023, 5, None, 2, 1], [2024, 7]],
            [[["year", "sales", "growth", "margin"], ["2023", "5", "2", "1"], ["2024", "7", "", ""]]],
        ),
        (
            [["year", "sales"], [2023, 5], [2024, 7, None, 40, 9]],
            [[["year", "sales", "", ""], ["2023", "5", "", ""], ["2024", "7", "40", "9"]]],
        ),
    ],
    ids=["one begins lower", "one begins with the same name", "a blank column", "no last figures", "no first figures"],
)
def test_an_empty_column_parts_tables_that_have_names_of_their_own(
    parse: Parse, rows: Cells, found: list[list[list[str]]]
) -> None:
    assert [cells for _, cells in tables(parse(sheet(rows), "a.xlsx"))] == found
