"""What may be lost: cached answers and counters. Every caller has another way when the cache is down."""

from typing import Protocol


class Cache(Protocol):
    """All methods raise `EngineUnavailable` quickly when the cache does not answer. Keys carry the tenant's id."""

    async def check(self) -> None: ...

    async def close(self) -> None: ...

    async def get(self, key: str) -> bytes | None: ...

    async def set(self, key: str, value: bytes, *, ttl_seconds: int) -> None: ...

    async def delete(self, key: str) -> None: ...

    async def increment(self, key: str, *, ttl_seconds: int) -> int:
        """Adds one and returns the sum; the counter starts at 0 and lives `ttl_seconds` from its first increment."""
