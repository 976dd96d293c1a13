"""How the HTTP embedder bears a server that is busy, failing, late or wrong."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from app.adapters.embedding.openai import OpenAIEmbedder
from app.adapters.model_http import retry_after_seconds
from app.core.errors import EngineRejected, EngineUnavailable
from tests.peers.openai import Fault, OpenAIPeer, running_peer


@pytest.fixture(scope="module")
def shared_peer() -> Iterator[OpenAIPeer]:
    with running_peer() as peer:
        yield peer


@pytest.fixture
def peer(shared_peer: OpenAIPeer) -> OpenAIPeer:
    shared_peer.reset()
    return shared_peer


@pytest.fixture(scope="module")
async def embedder(shared_peer: OpenAIPeer) -> AsyncIterator[OpenAIEmbedder]:
    adapter = OpenAIEmbedder(
        shared_peer.url + "/",
        "test-model",
        dimensions=16,
        max_tokens=100,
        query_prefix="q: ",
        passage_prefix="p: ",
        timeout_seconds=1.0,
        first_wait=0.01,
    )
    await adapter.open()
    yield adapter
    await adapter.close()


def inputs(peer: OpenAIPeer) -> list[list[str]]:
    return [request["input"] for request in peer.requests("embeddings")]


async def test_batches_of_32_with_prefixes(peer: OpenAIPeer, embedder: OpenAIEmbedder) -> None:
    texts = [f"text {number}" for number in range(70)]
    vectors = await embedder.embed_passages(texts)
    assert sorted(len(batch) for batch in inputs(peer)) == [6, 32, 32]
    assert sorted(text for batch in inputs(peer) for text in batch) == sorted(f"p: {text}" for text in texts)
    (alone,) = await embedder.embed_passages([texts[40]])
    np.testing.assert_allclose(vectors[40], alone, atol=1e-6)
    peer.reset()
    await embedder.embed_query("where")
    assert inputs(peer) == [["q: where"]]


async def test_a_long_text_is_cut_at_a_token(peer: OpenAIPeer, embedder: OpenAIEmbedder) -> None:
    await embedder.embed_passages(["公积金提取办法 " * 200])
    ((sent,),) = inputs(peer)
    assert embedder.tokens.count(sent.removeprefix("p: ")) == 100


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429, retry_after="0"),
        Fault(status=500),
        Fault(status=503, retry_after="soon"),
        Fault(break_after=0),
        Fault(text="<html>gateway</html>"),
        Fault(hang=True),
    ],
    ids=["busy", "failing", "odd header", "broken", "no JSON", "hanging"],
)
async def test_what_passes_is_tried_again(peer: OpenAIPeer, embedder: OpenAIEmbedder, fault: Fault) -> None:
    peer.fail("embeddings", fault)
    assert (await embedder.embed_passages(["a"])).shape == (1, 16)
    assert len(inputs(peer)) == 2


async def test_retries_end(peer: OpenAIPeer, embedder: OpenAIEmbedder) -> None:
    peer.fail("embeddings", Fault(status=500), times=20)
    with pytest.raises(EngineUnavailable, match="500"):
        await embedder.embed_passages(["a"])
    assert len(inputs(peer)) == 5


async def test_a_query_does_not_wait_for_long(peer: OpenAIPeer, embedder: OpenAIEmbedder) -> None:
    peer.fail("embeddings", Fault(status=503), times=20)
    with pytest.raises(EngineUnavailable):
        await embedder.embed_query("a")
    assert len(inputs(peer)) == 2


async def test_a_long_wish_is_passed_on(peer: OpenAIPeer, embedder: OpenAIEmbedder) -> None:
    peer.fail("embeddings", Fault(status=429, retry_after="3600"))
    with pytest.raises(EngineUnavailable) as busy:
        await embedder.embed_passages(["a"])
    assert busy.value.retry_after == 3600
    assert len(inputs(peer)) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_a_refusal_is_final(peer: OpenAIPeer, embedder: OpenAIEmbedder, status: int) -> None:
    peer.fail("embeddings", Fault(status=status))
    with pytest.raises(EngineRejected, match=str(status)):
        await embedder.embed_passages(["a"])
    assert len(inputs(peer)) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(wrong_count=True), "1 vectors for 2 texts"),
        (Fault(text='{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2]}]}'), "dimensions"),
        (Fault(text='{"data": [{"index": 0}, {"index": 1}]}'), "form"),
        (Fault(text='{"data": "none"}'), "form"),
        (Fault(text='{"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]}'), "vectors for"),
        (Fault(text=str({"data": [{"index": i, "embedding": [0] * 16} for i in (0, 1)]}).replace("'", '"')), "direct"),
    ],
)
async def test_a_wrong_answer_is_refused(
    peer: OpenAIPeer, embedder: OpenAIEmbedder, fault: Fault, message: str
) -> None:
    peer.fail("embeddings", fault)
    with pytest.raises(EngineRejected, match=message):
        await embedder.embed_passages(["a", "b"])


async def test_one_failing_batch_ends_the_call(
    peer: OpenAIPeer, embedder: OpenAIEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "_limit", asyncio.Semaphore(1))  # so that none is on its way when the first fails
    peer.fail("embeddings", Fault(status=400))
    with pytest.raises(EngineRejected):
        await embedder.embed_passages([f"text {number}" for number in range(200)])
    await asyncio.sleep(0.1)
    assert len(inputs(peer)) < 7


async def test_a_few_requests_at_a_time_and_queries_beside_them(peer: OpenAIPeer, embedder: OpenAIEmbedder) -> None:
    peer.fail("embeddings", Fault(hang=True), times=4)
    passages = asyncio.create_task(embedder.embed_passages([f"text {number}" for number in range(32 * 6)]))
    await asyncio.to_thread(peer.wait_for, "embeddings", 4)
    await embedder.embed_query("now")
    assert len(inputs(peer)) == 5
    passages.cancel()
    with pytest.raises(asyncio.CancelledError):
        await passages


async def test_the_key_is_sent_and_never_shown(
    peer: OpenAIPeer, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "models"
    monkeypatch.setattr(peer, "api_key", "right-key")
    for key, error in [("right-key", None), ("wrong-key", EngineRejected)]:
        adapter = OpenAIEmbedder(peer.url, "m", dimensions=16, api_key=key, tokens_folder=folder)
        await adapter.open()
        if error is None:
            await adapter.check()
        else:
            with pytest.raises(error) as refused:
                await adapter.check()
            assert "wrong-key" not in refused.value.detail
        await adapter.close()


def test_every_model_has_its_own_space() -> None:
    models = [
        ("text-embedding-3-small", 1536),
        ("text-embedding-3-small", 512),
        ("BAAI/bge-m3", 1024),
        ("baai-bge-m3", 1024),
    ]
    names = {OpenAIEmbedder("http://h/v1", model, dimensions=size).space.name for model, size in models}
    assert len(names) == 4
    assert "text-embedding-3-small-1536" in names


def test_retry_after_is_read_in_both_forms() -> None:
    assert retry_after_seconds("7") == 7
    assert retry_after_seconds(None) is None
    assert retry_after_seconds("soon") is None
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert retry_after_seconds(later) in range(85, 92)
    assert retry_after_seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0
