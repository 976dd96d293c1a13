"""What every `BlobStore` must do, tried on a folder and on S3 over HTTP."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from app.adapters.blobs import ObjectBlobStore
from app.core.errors import EngineRejected, EngineUnavailable, NotFound
from app.core.scope import Role, TenantScope
from app.ports.blob_store import BlobStore
from tests.small_disk import filled, read_only, small_disk

LARGE = 12 * 1024 * 1024 + 17


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    """A bucket at `BIGGRAPH_TEST_S3_URL` (as BLOB_URL is written), or else one served by moto over HTTP."""
    url = os.environ.get("BIGGRAPH_TEST_S3_URL")
    if url:
        yield url
        return
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    httpx.put(f"{endpoint}/biggraph-test").raise_for_status()
    yield f"s3://biggraph-test/a/prefix?endpoint={endpoint}&region=us-east-1&access_key_id=key&secret_access_key=secret"
    server.stop()


@pytest.fixture(params=["folder", "s3"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BlobStore]:
    folder = (tmp_path / "blobs with space").as_uri()
    opened = ObjectBlobStore(folder if request.param == "folder" else request.getfixturevalue("s3_url"))
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def scope() -> TenantScope:
    return TenantScope(uuid4(), uuid4(), Role.EDITOR)


def other_tenant() -> TenantScope:
    return TenantScope(uuid4(), uuid4(), Role.EDITOR)


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def content(store: BlobStore, scope: TenantScope, key: str) -> bytes:
    return b"".join([piece async for piece in store.get(scope, key)])


async def keys(store: BlobStore, scope: TenantScope, prefix: str = "") -> list[str]:
    return sorted([key async for key in store.list(scope, prefix)])


async def test_what_is_put_is_got(store: BlobStore, scope: TenantScope) -> None:
    await store.check()
    assert await store.put(scope, "documents/d1/original.pdf", pieces(b"ab", b"", b"cd")) == 4
    assert await content(store, scope, "documents/d1/original.pdf") == b"abcd"
    assert await store.put(scope, "documents/d1/original.pdf", pieces(b"new")) == 3
    assert await content(store, scope, "documents/d1/original.pdf") == b"new"
    assert await keys(store, scope) == ["documents/d1/original.pdf"]


async def test_an_empty_blob(store: BlobStore, scope: TenantScope, tmp_path: Path) -> None:
    assert await store.put(scope, "empty", pieces()) == 0
    assert await content(store, scope, "empty") == b""
    await store.fetch(scope, "empty", tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes() == b""
    assert await keys(store, scope) == ["empty"]


async def test_large_blobs_go_through_in_pieces(store: BlobStore, scope: TenantScope, tmp_path: Path) -> None:
    piece = os.urandom(1 << 20)
    whole = (piece * 13)[:LARGE]
    assert (
        await store.put(scope, "large", pieces(*[whole[at : at + 70_001] for at in range(0, LARGE, 70_001)])) == LARGE
    )
    sizes = []
    received = b""
    async for got in store.get(scope, "large"):
        sizes.append(len(got))
        received += got
    assert received == whole
    assert len(sizes) > 1
    await store.fetch(scope, "large", tmp_path / "fetched")
    assert (tmp_path / "fetched").read_bytes() == whole


async def test_files_in_and_out(store: BlobStore, scope: TenantScope, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x" * LARGE)
    await store.put_file(scope, "a/b.bin", source)
    await store.fetch(scope, "a/b.bin", target)
    assert target.read_bytes() == source.read_bytes()
    source.write_bytes(b"")
    await store.put_file(scope, "a/b.bin", source)
    assert await content(store, scope, "a/b.bin") == b""


async def test_what_is_not_there_is_not_found(store: BlobStore, scope: TenantScope, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await anext(store.get(scope, "none"))
    (tmp_path / "kept").write_text("kept")
    with pytest.raises(NotFound):
        await store.fetch(scope, "none", tmp_path / "kept")
    assert (tmp_path / "kept").read_text() == "kept"
    assert await store.delete(scope, "none") == 0
    assert await keys(store, scope, "none") == []


async def test_a_broken_upload_leaves_nothing(store: BlobStore, scope: TenantScope) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * LARGE
        raise ConnectionResetError("the caller went away")

    await store.put(scope, "kept", pieces(b"before"))
    for key in ("kept", "fresh"):
        with pytest.raises(ConnectionResetError):
            await store.put(scope, key, broken())
    assert await content(store, scope, "kept") == b"before"
    assert await keys(store, scope) == ["kept"]


async def test_a_cancelled_upload_leaves_nothing(store: BlobStore, scope: TenantScope) -> None:
    waiting, ended = asyncio.Event(), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield b"x" * LARGE
            waiting.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    upload = asyncio.create_task(store.put(scope, "fresh", endless()))
    await waiting.wait()
    upload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await upload
    assert ended.is_set()
    assert await keys(store, scope) == []


async def test_prefixes_are_whole_segments(store: BlobStore, scope: TenantScope) -> None:
    for key in ("doc/1/a", "doc/1/b.txt", "doc/10/a", "doc/1x", "docs/1/a"):
        await store.put(scope, key, pieces(key.encode()))
    assert await keys(store, scope, "doc/1") == ["doc/1/a", "doc/1/b.txt"]
    assert await store.delete(scope, "doc/1") == 2
    assert await keys(store, scope) == ["doc/10/a", "doc/1x", "docs/1/a"]
    assert await store.delete(scope, "doc/1x") == 1
    assert await store.delete(scope, "doc") == 1
    assert await keys(store, scope) == ["docs/1/a"]
    assert await store.delete(scope, "doc") == 0


async def test_tenants_never_meet(store: BlobStore, scope: TenantScope) -> None:
    other = other_tenant()
    await store.put(scope, "same/key", pieces(b"mine"))
    await store.put(other, "same/key", pieces(b"theirs"))
    assert await content(store, scope, "same/key") == b"mine"
    assert await store.delete(scope, "") == 1
    assert await keys(store, scope) == []
    assert await content(store, other, "same/key") == b"theirs"
    with pytest.raises(NotFound):
        await content(store, scope, "same/key")


@pytest.mark.parametrize(
    "key",
    [
        *("../x", "a/../../x", "/etc/passwd", "a//b", "a/", "A", "a b", "a\n", "a\x00b", "é", "a/.", ".", "..", "~"),
        *("a\\b", "a.b/c", "a.b.c", "a#1", "a%2e", "x" * 201, "a/" * 300 + "a"),
    ],
)
async def test_hostile_keys_are_refused(store: BlobStore, scope: TenantScope, key: str, tmp_path: Path) -> None:
    with pytest.raises(EngineRejected):
        await store.put(scope, key, pieces(b"x"))
    with pytest.raises(EngineRejected):
        await anext(store.get(scope, key))
    with pytest.raises(EngineRejected):
        await store.delete(scope, key)
    with pytest.raises(EngineRejected):
        await store.fetch(scope, key, tmp_path / "out")
    with pytest.raises(EngineRejected):
        await store.put_file(scope, key, tmp_path / "in")
    with pytest.raises(EngineRejected):
        await keys(store, scope, key)
    assert await keys(store, scope) == []


async def test_a_closed_store_says_so(store: BlobStore, scope: TenantScope) -> None:
    await store.close()
    with pytest.raises(EngineUnavailable):
        await store.check()
    await store.open()
    await store.check()


async def test_a_store_that_is_down_is_unavailable(scope: TenantScope, unused_tcp_port: int) -> None:
    store = ObjectBlobStore(
        f"s3://bucket?endpoint=http://127.0.0.1:{unused_tcp_port}&access_key_id=key&secret_access_key=secret"
    )
    await store.open()
    with pytest.raises(EngineUnavailable):
        await store.check()
    with pytest.raises(EngineUnavailable):
        await anext(store.get(scope, "a"))


@pytest.mark.parametrize("url", ["s3://bucket?endpont=http://x", "nonsense://bucket", "no url"])
async def test_a_url_that_means_nothing_is_refused(url: str) -> None:
    with pytest.raises(EngineRejected):
        await ObjectBlobStore(url).open()


async def test_a_folder_that_can_not_be_written_is_unavailable(tmp_path: Path, scope: TenantScope) -> None:
    store = ObjectBlobStore((tmp_path / "blobs").as_uri())
    await store.open()
    (tmp_path / "blobs").rmdir()
    (tmp_path / "blobs").write_text("a file in the way")
    with pytest.raises(EngineUnavailable):
        await store.check()
    with pytest.raises(EngineUnavailable):
        await store.put(scope, "a", pieces(b"x"))


async def test_a_check_writes_once_a_minute(tmp_path: Path) -> None:
    now = 0.0
    store = ObjectBlobStore(tmp_path.as_uri(), clock=lambda: now)
    await store.open()

    async def written() -> int:
        """Of the file that a check leaves: each write makes another."""
        await store.check()
        [probe] = files_under(tmp_path)
        return probe.stat().st_mtime_ns

    first = await written()
    now = 59.0
    assert await written() == first
    now = 61.0
    assert await written() > first


async def test_a_check_finds_what_was_lost_in_between(tmp_path: Path) -> None:
    store = ObjectBlobStore((tmp_path / "blobs").as_uri())
    await store.open()
    await store.check()
    await asyncio.to_thread(shutil.rmtree, tmp_path / "blobs")
    (tmp_path / "blobs").write_text("a file in the way")
    with pytest.raises(EngineUnavailable):
        await store.check()
    (tmp_path / "blobs").unlink()
    await store.check()


@pytest.mark.parametrize("harm", ["full", "read-only"])
async def test_a_disk_that_takes_no_writes_is_noticed_within_a_minute_and_its_mending_at_once(harm: str) -> None:
    now = 0.0
    with small_disk("64k") as disk:
        store = ObjectBlobStore(disk.as_uri(), clock=lambda: now)
        await store.open()
        await store.check()
        with filled(disk) if harm == "full" else read_only(disk):
            now = 61.0
            for _ in range(2):
                with pytest.raises(EngineUnavailable):
                    await store.check()
        await store.check()


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


KILLED_UPLOAD = """
import asyncio, sys
from uuid import UUID
from app.adapters.blobs import ObjectBlobStore
from app.core.scope import Role, TenantScope

async def content():
    yield b"x" * (12 << 20)
    print("half", flush=True)
    await asyncio.sleep(600)

async def main():
    store = ObjectBlobStore(sys.argv[1])
    await store.open()
    await store.put(TenantScope(UUID(sys.argv[2]), UUID(sys.argv[2]), Role.EDITOR), "killed", content())

asyncio.run(main())
"""


async def test_a_killed_upload_is_never_seen_and_is_cleaned_up(tmp_path: Path, scope: TenantScope) -> None:
    url = tmp_path.as_uri()
    child = await asyncio.to_thread(
        subprocess.Popen,
        [sys.executable, "-c", KILLED_UPLOAD, url, str(scope.tenant_id)],
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert await asyncio.to_thread(child.stdout.readline) == "half\n"
        child.send_signal(signal.SIGKILL)
    left = files_under(tmp_path)
    store = ObjectBlobStore(url)
    await store.open()
    assert await keys(store, scope) == []
    assert files_under(tmp_path) == left, "another process may still be writing"
    for path in left:
        two_days_ago = time.time() - 2 * 24 * 3600
        os.utime(path, (two_days_ago, two_days_ago))
    await store.close()
    await store.open()
    assert files_under(tmp_path) == []
