"""One collection through the platform, by every channel and fusion."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.quality.client import QUERIES_AT_ONCE, Platform
from tests.quality.labelled import Collection
from tests.quality.metrics import ndcg, recall, reciprocal_rank

METHODS: Mapping[str, dict[str, Any]] = {
    "bm25": {"mode": "bm25"},
    "dense": {"mode": "dense"},
    "rrf60": {"mode": "hybrid", "fusion": {"method": "rrf", "k": 60, "adaptive": False}},
    "rrf10_adaptive": {"mode": "hybrid", "fusion": {"method": "rrf", "k": 10, "adaptive": True}},
    "convex": {"mode": "hybrid", "fusion": {"method": "convex"}},
}
"""By the names of `reach` in baselines.json: what a request says beside the query."""

TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Figures:
    ndcg10: float
    recall10: float
    recall100: float
    mrr10: float


@dataclass(frozen=True, slots=True)
class Report:
    collection: str
    figures: dict[str, Figures]
    reach: dict[str, float]

    def shortfalls(self) -> list[str]:
        """What is not as good as it must be, in sentences."""
        found = [
            f"{self.collection}: {method} reaches {figures.ndcg10:.4f}, expected {self.reach[method]:.4f}"
            for method, figures in self.figures.items()
            if method in self.reach and figures.ndcg10 < self.reach[method] - TOLERANCE
        ]
        channels = [self.figures[name].ndcg10 for name in ("bm25", "dense") if name in self.figures]
        convex = self.figures.get("convex")
        if convex and channels and convex.ndcg10 < max(channels) - TOLERANCE:
            found.append(f"{self.collection}: convex reaches {convex.ndcg10:.4f}, a channel alone {max(channels):.4f}")
        return found


async def measured(
    platform: Platform, knowledge_base_id: str, collection: Collection, methods: Iterable[str], top_k: int
) -> Report:
    figures = {}
    for method in methods:
        rankings = await _rankings(platform, knowledge_base_id, collection, METHODS[method], top_k)
        figures[method] = averaged(collection, rankings)
    return Report(collection.name, figures, collection.reach)


async def _rankings(
    platform: Platform, knowledge_base_id: str, collection: Collection, options: dict[str, Any], top_k: int
) -> list[list[str]]:
    turns = asyncio.Semaphore(QUERIES_AT_ONCE)

    async def search(text: str) -> list[str]:
        async with turns:
            return await platform.search(knowledge_base_id, text, options, top_k)

    return await asyncio.gather(*(search(query.text) for query in collection.queries))


def averaged(collection: Collection, rankings: Sequence[Sequence[str]]) -> Figures:
    pairs = [(ranking, query.judgements) for ranking, query in zip(rankings, collection.queries, strict=True)]
    return Figures(
        ndcg10=_mean([ndcg(ranking, judgements, 10) for ranking, judgements in pairs]),
        recall10=_mean([recall(ranking, judgements, 10) for ranking, judgements in pairs]),
        recall100=_mean([recall(ranking, judgements, 100) for ranking, judgements in pairs]),
        mrr10=_mean([reciprocal_rank(ranking, judgements, 10) for ranking, judgements in pairs]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def table(reports: Sequence[Report]) -> str:
    """One line a collection and method, `reach` and the difference to it beside nDCG@10."""
    lines = [
        f"{'collection':<14}{'method':<16}{'nDCG@10':>9}{'reach':>9}{'delta':>9}{'R@10':>8}{'R@100':>8}{'MRR@10':>8}"
    ]
    for report in reports:
        for method, figures in report.figures.items():
            reach = report.reach.get(method)
            compared = f"{reach:>9.4f}{figures.ndcg10 - reach:>+9.4f}" if reach is not None else " " * 18
            lines.append(
                f"{report.collection:<14}{method:<16}{figures.ndcg10:>9.4f}{compared}"
                f"{figures.recall10:>8.4f}{figures.recall100:>8.4f}{figures.mrr10:>8.4f}"
            )
    return "\n".join(lines)
