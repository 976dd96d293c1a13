from math import log2

import pytest

from tests.quality import labelled
from tests.quality.labelled import Collection, Document, Query
from tests.quality.measure import Figures, Report, averaged, table


def figures(ndcg10: float) -> Figures:
    return Figures(ndcg10=ndcg10, recall10=0.5, recall100=0.6, mrr10=0.7)


def test_a_report_says_what_fell_short() -> None:
    report = Report(
        "statutes",
        {"bm25": figures(0.50), "dense": figures(0.60), "convex": figures(0.585)},
        {"bm25": 0.52, "dense": 0.605, "convex": 0.59},
    )
    assert report.shortfalls() == [
        "statutes: bm25 reaches 0.5000, expected 0.5200",
        "statutes: convex reaches 0.5850, a channel alone 0.6000",
    ]
    assert Report("statutes", {"convex": figures(0.6)}, {"convex": 0.6}).shortfalls() == []
    assert "dense              0.6000   0.6050  -0.0050  0.5000  0.6000  0.7000" in table([report])


def test_figures_are_means_over_queries() -> None:
    queries = [Query("q1", "?", {"a": 1}), Query("q2", "?", {"b": 1})]
    collection = Collection("c", [Document("a", "", "x"), Document("b", "", "y")], queries, {})
    made = averaged(collection, [["a"], ["a", "b"]])
    assert made.ndcg10 == pytest.approx((1 + 1 / log2(3)) / 2)
    assert (made.recall10, made.recall100, made.mrr10) == (1.0, 1.0, 0.75)


@pytest.mark.skipif(not labelled.FOLDER.is_dir(), reason="../shared/collections is not beside the repository")
def test_collections_are_whole() -> None:
    assert len(labelled.names()) == 7
    collection = labelled.load("xquad_en2zh", limit_queries=5)
    ids = {document.id for document in collection.documents}
    assert len(ids) == 240
    assert len(collection.queries) == 5
    assert all(query.judgements.keys() <= ids for query in collection.queries)
    assert collection.reach["convex"] > 0.8
