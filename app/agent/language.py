"""The language that an answer's own words are in: that of the question."""

import re
from enum import StrEnum

from app.terms.scripts import HAN, HANGUL, KANA

_HAN = re.compile(f"[{HAN}]")
_OTHER_CJK = re.compile(f"[{KANA}{HANGUL}]")
_LETTER = re.compile(r"[^\W\d_]")


class Language(StrEnum):
    CHINESE = "zh"
    ENGLISH = "en"


def language_of(text: str) -> Language:
    """Chinese if Chinese characters make up a fifth or more of the letters and no kana or Hangul stands among them."""
    han = len(_HAN.findall(text))
    if not han or _OTHER_CJK.search(text):
        return Language.ENGLISH
    return Language.CHINESE if han * 5 >= len(_LETTER.findall(text)) else Language.ENGLISH
