"""Text in pictures: what is recognised, how sure it is, and in which order it stands."""

import numpy as np
import pytest

from app.parsing import ocr
from app.parsing.ocr import Picture, recognise
from app.parsing.parsers.ocr_lines import recognised_page
from app.parsing.parsers.pdf_elements import elements
from app.parsing.parsers.pdf_engine import pymupdf
from tests.parsing.drawing import CHINESE, HEIGHT, WIDTH, picture, texts

ENGLISH_LINES = [
    (60.0, 100.0 + 24 * row, text)
    for row, text in enumerate(
        (
            "The lighthouse was built in 1897 and",
            "restored a hundred years later by the",
            "people of the harbour, who paid for it",
            "with 12,450 coins of copper and silver.",
        )
    )
]
CHINESE_LINES = [
    (60.0, 300.0, "灯塔建于一八九七年，由港口居民修复。"),
    (60.0, 330.0, "第二行文字说明了修复的费用和时间。"),
]


def page(pymupdf_page: pymupdf.Page, _: int) -> None:
    for place in ENGLISH_LINES:
        pymupdf_page.insert_text(place[:2], place[2], fontsize=15)
    for place in CHINESE_LINES:
        pymupdf_page.insert_text(place[:2], place[2], fontsize=15, fontname=CHINESE)


def read(image: Picture) -> str:
    """The text of a picture in reading order, without blanks."""
    height, width = image.shape[:2]
    text = "".join(element.text for element in elements([recognised_page(recognise(image), width, height, 1)], {}))
    return "".join(text.split())


EXPECTED = ["Thelighthouse", "restored", "peopleoftheharbour", "12,450coins", "灯塔建于一八九七年", "第二行文字说明了"]


def assert_in_order(text: str) -> None:
    places = [text.find(part) for part in EXPECTED]
    assert -1 not in places, (text, places)
    assert places == sorted(places)


def test_chinese_and_english_are_recognised_with_confidence() -> None:
    found = recognise(picture(page))
    assert all(0.8 <= line.confidence <= 1 for line in found)
    first = next(line for line in found if line.text.startswith("The lighthouse"))
    (left, top), (right, _), (_, bottom), _ = first.corners
    scale = 150 / 72
    assert (left / scale, right / scale) == pytest.approx((60, 310), abs=25)
    assert top / scale < 100 < bottom / scale + 5
    assert_in_order(read(picture(page)))


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_page_that_lies_on_its_side_is_read_in_order(quarters: int) -> None:
    assert_in_order(read(np.ascontiguousarray(np.rot90(picture(page), quarters))))


@pytest.mark.parametrize("degrees", [-4, 3])
def test_a_skewed_page_is_read_in_order(degrees: int) -> None:
    with pymupdf.open() as document:
        sheet = document.new_page(width=WIDTH, height=HEIGHT)
        page(sheet, 1)
        pixels = sheet.get_pixmap(matrix=pymupdf.Matrix(2, 2).prerotate(degrees))
        image = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, 3)
    assert_in_order(read(image))


def test_columns_of_a_scan_are_read_one_after_the_other() -> None:
    left = [(50.0, 100.0 + 16 * row, f"left {row} of some words in it") for row in range(6)]
    right = [(330.0, 100.0 + 16 * row, f"right {row} of some words in it") for row in range(6)]
    text = read(picture(texts(*left, *right, size=11), dots=200))
    places = [text.find(part) for part in ("left0", "left5", "right0", "right5")]
    assert -1 not in places
    assert places == sorted(places)


def test_a_picture_that_comes_again_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = picture(texts((60, 100, "one picture on many pages"), size=18))
    lines = recognise(shown)
    monkeypatch.setattr(ocr, "_lines", lambda other: pytest.fail(f"read {other.shape} once more"))
    assert recognise(shown.copy()) == lines
    assert lines


def test_a_blank_picture_has_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "_lines", lambda other: pytest.fail(f"looked at {other.shape}"))
    assert recognise(np.full((400, 300, 3), 255, np.uint8)) == []


@pytest.mark.parametrize("side", [4, 12, 48])
def test_noise_holds_no_text(side: int) -> None:
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 256, (side, side, 3), dtype=np.uint8) for _ in range(4)]
    assert [recognise(picture) for picture in pictures] == [[], [], [], []]
