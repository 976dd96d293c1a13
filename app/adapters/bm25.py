"""BM25 with the statistics of the chunks that are searched, over engines that score with those of a whole index.

One index serves all tenants, and an engine weighs a term by how rare it is in the index, a chunk by the mean length
there. Neither holds for the tenant's chunks in the knowledge bases searched, and scores would tell of others' words.
So a query gives each term a boost that turns its weight into the one it has among the chunks searched, which brings the
right candidates forward; and candidates are then scored exactly, from their own terms.

    score = sum over terms of w(t) * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length))
    w(t)  = ln(1 + (N - n + 0.5) / (n + 0.5))    for n of N chunks that hold t

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, in the form without negative
weights that Lucene and Tantivy use. Their k1 is 1.2; chunks are shorter than the documents that it was made for, and a
term that comes again says less in them.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

K1, B = 1.0, 0.75
"""Chosen on the labelled collections of `tests.quality`: of k1 from 0.8 to 1.2 and b from 0.4 to 0.75 the pair that
loses nothing anywhere (nDCG@10 of BM25 −0.002 to +0.003 against 1.2, fused by RRF up to +0.012)."""

MARGIN = 20
"""So many more candidates than are wanted are scored exactly: chunk lengths move them by a few places."""


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """How many chunks there are, and how many of them hold each term; a term that is missing is held by none."""

    chunks: int
    holding: Mapping[str, int]

    def weight(self, term: str) -> float:
        """Above 0, also where chunks were written between the two counts."""
        holding = self.holding.get(term, 0)
        chunks = max(self.chunks, holding)
        return math.log(1 + (chunks - holding + 0.5) / (holding + 0.5))


class Scorer:
    """A query among the chunks searched. Terms that none of these holds count nothing."""

    def __init__(self, weighted: Mapping[str, int], searched: TermStatistics, mean_length: float) -> None:
        """`weighted`: each term with how often it is asked for; `mean_length` in terms."""
        self._weights = {
            term: times * searched.weight(term) for term, times in weighted.items() if searched.holding.get(term)
        }
        self._mean_length = mean_length

    def boosts(self, index: TermStatistics) -> dict[str, float]:
        """What an engine that weighs by `index` must multiply each term's score with."""
        return {term: weight / index.weight(term) for term, weight in self._weights.items()}

    def score(self, terms: Sequence[str]) -> float:
        """Of a chunk with these terms; 0 without any that is asked for."""
        frequencies = Counter(term for term in terms if term in self._weights)
        if not frequencies:
            return 0.0
        saturation = K1 * (1 - B + B * len(terms) / self._mean_length)
        # Rounded once, so that chunks with the same terms in another order are tied.
        return math.fsum(
            self._weights[term] * frequency * (K1 + 1) / (frequency + saturation)
            for term, frequency in frequencies.items()
        )
