"""Original files and parsed forms, by key. A key is made of ids only; names that people chose never reach a path."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from app.core.scope import TenantScope


class BlobStore(Protocol):
    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def check(self) -> None:
        """Returns if the store can be written to, raises `EngineUnavailable` if not."""

    async def put(self, scope: TenantScope, key: str, content: AsyncIterator[bytes]) -> int:
        """Stores a stream whole or not at all, replacing what was there. Returns its size in bytes.

        `key` is relative to the tenant: `[a-z0-9-]+` segments parted by `/`, an extension allowed on the last.
        """

    async def put_file(self, scope: TenantScope, key: str, path: Path) -> None:
        """Stores a local file, whole or not at all."""

    def get(self, scope: TenantScope, key: str) -> AsyncIterator[bytes]:
        """The content in pieces. Raises `NotFound` at the first piece."""

    async def fetch(self, scope: TenantScope, key: str, path: Path) -> None:
        """Writes the content to a local file. Raises `NotFound`."""

    async def delete(self, scope: TenantScope, prefix: str) -> int:
        """Removes every blob whose key is `prefix` or starts with `prefix + "/"`; the number removed."""

    def list(self, scope: TenantScope, prefix: str = "") -> AsyncIterator[str]:
        """Keys under a prefix (by whole segments), relative to the tenant."""
