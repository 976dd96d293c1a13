"""Small files that expand, nest or lie: made when they are needed, none is stored."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cache

from app.parsing.limits import MEBIBYTE
from tests.parsing.office_files import archive, docx, paragraph

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
CONTENT_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
LAUGHS = (
    '<!DOCTYPE r [<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{level} "{f"&a{level - 1};" * 10}">' for level in range(1, 10))
    + "]>"
)
"""A billion of them in `&a9;`."""

# --- archives --------------------------------------------------------------------------------------------------------


@cache
def word_with_zeros(name: str, mebibytes: int) -> bytes:
    """A Word file with a part of so many zeros."""
    buffer = io.BytesIO(docx(paragraph("text")))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open(name, "w") as member:
        for _ in range(mebibytes // 16):
            member.write(bytes(16 * MEBIBYTE))
    return buffer.getvalue()


def nested_archives(levels: int) -> bytes:
    """A Word file with a picture that is an archive of an archive, and so on."""
    inner = b"innermost"
    for _ in range(levels):
        inner = archive({"inner.zip": inner})
    return docx(paragraph("text"), extra={"word/media/image1.zip": inner})


def word_of_archives(count: int) -> bytes:
    inner = archive({"inner": "x" * 1000})
    return docx(paragraph("text"), extra={f"word/media/{number}.docx": inner for number in range(count)})


def word_with_entities(before: str = "") -> bytes:
    document = '<w:document xmlns:w="x"><w:body><w:p><w:r><w:t>&a9;</w:t></w:r></w:p></w:body></w:document>'
    return docx("", extra={"word/document.xml": f'<?xml version="1.0"?>{before}{LAUGHS}{document}'})


def word_that_names(kind: str, times: int, part: str) -> bytes:
    """A Word file that names one and the same part so often, and shows it nowhere."""
    relations = "".join(
        f'<Relationship Id="p{number}" Type="{_TYPES}/{kind}" Target="part.xml"/>' for number in range(times)
    )
    named = f'<Relationships xmlns="{_PACKAGE}">{relations}</Relationships>'
    return docx(paragraph("text"), extra={"word/_rels/document.xml.rels": named, "word/part.xml": part})


def packed_otherwise(content: bytes, name: str, packing: int) -> bytes:
    """The archive with one more member, of a mebibyte of zeros, packed in a way of its own."""
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr(name, bytes(MEBIBYTE), packing)
    return buffer.getvalue()


def crowded_directory(entries: int) -> bytes:
    """An archive that names its one empty member so many times: 47 bytes of it become an object of a reader's each."""
    whole = archive({"a": ""})
    begin, end = whole.find(b"PK\1\2"), whole.rfind(b"PK\5\6")
    names = whole[begin:end] * entries
    count = min(entries, 0xFFFF)
    return whole[:begin] + names + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(names), begin, 0)


_NO_SECTOR, _LAST_SECTOR, _FAT_SECTOR = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def crowded_container(parts: int) -> bytes:
    """A Word file in an OLE container (MS-CFB) that holds one object of so many parts."""
    word, objects, first = 1, 2, 3
    entries = [_entry("Root Entry", kind=5, child=word), _entry("WordDocument", right=objects)]
    entries.append(_entry("ObjectPool", kind=1, child=first))
    for number in range(parts):  # as a balanced tree, or whoever follows it by recursion gives up early
        left, right = (first + at if at < parts else _NO_SECTOR for at in (2 * number + 1, 2 * number + 2))
        entries.append(_entry(str(number), left=left, right=right))
    return _container(entries)


def circular_container() -> bytes:
    """A Word file whose directory's one sector is followed by itself, and whose parts name one far beyond it."""
    whole = bytearray(_container([_entry("Root Entry", kind=5, child=1), _entry("WordDocument", right=60_000)]))
    struct.pack_into("<I", whole, 512 + 4, 1)
    return bytes(whole)


def _container(entries: Sequence[bytes]) -> bytes:
    directory_sectors = len(entries) // 4 + 1
    fat_sectors = directory_sectors // 127 + 1
    after_each = [number + 1 for number in range(fat_sectors, fat_sectors + directory_sectors - 1)]
    fat = [_FAT_SECTOR] * fat_sectors + after_each + [_LAST_SECTOR]
    fat += [_NO_SECTOR] * (fat_sectors * 128 - len(fat))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + struct.pack("<16x5H6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<9I", 0, fat_sectors, fat_sectors, 0, 4096, _LAST_SECTOR, 0, _LAST_SECTOR, 0)
    header += struct.pack("<109I", *range(fat_sectors), *[_NO_SECTOR] * (109 - fat_sectors))
    return header + struct.pack(f"<{len(fat)}I", *fat) + b"".join(entries).ljust(directory_sectors * 512, b"\0")


def _entry(
    name: str, *, kind: int = 2, left: int = _NO_SECTOR, right: int = _NO_SECTOR, child: int = _NO_SECTOR
) -> bytes:
    named = f"{name}\0".encode("utf-16-le")
    places = struct.pack("<HBB3I", len(named), kind, 1, left, right, child)
    return named.ljust(64, b"\0") + places + struct.pack("<36xIQ", _LAST_SECTOR, 0)


# --- workbooks -------------------------------------------------------------------------------------------------------


def xlsx(
    *cells: str,
    before: str = "",
    after: str = "",
    prologue: str = "",
    part: str = "worksheets/sheet1.xml",
    sheets: int = 1,
) -> bytes:
    """A workbook of one sheet with these cells; `before` and `after` are XML around its data.

    More `sheets` are all the same one by other names.
    """
    sheet = f'<worksheet xmlns="{_MAIN}">{before}<sheetData>{"".join(cells)}</sheetData>{after}</worksheet>'
    names = "".join(f'<sheet name="s{number}" sheetId="{number}" r:id="r1"/>' for number in range(1, sheets + 1))
    return archive(
        {
            "[Content_Types].xml": CONTENT_TYPES,
            "_rels/.rels": _relation("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_TYPES}"><sheets>{names}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _relation("worksheet", part),
            f"xl/{part}": prologue + sheet,
        }
    )


def xlsx_cell(row: int, column: str, text: str = "text", quote: str = '"') -> str:
    place = f"r={quote}{column}{row}{quote}"
    return f'<row r="{row}"><c {place} t="inlineStr"><is><t>{text}</t></is></c></row>'


def _relation(kind: str, target: str) -> str:
    item = f'<Relationship Id="r1" Type="{_TYPES}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_PACKAGE}">{item}</Relationships>'


# --- PDF and pictures ------------------------------------------------------------------------------------------------

_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
_SHOWN = b"BT /T 12 Tf 50 700 Td (text of the page) Tj ET"
_PAGE = b"/Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"


def pdf_of_objects(objects: Sequence[bytes]) -> bytes:
    """The first object is the catalog."""
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
    return out.getvalue()


def _stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(content), content)


def _one_page(contents: bytes, resources: bytes = b"", further: Sequence[bytes] = ()) -> bytes:
    """`further` objects are numbered from 6."""
    page = b"<<%s/Resources<</Font<</T 5 0 R>>%s>>>>" % (_PAGE, resources)
    catalog, pages = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return pdf_of_objects([catalog, pages, page, contents, _FONT, *further])


def nested_forms(levels: int, times: int) -> bytes:
    """A page that draws a form `times` times, which draws the next one as often, and so on."""
    forms = []
    for level in range(levels):
        last = level == levels - 1
        inner = b"" if last else b"/XObject<</F %d 0 R>>" % (7 + level)
        entries = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</Font<</T 5 0 R>>%s>>" % inner
        forms.append(_stream(_SHOWN if last else b"/F Do " * times, entries))
    return _one_page(_stream(b"/F Do " * times), b"/XObject<</F 6 0 R>>", forms)


def pdf_of_pages(count: int, *, shared: bool) -> bytes:
    """All pages show the same; `shared` ones are even the same object."""
    page = b"<<%s/Resources<</Font<</T 5 0 R>>>>>>" % _PAGE
    pages = 1 if shared else count
    names = b"6 0 R " * count if shared else b"".join(b"%d 0 R " % (6 + number) for number in range(count))
    tree = b"<</Type/Pages/Kids[%s]/Count %d>>" % (names, count)
    return pdf_of_objects([b"<</Type/Catalog/Pages 2 0 R>>", tree, b"null", _stream(_SHOWN), _FONT, *[page] * pages])


def pdf_with_outline(levels: int) -> bytes:
    """A page, and an outline in which each entry stands under the one before."""
    page = b"<<%s/Resources<</Font<</T 5 0 R>>>>>>" % _PAGE
    first = 7
    below = [b"/First %d 0 R/Last %d 0 R/Count 1" % (number, number) for number in range(first, first + levels)]
    entries = [b"<</Title(t)/Dest[3 0 R/Fit]/Parent %d 0 R%s>>" % (first - 1, further) for further in [*below[1:], b""]]
    catalog, tree = b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return pdf_of_objects([catalog, tree, page, _stream(_SHOWN), _FONT, b"<</Type/Outlines%s>>" % below[0], *entries])


def _zeros(mebibytes: int) -> Iterator[bytes]:
    packer = zlib.compressobj(9)
    for _ in range(mebibytes):
        yield packer.compress(bytes(MEBIBYTE))
    yield packer.flush()


def pdf_of_zeros(mebibytes: int) -> bytes:
    """A page whose content is white space, packed twice: a megabyte a kilobyte of a kilobyte."""
    twice = zlib.compress(b"".join(_zeros(mebibytes)), 9)
    return _one_page(_stream(twice, b"/Filter[/FlateDecode/FlateDecode]"))


def pdf_with_picture(side: int) -> bytes:
    """A page that shows a square picture of one bit a pixel."""
    entries = b"/Type/XObject/Subtype/Image/BitsPerComponent 1/ColorSpace/DeviceGray/Filter/FlateDecode"
    entries += b"/Width %d/Height %d" % (side, side)
    picture = _stream(b"".join(_zeros(side * side // 8 // MEBIBYTE + 1)), entries)
    return _one_page(_stream(b"q 600 0 0 800 0 0 cm /I Do Q"), b"/XObject<</I 6 0 R>>", [picture])


def pdf_painted_over(times: int) -> bytes:
    """A page that shows one small picture all over itself, so many times."""
    entries = b"/Type/XObject/Subtype/Image/BitsPerComponent 8/ColorSpace/DeviceGray/Width 2/Height 2"
    contents = _stream(b"q 600 0 0 800 0 0 cm " + b"/I Do " * times + b"Q")
    return _one_page(contents, b"/XObject<</I 6 0 R>>", [_stream(b"\0\xff\0\xff", entries)])


def png(side: int) -> bytes:
    """A square black picture of one bit a pixel."""
    packed = zlib.compress(bytes((1 + side // 8) * side), 9)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )
