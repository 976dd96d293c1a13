"""BM25 with the statistics of the chunks that are searched, from engines that score with those of a whole index.

Both engines weigh a term by its inverse document frequency in the index, which all tenants share. So a query gives each
term a boost that turns that weight into the one it has among the tenant's chunks in the knowledge bases searched. It
ranks as an index of these alone would, and a score tells nothing of other tenants' words. What stays common is the mean
length of a chunk, which both engines keep inside.

The weight is ln(1 + (N - n + 0.5) / (n + 0.5)) for n of N chunks: Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond", 2009, in the form without negative weights that Lucene and Tantivy use.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """How many chunks there are, and how many of them hold each term; a term that is missing is held by none."""

    chunks: int
    holding: Mapping[str, int]

    def weight(self, term: str) -> float:
        """Inverse document frequency, above 0. An engine may still count chunks of late as holding a term."""
        holding = self.holding.get(term, 0)
        chunks = max(self.chunks, holding)
        return math.log(1 + (chunks - holding + 0.5) / (holding + 0.5))


def boosts(weighted: Mapping[str, int], searched: TermStatistics, index: TermStatistics) -> dict[str, float]:
    """What to multiply each term's score with. Terms that nothing searched holds are left out: they find nothing."""
    return {
        term: weight * searched.weight(term) / index.weight(term)
        for term, weight in weighted.items()
        if searched.holding.get(term)
    }
