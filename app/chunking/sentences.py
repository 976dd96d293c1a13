"""Where sentences end: Chinese and English first, and marks that end one in any other language. Pure, in linear time.

Every pattern starts only where a run of its characters starts and gives nothing back (possessive repetition), so that
no input makes it look at the same text twice.
"""

import re
from collections.abc import Iterator

_END = re.compile(
    r"""
    (?:[。！？；…؟۔।॥]
      | (?<=[^\sA-Za-z0-9/])[!?] | [!?](?![A-Za-z0-9%&=/\[(])   # not that inside of an address, a formula or a link
    )++ \.*+ [”’"'」』）)\]】》]*+
    | (?<=[^\s.])\.++[”’"')\]]*+(?=\s|$)                        # a full stop before white space, see _is_abbreviation
    | \n[^\S\n]*+\n\s*+                                         # a blank line
    | \n(?=[^\S\n]*+(?:[-*•·|]|\d{1,3}[.、)]\s))                # a new item or row
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|approx|resp|no|nos|fig|figs|eq|sec|ch|vol|pp?|ed|eds|dr|mr|mrs|ms|prof|st|jr|sr|inc"
    r"|ltd|co|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)|(?<!['’])\b[A-Za-z]|\b\d{1,3})\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = 12
_GOING_ON = frozenset(",;:，：")
"""After the marks of a question inside of a sentence: "Really?", he said."""
_SIGN = re.compile(r"\S")


def sentence_ends(text: str) -> Iterator[int]:
    """Offsets right behind each sentence, list item or row of a Markdown table but the last, in rising order."""
    start = _first_sign(text, 0)
    for end in _END.finditer(text):
        if end.group() == "." and _is_abbreviation(text, start, end.start()):
            continue
        if text[end.end() : end.end() + 1] in _GOING_ON and not end.group().isspace():
            continue
        yield end.end()
        start = _first_sign(text, end.end())


def _is_abbreviation(text: str, start: int, stop: int) -> bool:
    """`e.g.`, `No. 5`, an initial, or a list number; `start` is that of the sentence, `stop` that of the full stop."""
    found = _ABBREVIATION.search(text, max(start, stop - _LONGEST_ABBREVIATION), stop + 1)
    if found is None:
        return False
    if not text[stop - 1].isdigit() or found.start() == start:
        return True
    # "in 1998. The" and "of 25. The" end a sentence, "No. 5. times" does not.
    following = _first_sign(text, stop + 1)
    return not text[following : following + 1].isupper()


def _first_sign(text: str, position: int) -> int:
    """Of what is no white space, from `position` on; the text's length where nothing is left."""
    found = _SIGN.search(text, position)
    return len(text) if found is None else found.start()
