"""Workbooks of the older formats written by hand: BIFF8 in an OLE container, and the binary parts of XLSB."""

import struct

from tests.parsing.office_files import archive

_SECTOR = 512
_END, _FREE, _FAT_SECTOR = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_ROOT_KIND, _STREAM_KIND = 5, 2


def ole(name: str, content: bytes) -> bytes:
    """An OLE container (MS-CFB, version 3) with one stream, of at most 60 KB."""
    content = content.ljust(max(4096, -(-len(content) // _SECTOR) * _SECTOR), b"\0")
    sectors = len(content) // _SECTOR
    chain = [*range(3, sectors + 2), _END]  # the stream begins in the third sector
    table = [_FAT_SECTOR, _END, *chain]
    fat = struct.pack("<128I", *table, *[_FREE] * (128 - len(table)))
    directory = _entry("Root Entry", _ROOT_KIND, _END, 0, child=1) + _entry(name, _STREAM_KIND, 2, len(content))
    header = struct.pack(
        "<8s16s5H6x9I",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        bytes(16),
        *(0x3E, 3, 0xFFFE, 9, 6),
        *(0, 1, 1, 0, 4096, _END, 0, _END, 0),
    )
    header += struct.pack("<109I", 0, *[_FREE] * 108)
    return header + fat + directory.ljust(_SECTOR, b"\0") + content


def _entry(name: str, kind: int, start: int, size: int, child: int = _FREE) -> bytes:
    encoded = (name + "\0").encode("utf-16-le")
    return encoded.ljust(64, b"\0") + struct.pack(
        "<HBBIII16sIQQIQ", len(encoded), kind, 1, _FREE, _FREE, child, bytes(16), 0, 0, 0, start, size
    )


def xls(
    rows: list[list[str | float]], *, merged: tuple[int, int, int, int] | None = None, protected: bool = False
) -> bytes:
    """One sheet, `Blatt`; `merged` is first row, last row, first column, last column from 0.

    `protected` says so (FilePass, RC4) and encrypts nothing.
    """
    name = "Blatt".encode("latin-1")
    begin = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0))
    begin += _record(0x002F, struct.pack("<HHH", 1, 1, 1) + bytes(48)) if protected else b""
    bound = 4 + 8 + len(name)
    offset = len(begin) + bound + 4
    globals_ = begin + _record(0x0085, struct.pack("<IHBB", offset, 0, len(name), 0) + name) + _record(0x000A, b"")
    sheet = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            if isinstance(value, str):
                text = value.encode("utf-16-le")
                sheet += _record(0x0204, struct.pack("<HHHHB", row, column, 0, len(value), 1) + text)
            else:
                sheet += _record(0x0203, struct.pack("<HHHd", row, column, 0, value))
    if merged:
        sheet += _record(0x00E5, struct.pack("<HHHHH", 1, *merged))
    return ole("Workbook", globals_ + sheet + _record(0x000A, b""))


def _record(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def xlsb(cells: list[tuple[int, int, str]]) -> bytes:
    """One sheet, `Blatt`, with texts by row and column from 0, in order."""
    columns = [column for _, column, _ in cells]
    dimension = struct.pack("<IIII", cells[0][0], cells[-1][0], min(columns), max(columns))
    sheet = _binary(129) + _binary(148, dimension) + _binary(145)
    last = -1
    for row, column, text in cells:
        if row != last:
            sheet += _binary(0, struct.pack("<IIHBB", row, 0, 0, 0, 0) + bytes(13))
            last = row
        sheet += _binary(6, struct.pack("<II", column, 0) + _text(text))
    sheet += _binary(146) + _binary(130)
    bundle = _binary(156, struct.pack("<II", 0, 1) + _text("rId1") + _text("Blatt"))
    book = _binary(131) + _binary(143) + bundle + _binary(144) + _binary(132)
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"
    link = f'<Relationship Id="rId1" Type="{kind}" Target="worksheets/sheet1.bin"/>'
    return archive(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.bin": book,
            "xl/_rels/workbook.bin.rels": f'<Relationships xmlns="{package}">{link}</Relationships>',
            "xl/worksheets/sheet1.bin": sheet,
        }
    )


def _binary(kind: int, content: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size, left = b"", len(content)
    while left >= 0x80:
        size += bytes([left & 0x7F | 0x80])
        left >>= 7
    return head + size + bytes([left]) + content


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")
