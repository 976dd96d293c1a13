"""What every `Reranker` does: the one over HTTP against a scripted server, in both styles that it knows."""

from collections.abc import AsyncIterator, Iterator

import pytest

from app.adapters.embedding.e5_tokens import E5Tokens
from app.adapters.rerank.http import HttpReranker, Style
from app.core.errors import EngineUnavailable
from app.ports.reranker import Reranker
from tests.peers.openai import Fault, OpenAIPeer, running_peer

PASSAGES = ["完全无关的文字", "住房公积金如何提取", "公积金"]


@pytest.fixture(scope="module")
def shared_peer() -> Iterator[OpenAIPeer]:
    with running_peer() as peer:
        yield peer


@pytest.fixture
def peer(shared_peer: OpenAIPeer) -> OpenAIPeer:
    shared_peer.reset()
    return shared_peer


@pytest.fixture(scope="module")
def tokens() -> E5Tokens:
    return E5Tokens()


@pytest.fixture(params=["jina", "tei"])
def style(request: pytest.FixtureRequest) -> Style:
    chosen: Style = request.param
    return chosen


@pytest.fixture
async def reranker(peer: OpenAIPeer, tokens: E5Tokens, style: Style) -> AsyncIterator[Reranker]:
    url = peer.tei_url if style == "tei" else f"{peer.url}/rerank"
    adapter = HttpReranker(url, "cross", tokens, style=style, max_tokens=64, timeout_seconds=1.0, first_wait=0.01)
    await adapter.open()
    yield adapter
    await adapter.close()
    await adapter.close()


FORMS = {
    "jina": {"model": "cross", "query": "如何提取公积金", "documents": PASSAGES},
    "tei": {"model": "cross", "query": "如何提取公积金", "texts": PASSAGES, "truncate": True},
}


async def test_scores_come_in_the_order_of_the_passages(peer: OpenAIPeer, reranker: Reranker, style: Style) -> None:
    scores = await reranker.rerank("如何提取公积金", PASSAGES)
    assert len(scores) == 3
    assert scores[1] > scores[2] > scores[0]
    (request,) = peer.requests("rerank")
    assert request == FORMS[style]


async def test_any_number_of_passages(peer: OpenAIPeer, reranker: Reranker, style: Style) -> None:
    passages = [f"word{number}" for number in range(70)]
    scores = await reranker.rerank("word69 word33", passages)
    assert [number for number, score in enumerate(scores) if score] == [33, 69]
    assert len(peer.requests("rerank")) == (3 if style == "tei" else 1)


async def test_what_the_model_can_not_read_is_not_sent(
    peer: OpenAIPeer, reranker: Reranker, tokens: E5Tokens, style: Style
) -> None:
    """Query and passage share 64 tokens, four of which are special ones."""
    await reranker.rerank("公积金 " * 100, ["short", "housing fund " * 100])
    (request,) = peer.requests("rerank")
    short, long = request["texts" if style == "tei" else "documents"]
    assert short == "short"
    assert ("公积金 " * 100).startswith(request["query"])
    assert ("housing fund " * 100).startswith(long)
    assert tokens.count(request["query"]) == 30
    assert tokens.count(long) == 30
    await reranker.rerank("fund", ["housing fund " * 100])
    longer = peer.requests("rerank")[-1]["texts" if style == "tei" else "documents"][0]
    assert tokens.count(longer) == 60 - tokens.count("fund")


async def test_no_passages_ask_nothing(peer: OpenAIPeer, reranker: Reranker) -> None:
    assert await reranker.rerank("q", []) == []
    assert peer.requests("rerank") == []


async def test_voyages_form_is_understood(peer: OpenAIPeer, reranker: Reranker) -> None:
    rows = '[{"relevance_score": 0.25, "index": 1}, {"relevance_score": -3, "index": 0}]'
    peer.fail("rerank", Fault(text=f'{{"object": "list", "data": {rows}}}'))
    assert await reranker.rerank("q", ["a", "b"]) == [-3.0, 0.25]


@pytest.mark.parametrize("fault", [Fault(status=429, retry_after="0"), Fault(status=503), Fault(break_after=0)])
async def test_a_passing_failure_is_tried_again(peer: OpenAIPeer, reranker: Reranker, fault: Fault) -> None:
    peer.fail("rerank", fault)
    assert len(await reranker.rerank("q", PASSAGES)) == 3
    assert len(peer.requests("rerank")) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500),
        Fault(status=400),
        Fault(status=401),
        Fault(hang=True),
        Fault(wrong_count=True),
        Fault(undecodable=True),
        Fault(text="<html>"),
        Fault(text="[]"),
        Fault(text='{"results": 3}'),
        Fault(text='{"results": [{"index": 0, "relevance_score": 1%s}, {"index": 1, "score": 1}]}' % ("0" * 400)),
        Fault(text='{"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 1}]}'),
        Fault(text='{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 1}]}'),
    ],
)
async def test_a_lasting_failure_is_unavailable(peer: OpenAIPeer, reranker: Reranker, fault: Fault) -> None:
    peer.fail("rerank", fault, times=2)
    with pytest.raises(EngineUnavailable):
        await reranker.rerank("q", ["a", "b"])


async def test_check(peer: OpenAIPeer, reranker: Reranker) -> None:
    """Calls cost: what was answered lately is not asked again, unless it has failed since."""
    await reranker.check()
    await reranker.check()
    assert len(peer.requests("rerank")) == 1
    peer.fail("rerank", Fault(status=500), times=4)
    with pytest.raises(EngineUnavailable):
        await reranker.rerank("q", ["a"])
    with pytest.raises(EngineUnavailable):
        await reranker.check()
    await reranker.check()


async def test_closed_is_unavailable(reranker: Reranker) -> None:
    await reranker.close()
    with pytest.raises(EngineUnavailable):
        await reranker.rerank("q", ["a"])
