"""Bytes to text: byte order marks, declared names, UTF-8, then the encodings that Asia and old Windows wrote.

Multi-byte encodings overlap: most GBK text is also "valid" Big5 or Shift-JIS. What tells them apart is how common the
characters are that each reading yields. GB 2312, Big5 and JIS X 0208 each list everyday characters first (level 1), so
a wrong reading scatters into rare rows and half-width kana. Single-byte encodings are left to charset-normalizer,
with rules for short texts.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from charset_normalizer import from_bytes

_SAMPLE_BYTES = 64 * 1024
_HEAD_BYTES = 4096
_LAST_PLANE = 0x10
_HZ = re.compile(rb"~\{(?:[!-w][!-~])++~\}")
_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The WHATWG encoding standard reads these labels as their supersets, because that is what files hold.
_SUPERSETS: dict[str, str] = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "tis-620": "iso8859-11",
}
_OF_PYTHON_ALONE = frozenset(("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"))
"""No file is written in them; some take quadratic time, or fail in ways of their own."""
_SEVEN_BIT = ("utf-7", "hz", "iso2022_jp", "iso2022_jp_2", "iso2022_kr")
_MULTI_BYTE = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
# The most written characters of each language: a tenth of the text and more, in any subject. They settle what the
# rows can't: all everyday Korean syllables would be everyday Chinese characters too.
_FREQUENT: dict[str, frozenset[str]] = {
    "gb18030": frozenset(
        "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里"
    ),
    "big5hkscs": frozenset(
        "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可裡"
    ),
    "cp932": frozenset("のにはをたがでてとしれさいるなもかっす、。こりあくんまらけ"),
    "euc_jp": frozenset("のにはをたがでてとしれさいるなもかっす、。こりあくんまらけ"),
    "cp949": frozenset("이다는을를에의가한고도로서지하기사은그들어인아나라대시리과자으"),
}
# What Windows, DOS and Unix wrote in Europe and the Near East. A closed list: each codec more is one more that can win
# by accident on a short text.
_SINGLE_BYTE = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "cp866", "iso8859_2", "iso8859_5", "tis_620"),
)
_WESTERN = frozenset("éèêëàâäáãçîïíôöóõúûüùñßœæøåÉÈÀÁÂÄÇÍÓÖÚÜÅØÆÑ‘’“”«»„–—…€£°§©®·¿¡ºª½\u00a0")
_HEBREW_LETTERS = bytes(range(0xE0, 0xFB))
_MAX_BROKEN_SHARE = 0.002  # of a text's characters: one cut character, or a stray byte, must not decide
_MIN_COMMON_SHARE = 0.72
_KOREAN_MARK, _SHIFTS = b"\x1b$)C", b"\x0e\x0f"
_FEW_CONTROLS = 2
_CONTROL_BYTES = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f\v\x1a\x1b")


@dataclass(frozen=True, slots=True)
class DecodedText:
    text: str
    encoding: str
    """Python's name of the codec; of both, where lines differ."""
    broken: int = 0
    """Characters that could not be decoded and became U+FFFD."""


def decode(data: bytes, *, declared: str | None = None) -> DecodedText:
    """The text in the encoding that fits best; never fails, counts what didn't fit.

    `declared` is what the file says of itself (HTML's meta). It is believed where the bytes bear it out.
    """
    bom = _bom(data)
    if bom:
        return _decode_as(data[len(bom[0]) :], bom[1])
    wide = _wide_without_bom(data) if b"\0" in data[:_HEAD_BYTES] else None  # of ASCII or Cyrillic it is valid UTF-8
    if wide:
        return _decode_as(data, wide)
    known = _known(declared)
    for name in (*([known] if known in _SEVEN_BIT else _seven_bit(data)), "utf-8", known):
        if name and name not in ("utf-16", "utf-32") and (text := _strictly(data, name)) is not None:
            return DecodedText(text, name)
    wide = _wide_without_bom(data)
    if wide:
        return _decode_as(data, wide)
    return _with_surrogates(data) or _line_by_line(data) or _decode_as(data, _best(_sample(data)))


def _with_surrogates(data: bytes) -> DecodedText | None:
    """UTF-8 as databases and Java write it: characters beyond 16 bits as two (CESU-8, Unicode report 26), or halves."""
    try:
        text = data.decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError:
        return None
    text = text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
    return DecodedText(text, "utf-8", broken=text.count("\ufffd"))


def _line_by_line(data: bytes) -> DecodedText | None:
    """A text of which some lines are UTF-8 beyond doubt and some another encoding, as files put together have them."""
    if not any(_is_surely_utf8(line) for line in _sample(data).splitlines()):
        return None
    lines = data.splitlines(keepends=True)
    read = [_strictly(line, "utf-8") for line in lines]
    other = _best(_sample(b"".join(line for line, text in zip(lines, read, strict=True) if text is None)))
    if other == "utf-8":
        return None
    text = "".join(
        line.decode(other, errors="replace") if text is None else text for line, text in zip(lines, read, strict=True)
    )
    return DecodedText(text, f"utf-8, {other}", broken=text.count("\ufffd"))


def _is_surely_utf8(line: bytes) -> bool:
    """Three characters beyond ASCII: fewer may be so by chance."""
    text = _strictly(line, "utf-8") if not line.isascii() else None
    return text is not None and sum(character > "\x7f" for character in text) >= 3


def decode_head(head: bytes) -> str:
    """Enough of a file's beginning to look for ASCII markup in it."""
    bom = _bom(head)
    encoding = bom[1] if bom else (_wide_without_bom(head) or "latin-1")
    return head.decode(encoding, errors="replace")


def looks_like_text(head: bytes) -> bool:
    """Whether the first bytes are text in some encoding: no controls but white space, unless it is UTF-16 or UTF-32."""
    if _bom(head) or _wide_without_bom(head):
        return True
    if b"\0" in head:
        return False
    if _KOREAN_MARK in head:
        head = head.translate(None, _SHIFTS)
    controls = len(head) - len(head.translate(None, _CONTROL_BYTES))
    return controls <= max(_FEW_CONTROLS, len(head) * 0.02)  # of what is packed a tenth would be


def declared_html_encoding(data: bytes) -> str | None:
    """What an HTML page's `meta` or XML declaration names; browsers look in the first 1024 bytes, this in some more."""
    head = data[:4096].decode("latin-1")
    match = re.search(r"""(?:charset|encoding)\s*=\s*["']?\s*([\w:.-]{2,40})""", head, re.IGNORECASE)
    return match[1] if match else None


def _bom(data: bytes) -> tuple[bytes, str] | None:
    return next((bom for bom in _BOMS if data.startswith(bom[0])), None)


def _seven_bit(data: bytes) -> Iterator[str]:
    """Encodings of East Asian mail whose marks stand in what would be ASCII (RFC 1468, 1557, 1843)."""
    sample = data[:_SAMPLE_BYTES]
    if b"\x1b$" in sample and data.isascii():
        yield "iso2022_kr" if _KOREAN_MARK in sample else "iso2022_jp"
    shifted = b"".join(_HZ.findall(sample))
    if shifted and data.isascii() and _common_share(shifted, "hz")[0] >= _MIN_COMMON_SHARE:
        yield "hz"


def _known(declared: str | None) -> str | None:
    if not declared:
        return None
    try:
        name = codecs.lookup(declared).name
    except LookupError:
        return None
    if name in _OF_PYTHON_ALONE:
        return None
    return _SUPERSETS.get(name, name)


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _decode_as(data: bytes, encoding: str) -> DecodedText:
    text = data.decode(encoding, errors="replace")
    return DecodedText(text, encoding, broken=text.count("\ufffd"))


def _wide_without_bom(data: bytes) -> str | None:
    """UTF-16 or UTF-32 by where zero bytes stand: ASCII, line ends and spaces leave them in every other byte."""
    head = data[:_HEAD_BYTES]
    if len(head) < 4:
        return None
    if head.count(0) < len(head) * 0.02:
        return _wide_chinese_or_japanese(head)
    for name, first, second in (("utf-32-be", 0, 1), ("utf-32-le", 3, 2)):
        if not any(head[first::4]) and max(head[second::4]) <= _LAST_PLANE:
            return name if _is_printable(_strictly(head[: len(head) // 4 * 4], name) or "\0") else None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if min(even, odd) * 10 > max(even, odd):
        return None
    name = "utf-16-le" if odd > even else "utf-16-be"
    text = head[: len(head) // 2 * 2].decode(name, errors="replace")
    return name if _is_printable(text) else None


def _is_printable(text: str) -> bool:
    return sum(character.isprintable() or character.isspace() for character in text) > len(text) * 0.98


def _wide_chinese_or_japanese(head: bytes) -> str | None:
    """UTF-16 without ASCII leaves no zero bytes; but read as UTF-16, only UTF-16 is full of everyday characters."""
    everyday = frozenset().union(*_FREQUENT.values())
    for name in ("utf-16-le", "utf-16-be"):
        text = head[: len(head) // 2 * 2].decode(name, errors="replace")
        hits = sum(character in everyday for character in text)
        if hits > 0.08 * len(text) and text.count("\ufffd") <= 1 and _is_printable(text):
            return name
    return None


def _sample(data: bytes) -> bytes:
    """Lines that say something about the encoding, those beyond ASCII, up to a bound."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    kept, size = [], 0
    for line in data[: 64 * _SAMPLE_BYTES].splitlines(keepends=True):
        if not line.isascii():
            kept.append(line[:_SAMPLE_BYTES])
            size += len(kept[-1])
            if size >= _SAMPLE_BYTES:
                break
    return b"".join(kept) or data[:_SAMPLE_BYTES]


def _best(sample: bytes) -> str:
    utf8 = sample.decode("utf-8", errors="replace")
    if utf8.count("\ufffd") <= 0.05 * sum(character > "\x7f" for character in utf8):
        return "utf-8"  # a few broken bytes in UTF-8: nothing else looks like it
    shares = {name: _common_share(sample, name) for name in _MULTI_BYTE}
    plausible = [name for name, (common, _) in shares.items() if common >= _MIN_COMMON_SHARE]
    if plausible and not _mostly_single_high_bytes(sample):
        return max(plausible, key=lambda name: sum(shares[name]))
    return _single_byte(sample)


def _mostly_single_high_bytes(sample: bytes) -> bool:
    """Whether bytes beyond ASCII mostly stand alone among letters, as accents do; East Asian text has them in runs."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    single = sum(len(run) == 1 for run in runs)
    return single > 0.6 * len(runs) and re.search(rb"[A-Za-z][\x80-\xff]|[\x80-\xff][a-z]", sample) is not None


def _common_share(sample: bytes, encoding: str) -> tuple[float, float]:
    """Of the characters beyond ASCII, the share that is everyday and the share that is most frequent in this encoding.

    Zeros where it can't be this one.
    """
    text = sample.decode(encoding, errors="replace")
    beyond = [character for character in text if character > "\x7f"]
    if not beyond or text.count("\ufffd") > max(1, len(text) * _MAX_BROKEN_SHARE):
        return 0.0, 0.0
    common = sum(_is_common(character, encoding) for character in beyond)
    frequent = sum(character in _FREQUENT.get(encoding, ()) for character in beyond)
    return common / len(beyond), frequent / len(beyond)


def _is_common(character: str, encoding: str) -> bool:
    if "\u3001" <= character <= "\u301f" or "\uff01" <= character <= "\uff5e" or character in "‘’“”…—·\u3000":
        return True
    if encoding == "cp949":
        return "\uac00" <= character <= "\ud7a3" and _in_rows(character, "euc_kr", 0xB0, 0xC8)
    if encoding in ("cp932", "euc_jp"):
        return "\u3041" <= character <= "\u30fe" or _in_rows(character, "euc_jp", 0xB0, 0xCF)
    if encoding in ("gb18030", "hz"):
        return _in_rows(character, "gb2312", 0xB0, 0xD7)
    return _in_rows(character, "big5", 0xA4, 0xC6)


def _in_rows(character: str, encoding: str, first: int, last: int) -> bool:
    """Whether the character's lead byte lies in the rows of everyday characters."""
    try:
        encoded = character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return len(encoded) == 2 and first <= encoded[0] <= last


def _single_byte(sample: bytes) -> str:
    high = re.sub(rb"[\x00-\x7f]", b"", sample)
    if len(high) >= 20 and not high.translate(None, _HEBREW_LETTERS):
        return "cp1255"  # Cyrillic text of this length has capitals, or letters after 0xFA
    western = _strictly(sample, "cp1252")
    if western is not None and _looks_western(western):
        return "cp1252"
    match = from_bytes(sample, cp_isolation=list(_SINGLE_BYTE)).best()
    return match.encoding if match else "cp1252"


def _looks_western(text: str) -> bool:
    """Whether nearly all characters beyond ASCII are accented letters of Western Europe, or typographic marks."""
    beyond = [character for character in text if character > "\x7f"]
    outside = sum(character not in _WESTERN for character in beyond)
    return outside <= 0.04 * len(beyond)
