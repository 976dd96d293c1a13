"""Pages drawn in the tests, as PDF and as pictures."""

from collections.abc import Callable

import numpy as np

from app.parsing.ocr import Picture
from app.parsing.parsers.pdf_engine import pymupdf

Draw = Callable[[pymupdf.Page, int], None]
WIDTH, HEIGHT = 595, 842
Rule = tuple[float, float, float]
"""Its height, left and right end."""
Text = tuple[float, float, str]
"""Left, baseline, text."""
CHINESE = "china-s"
"""A font that PyMuPDF has inside."""


def pdf(*pages: Draw, **options: object) -> bytes:
    document = pymupdf.open()
    for number, draw in enumerate(pages, start=1):
        draw(document.new_page(width=WIDTH, height=HEIGHT), number)
    content: bytes = document.tobytes(**options)
    return content


def texts(*placed: tuple[float, float, str], size: float = 10, font: str = "helv") -> Draw:
    def draw(page: pymupdf.Page, _: int) -> None:
        for x, y, text in placed:
            page.insert_text((x, y), text, fontsize=size, fontname=font)

    return draw


def ruled(rules: list[Rule], texts: list[Text], *, font: str = "helv") -> Draw:
    def draw(page: pymupdf.Page, _: int) -> None:
        for y, left, right in rules:
            page.draw_line((left, y), (right, y))
        for x, y, text in texts:
            page.insert_text((x, y), text, fontsize=9, fontname=font)

    return draw


def table_of(
    top: float, cells: list[list[str]], *, step: float = 20, columns: tuple[float, ...] = (65, 205, 305)
) -> list[Text]:
    """Texts of cells, one row a step."""
    return [
        (x, top + 14 + step * row, cell)
        for row, of_row in enumerate(cells)
        for x, cell in zip(columns, of_row, strict=True)
        if cell
    ]


def scanned(draw: Draw, *, turned: int = 0) -> Draw:
    """A page that shows the picture of another one, and has no text."""

    def show(page: pymupdf.Page, number: int) -> None:
        page.insert_image(page.rect, stream=png(draw, number=number), rotate=turned, keep_proportion=turned % 180 == 0)

    return show


def png(draw: Draw, *, number: int = 1, dots: int = 150) -> bytes:
    content: bytes = _pixels(draw, number, dots).tobytes("png")
    return content


def picture(draw: Draw, *, dots: int = 150) -> Picture:
    pixels = _pixels(draw, 1, dots)
    return np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, 3)


def _pixels(draw: Draw, number: int, dots: int) -> pymupdf.Pixmap:
    with pymupdf.open() as document:
        page = document.new_page(width=WIDTH, height=HEIGHT)
        draw(page, number)
        pixels: pymupdf.Pixmap = page.get_pixmap(dpi=dots)
        return pixels


def grid(top: float, cells: list[list[str]], *, left: float = 60, column: float = 150, step: float = 20) -> Draw:
    """A table with a box around each of its cells."""

    def draw(page: pymupdf.Page, _: int) -> None:
        for row, of_row in enumerate(cells):
            for number, cell in enumerate(of_row):
                x, y = left + column * number, top + step * row
                page.draw_rect((x, y, x + column, y + step))
                page.insert_text((x + 4, y + 14), cell, fontsize=9)

    return draw


def together(*parts: Draw) -> Draw:
    def draw(page: pymupdf.Page, number: int) -> None:
        for part in parts:
            part(page, number)

    return draw
