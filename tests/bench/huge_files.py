"""Huge files, written without ever holding one in memory."""

import csv
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from xml.sax.saxutils import escape

from app.parsing.parsers.pdf_engine import pymupdf

HEADER = ["Order", "Day", "City", "Quantity", "Price", "Remark"]
_CITIES = ("上海", "Berlin", "北京", "Paris", "Austin")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SENTENCES = (
    "The harbour master of {a} wrote down every ship that came in during the night of day {b}.",
    "Nobody had asked for {a} copies, and yet the printer of the town made them all within {b} hours.",
    "It rained on the road to the lighthouse, where {b} people were waiting for boat number {a}.",
    "A letter from the council names {a} reasons, of which the last {b} are about the price of rope.",
)


def orders(most: int) -> Iterator[list[str]]:
    """Rows of six columns: a code, a date, a city of five, two numbers and a remark."""
    for number in range(1, most + 1):
        day = f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
        price = f"{number * 37 % 100_000 / 100:.2f}"
        yield [f"ORD-{number:07d}", day, _CITIES[number % 5], str(number % 977), price, f"note {number % 1000} 备注"]


def write_csv(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(orders(rows))


def write_xlsx(path: Path, rows: int) -> None:
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("[Content_Types].xml", _content_types(sheet))
        archive.writestr("_rels/.rels", _relation("officeDocument", "xl/workbook.xml"))
        archive.writestr("xl/_rels/workbook.xml.rels", _relation("worksheet", "worksheets/sheet1.xml"))
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="Orders" sheetId="1" r:id="r1"/>'
            "</sheets></workbook>",
        )
        with archive.open(sheet, "w") as stream:
            stream.write(f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            stream.write(_row(1, HEADER))
            for number, cells in enumerate(orders(rows), start=2):
                stream.write(_row(number, cells))
            stream.write(b"</sheetData></worksheet>")


def _row(number: int, cells: list[str]) -> bytes:
    made = []
    for column, cell in zip("ABCDEF", cells, strict=True):
        if number > 1 and column in "DE":
            made.append(f'<c r="{column}{number}"><v>{cell}</v></c>')
        else:
            made.append(f'<c r="{column}{number}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>')
    return f'<row r="{number}">{"".join(made)}</row>'.encode()


def _content_types(sheet: str) -> str:
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/{sheet}" ContentType="{kind}.worksheet+xml"/></Types>'
    )


def _relation(kind: str, target: str) -> str:
    item = f'<Relationship Id="r1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{item}</Relationships>'


def write_text(path: Path, mebibytes: int) -> None:
    """Chapters of 200 paragraphs of six sentences, up to that size."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for number in count(1):
            chapter = f"Chapter {number // 200 % 9999 + 1}\n\n" if number % 200 == 1 else ""
            written = f"{chapter}{_paragraph(number, number % 977)}\n\n"
            if file.tell() + len(written) > mebibytes * 2**20:
                return
            file.write(written)


def _paragraph(number: int, other: int) -> str:
    return " ".join(_SENTENCES[(number + line) % 4].format(a=number + line, b=other) for line in range(6))


def write_pdf(path: Path, pages: int) -> None:
    """Pages with a running header, a numbered footer, a heading now and then, and five paragraphs of prose."""
    document = pymupdf.open()
    for number in range(1, pages + 1):
        page = document.new_page()
        page.insert_text((60, 40), "Annals of the harbour", fontsize=8)
        page.insert_text((280, 815), f"Page {number} of {pages}", fontsize=8)
        if number % 20 == 1:
            page.insert_text((60, 90), f"Chapter {number // 20 + 1}", fontsize=18)
        for paragraph in range(5):
            box = (60, 110 + 135 * paragraph, 535, 235 + 135 * paragraph)
            page.insert_textbox(box, _paragraph(number, paragraph + 2), fontsize=10)
    document.save(path, deflate=True)
    document.close()
