from math import log2

import pytest

from tests.quality.metrics import ndcg, recall, reciprocal_rank

JUDGEMENTS = {"a": 2, "b": 1, "c": 1, "d": 0}


def test_ndcg_by_hand() -> None:
    # gains of x, b, a: 0, 1, 2; the ideal: 2, 1, 1
    expected = (1 / log2(3) + 2 / log2(4)) / (2 / log2(2) + 1 / log2(3) + 1 / log2(4))
    assert ndcg(["x", "b", "a"], JUDGEMENTS, 10) == pytest.approx(expected)
    assert ndcg(["a", "b", "c", "d"], JUDGEMENTS, 10) == 1.0


def test_ndcg_looks_no_further_than_its_cutoff() -> None:
    assert ndcg(["x", "a"], {"a": 1}, 1) == 0.0
    assert ndcg(["a"], {"a": 1, "b": 1, "c": 1}, 1) == 1.0


def test_recall_by_hand() -> None:
    assert recall(["x", "b", "d", "a"], JUDGEMENTS, 2) == pytest.approx(1 / 3)
    assert recall(["x", "b", "d", "a"], JUDGEMENTS, 10) == pytest.approx(2 / 3)


def test_reciprocal_rank_by_hand() -> None:
    assert reciprocal_rank(["x", "d", "b", "a"], JUDGEMENTS, 10) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "d", "b"], JUDGEMENTS, 2) == 0.0


@pytest.mark.parametrize("judgements", [{}, {"a": 0}])
def test_nothing_relevant_measures_nothing(judgements: dict[str, int]) -> None:
    assert ndcg(["a"], judgements, 10) == recall(["a"], judgements, 10) == reciprocal_rank(["a"], judgements, 10) == 0.0
