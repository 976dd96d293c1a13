"""Text as people read it: what can't be seen, and what only looks like text, is taken out."""

import re
import unicodedata
from collections.abc import Iterator

_LINE_ENDS = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls, less the white space handled above
    "\u00ad"  # soft hyphen
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks of direction: they can make text read other than it is
    "\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb"  # zero width, deprecated formats, annotations
    "\ud800-\udfff"  # lone surrogates
    "\ue000-\uf8ff\U000f0000-\U0010ffff"  # private use: glyphs of one font
    "\ufdd0-\ufdef\ufffe\uffff"  # not characters
    "\U000e0000-\U000e007f"  # tags: invisible ASCII
    "]"
)
_JOINERS = re.compile("[\u200c\u200d]")
_RUN_OF_BLANKS = re.compile("[ \t]{2,}|\t")
_BLANKS_AT_LINE_ENDS = re.compile("[ \t]*\n[ \t]*")
_MANY_LINES = re.compile("\n{3,}")
_NOT_PLAIN = re.compile("[^\n\x20-\x7e]")
_MOST_MARKS = 30
"""On one character: all that writing needs (the Stream-Safe Text Format of UAX #15). To order them takes time by the
square of their number."""

_SIGNS = re.compile(rf"[^\w\s\x00-\u02ff]{{{_MOST_MARKS + 1},}}")
"""Runs that may be of such marks: none of them is a letter."""


def clean_text(text: str, *, verbatim: bool = False) -> str:
    """NFC, without control, private-use, zero-width and unpaired characters; white space evened out, and of very many
    marks on one character the first 30.

    Not NFKC: full-width forms, ligatures and superscripts stay as written, search folds them. `verbatim` keeps
    white space inside and between lines (code).
    """
    # Of what is taken out or evened out below, only plain blanks and marks are printable.
    if text.isprintable() and "  " not in text and _is_composed(text):
        return text.rstrip() if verbatim else text.strip()  # most
    if _NOT_PLAIN.search(text):
        text = _SPACES.sub(" ", _LINE_ENDS.sub("\n", text))
        text = _INVISIBLE.sub("", text)
        text = _JOINERS.sub(lambda match: match[0] if _joins(text, match.start()) else "", text)
        # Twice, since some marks are two when they are normalised.
        text = _with_few_marks(unicodedata.normalize("NFC", _with_few_marks(text)))
    if verbatim:
        return text.rstrip().lstrip("\n")
    text = _BLANKS_AT_LINE_ENDS.sub("\n", _RUN_OF_BLANKS.sub(" ", text))
    return _MANY_LINES.sub("\n\n", text).strip()


def _is_composed(text: str) -> bool:
    return text.isascii() or (_SIGNS.search(text) is None and unicodedata.is_normalized("NFC", text))


def _with_few_marks(text: str) -> str:
    return _SIGNS.sub(lambda run: "".join(_few_marks(run[0])), text)


def _few_marks(signs: str) -> Iterator[str]:
    marks = 0
    for sign in signs:
        marks = marks + 1 if unicodedata.combining(sign) else 0
        if marks <= _MOST_MARKS:
            yield sign


def _joins(text: str, position: int) -> bool:
    """Joiners carry meaning in Arabic and Indic scripts and in emoji; elsewhere they only hide in words."""
    if position == 0 or position + 1 >= len(text):
        return False
    before = ord(text[position - 1])
    emoji_or_beyond = before >= 0x2190 and not 0x2E80 <= before <= 0xFFEF
    return 0x0600 <= before <= 0x0FFF or 0x1780 <= before <= 0x17FF or emoji_or_beyond
