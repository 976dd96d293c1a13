"""What every `VectorIndex` does, on each adapter. Each test has tenants of its own in one index."""

import contextlib
import os
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest

from app.adapters.qdrant.index import QdrantVectorIndex
from app.adapters.qdrant_edge.index import EdgeVectorIndex
from app.core.errors import EngineRejected, EngineUnavailable
from app.core.scope import Role, TenantScope
from app.ports.indexes import ChunkSource, IndexedChunk, IndexFilter
from app.ports.vector_index import VectorIndex, VectorPoint, Vectors, VectorSpace
from tests.peers.qdrant import running_peer

SPACE = VectorSpace("contract", 8)
EVERYTHING = IndexFilter()
JANUARY = datetime(2026, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")


@contextlib.contextmanager
def server_url() -> Iterator[str]:
    """A real server: the one that is named, or one in a container. Skips where there is neither."""
    if url := os.environ.get("BIGGRAPH_TEST_QDRANT_URL"):
        yield url
        return
    if not os.environ.get("DOCKER_HOST") and not Path("/var/run/docker.sock").exists():
        pytest.skip("no BIGGRAPH_TEST_QDRANT_URL, no Docker engine")
    from testcontainers.qdrant import QdrantContainer

    with QdrantContainer() as container:
        yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(6333)}"


@pytest.fixture(scope="module", params=["edge", "memory", "peer", "server"])
async def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[VectorIndex]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    with contextlib.ExitStack() as stack:
        made: VectorIndex
        match request.param:
            case "edge":
                made = EdgeVectorIndex(folder, SPACE)
            case "memory":
                made = QdrantVectorIndex(":memory:", SPACE)
            case "peer":
                made = QdrantVectorIndex(stack.enter_context(running_peer(folder)).url, SPACE)
            case _:
                url = stack.enter_context(server_url())
                made = QdrantVectorIndex(url, SPACE, prefix=f"biggraph-test-{uuid4().hex[:8]}-")
        await made.open()
        yield made
        await made.close()


def tenant() -> TenantScope:
    return TenantScope(uuid4(), uuid4(), Role.EDITOR)


def unit(*components: float) -> Vectors:
    """A vector of length 1 whose first components are as given."""
    vector = np.zeros(SPACE.dimensions, np.float32)
    vector[: len(components)] = components
    return vector / np.float32(np.linalg.norm(vector))


def source(**facts: Any) -> ChunkSource:
    defaults: dict[str, Any] = {
        "chunk_id": uuid4(),
        "knowledge_base_id": uuid4(),
        "document_id": uuid4(),
        "generation": 1,
        "created_at": JANUARY,
    }
    return ChunkSource(**defaults | facts)


async def write(
    index: VectorIndex, scope: TenantScope, *sources: ChunkSource, vector: Vectors | None = None
) -> list[UUID]:
    vector = unit(1) if vector is None else vector
    await index.upsert(scope, [VectorPoint(one, vector) for one in sources])
    return [one.chunk_id for one in sources]


async def found(index: VectorIndex, scope: TenantScope, where: IndexFilter = EVERYTHING) -> set[UUID]:
    return {hit.chunk_id for hit in await index.search(scope, unit(1), where, 100)}


async def scanned(index: VectorIndex, scope: TenantScope, **narrowed: Any) -> list[IndexedChunk]:
    return [chunk async for chunk in index.scan(scope, **narrowed)]


class TestTenants:
    async def test_see_and_count_only_their_own(self, index: VectorIndex) -> None:
        mine, theirs = tenant(), tenant()
        ids = await write(index, mine, source(), source())
        await write(index, theirs, source())

        assert await found(index, mine) == set(ids)
        assert {chunk.chunk_id for chunk in await scanned(index, mine)} == set(ids)
        assert await found(index, tenant()) == set()

    async def test_cannot_narrow_down_to_what_another_has(self, index: VectorIndex) -> None:
        theirs = source(tags=("secret",), metadata={"year": 2026})
        await write(index, tenant(), theirs)
        for where in (
            IndexFilter(knowledge_base_ids=(theirs.knowledge_base_id,)),
            IndexFilter(document_ids=(theirs.document_id,)),
            IndexFilter(tags_any=("secret",)),
            IndexFilter(metadata={"year": (2026,)}),
        ):
            assert await found(index, tenant(), where) == set()

    async def test_with_the_same_chunk_id_do_not_touch_each_other(self, index: VectorIndex) -> None:
        mine, theirs = tenant(), tenant()
        shared = uuid4()
        my_document, their_document = uuid4(), uuid4()
        await write(index, mine, source(chunk_id=shared, document_id=my_document), vector=unit(1))
        await write(index, theirs, source(chunk_id=shared, document_id=their_document), vector=unit(0, 1))

        assert await index.score(mine, unit(1), [shared]) == {shared: pytest.approx(1)}
        assert await index.score(theirs, unit(1), [shared]) == {shared: pytest.approx(0, abs=1e-6)}

        await index.update_source(theirs, [source(chunk_id=shared, document_id=their_document, tags=("theirs",))])
        assert await found(index, mine, IndexFilter(tags_any=("theirs",))) == set()

        await index.delete(theirs, [shared])
        assert await scanned(index, theirs) == []
        assert await scanned(index, mine) == [IndexedChunk(shared, my_document, 1)]

    async def test_cannot_score_or_update_the_chunks_of_another(self, index: VectorIndex) -> None:
        mine, theirs = tenant(), tenant()
        original = source(tags=("before",))
        (chunk,) = await write(index, mine, original)

        assert await index.score(theirs, unit(1), [chunk]) == {}
        await index.update_source(theirs, [source(chunk_id=chunk, tags=("after",))])
        assert await found(index, mine, IndexFilter(tags_any=("before",))) == {chunk}
        assert await scanned(index, theirs) == []


class TestFilters:
    async def test_by_knowledge_base_and_document(self, index: VectorIndex) -> None:
        scope = tenant()
        base, other_base, document = uuid4(), uuid4(), uuid4()
        first, second, third = await write(
            index,
            scope,
            source(knowledge_base_id=base, document_id=document),
            source(knowledge_base_id=base),
            source(knowledge_base_id=other_base),
        )
        assert await found(index, scope, IndexFilter(knowledge_base_ids=(base,))) == {first, second}
        assert await found(index, scope, IndexFilter(knowledge_base_ids=(base, other_base))) == {first, second, third}
        assert await found(index, scope, IndexFilter(document_ids=(document,))) == {first}
        assert await found(index, scope, IndexFilter(excluded_document_ids=(document,))) == {second, third}
        both = IndexFilter(document_ids=(document,), excluded_document_ids=(document,))
        assert await found(index, scope, both) == set()
        assert await found(index, scope, IndexFilter(knowledge_base_ids=(uuid4(),))) == set()

    async def test_by_tags(self, index: VectorIndex) -> None:
        scope = tenant()
        none, one, two = await write(index, scope, source(), source(tags=("合同",)), source(tags=("合同", "a b")))
        assert await found(index, scope, IndexFilter(tags_any=("合同",))) == {one, two}
        assert await found(index, scope, IndexFilter(tags_any=("a b", "absent"))) == {two}
        assert await found(index, scope, IndexFilter(tags_all=("合同", "a b"))) == {two}
        assert await found(index, scope, IndexFilter(tags_all=("合同", "absent"))) == set()
        assert await found(index, scope, IndexFilter(tags_any=("合",))) == set()
        assert await found(index, scope, IndexFilter(tags_any=(), tags_all=())) == {none, one, two}

    @pytest.mark.parametrize(
        ("stored", "asked", "matches"),
        [
            (1, 1, True),
            (1, 1.0, True),
            (1.0, 1, True),
            (0.1, 0.1, True),
            (0.1, 0.10000001, False),
            (1, "1", False),
            ("1", 1, False),
            (1, True, False),
            (True, True, True),
            (True, 1, False),
            (True, "true", False),
            (False, 0, False),
            (-3, -3, True),
            (2**53 + 1, float(2**53), False),
            ("第三季度", "第三季度", True),
            ("Paris", "paris", False),
            ("", "", True),
            ('a"=1', 'a"=1', True),
            ("x" * 5000, "x" * 5000, True),
            ("x" * 5000, "x" * 4999 + "y", False),
        ],
    )
    async def test_by_metadata_respect_json_types(
        self, index: VectorIndex, stored: str | float, asked: str | float, matches: bool
    ) -> None:
        scope = tenant()
        (chunk,) = await write(index, scope, source(metadata={"key": stored}))
        assert await found(index, scope, IndexFilter(metadata={"key": (asked,)})) == ({chunk} if matches else set())

    async def test_by_metadata_keep_keys_apart(self, index: VectorIndex) -> None:
        scope = tenant()
        first, second = await write(
            index, scope, source(metadata={"a": "b=c", "n": 1}), source(metadata={"a=b": "c", "n": 2})
        )
        assert await found(index, scope, IndexFilter(metadata={"a": ("b=c",)})) == {first}
        assert await found(index, scope, IndexFilter(metadata={"a=b": ("c",)})) == {second}
        assert await found(index, scope, IndexFilter(metadata={"n": (1, 2)})) == {first, second}
        assert await found(index, scope, IndexFilter(metadata={"a": ("b=c",), "n": (2,)})) == set()
        assert await found(index, scope, IndexFilter(metadata={"absent": (1,)})) == set()
        assert await found(index, scope, IndexFilter(metadata={"n": ()})) == {first, second}

    async def test_by_time_include_the_start_and_exclude_the_end(self, index: VectorIndex) -> None:
        scope = tenant()
        tick = timedelta(microseconds=1)
        before, at, after = await write(
            index, scope, *(source(created_at=moment) for moment in (JANUARY - tick, JANUARY, JANUARY + tick))
        )
        assert await found(index, scope, IndexFilter(created_from=JANUARY)) == {at, after}
        assert await found(index, scope, IndexFilter(created_before=JANUARY)) == {before}
        assert await found(index, scope, IndexFilter(created_from=JANUARY, created_before=JANUARY + tick)) == {at}

    async def test_hold_all_at_once(self, index: VectorIndex) -> None:
        scope = tenant()
        wanted = source(tags=("x", "y"), metadata={"lang": "zh", "year": 2025})
        (chunk,) = await write(index, scope, wanted)
        whole: dict[str, Any] = {
            "knowledge_base_ids": (wanted.knowledge_base_id,),
            "document_ids": (wanted.document_id,),
            "excluded_document_ids": (uuid4(),),
            "tags_any": ("x", "z"),
            "tags_all": ("x", "y"),
            "metadata": {"lang": ("zh", "en"), "year": (2025,)},
            "created_from": JANUARY,
            "created_before": JANUARY + timedelta(days=1),
        }
        assert await found(index, scope, IndexFilter(**whole)) == {chunk}
        for broken in (
            {"knowledge_base_ids": (uuid4(),)},
            {"excluded_document_ids": (wanted.document_id,)},
            {"tags_all": ("x", "z")},
            {"metadata": {"lang": ("zh",), "year": (2024,)}},
            {"created_before": JANUARY},
        ):
            assert await found(index, scope, IndexFilter(**whole | broken)) == set()


class TestSearch:
    async def test_orders_by_cosine(self, index: VectorIndex) -> None:
        scope = tenant()
        directions = (unit(1), unit(1, 1), unit(0, 1), unit(-1))
        ids = [(await write(index, scope, source(), vector=direction))[0] for direction in directions]
        hits = await index.search(scope, unit(1), EVERYTHING, 10)
        assert [hit.chunk_id for hit in hits] == ids
        assert [hit.score for hit in hits] == pytest.approx([1, 2**-0.5, 0, -1], abs=1e-6)
        assert all(-1 <= hit.score <= 1 for hit in hits)

    @pytest.mark.parametrize("limit", [1, 7, 40, 60])
    async def test_orders_ties_by_chunk_id_and_cuts_them_so(self, index: VectorIndex, limit: int) -> None:
        scope = tenant()
        (best,) = await write(index, scope, source(), vector=unit(1))
        tied = await write(index, scope, *(source() for _ in range(50)), vector=unit(1, 1))
        expected = [best, *sorted(tied)][:limit]
        assert [hit.chunk_id for hit in await index.search(scope, unit(1), EVERYTHING, limit)] == expected

    async def test_returns_no_more_than_asked_and_no_more_than_there_is(self, index: VectorIndex) -> None:
        scope = tenant()
        await write(index, scope, *(source() for _ in range(5)))
        for limit, expected in ((0, 0), (3, 3), (5, 5), (1000, 5)):
            assert len(await index.search(scope, unit(1), EVERYTHING, limit)) == expected

    async def test_scores_given_chunks_and_leaves_out_absent_ones(self, index: VectorIndex) -> None:
        scope = tenant()
        (near,) = await write(index, scope, source(), vector=unit(1, 1))
        (far,) = await write(index, scope, source(), vector=unit(-1))
        scores = await index.score(scope, unit(1), [near, far, uuid4()])
        assert scores == {near: pytest.approx(2**-0.5), far: pytest.approx(-1)}
        assert await index.score(scope, unit(1), []) == {}

    @pytest.mark.parametrize(
        "vector", [np.ones(3, np.float32), np.ones((1, 8), np.float32), np.full(8, np.nan, np.float32)]
    )
    async def test_rejects_vectors_of_another_space(self, index: VectorIndex, vector: Vectors) -> None:
        scope = tenant()
        with pytest.raises(EngineRejected):
            await index.search(scope, vector, EVERYTHING, 10)
        with pytest.raises(EngineRejected):
            await index.score(scope, vector, [uuid4()])
        with pytest.raises(EngineRejected):
            await index.upsert(scope, [VectorPoint(source(), unit(1)), VectorPoint(source(), vector)])
        assert await scanned(index, scope) == []


class TestWrites:
    async def test_are_seen_at_once_and_may_be_repeated(self, index: VectorIndex) -> None:
        scope = tenant()
        chunk = source()
        for _ in range(2):
            await write(index, scope, chunk)
            assert await found(index, scope) == {chunk.chunk_id}
            assert len(await scanned(index, scope)) == 1

    async def test_replace_vector_and_source(self, index: VectorIndex) -> None:
        scope = tenant()
        old = source(tags=("old",), metadata={"old": 1})
        new = source(chunk_id=old.chunk_id, tags=("new",), generation=2)
        await write(index, scope, old, vector=unit(0, 1))
        await write(index, scope, new, vector=unit(1))
        assert await index.score(scope, unit(1), [old.chunk_id]) == {old.chunk_id: pytest.approx(1)}
        assert await found(index, scope, IndexFilter(tags_any=("old",))) == set()
        assert await found(index, scope, IndexFilter(metadata={"old": (1,)})) == set()
        assert await scanned(index, scope) == [IndexedChunk(new.chunk_id, new.document_id, 2)]

    async def test_of_nothing_do_nothing(self, index: VectorIndex) -> None:
        scope = tenant()
        await index.upsert(scope, [])
        await index.update_source(scope, [])
        await index.delete(scope, [])
        assert await scanned(index, scope) == []

    async def test_update_source_replaces_facts_and_leaves_vectors(self, index: VectorIndex) -> None:
        scope = tenant()
        document, base = uuid4(), uuid4()
        before = [
            source(document_id=document, knowledge_base_id=base, tags=("old",), metadata={"k": 1}) for _ in range(3)
        ]
        await write(index, scope, *before, vector=unit(1, 1))
        after = [
            source(chunk_id=one.chunk_id, document_id=document, knowledge_base_id=base, metadata={"k": 2})
            for one in before[:2]
        ]
        absent = source(document_id=document, metadata={"k": 2})
        await index.update_source(scope, [*after, absent])

        updated, untouched = {one.chunk_id for one in after}, {before[2].chunk_id}
        assert await found(index, scope, IndexFilter(metadata={"k": (2,)})) == updated
        assert await found(index, scope, IndexFilter(metadata={"k": (1,)})) == untouched
        assert await found(index, scope, IndexFilter(tags_any=("old",))) == untouched
        assert len(await scanned(index, scope)) == 3
        scores = await index.score(scope, unit(1), [one.chunk_id for one in before])
        assert list(scores.values()) == pytest.approx([2**-0.5] * 3)

    async def test_delete_removes_what_exists(self, index: VectorIndex) -> None:
        scope = tenant()
        first, second = await write(index, scope, source(), source())
        for _ in range(2):
            await index.delete(scope, [first, uuid4()])
            assert await found(index, scope) == {second}


class TestScan:
    async def test_is_exact_over_thousands(self, index: VectorIndex) -> None:
        scope, neighbour = tenant(), tenant()
        kept, replaced = uuid4(), uuid4()
        chunks = [
            *(source(document_id=kept) for _ in range(1500)),
            *(source(document_id=replaced, generation=1) for _ in range(700)),
            *(source(document_id=replaced, generation=2) for _ in range(800)),
        ]
        await write(index, scope, *chunks)
        await write(index, neighbour, *(source(document_id=kept) for _ in range(10)))
        gone = [one.chunk_id for one in chunks[::3]]
        await index.delete(scope, gone)
        left = [one for index_, one in enumerate(chunks) if index_ % 3]

        def expected(sources: Sequence[ChunkSource]) -> list[IndexedChunk]:
            held = (IndexedChunk(one.chunk_id, one.document_id, one.generation) for one in sources)
            return sorted(held, key=lambda chunk: chunk.chunk_id)

        async def actual(**narrowed: Any) -> list[IndexedChunk]:
            return sorted(await scanned(index, scope, **narrowed), key=lambda chunk: chunk.chunk_id)

        assert await actual() == expected(left)
        assert await actual(document_id=kept) == expected([one for one in left if one.document_id == kept])
        assert await actual(generation=2) == expected([one for one in left if one.generation == 2])
        assert await actual(document_id=replaced, generation=1) == expected(
            [one for one in left if one.document_id == replaced and one.generation == 1]
        )
        assert await actual(document_id=uuid4()) == []


class TestLife:
    async def test_open_may_be_called_again_and_check_answers(self, index: VectorIndex) -> None:
        scope = tenant()
        ids = await write(index, scope, source())
        await index.open()
        await index.check()
        assert await found(index, scope) == set(ids)

    @pytest.mark.parametrize("kind", ["edge", "memory"])
    async def test_closed_indexes_are_unavailable(self, kind: str, tmp_path: Path) -> None:
        closed: VectorIndex = (
            EdgeVectorIndex(tmp_path, SPACE) if kind == "edge" else QdrantVectorIndex(":memory:", SPACE)
        )
        with pytest.raises(EngineUnavailable):
            await closed.check()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await closed.open()
        await closed.close()
        await closed.close()
        with pytest.raises(EngineUnavailable):
            await closed.search(tenant(), unit(1), EVERYTHING, 1)
