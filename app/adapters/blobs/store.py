"""`BlobStore` over `obstore`: one way for a folder and for S3, streaming, never a whole file in memory.

A blob appears whole or not at all: a folder gets a staged file that is renamed, S3 a multipart upload that is
completed. An upload that is broken off leaves nothing in a folder; S3 keeps its parts, unseen, until a lifecycle rule
of the bucket (`AbortIncompleteMultipartUpload`) removes them.
"""

import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore import exceptions

from app.adapters.blobs.location import folder_of, open_store, remove_stale_uploads
from app.core.errors import EngineRejected, EngineUnavailable, NotFound, OutOfSpace
from app.core.scope import TenantScope

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_KEY = re.compile(r"[a-z0-9-]+(?:/[a-z0-9-]+)*(?:\.[a-z0-9]+)?")
_LONGEST_KEY = 512
_LONGEST_SEGMENT = 200
"""File systems allow 255 bytes, and a staged file's name is a little longer."""

_PIECE_BYTES = 1 << 20
_PROBE = "health/probe"
"""Lies beside the tenants, whose first segments are UUIDs."""
_PROBE_SECONDS = 60.0
"""So long a probe that was written vouches for the next ones: anybody may ask for a check, as often as they like."""

_REFUSALS = (
    exceptions.InvalidPathError,
    exceptions.NotSupportedError,
    exceptions.PermissionDeniedError,
    exceptions.UnauthenticatedError,
    exceptions.UnknownConfigurationKeyError,
    ValueError,
)


class ObjectBlobStore:
    """Blobs under `url`: `file:///folder`, made where it is missing, or `s3://bucket/prefix?endpoint=…`."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._folder = folder_of(url)
        self._opened: ObjectStore | None = None
        self._clock = clock
        self._probing = asyncio.Lock()
        self._probed_at: float | None = None

    async def open(self) -> None:
        """`EngineRejected` if the URL can't be understood."""
        if self._opened is None:
            try:
                self._opened = await asyncio.to_thread(open_store, self._url)
            except (exceptions.BaseError, OSError, ValueError) as error:
                raise EngineRejected(
                    "BLOB_URL must name a folder that can be written to, or a bucket: file:///folder, s3://bucket/prefix.",
                    code="wrong_blob_url",
                ) from error
            if self._folder is not None:
                await asyncio.to_thread(remove_stale_uploads, self._folder)

    async def close(self) -> None:
        self._opened = None

    async def check(self) -> None:
        """Looks for the probe, and writes it anew once a minute: a full or read-only disk is known by a write alone."""
        async with self._probing:
            if await self._is_probe_fresh():
                return
            self._probed_at = None
            with _translated_errors():
                await obstore.put_async(self._store(), _PROBE, b"ok")
            self._probed_at = self._clock()

    async def _is_probe_fresh(self) -> bool:
        if self._probed_at is None or self._clock() - self._probed_at >= _PROBE_SECONDS:
            return False
        with _translated_errors():
            try:
                await obstore.head_async(self._store(), _PROBE)
            except FileNotFoundError:
                return False
        return True

    async def put(self, scope: TenantScope, key: str, content: AsyncIterator[bytes]) -> int:
        path = _path(scope, key)
        size = 0
        with _translated_errors():
            writer = obstore.open_writer_async(self._store(), path)
        async for piece in content:
            with _translated_errors():
                await writer.write(piece)
            size += len(piece)
        with _translated_errors():
            await writer.close()
        await self._make_durable(path)
        return size

    async def put_file(self, scope: TenantScope, key: str, path: Path) -> None:
        target = _path(scope, key)
        await self._require_room(path)
        with _translated_errors():
            await obstore.put_async(self._store(), target, path)
        await self._make_durable(target)

    async def get(self, scope: TenantScope, key: str) -> AsyncIterator[bytes]:
        path = _path(scope, key)
        with _translated_errors():
            answer = await obstore.get_async(self._store(), path)
            async for piece in answer.stream(min_chunk_size=_PIECE_BYTES):
                yield bytes(piece)

    async def fetch(self, scope: TenantScope, key: str, path: Path) -> None:
        """The file is there only if all of it is."""
        pieces = self.get(scope, key)
        first = await anext(pieces, b"")
        try:
            with await asyncio.to_thread(path.open, "wb") as file:
                await asyncio.to_thread(file.write, first)
                async for piece in pieces:
                    await asyncio.to_thread(file.write, piece)
        except BaseException:
            await asyncio.to_thread(path.unlink, missing_ok=True)
            raise

    async def delete(self, scope: TenantScope, prefix: str) -> int:
        """With an empty prefix, everything of the tenant."""
        keys = [key async for key in self.list(scope, prefix)]
        if prefix:
            keys.append(prefix)
        removed = 0
        for key in keys:
            removed += await self._remove(_path(scope, key))
        return removed

    async def list(self, scope: TenantScope, prefix: str = "") -> AsyncIterator[str]:
        tenant = f"{scope.tenant_id}/"
        under = _path(scope, prefix) if prefix else str(scope.tenant_id)
        with _translated_errors():
            async for page in obstore.list(self._store(), under, chunk_size=1_000):
                for blob in page:
                    yield blob["path"].removeprefix(tenant)

    async def _require_room(self, file: Path) -> None:
        """The store itself would only say that it failed."""
        if self._folder is not None:
            disk = await asyncio.to_thread(shutil.disk_usage, self._folder)
            if disk.free < (await asyncio.to_thread(file.stat)).st_size:
                raise OutOfSpace()

    def _store(self) -> "ObjectStore":
        if self._opened is None:
            raise EngineUnavailable("The blob store is not open.", code="blob_store_closed")
        return self._opened

    async def _remove(self, path: str) -> bool:
        with _translated_errors():
            try:
                # S3 does not tell whether there was anything to delete.
                await obstore.head_async(self._store(), path)
                await obstore.delete_async(self._store(), path)
            except FileNotFoundError:
                return False
        return True

    async def _make_durable(self, path: str) -> None:
        """What was renamed into a folder is on the disk only when the file and the folders above it are synced."""
        if self._folder is not None:
            await asyncio.to_thread(_sync, self._folder, self._folder / path)


def _path(scope: TenantScope, key: str) -> str:
    if (
        len(key) > _LONGEST_KEY
        or not _KEY.fullmatch(key)
        or any(len(segment) > _LONGEST_SEGMENT for segment in key.split("/"))
    ):
        raise EngineRejected("A blob's key is made of lower-case letters, digits and hyphens.", code="wrong_key")
    return f"{scope.tenant_id}/{key}"


def _sync(root: Path, file: Path) -> None:
    for path in (file, *file.parents):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if path == root:
            break


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound("There is no such file in the store.") from error
    except _REFUSALS as error:
        raise EngineRejected("The blob store refused the request.", code="blob_store_refused") from error
    except (exceptions.BaseError, OSError) as error:
        raise EngineUnavailable("The blob store failed.", code="blob_store_failed") from error
