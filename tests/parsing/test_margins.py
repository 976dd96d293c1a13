"""What repeats on page after page and goes, and what only looks like it and stays."""

from app.parsing.parsers.pdf_lines import Line, PageLines
from app.parsing.parsers.pdf_margins import drop_running_lines
from tests.parsing.conftest import Parse

HEIGHT = 800.0


def page(*placed: tuple[float, str], size: float = 10.0) -> PageLines:
    lines = [Line(text, (60, top, 300, top + 10), (60, top, 300, top + 10), size=size) for top, text in placed]
    return PageLines(lines=lines, height=HEIGHT)


def left_over(*pages: PageLines) -> list[list[str]]:
    found = list(pages)
    drop_running_lines(found)
    return [[line.text for line in one.lines] for one in found]


def test_a_footer_below_short_pages_goes_by_its_page_number() -> None:
    ends = (300, 640, 410, 200, 520)
    pages = [page((100, f"text {'abcde'[n]}"), (end, f"Acme Inc. | Q3 2023 Form 10-Q | {n + 1}"))
             for n, end in enumerate(ends)]  # fmt: skip
    assert left_over(page((100, "A cover without footer")), *pages) == [
        ["A cover without footer"], *([f"text {letter}"] for letter in "abcde"),
    ]  # fmt: skip


def test_last_lines_whose_numbers_do_not_count_with_the_pages_stay() -> None:
    totals = [page((100, "rows"), (300 + 50 * n, f"Total {total}")) for n, total in enumerate((12, 40, 7, 31))]
    assert [lines[-1] for lines in left_over(*totals)] == ["Total 12", "Total 40", "Total 7", "Total 31"]
    same = [page((100, "rows"), (300 + 50 * n, "Total 12")) for n in range(4)]
    assert [lines[-1] for lines in left_over(*same)] == ["Total 12"] * 4


def test_a_line_that_is_all_of_its_page_or_larger_than_its_text_stays() -> None:
    alone = [page((300 + 40 * n, f"Exercise {n}")) for n in range(1, 5)]
    assert left_over(*alone) == [[f"Exercise {n}"] for n in range(1, 5)]
    titled = []
    for n in range(1, 5):
        slide = page((100, "a word"), (120, "another"))
        slide.lines += page((400 + 40 * n, f"Part {n}"), size=20).lines
        titled.append(slide)
    assert [lines[-1] for lines in left_over(*titled)] == [f"Part {n}" for n in range(1, 5)]


def test_rows_of_figures_at_the_top_of_every_page_stay() -> None:
    pages = [page((50, f"{n * 17} {n * 31} {n * 7}"), (200, "text")) for n in range(1, 6)]
    assert [lines[0] for lines in left_over(*pages)] == [f"{n * 17} {n * 31} {n * 7}" for n in range(1, 6)]


def test_headers_and_numbered_footers_in_the_margins_go() -> None:
    pages = [page((30, "Annual report 2023"), (300, "text"), (770 + n % 3, f"Page {n} of 5")) for n in range(1, 6)]
    assert left_over(*pages) == [["text"]] * 5


def test_page_numbers_before_page_breaks_of_html_go(parse: Parse) -> None:
    numbered = "".join(
        f'<p>Text of {letter}.</p><p>Acme 10-K | {n}</p><hr style="page-break-after: always">'
        for n, letter in enumerate("abcd", start=7)
    )
    document = parse(f"<html><body>{numbered}<p>The end.</p><p>Acme 10-K | 11</p></body></html>", "a.html")
    assert [element.text for element in document.elements] == [
        *(f"Text of {letter}." for letter in "abcd"), "The end.",
    ]  # fmt: skip


def test_last_lines_of_html_pages_that_count_otherwise_stay(parse: Parse) -> None:
    pages = "".join(f'<div style="break-before: page"><p>x</p><p>Total {n}</p></div>' for n in (10, 12, 14, 17))
    document = parse(f"<html><body>{pages}</body></html>", "a.html")
    assert [element.text for element in document.elements if "Total" in element.text] == [
        "Total 10", "Total 12", "Total 14", "Total 17",
    ]  # fmt: skip
