"""Terms of texts and of queries. Both go through the same steps, so that what is equal in writing is equal as a term.

What measured best by BM25 on seven collections (English, Chinese, Traditional Chinese, code):

- Chinese as words of `rjieba`'s search mode, as pairs of characters and as single characters, all in one space of
  terms. A word of two characters thus counts twice, in a text and in a query, which is better than marking pairs or
  dropping the repetition. Single characters are for queries of one character; longer queries leave them out.
- Identifiers whole and in parts. Leaving out the whole, or the parts, costs 0.01 to 0.02 nDCG@10 on code.
- A repeated term of a query counts as often as it stands there.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import rjieba
import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs

from app.terms import stop_words
from app.terms.scripts import HAN_RUN, HUMP, KATAKANA_RUN, PIECE, POSSESSIVE, RUN, STEP, normalize, stemmer_of

ANALYZER_VERSION = "1"
"""Changes whenever the same text may give other terms: indexes of another version must be rebuilt."""

MAX_TERM_LENGTH = 64
"""In characters. Longer words are cut, so that a long hash still finds itself; a longer identifier keeps its parts."""

_MAX_SPLIT_LENGTH = 256
_MAX_DIGIT_GROUPS = 4
"""A piece with more groups of digits is a hash or an encoded value: its parts mean nothing and would be many."""

_SEGMENT_LENGTH = 1000
"""Chinese without any punctuation is segmented in slices of this many characters: memory stays bounded."""

_MAX_WORD_LENGTH = 16

_thread = threading.local()


def index_terms(text: str) -> list[str]:
    """Terms of a text in order, repeated as often as they occur, without white space, at most 64 characters each."""
    return _terms(text, query=False)


def query_terms(text: str) -> list[str]:
    """Terms of a query. Stop words are left out, unless nothing would be left.

    Repetitions are kept: they weigh. Empty only if the text holds no letter or digit at all.
    """
    return _terms(text, query=True) or _terms(text, query=False)


def _terms(text: str, *, query: bool) -> list[str]:
    terms: list[str] = []
    for match in RUN.finditer(normalize(text)):
        run = match.group()
        match match.lastgroup:
            case "ideographs":
                terms.extend(_ideograph_query_terms(run) if query else _ideograph_terms(run))
            case "hangul":
                terms.append(run[:MAX_TERM_LENGTH])
                if len(run) > 2:
                    terms.extend(_pairs(run))
            case "unspaced":
                terms.extend(_pairs(run) or [run])
            case _ if len(run) <= MAX_TERM_LENGTH:
                terms.extend(_short_identifier_terms(run, query))
            case _:
                terms.extend(_identifier_terms(run, query))
    return terms


def _ideograph_terms(run: str) -> list[str]:
    return [*run, *_pairs(run), *(word for word in _search_words(run) if len(word) > 1)]


def _ideograph_query_terms(run: str) -> list[str]:
    if len(run) == 1:
        return [] if run in stop_words.CHINESE else [run]
    stopped = [word in stop_words.CHINESE for word in _slices_cut(run, rjieba.cut) for _ in word]
    return [
        *(word for word in _search_words(run) if word not in stop_words.CHINESE),
        # A pair that reaches into a stop word ("何办" of 如何办理) is an accident of this question.
        *(pair for place, pair in enumerate(_pairs(run)) if not (stopped[place] or stopped[place + 1])),
    ]


def _search_words(run: str) -> Iterator[str]:
    """Chinese words of a run, and the words inside long words; katakana words whole."""
    for han in HAN_RUN.findall(run):
        # Characters that the dictionary lacks come back as one word of any length.
        yield from (word for word in _slices_cut(han, rjieba.cut_for_search) if len(word) <= _MAX_WORD_LENGTH)
    for katakana in KATAKANA_RUN.findall(run):
        yield katakana[:MAX_TERM_LENGTH]


def _slices_cut(run: str, cut: Callable[[str], list[str]]) -> Iterator[str]:
    for start in range(0, len(run), _SEGMENT_LENGTH):
        yield from cut(run[start : start + _SEGMENT_LENGTH])


def _pairs(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)]


def _identifier_terms(run: str, query: bool) -> Sequence[str]:
    """A run of spaced script: wholes (`src/app/main.py`, `main.py`), then each piece, then the parts of each piece.

    Any term is given once for one run: `a.a` is not twice as much about a.
    """
    run = POSSESSIVE.sub("", run)
    pieces = PIECE.findall(run)
    words = dict.fromkeys(word for piece in pieces for word in _piece_words(piece))
    terms = (_stem(word) for word in words if not (query and word in stop_words.ENGLISH))
    wholes = (whole for whole in _wholes(run, pieces) if not (query and whole in stop_words.ENGLISH))
    return tuple(dict.fromkeys((*wholes, *terms)))


def _wholes(run: str, pieces: Sequence[str]) -> Iterator[str]:
    """The run, and its steps that consist of pieces themselves (`main.py`, `example.org`)."""
    if len(pieces) == 1 and not run.endswith(("+", "#")):
        return
    for whole in (run, *STEP.findall(run)):
        if len(whole) <= MAX_TERM_LENGTH and not PIECE.fullmatch(whole):
            yield whole.lower().replace("\u2019", "'")


# The words of a language are few and come again and again.
_short_identifier_terms = lru_cache(maxsize=50_000)(_identifier_terms)


def _piece_words(piece: str) -> Iterator[str]:
    yield piece[:MAX_TERM_LENGTH].lower()
    if len(piece) <= _MAX_SPLIT_LENGTH:
        parts = HUMP.findall(piece)
        if len(parts) > 1 and sum(part[0].isdigit() for part in parts) <= _MAX_DIGIT_GROUPS:
            yield from (part[:MAX_TERM_LENGTH].lower() for part in parts)


def _stem(word: str) -> str:
    algorithm = stemmer_of(word)
    if algorithm is None:
        return word
    # A stemmer must not be used by two threads at once.
    stemmer: Stemmer.Stemmer | None = getattr(_thread, algorithm, None)
    if stemmer is None:
        stemmer = Stemmer.Stemmer(algorithm)
        setattr(_thread, algorithm, stemmer)
    return str(stemmer.stemWord(word)) or word
