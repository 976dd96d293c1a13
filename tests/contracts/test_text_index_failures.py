"""How each text index fails: killed in the middle, damaged, opened twice, its server gone, its index dropped."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from elasticsearch import AsyncElasticsearch

from app.adapters.elasticsearch import ElasticsearchIndex
from app.adapters.elasticsearch.bulk import BulkWriter
from app.adapters.tantivy import TantivyIndex
from app.core.errors import EngineRejected, EngineUnavailable
from app.core.scope import Role, TenantScope
from app.ports.indexes import IndexFilter
from tests.contracts.elasticsearch_server import elasticsearch_url
from tests.contracts.test_text_index import DAY, as_indexed, document, elasticsearch_index, found, held

SCOPE = TenantScope(UUID(int=1), UUID(int=1), Role.EDITOR)

KILLED_WRITER = """
import asyncio, sys
from pathlib import Path
from app.adapters.tantivy import TantivyIndex
from tests.contracts.test_text_index_failures import SCOPE
from tests.contracts.test_text_index import document

async def main():
    index = TantivyIndex(Path(sys.argv[1]), analyzer_version="1")
    await index.open()
    while True:
        batch = [document("survivor") for _ in range(50)]
        await index.upsert(SCOPE, batch)
        for one in batch:
            print(one.source.chunk_id, one.source.document_id, flush=True)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with elasticsearch_url() as url:
        yield url


async def opened(folder: Path) -> TantivyIndex:
    index = TantivyIndex(folder, analyzer_version="1")
    await index.open()
    return index


async def test_what_a_killed_process_had_written_is_there(tmp_path: Path) -> None:
    child = await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, "-c", KILLED_WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with child:
        assert child.stdout is not None
        first = [await asyncio.to_thread(child.stdout.readline) for _ in range(220)]
        child.send_signal(signal.SIGKILL)
        rest = [line for line in await asyncio.to_thread(child.stdout.readlines) if line.endswith("\n")]
    promised = {tuple(map(UUID, line.split())) for line in first + rest}
    index = await opened(tmp_path)
    stored = {(chunk.chunk_id, chunk.document_id) for chunk in await held(index, SCOPE)}
    assert promised <= stored
    assert len(stored) % 50 == 0, "a batch is whole or absent"
    again = document("later")
    await index.upsert(SCOPE, [again])
    assert await found(index, SCOPE, "later") == [again.source.chunk_id]
    await index.close()


async def test_closing_and_opening_keeps_all(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    many = [document("kept") for _ in range(30)]
    await index.upsert(SCOPE, many)
    await index.close()
    await index.close()
    await index.open()
    assert await held(index, SCOPE) == as_indexed(many)
    await index.close()


async def test_another_analyzer_version_is_another_index(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    await index.upsert(SCOPE, [document("old")])
    newer = TantivyIndex(tmp_path, analyzer_version="2")
    await newer.open()
    assert await held(newer, SCOPE) == set()
    await newer.close()
    await index.close()


async def test_a_folder_in_use_is_unavailable(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    with pytest.raises(EngineUnavailable) as refused:
        await TantivyIndex(tmp_path, analyzer_version="1").open()
    assert refused.value.error_code == "text_index_locked"
    await index.close()
    await (await opened(tmp_path)).close()


@pytest.mark.parametrize(
    "damage", ["meta missing", "meta cut", "terms missing", "terms cut", "store empty", "columns flipped"]
)
async def test_a_damaged_folder_says_what_to_do(tmp_path: Path, damage: str) -> None:
    index = await opened(tmp_path)
    await index.upsert(SCOPE, [document(f"w{n} word") for n in range(200)])
    await index.close()
    await asyncio.to_thread(do_damage, tmp_path, damage)
    with pytest.raises(EngineRejected) as refused:
        await opened_and_searched(tmp_path)
    assert refused.value.error_code == "index_damaged"
    assert "biggraph repair" in refused.value.detail
    await asyncio.to_thread(shutil.rmtree, tmp_path)
    rebuilt = await opened(tmp_path)
    await rebuilt.upsert(SCOPE, [document("word")])
    await rebuilt.close()


async def opened_and_searched(folder: Path) -> None:
    index = await opened(folder)
    try:
        await index.search(SCOPE, ["word"], IndexFilter(), 10)
    finally:
        await index.close()


def do_damage(folder: Path, damage: str) -> None:
    what, how = damage.split()
    pattern = {"meta": "meta.json", "terms": "*.term", "store": "*.store", "columns": "*.fast"}[what]
    [file] = folder.rglob(pattern)
    content = file.read_bytes()
    if how == "missing":
        file.unlink()
    elif how == "flipped":
        file.write_bytes(bytes(byte ^ 0xFF for byte in content[: len(content) // 2]) + content[len(content) // 2 :])
    else:
        file.write_bytes(content[: len(content) // 2] if how == "cut" else b"")


async def test_a_failing_write_spoils_neither_the_writer_nor_its_neighbours(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    good, impossible = document("good"), document("bad", generation=2**70)
    results = await asyncio.gather(
        index.upsert(SCOPE, [impossible]), index.upsert(SCOPE, [document("x")]), return_exceptions=True
    )
    assert isinstance(results[0], OverflowError)
    await index.upsert(SCOPE, [good])
    assert await found(index, SCOPE, "good") == [good.source.chunk_id]
    assert await found(index, SCOPE, "bad") == []
    await index.close()


async def test_a_cancelled_write_does_not_stop_the_next(tmp_path: Path) -> None:
    index = await opened(tmp_path)
    writes = [asyncio.create_task(index.upsert(SCOPE, [document("maybe")])) for _ in range(5)]
    await asyncio.sleep(0)
    for write in writes:
        write.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    one = document("certain")
    await index.upsert(SCOPE, [one])
    assert await found(index, SCOPE, "certain") == [one.source.chunk_id]
    await index.close()


async def test_a_server_that_is_gone_is_unavailable(unused_tcp_port: int) -> None:
    index = ElasticsearchIndex(f"http://127.0.0.1:{unused_tcp_port}", analyzer_version="1")
    with pytest.raises(EngineUnavailable):
        await index.open()
    with pytest.raises(EngineUnavailable):
        await index.check()
    with pytest.raises(EngineUnavailable):
        await index.search(SCOPE, ["a"], IndexFilter(), 1)
    with pytest.raises(EngineUnavailable):
        await index.upsert(SCOPE, [document("a")])
    await index.close()


@asynccontextmanager
async def refreshing_server(shards: dict[str, int]) -> AsyncIterator[str]:
    """Answers every request as Elasticsearch answers a refresh that had this outcome."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps({"_shards": shards}).encode()
        head = "HTTP/1.1 200 OK\r\nX-Elastic-Product: Elasticsearch\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(("failed", "raises"), [(0, False), (1, True)])
async def test_a_refresh_that_some_copy_of_a_shard_refused_is_no_success(failed: int, raises: bool) -> None:
    """Of an index with a replica that has not been placed, which is no failure."""
    shards = {"total": 3, "successful": 2 - failed, "failed": failed}
    async with refreshing_server(shards) as url, AsyncElasticsearch(url) as client:
        with pytest.raises(EngineUnavailable) if raises else nullcontext():
            await BulkWriter(client, "terms").refresh()


async def test_a_dropped_index_is_unavailable_and_not_made_without_its_mapping(server: str) -> None:
    async with elasticsearch_index(server) as index:
        assert index._client is not None
        await index._client.indices.delete(index=f"{index.alias}-000001")
        with pytest.raises(EngineUnavailable):
            await index.upsert(SCOPE, [document("a")])
        with pytest.raises(EngineUnavailable):
            await index.search(SCOPE, ["a"], IndexFilter(), 1)
        with pytest.raises(EngineUnavailable):
            await index.check()
        assert not await index._client.indices.exists(index=index.alias)
        await index.open()
        await index.check()
        one = document("a")
        await index.upsert(SCOPE, [one])
        assert await found(index, SCOPE, "a") == [one.source.chunk_id]


async def test_processes_that_open_at_the_same_time_make_one_index(server: str) -> None:
    prefix = f"test-{uuid4().hex}"
    indexes = [ElasticsearchIndex(server, prefix=prefix, analyzer_version="1") for _ in range(4)]
    try:
        await asyncio.gather(*(index.open() for index in indexes))
        one = document("shared", created_at=DAY)
        await indexes[0].upsert(SCOPE, [one])
        assert await found(indexes[1], SCOPE, "shared") == [one.source.chunk_id]
    finally:
        client = indexes[0]._client
        assert client is not None
        await client.indices.delete(index=f"{indexes[0].alias}-000001", ignore_unavailable=True)
        for index in indexes:
            await index.close()


async def test_an_index_of_somebody_else_is_refused(server: str) -> None:
    async with elasticsearch_index(server) as index:
        client = index._client
        assert client is not None
        foreign = ElasticsearchIndex(server, prefix=f"test-{uuid4().hex}", analyzer_version="1")
        name = f"{foreign.alias}-foreign"
        await client.indices.create(index=name, aliases={foreign.alias: {}})
        try:
            with pytest.raises(EngineRejected) as refused:
                await foreign.open()
            assert refused.value.error_code == "index_damaged"
        finally:
            await client.indices.delete(index=name)
            await foreign.close()
