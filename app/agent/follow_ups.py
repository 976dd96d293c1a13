"""Questions that hold too little to be searched for alone."""

import re

from app.agent.language import Language, language_of
from app.terms import query_terms
from app.terms.scripts import HAN

_GOES_ON = re.compile(
    r"""
    ^\W*(?:(?:and|but|or|then)\b|(?:what|how)\s+about\b|why\s+not\b)  # "And on Sundays?", "What about children?"
    | ^\W*(?:那|还有|另外|然后|而)                                      # "那周末呢？"
    | 呢\W*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SHORT = {Language.ENGLISH: 9, Language.CHINESE: 10}
"""In words, and in characters. Longer ones name their subject, whatever they begin with."""
_UNIT = re.compile(rf"[{HAN}]|[^\W{HAN}]+")


def goes_on(question: str) -> bool:
    """Whether a question takes its subject from the one before: it names nothing, or is short and begins like that."""
    return _is_bare(question) or (_GOES_ON.search(question) is not None and _is_short(question))


def _is_bare(question: str) -> bool:
    """True for a question without a single word that names something: "and why?", "为什么呢？"."""
    # With a word that no language has beside it, a question of stop words alone gives that word alone.
    return query_terms(f"{question}\nqzxqzx") == ["qzxqzx"]


def _is_short(question: str) -> bool:
    return len(_UNIT.findall(question)) <= _SHORT[language_of(question)]
