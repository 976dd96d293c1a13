"""What becomes of vectors when processes are killed, files are damaged, and servers fail or hang."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest

from app.adapters.qdrant.index import QdrantVectorIndex
from app.adapters.qdrant_edge.index import EdgeVectorIndex
from app.core.errors import EngineRejected, EngineUnavailable
from app.core.scope import Role, TenantScope
from app.ports.indexes import ChunkSource, IndexFilter
from app.ports.vector_index import VectorIndex, VectorPoint, VectorSpace
from tests.peers.qdrant import Operation, QdrantPeer, running_peer

SPACE = VectorSpace("failures", 4)
EVERYTHING = IndexFilter()
UNIT = np.array([1, 0, 0, 0], np.float32)


def tenant(tenant_id: UUID | None = None) -> TenantScope:
    return TenantScope(tenant_id or uuid4(), uuid4(), Role.EDITOR)


def points(count: int) -> list[VectorPoint]:
    document, base, created = uuid4(), uuid4(), datetime(2026, 1, 1, tzinfo=UTC)
    return [VectorPoint(ChunkSource(uuid4(), base, document, 1, created), UNIT) for _ in range(count)]


def ids(written: list[VectorPoint]) -> set[UUID]:
    return {point.source.chunk_id for point in written}


async def held(index: VectorIndex, scope: TenantScope) -> set[UUID]:
    return {chunk.chunk_id async for chunk in index.scan(scope)}


def write_until_killed(folder: Path, scope: TenantScope) -> set[UUID]:
    """The ids that an application printed as written, before it and its engine were killed in the middle of it."""
    command = [sys.executable, "-m", "tests.contracts.vector_writer", str(folder), str(scope.tenant_id)]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True, start_new_session=True) as writer:
        assert writer.stdout is not None
        acknowledged = {UUID(writer.stdout.readline().strip()) for _ in range(200)}
        os.killpg(writer.pid, signal.SIGKILL)
        return acknowledged | {UUID(line.strip()) for line in writer.stdout if line.endswith("\n")}


class TestEdge:
    async def test_a_killed_application_loses_nothing_that_was_acknowledged(self, tmp_path: Path) -> None:
        scope = tenant()
        acknowledged = await asyncio.to_thread(write_until_killed, tmp_path, scope)
        index = EdgeVectorIndex(tmp_path, SPACE)
        await index.open()
        assert acknowledged <= await held(index, scope)
        assert {hit.chunk_id for hit in await index.search(scope, UNIT, EVERYTHING, 5000)} >= acknowledged
        await index.close()

    async def test_a_killed_engine_is_started_again_with_what_it_had(self, tmp_path: Path) -> None:
        scope, written = tenant(), points(300)
        index = EdgeVectorIndex(tmp_path, SPACE)
        await index.open()
        await index.upsert(scope, written)
        assert index.engine_pid is not None
        os.kill(index.engine_pid, signal.SIGKILL)

        with pytest.raises(EngineUnavailable, match="died"):
            await index.search(scope, UNIT, EVERYTHING, 1)
        assert await held(index, scope) == ids(written)
        await index.close()

    async def test_closing_and_opening_keeps_everything(self, tmp_path: Path) -> None:
        scope, written = tenant(), points(100)
        for expected in (set[UUID](), ids(written)):
            index = EdgeVectorIndex(tmp_path, SPACE)
            await index.open()
            assert await held(index, scope) == expected
            await index.upsert(scope, written)
            await index.close()

    @pytest.mark.parametrize("damage", ["garbled segment", "no segments", "garbled log"])
    async def test_a_damaged_folder_says_what_to_do(self, tmp_path: Path, damage: str) -> None:
        index = EdgeVectorIndex(tmp_path, SPACE)
        await index.open()
        await index.upsert(tenant(), points(10))
        await index.close()
        shard = tmp_path / SPACE.name / "shard-1"
        match damage:
            case "garbled segment":
                for state in shard.glob("segments/*/segment.json"):
                    state.write_bytes(b"\x00garbage")
            case "no segments":
                shutil.rmtree(shard / "segments")
            case _:
                for log in shard.glob("wal/open-*"):
                    log.write_bytes(os.urandom(4096))

        for attempt in (index.open, index.check):  # and again, without a start each time
            with pytest.raises(EngineUnavailable, match="biggraph repair") as raised:
                await attempt()
            assert raised.value.error_code == "index_damaged"
            assert str(tmp_path / SPACE.name) in raised.value.detail

        shutil.rmtree(tmp_path / SPACE.name)
        await index.open()
        await index.check()
        await index.close()

    async def test_a_folder_of_other_dimensions_is_refused(self, tmp_path: Path) -> None:
        index = EdgeVectorIndex(tmp_path, SPACE)
        await index.open()
        await index.close()
        other = EdgeVectorIndex(tmp_path, VectorSpace(SPACE.name, 5))
        with pytest.raises(EngineUnavailable, match="can't be opened"):
            await other.open()
        await other.close()

    async def test_a_folder_is_open_in_one_process_at_a_time(self, tmp_path: Path) -> None:
        first, second = EdgeVectorIndex(tmp_path, SPACE), EdgeVectorIndex(tmp_path, SPACE, lock_seconds=0)
        await first.open()
        with pytest.raises(EngineUnavailable) as raised:
            await second.open()
        assert raised.value.error_code == "index_in_use"
        await first.check()
        await first.close()
        await second.open()
        await second.close()


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantPeer]:
    with running_peer(tmp_path_factory.mktemp("peer")) as running:
        yield running


@pytest.fixture
async def index(peer: QdrantPeer) -> AsyncIterator[QdrantVectorIndex]:
    peer.reset()
    made = QdrantVectorIndex(peer.url, SPACE, search_seconds=30, write_seconds=30)
    await made.open()
    yield made
    peer.reset()
    await made.close()


Call = Callable[[VectorIndex, TenantScope, list[VectorPoint]], Awaitable[object]]

CALLS: list[tuple[Operation, Call]] = [
    ("upsert", lambda index, scope, some: index.upsert(scope, some)),
    ("set_payload", lambda index, scope, some: index.update_source(scope, [point.source for point in some])),
    ("delete", lambda index, scope, some: index.delete(scope, [point.source.chunk_id for point in some])),
    ("query", lambda index, scope, _some: index.search(scope, UNIT, EVERYTHING, 5)),
    ("query", lambda index, scope, some: index.score(scope, UNIT, [point.source.chunk_id for point in some])),
    ("scroll", lambda index, scope, _some: held(index, scope)),
    ("get_collection", lambda index, _scope, _some: index.check()),
]


@pytest.mark.parametrize(("operation", "call"), CALLS)
class TestEveryCall:
    @pytest.mark.parametrize("status", [404, 408, 429, 500, 502, 503])
    async def test_may_be_retried_when_the_server_fails(
        self, index: QdrantVectorIndex, peer: QdrantPeer, operation: Operation, call: Call, status: int
    ) -> None:
        scope, some = tenant(), points(3)
        peer.fault(operation, "error", status=status)
        with pytest.raises(EngineUnavailable):
            await call(index, scope, some)
        await call(index, scope, some)

    async def test_ends_when_the_server_hangs(
        self, peer: QdrantPeer, operation: Operation, call: Call, index: QdrantVectorIndex
    ) -> None:
        impatient = QdrantVectorIndex(peer.url, SPACE)
        await impatient.open()
        impatient._search_seconds = impatient._write_seconds = 0.2
        peer.fault(operation, "hang")
        with pytest.raises(EngineUnavailable) as raised:
            await call(impatient, tenant(), points(3))
        assert raised.value.error_code == "engine_late"
        await impatient.close()


class TestServer:
    @pytest.mark.parametrize("status", [400, 401, 403, 413, 422])
    async def test_refusals_are_not_to_be_retried(
        self, index: QdrantVectorIndex, peer: QdrantPeer, status: int
    ) -> None:
        peer.fault("query", "error", status=status)
        with pytest.raises(EngineRejected) as raised:
            await index.search(tenant(), UNIT, EVERYTHING, 5)
        assert ("QDRANT_API_KEY" in raised.value.detail) == (status in (401, 403))

    async def test_a_check_says_unavailable_even_when_it_is_refused(
        self, index: QdrantVectorIndex, peer: QdrantPeer
    ) -> None:
        peer.fault("get_collection", "error", status=403)
        with pytest.raises(EngineUnavailable):
            await index.check()

    async def test_a_rate_limit_passes_on_when_to_come_back(self, index: QdrantVectorIndex, peer: QdrantPeer) -> None:
        peer.fault("upsert", "error", status=429, retry_after=7)
        with pytest.raises(EngineUnavailable) as raised:
            await index.upsert(tenant(), points(1))
        assert raised.value.retry_after == 7

    async def test_a_write_that_was_done_before_the_error_can_be_repeated(
        self, index: QdrantVectorIndex, peer: QdrantPeer
    ) -> None:
        scope, written = tenant(), points(5)
        peer.fault("upsert", "error_after", status=502)
        with pytest.raises(EngineUnavailable):
            await index.upsert(scope, written)
        await index.upsert(scope, written)
        assert sorted([chunk.chunk_id async for chunk in index.scan(scope)]) == sorted(ids(written))

    async def test_a_write_that_the_server_does_not_confirm_is_not_done(
        self, index: QdrantVectorIndex, peer: QdrantPeer
    ) -> None:
        for operation, call in CALLS[:3]:
            peer.fault(operation, "unconfirmed")
            with pytest.raises(EngineUnavailable):
                await call(index, tenant(), points(1))

    async def test_a_failure_in_the_middle_of_many_batches_can_be_repeated(
        self, index: QdrantVectorIndex, peer: QdrantPeer
    ) -> None:
        scope, written = tenant(), points(1200)
        peer.fault("upsert", "error", skip=1)
        with pytest.raises(EngineUnavailable):
            await index.upsert(scope, written)
        assert 0 < len(await held(index, scope)) < 1200
        await index.upsert(scope, written)
        assert await held(index, scope) == ids(written)

    async def test_a_dropped_collection_is_made_again_by_open(self, index: QdrantVectorIndex, peer: QdrantPeer) -> None:
        scope = tenant()
        peer.drop(f"biggraph-{SPACE.name}")
        with pytest.raises(EngineUnavailable) as raised:
            await index.search(scope, UNIT, EVERYTHING, 5)
        assert raised.value.error_code == "index_missing"
        await index.open()
        assert await index.search(scope, UNIT, EVERYTHING, 5) == []

    async def test_a_collection_of_other_dimensions_is_refused(
        self, index: QdrantVectorIndex, peer: QdrantPeer
    ) -> None:
        other = QdrantVectorIndex(peer.url, VectorSpace(SPACE.name, 5))
        with pytest.raises(EngineRejected) as raised:
            await other.open()
        assert raised.value.error_code == "index_mismatch"

    async def test_many_may_open_a_new_index_at_once(self, peer: QdrantPeer) -> None:
        space = VectorSpace(f"new-{uuid4().hex[:8]}", 4)
        several = [QdrantVectorIndex(peer.url, space) for _ in range(4)]
        await asyncio.gather(*(one.open() for one in several))
        scope, written = tenant(), points(2)
        await several[0].upsert(scope, written)
        assert await held(several[3], scope) == ids(written)
        for one in several:
            await one.close()

    async def test_a_killed_server_is_unavailable_until_it_is_back(self, tmp_path: Path) -> None:
        scope, written = tenant(), points(50)
        first = QdrantPeer.start(tmp_path)
        index = QdrantVectorIndex(first.url, SPACE)
        await index.open()
        await index.upsert(scope, written)
        first.stop()
        for call in (index.check(), index.search(scope, UNIT, EVERYTHING, 5), index.upsert(scope, written)):
            with pytest.raises(EngineUnavailable):
                await call

        second = QdrantPeer.start(tmp_path, port=int(first.url.rpartition(":")[2]))
        assert await held(index, scope) == ids(written)
        await index.close()
        second.stop()

    async def test_nobody_there_is_unavailable(self) -> None:
        index = QdrantVectorIndex("http://127.0.0.1:9", SPACE)
        with pytest.raises(EngineUnavailable):
            await index.open()
        await index.close()
