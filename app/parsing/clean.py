"""Text as people read it: what can't be seen, and what only looks like text, is taken out."""

import re
import unicodedata

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


def clean_text(text: str, *, verbatim: bool = False) -> str:
    """NFC, without control, private-use, zero-width and unpaired characters; white space evened out.

    Not NFKC: full-width forms, ligatures and superscripts stay as written, search folds them. `verbatim` keeps
    white space inside and between lines (code).
    """
    # Of what is taken out or evened out below, only plain blanks are printable.
    if text.isprintable() and "  " not in text and unicodedata.is_normalized("NFC", text):
        return text.rstrip() if verbatim else text.strip()  # most
    if _NOT_PLAIN.search(text):
        text = _SPACES.sub(" ", _LINE_ENDS.sub("\n", text))
        text = _INVISIBLE.sub("", text)
        text = _JOINERS.sub(lambda match: match[0] if _joins(text, match.start()) else "", text)
        text = unicodedata.normalize("NFC", text)
    if verbatim:
        return text.rstrip().lstrip("\n")
    text = _BLANKS_AT_LINE_ENDS.sub("\n", _RUN_OF_BLANKS.sub(" ", text))
    return _MANY_LINES.sub("\n\n", text).strip()


def _joins(text: str, position: int) -> bool:
    """Joiners carry meaning in Arabic and Indic scripts and in emoji; elsewhere they only hide in words."""
    if position == 0 or position + 1 >= len(text):
        return False
    before = ord(text[position - 1])
    emoji_or_beyond = before >= 0x2190 and not 0x2E80 <= before <= 0xFFEF
    return 0x0600 <= before <= 0x0FFF or 0x1780 <= before <= 0x17FF or emoji_or_beyond
