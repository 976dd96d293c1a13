"""Bytes and Unicode escapes of RTF to text.

A byte beyond ASCII is in the code page of its font (`\\fcharset`), else of the document (`\\ansicpg`). Bytes are
gathered before they are decoded, since the second byte of a Chinese character may be written as the letter it equals.
"""

import codecs
import re
from dataclasses import dataclass, field

_CHARSETS: dict[int, str] = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gb18030",
    136: "big5hkscs",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}
_ANSI = (0, 1)  # ANSI and "default": in fact what the writer's system had
_SUPERSETS = {936: "gb18030", 950: "big5hkscs", 10000: "mac_roman", 65001: "utf-8"}
_MULTI_BYTE = frozenset(("gb18030", "big5hkscs", "cp932", "cp949"))
_LONE_HIGH_BYTE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x40-\xff])")


@dataclass(slots=True)
class Encodings:
    document: str = "cp1252"
    fonts: dict[int, str] = field(default_factory=dict)
    """Codec by font number, for fonts that name a character set."""

    def set_document(self, code_page: int) -> None:
        self.document = code_page_codec(code_page) or self.document

    def set_font(self, font: int, charset: int) -> None:
        if charset not in _ANSI and charset in _CHARSETS:
            self.fonts[font] = _CHARSETS[charset]

    def decode(self, data: bytes, font: int) -> str:
        """Text in one font. Accents that stand alone are Western even where the document is Chinese."""
        codec = self.fonts.get(font, self.document)
        if font not in self.fonts and codec in _MULTI_BYTE and _LONE_HIGH_BYTE.search(data):
            codec = "cp1252"
        return data.decode(codec, errors="replace")


def code_page_codec(code_page: int) -> str | None:
    """Python's codec for a Windows code page, None where there is none."""
    name = _SUPERSETS.get(code_page, f"cp{code_page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def joined_units(units: list[int]) -> str:
    """UTF-16 code units, as `\\u` gives them, to text; halves of pairs that stand alone become U+FFFD."""
    data = b"".join(unit.to_bytes(2, "little") for unit in units)
    return data.decode("utf-16-le", errors="replace")
