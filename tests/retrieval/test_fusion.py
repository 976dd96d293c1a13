from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ports.indexes import Candidate
from app.retrieval.fusion import (
    ChannelHit,
    ChannelWeights,
    Fusion,
    FusionMethod,
    FusionSettings,
    coverage,
    fuse,
    lexical_factor,
)

A, B, C, D = (UUID(int=number) for number in range(1, 5))
RRF = FusionSettings(method=FusionMethod.RRF)
CONVEX = FusionSettings(method=FusionMethod.CONVEX)


def channel(**scores: float) -> list[Candidate]:
    names = {"a": A, "b": B, "c": C, "d": D}
    return [Candidate(names[name], score) for name, score in scores.items()]


def order(fusion: Fusion) -> list[UUID]:
    return [candidate.chunk_id for candidate in fusion.candidates]


def fused_scores(fusion: Fusion) -> dict[UUID, float]:
    return {candidate.chunk_id: candidate.fused.score for candidate in fusion.candidates}


def test_rrf_by_hand() -> None:
    fusion = fuse(channel(a=0.9, b=0.8, c=0.7), channel(b=12.0, d=3.0), RRF)
    assert order(fusion) == [B, A, D, C]
    assert fused_scores(fusion) == pytest.approx({B: 1 / 62 + 1 / 61, A: 1 / 61, D: 1 / 62, C: 1 / 63})
    best = fusion.candidates[0]
    assert best.dense == ChannelHit(0.8, 2)
    assert best.bm25 == ChannelHit(12.0, 1)
    assert best.rrf == best.fused
    assert fusion.candidates[3].bm25 is None


def test_rrf_with_its_constant_and_weights() -> None:
    settings = FusionSettings(method=FusionMethod.RRF, k=10, weights=ChannelWeights(dense=1.0, bm25=3.0))
    scores = fused_scores(fuse(channel(a=0.9, b=0.8), channel(b=5.0, c=4.0), settings))
    assert scores == pytest.approx({A: 1 / 11, B: 1 / 12 + 3 / 11, C: 3 / 12})


def test_rrf_lowers_the_lexical_weight_when_adaptive() -> None:
    settings = FusionSettings(method=FusionMethod.RRF, k=10, adaptive=True)
    scores = fused_scores(fuse(channel(a=0.9), channel(b=5.0), settings, u=0.5))
    assert scores == pytest.approx({A: 1 / 11, B: 0.5 / 11})
    assert fused_scores(fuse(channel(a=0.9), channel(b=5.0), RRF, u=0.5)) == pytest.approx({A: 1 / 61, B: 1 / 61})


def test_convex_by_hand() -> None:
    # dense: (s - 0.6) / 0.4 gives a 1, b 0.5, c 0. BM25, fewer than 100: s / 8 gives b 1, d 0.25. w = 0.5.
    fusion = fuse(channel(a=1.0, b=0.8, c=0.6), channel(b=8.0, d=2.0), CONVEX)
    assert fused_scores(fusion) == pytest.approx({B: 0.75, A: 0.5, D: 0.125, C: 0.0})
    assert order(fusion) == [B, A, D, C]
    assert (fusion.dense_weight, fusion.bm25_weight) == (0.5, 0.5)


def test_convex_weight_follows_what_the_texts_know() -> None:
    dense, bm25 = channel(a=0.9, b=0.5), channel(b=4.0)
    assert fuse(dense, bm25, CONVEX, u=0.3).bm25_weight == 0
    half = fuse(dense, bm25, CONVEX, u=0.5)
    assert half.bm25_weight == pytest.approx(0.25)
    assert fused_scores(half) == pytest.approx({A: 0.75, B: 0.25})


def test_explicit_weights_override_the_adaptive_one() -> None:
    settings = FusionSettings(weights=ChannelWeights(dense=1.0, bm25=3.0), adaptive=True)
    fusion = fuse(channel(a=0.9, b=0.5), channel(b=4.0), settings, u=0.0)
    assert fusion.bm25_weight == pytest.approx(0.75)


def test_convex_without_adaptation_keeps_half() -> None:
    assert fuse(channel(a=0.9), channel(b=4.0), FusionSettings(adaptive=False), u=0.0).bm25_weight == 0.5


def test_a_full_bm25_pool_is_scaled_from_its_worst_candidate() -> None:
    full = [Candidate(UUID(int=100 + number), 20.0 - number * 0.1) for number in range(100)]
    scores = fused_scores(fuse(channel(a=0.9), full, FusionSettings(weights=ChannelWeights(0.0, 1.0))))
    assert scores[UUID(int=100)] == 1.0
    assert scores[UUID(int=199)] == 0.0
    short = fused_scores(fuse(channel(a=0.9), full[:99], FusionSettings(weights=ChannelWeights(0.0, 1.0))))
    assert short[UUID(int=198)] == pytest.approx((20.0 - 9.8) / 20.0)


def test_rrf_is_reported_unadapted_beside_convex() -> None:
    fusion = fuse(channel(a=0.9, b=0.5), channel(b=4.0, c=1.0), CONVEX, u=0.0)
    assert order(fusion)[0] == A
    best_by_rrf = min(fusion.candidates, key=lambda one: one.rrf.rank)
    assert best_by_rrf.chunk_id == B
    assert best_by_rrf.rrf.score == pytest.approx(1 / 62 + 1 / 61)


@pytest.mark.parametrize("settings", [RRF, CONVEX, FusionSettings(method=FusionMethod.RRF, adaptive=True)])
def test_a_channel_alone_keeps_its_order_whatever_is_known(settings: FusionSettings) -> None:
    alone = channel(c=3.0, a=2.0, b=1.0)
    assert order(fuse([], alone, settings, u=0.0)) == [C, A, B]
    assert order(fuse(alone, [], settings, u=0.0)) == [C, A, B]
    assert fuse([], alone, settings, u=0.0).bm25_weight == 1.0


@pytest.mark.parametrize("settings", [RRF, CONVEX])
def test_nothing_from_nothing(settings: FusionSettings) -> None:
    assert fuse([], [], settings).candidates == []


def test_a_lost_channel_answers_even_against_explicit_weights() -> None:
    settings = FusionSettings(weights=ChannelWeights(dense=1.0, bm25=0.0))
    assert order(fuse([], channel(b=2.0, a=1.0), settings)) == [B, A]


def test_ties_go_by_chunk_id_and_doubles_count_once() -> None:
    fusion = fuse([*channel(c=0.5, b=0.5, a=0.5), Candidate(A, 0.4)], [], CONVEX)
    assert order(fusion) == [A, B, C]
    assert [candidate.dense for candidate in fusion.candidates] == [ChannelHit(0.5, rank) for rank in (1, 2, 3)]


def test_ties_between_channels_go_to_bm25() -> None:
    assert order(fuse(channel(a=0.9, b=0.8), channel(b=5.0, a=4.0), RRF)) == [B, A]
    assert order(fuse(channel(a=0.9), channel(b=5.0), RRF)) == [B, A]


@pytest.mark.parametrize("weights", [(0.0, 0.0), (-1.0, 2.0), (float("nan"), 1.0), (float("inf"), 1.0)])
def test_senseless_weights_are_refused(weights: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="weights must"):
        ChannelWeights(*weights)


def test_senseless_constant_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        FusionSettings(k=0)


def test_coverage_counts_distinct_terms() -> None:
    assert coverage(["x", "y", "x", "z"], {A: {"x", "other"}, B: {"z"}}) == pytest.approx(2 / 3)
    assert coverage([], {A: {"x"}}) == 0.0
    assert coverage(["x"], {}) == 0.0


@pytest.mark.parametrize(("u", "factor"), [(0.0, 0.0), (0.3, 0.0), (0.4, 0.25), (0.5, 0.5), (0.7, 1.0), (1.0, 1.0)])
def test_lexical_factor(u: float, factor: float) -> None:
    assert lexical_factor(u) == pytest.approx(factor)


# Scores on a coarse grid: rescaling must not make ties of what was none, or the other way round.
channels = st.dictionaries(st.integers(0, 30).map(lambda number: UUID(int=number)), st.integers(1, 64), max_size=20)


def candidates(scores: dict[UUID, int], scale: float = 1.0, shift: float = 0.0) -> list[Candidate]:
    return [Candidate(chunk_id, score * scale + shift) for chunk_id, score in scores.items()]


@given(channels, channels, st.sampled_from([0.25, 2.0, 1024.0]), st.sampled_from([-64.0, 0.0, 32.0]), st.floats(0, 1))
def test_fusion_does_not_depend_on_the_scale_of_scores(
    dense: dict[UUID, int], bm25: dict[UUID, int], scale: float, shift: float, u: float
) -> None:
    """Powers of two keep the arithmetic exact, so that even ties stay ties. BM25 may be stretched, not shifted."""
    for settings in (RRF, CONVEX):
        plain = fuse(candidates(dense), candidates(bm25), settings, u=u)
        scaled = fuse(candidates(dense, scale, shift), candidates(bm25, scale), settings, u=u)
        assert order(plain) == order(scaled)
        assert fused_scores(plain) == pytest.approx(fused_scores(scaled))


@given(channels, channels, st.floats(0, 1), st.randoms(use_true_random=False))
def test_fusion_is_a_ranking_of_the_union(
    dense: dict[UUID, int], bm25: dict[UUID, int], u: float, random: Random
) -> None:
    shuffled = candidates(dense)
    random.shuffle(shuffled)
    for settings in (RRF, CONVEX):
        fusion = fuse(candidates(dense), candidates(bm25), settings, u=u)
        assert {candidate.chunk_id for candidate in fusion.candidates} == dense.keys() | bm25.keys()
        assert [one.fused.rank for one in fusion.candidates] == list(range(1, len(fusion.candidates) + 1))
        assert sorted(one.rrf.rank for one in fusion.candidates) == list(range(1, len(fusion.candidates) + 1))
        scores = [one.fused.score for one in fusion.candidates]
        assert scores == sorted(scores, reverse=True)
        assert fusion == fuse(shuffled, candidates(bm25), settings, u=u)


@given(channels, channels)
def test_convex_scores_lie_between_0_and_1(dense: dict[UUID, int], bm25: dict[UUID, int]) -> None:
    fusion = fuse(candidates(dense), candidates(bm25), CONVEX)
    assert all(0 <= one.fused.score <= 1 + 1e-12 for one in fusion.candidates)
