"""Whether what was found has anything to do with the question, and in which order it is read.

Passages are compared by `app.agent.neutral`. The thresholds are where 2 % (weak) and 10 % (strong) of the passages that
answer lie below, on the half of `tests.agent.quality` that is kept for choosing them. They lie lower across languages,
as centring takes away most of the gap, not all of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.agent.language import Language, language_of
from app.agent.passages import Passage
from app.terms import query_terms


class Relevance(StrEnum):
    STRONG = "strong"
    WEAK = "weak"
    """Somebody may look at it: a language model, or the comparison of its sentences. Terms alone give no answer."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class _Thresholds:
    strong: float
    weak: float

    def grade(self, value: float) -> Relevance:
        if value >= self.strong:
            return Relevance.STRONG
        return Relevance.WEAK if value >= self.weak else Relevance.NONE


SAME_LANGUAGE = _Thresholds(strong=0.14, weak=0.08)
"""Of `Passage.neutral`."""
OTHER_LANGUAGE = _Thresholds(strong=0.09, weak=0.045)
TERMS_ALONE = _Thresholds(strong=0.4, weak=0.2)
"""Of the share of the question's terms that a passage holds, where the vectors could not be asked."""


def relevance_of(question: str, passages: Sequence[Passage]) -> Relevance:
    """Of the best of the passages."""
    asked = set(query_terms(question))
    if not asked or not passages:
        return Relevance.NONE
    if all(one.neutral is None for one in passages):
        return TERMS_ALONE.grade(max(len(one.matched_terms & asked) for one in passages) / len(asked))
    language = language_of(question)
    grades = [_thresholds(language, one).grade(one.neutral) for one in passages if one.neutral is not None]
    return min(grades, key=list(Relevance).index)


def in_reading_order(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Passages of both languages in one order; as they are where the vectors could not be asked.

    Those that a reranker has ordered come first, in its order: it has read them beside the question. Of what is left,
    those in the question's language keep their order, which knows of shared terms. Of the others terms say nothing but
    that they come last, so they are ordered by their vectors. Then the two lists are merged by how far their first ones
    lie above the threshold of their kind.
    """
    if all(one.neutral is None for one in passages):
        return list(passages)
    reranked = [one for one in passages if one.is_reranked]
    left = [one for one in passages if not one.is_reranked]
    language = language_of(question)
    above: Mapping[int, float] = {one.number: (one.neutral or 0.0) - _thresholds(language, one).weak for one in left}
    same = [one for one in left if language_of(one.text) is language]
    other = [one for one in left if language_of(one.text) is not language]
    other.sort(key=lambda one: -above[one.number])
    merged: list[Passage] = []
    while same and other:
        merged.append((same if above[same[0].number] >= above[other[0].number] else other).pop(0))
    return [*reranked, *merged, *same, *other]


def _thresholds(language: Language, passage: Passage) -> _Thresholds:
    return SAME_LANGUAGE if language_of(passage.text) is language else OTHER_LANGUAGE
