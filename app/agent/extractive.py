"""An answer without a language model: the sentences of the best passages that fit the question, word for word."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.agent.language import Language, language_of
from app.agent.passages import Passage
from app.agent.sentences import shown
from app.ports.vector_index import Vectors
from app.terms import index_terms, query_terms

MOST_SENTENCES = 3
MOST_CANDIDATES = 24
"""Sentences that are compared with the question by their vectors: about 1,000 tokens, 0.7 s of the bundled model."""
READ_PASSAGES = 4
_OVERLAP = 0.3
"""What sharing all of the question's terms is worth, in similarity."""
_BESIDE_THE_BEST = 0.15
"""A sentence that is worth less than the best one by more than this is left out."""
THRESHOLDS: Mapping[tuple[Language, Language], float] = {
    (Language.CHINESE, Language.CHINESE): 0.52,
    (Language.ENGLISH, Language.ENGLISH): 0.40,
    (Language.CHINESE, Language.ENGLISH): 0.30,
    (Language.ENGLISH, Language.CHINESE): 0.30,
}
"""By languages of question and sentence, of similarity and overlap together.

Chosen on the half `tune` of `tests.agent.quality`: in one language 8 % of the sentences that answer lie below. Across
languages they overlap more with what does not answer (14 % lie below), as no shared terms help there.
"""


@dataclass(frozen=True, slots=True)
class Sentence:
    passage: Passage
    start: int
    end: int
    overlap: float = 0.0
    """Share of the question's terms that it holds, rare ones counting more, in [0, 1]."""

    asked: str = ""
    """The question that the text itself asks before it, or in its heading."""

    @property
    def text(self) -> str:
        return shown(self.passage.text[self.start : self.end])

    @property
    def embedded(self) -> str:
        """What is compared with a question: "95 minutes." alone is near to nothing."""
        return f"{self.asked}\n{self.text}" if self.asked else self.text


def candidate_sentences(question: str, passages: Sequence[Passage]) -> list[Sentence]:
    """Sentences of the first passages with their overlap, at most `MOST_CANDIDATES`, a fair share of each passage.

    Of a passage come those with the most overlap, or else the first. All passages have their share because a passage in
    another language than the question shares no terms with it.

    Descriptions of tables are read only where nothing else was found: an answer says what stands in the documents.

    A term of a heading counts half for the sentences under it: "Refunds" above "Within 30 days." is part of the sense.
    So does one of a question that the text asks itself. That is no answer, and is left out where it stands on a line of
    its own, as those of an FAQ do, or is the very question.
    """
    quotable = [passage for passage in passages if passage.is_verbatim] or list(passages)
    read = [found for passage in quotable[:READ_PASSAGES] for found in _read(passage)]
    asked = set(index_terms(question))
    read = [one for one in read if not (one.asks and (one.is_line or one.is_of(asked)))] or read
    weights = _weights(set(query_terms(question)), [one.terms for one in read])
    total = sum(weights.values()) or 1.0
    scored = [
        replace(
            one.sentence,
            overlap=sum(
                weight * (1.0 if term in one.terms else 0.5 if term in one.above else 0.0)
                for term, weight in weights.items()
            )
            / total,
        )
        for one in read
    ]
    return _fair_share(scored)[:MOST_CANDIDATES]


def _fair_share(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The best of each passage, then the second best of each, and so on."""
    taken: Counter[int] = Counter()
    turns: list[tuple[int, Sentence]] = []
    for one in sorted(sentences, key=lambda sentence: -sentence.overlap):
        turns.append((taken[one.passage.number], one))
        taken[one.passage.number] += 1
    return [one for _, one in sorted(turns, key=lambda turn: turn[0])]


@dataclass(frozen=True, slots=True)
class _Read:
    sentence: Sentence
    terms: set[str]
    above: set[str]
    """Terms of the headings, and of the question that it follows."""

    @property
    def asks(self) -> bool:
        return _asks(self.sentence.text)

    def is_of(self, asked: set[str]) -> bool:
        """Whether it holds hardly any term but those of the question."""
        return len(self.terms - asked) < 0.2 * len(self.terms)

    @property
    def is_line(self) -> bool:
        text = self.sentence.passage.text
        before, after = text[: self.sentence.start].rstrip(" "), text[self.sentence.end :].lstrip(" ")
        return (not before or before.endswith("\n")) and (not after or after.startswith("\n"))


def _read(passage: Passage) -> Iterator[_Read]:
    headings = set(index_terms(" ".join(passage.heading_path)))
    above, asked = headings, next((heading for heading in passage.heading_path[-1:] if _asks(heading)), "")
    for start, end in passage.sentences:
        sentence = Sentence(passage, start, end, asked=asked)
        one = _Read(sentence, set(index_terms(sentence.text)), above)
        if one.asks:
            above, asked = headings | one.terms, sentence.text
        yield one


def _asks(text: str) -> bool:
    return text.endswith(("?", "？", "؟"))


def _weights(asked: set[str], held: Sequence[set[str]]) -> Mapping[str, float]:
    """log(1 + N / df) of each asked term over the sentences; terms that none holds weigh as if one did."""
    frequency = Counter(term for terms in held for term in terms & asked)
    return {term: math.log(1 + len(held) / max(1, frequency[term])) for term in asked}


def choose(sentences: Sequence[Sentence], asked_in: Language, similarities: Vectors) -> list[Sentence]:
    """The sentences that answer, in reading order (passages by rank, sentences as they stand); none where none does.

    A sentence's worth is its similarity (of `app.agent.neutral`, one a sentence) and a share of its overlap, less the
    threshold of its pair of languages: so those of two languages can be compared, and what is below 0 is no answer.
    """
    worth = np.array([_worth(one, asked_in, float(alike)) for one, alike in zip(sentences, similarities, strict=True)])
    return _best(sentences, worth, least=max(0.0, float(worth.max()) - _BESIDE_THE_BEST)) if len(worth) else []


def choose_by_terms(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Where there are no vectors, the sentences that share most terms; if none shares any, the first passage speaks."""
    worth = np.array([one.overlap - 0.02 * (one.passage.number - 1) for one in sentences])
    return _best(sentences, worth, least=0.6 * float(worth.max())) if len(worth) else []


def _worth(sentence: Sentence, asked_in: Language, similarity: float) -> float:
    return similarity + _OVERLAP * sentence.overlap - THRESHOLDS[asked_in, language_of(sentence.text)]


def _best(sentences: Sequence[Sentence], worth: Vectors, least: float) -> list[Sentence]:
    chosen: list[Sentence] = []
    seen: list[set[str]] = []
    for index in np.argsort(-worth, kind="stable"):
        if len(chosen) == MOST_SENTENCES or worth[index] < least:
            break
        terms = set(index_terms(sentences[index].text))
        if not any(_alike(terms, other) for other in seen):
            chosen.append(sentences[index])
            seen.append(terms)
    return sorted(chosen, key=lambda sentence: (sentence.passage.number, sentence.start))


def _alike(one: set[str], other: set[str]) -> bool:
    return len(one & other) > 0.8 * max(1, min(len(one), len(other)))
