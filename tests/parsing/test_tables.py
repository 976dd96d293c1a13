import pytest

from app.core.errors import ParseFailed
from app.parsing.tables import SpannedCell, fill_spans, markdown, without_empty_edges


def test_spans_are_filled_in_both_directions() -> None:
    rows = [
        [SpannedCell("a", columns=2), SpannedCell("b", rows=3)],
        [SpannedCell("c"), SpannedCell("d")],
        [SpannedCell("e")],
    ]
    assert fill_spans(rows) == [["a", "a", "b"], ["c", "d", "b"], ["e", "", "b"]]


def test_a_span_cannot_make_a_table_huge() -> None:
    filled = fill_spans([[SpannedCell("x", columns=10**6, rows=10**6)]], max_columns=50)
    assert (len(filled), len(filled[0])) == (1, 50)


def test_no_cell_is_lost_beyond_where_spans_are_cut() -> None:
    wide = [SpannedCell(f"{number}", columns=2) for number in range(60)]
    (filled,) = fill_spans([wide], max_columns=50)
    assert filled[:6] == ["0", "0", "1", "1", "2", "2"]
    assert list(dict.fromkeys(filled)) == [f"{number}" for number in range(60)]


def test_rows_that_differ_in_width_do_not_make_a_table_huge() -> None:
    with pytest.raises(ParseFailed) as failed:
        fill_spans([[SpannedCell("x")] * 100, *[[SpannedCell("x")]] * 100], max_cells=1000)
    assert failed.value.error_code == "too_complex"


def test_empty_and_doubled_columns_go() -> None:
    rows = [["a", "a", "", "b"], ["", "", "", ""], ["1", "1", "", "2"]]
    assert without_empty_edges(rows) == [["a", "b"], ["1", "2"]]


def test_markdown_escapes_what_would_break_it() -> None:
    assert markdown([["a|b", "c\nd"], ["1", "2"]], 1) == "| a\\|b | c d |\n| --- | --- |\n| 1 | 2 |"
    assert markdown([["1", "2"]], 0) == "|  |  |\n| --- | --- |\n| 1 | 2 |"
