"""An answer without a language model: the sentences of the best passages that fit the question, word for word."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.agent.language import language_of
from app.agent.passages import Passage
from app.agent.sentences import sentence_spans, shown
from app.ports.vector_index import Vectors
from app.terms import index_terms, query_terms

MOST_SENTENCES = 3
MOST_CANDIDATES = 24
"""Sentences that are compared with the question by their vectors."""
READ_PASSAGES = 4
_CLEARLY_BEST = 0.12
"""A passage whose cosine is lower than the best one's by more than half of this adds no sentences (e5 is narrow)."""


@dataclass(frozen=True, slots=True)
class Sentence:
    passage: Passage
    start: int
    end: int
    overlap: float = 0.0
    """Share of the question's terms that it holds, rare ones counting more, in [0, 1]."""

    @property
    def text(self) -> str:
        return shown(self.passage.text[self.start : self.end])


def candidate_sentences(question: str, passages: Sequence[Passage]) -> list[Sentence]:
    """Sentences of the first passages with their overlap, at most `MOST_CANDIDATES`: the best, or else the first.

    Descriptions of tables are read only where nothing else was found: an answer says what stands in the documents.

    A term of a heading counts half for the sentences under it: "Refunds" above "Within 30 days." is part of the sense.
    So does one of a question that the text asks itself. Where that is the very question it is no answer, and left out.
    """
    quotable = [passage for passage in passages if passage.is_verbatim] or list(passages)
    read = [found for passage in quotable[:READ_PASSAGES] for found in _read(passage)]
    asked = set(index_terms(question))
    read = [one for one in read if not (one.asks and len(one.terms - asked) < 0.2 * len(one.terms))] or read
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
    return sorted(scored, key=lambda sentence: -sentence.overlap)[:MOST_CANDIDATES]


@dataclass(frozen=True, slots=True)
class _Read:
    sentence: Sentence
    terms: set[str]
    above: set[str]
    """Terms of the headings, and of the question that it follows."""

    @property
    def asks(self) -> bool:
        return self.sentence.text.endswith(("?", "？"))


def _read(passage: Passage) -> Iterator[_Read]:
    headings = set(index_terms(" ".join(passage.heading_path)))
    above = headings
    for start, end in sentence_spans(passage.text):
        sentence = Sentence(passage, start, end)
        one = _Read(sentence, set(index_terms(sentence.text)), above)
        if one.asks:
            above = headings | one.terms
        yield one


def _weights(asked: set[str], held: Sequence[set[str]]) -> Mapping[str, float]:
    """log(1 + N / df) of each asked term over the sentences; terms that none holds weigh as if one did."""
    frequency = Counter(term for terms in held for term in terms & asked)
    return {term: math.log(1 + len(held) / max(1, frequency[term])) for term in asked}


def choose(
    sentences: Sequence[Sentence], question: Vectors | None = None, vectors: Vectors | None = None
) -> list[Sentence]:
    """The sentences of the answer, in reading order: passages by their rank, sentences as they stand in the text.

    `vectors` (one row a sentence, of length 1) and `question`, where given, count as much as shared terms: an English
    question shares none with a Chinese text. Without them and without shared terms, the first passage speaks.
    """
    if not sentences:
        return []
    scores = np.array([sentence.overlap for sentence in sentences])
    if question is not None and vectors is not None:
        similarity = _without_language_bias(sentences, vectors @ question)
        spread = max(float(similarity.max() - similarity.min()), _CLEARLY_BEST / 2)
        scores = scores + (similarity - similarity.max()) / spread + 1
    scores = scores - [0.02 * (sentence.passage.number - 1) for sentence in sentences]
    best = float(scores.max())
    chosen: list[Sentence] = []
    seen: list[set[str]] = []
    for index in np.argsort(-scores, kind="stable"):
        if len(chosen) == MOST_SENTENCES or scores[index] < 0.6 * best:
            break
        terms = set(index_terms(sentences[index].text))
        if not any(_alike(terms, other) for other in seen):
            chosen.append(sentences[index])
            seen.append(terms)
    return sorted(chosen, key=lambda sentence: (sentence.passage.number, sentence.start))


def _without_language_bias(sentences: Sequence[Sentence], similarity: Vectors) -> Vectors:
    """Cosines as if all sentences were in one language.

    Multilingual models put texts of one language together (Roy 2020, https://arxiv.org/abs/2004.05484): any Chinese
    sentence comes before the English one that answers a Chinese question. So it counts by how much a sentence is better
    than the others of its language.
    """
    languages = np.array([language_of(sentence.text) for sentence in sentences])
    corrected = similarity.copy()
    for language in set(languages):
        corrected[languages == language] -= similarity[languages == language].mean()
    return corrected


def _alike(one: set[str], other: set[str]) -> bool:
    return len(one & other) > 0.8 * max(1, min(len(one), len(other)))
