"""Characters by the way their script is cut into terms, and the patterns that find runs of them."""

import re
import unicodedata

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff"
KANA = "\u3040-\u309f" + KATAKANA
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Thai, Lao, Tibetan, Myanmar, Khmer: written without spaces between words.
UNSPACED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"


def _marks() -> str:
    """Combining marks as a character class: `\\w` lacks them, and words of Indic scripts and Arabic hold them."""
    ranges: list[list[int]] = []
    for point in range(0x0300, 0xFE30):
        if unicodedata.category(chr(point)) in {"Mn", "Mc"}:
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1][1] = point
            else:
                ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


MARKS = _marks()

# A letter, digit, underscore or mark of a script that is written with spaces.
_SPACED = f"(?:[^\\W{HAN}{KANA}{HANGUL}{UNSPACED}]|[{MARKS}])"
_CONNECTORS = r"[.\-/\\@:+&'\u2019]"

RUN = re.compile(
    f"(?P<ideographs>[{HAN}{KANA}]+)"
    f"|(?P<hangul>[{HANGUL}]+)"
    f"|(?P<unspaced>[{UNSPACED}]+)"
    # An identifier, a path, an address, or just a word; "++" and "#" belong to it at its end (C++, C#).
    rf"|(?P<spaced>{_SPACED}+(?:{_CONNECTORS}+{_SPACED}+)*(?:\+\+|\#(?!\w))?)"
)
PIECE = re.compile(f"(?:[^\\W_]|[{MARKS}])+")
STEP = re.compile(r"[^/\\@:]+")
"""A step of a path or a side of an address."""

POSSESSIVE = re.compile("['\u2019]s$", re.IGNORECASE)
HUMP = re.compile(rf"[A-Z]+(?![a-z])|[A-Z]?(?:[^\W\dA-Z_]|[{MARKS}])+|\d+")
"""Parts of a piece: `maxRetryCount` → max, Retry, Count; `HTTPServer` → HTTP, Server; `v12` → v, 12."""

HAN_RUN = re.compile(f"[{HAN}]+")
KATAKANA_RUN = re.compile(f"[{KATAKANA}]{{2,}}")

# Soft hyphen, zero-width characters, direction marks: they show nothing and part nothing.
INVISIBLE = dict.fromkeys([0x00AD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF])

_FOLDABLE = re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_ACCENTED = re.compile("([A-Za-z])[\u0300-\u036f]+")
_UNDECOMPOSED = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "ı": "i"}
    | {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ß": "ss", "þ": "th", "Þ": "Th"}
)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")

# Snowball's stemmer by the first code point of a script's block and the one after its last.
_STEMMERS = (
    (0x0041, 0x0250, "english"),
    (0x0370, 0x0400, "greek"),
    (0x0400, 0x0530, "russian"),
    (0x0530, 0x0590, "armenian"),
    (0x0600, 0x0780, "arabic"),
    (0x0900, 0x0980, "hindi"),
    (0x0B80, 0x0C00, "tamil"),
    (0x1E00, 0x1F00, "english"),
    (0x1F00, 0x2000, "greek"),
)


def stemmer_of(word: str) -> str | None:
    """Name of the Snowball algorithm for a word, by the script of its first letter. Latin script counts as English."""
    point = ord(word[0])
    for first, end, name in _STEMMERS:
        if first <= point < end:
            return name
    return None


def normalize(text: str) -> str:
    """NFKC without invisible characters, without accents on Latin letters, without commas that group digits."""
    text = unicodedata.normalize("NFKC", text.translate(INVISIBLE))
    if _FOLDABLE.search(text):
        text = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text)).translate(_UNDECOMPOSED)
        text = unicodedata.normalize("NFC", text)
    return _THOUSANDS.sub("", text)
