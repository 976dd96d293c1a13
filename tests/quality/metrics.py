"""Measures of a ranking against graded judgements, as trec_eval computes them.

A ranking is a sequence of distinct document ids, best first; judgements map document ids to grades, and a document is
relevant from grade 1.
"""

import math
from collections.abc import Mapping, Sequence

Judgements = Mapping[str, int]


def ndcg(ranking: Sequence[str], judgements: Judgements, cutoff: int) -> float:
    """Järvelin and Kekäläinen 2002, gain = grade, discount = log2(1 + rank); 0 without a relevant document."""
    ideal = sorted((grade for grade in judgements.values() if grade > 0), reverse=True)
    best = _discounted(ideal[:cutoff])
    gains = [max(judgements.get(document, 0), 0) for document in ranking[:cutoff]]
    return _discounted(gains) / best if best else 0.0


def recall(ranking: Sequence[str], judgements: Judgements, cutoff: int) -> float:
    """Share of the relevant documents among the first `cutoff`; 0 without a relevant document."""
    relevant = {document for document, grade in judgements.items() if grade > 0}
    return len(relevant.intersection(ranking[:cutoff])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], judgements: Judgements, cutoff: int) -> float:
    """1 / rank of the first relevant document, 0 if it is not among the first `cutoff`."""
    ranks = (rank for rank, document in enumerate(ranking[:cutoff], start=1) if judgements.get(document, 0) > 0)
    return next((1 / rank for rank in ranks), 0.0)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(1 + rank) for rank, gain in enumerate(gains, start=1))
