"""`Cache` over Redis or Valkey."""

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from app.core.errors import EngineUnavailable


class RedisCache:
    def __init__(self, url: str, *, timeout_seconds: float = 1.0) -> None:
        self._redis: Redis = Redis.from_url(
            url,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 1),
            max_connections=64,
        )

    async def check(self) -> None:
        try:
            await self._redis.ping()
        except (RedisError, OSError) as error:
            raise _unavailable() from error

    async def close(self) -> None:
        await self._redis.aclose()

    async def get(self, key: str) -> bytes | None:
        try:
            value = await self._redis.get(key)
        except (RedisError, OSError) as error:
            raise _unavailable() from error
        return value.encode() if isinstance(value, str) else value

    async def set(self, key: str, value: bytes, *, ttl_seconds: int) -> None:
        try:
            await self._redis.set(key, value, ex=ttl_seconds)
        except (RedisError, OSError) as error:
            raise _unavailable() from error

    async def delete(self, key: str) -> None:
        try:
            await self._redis.delete(key)
        except (RedisError, OSError) as error:
            raise _unavailable() from error

    async def increment(self, key: str, *, ttl_seconds: int) -> int:
        try:
            async with self._redis.pipeline(transaction=True) as pipeline:
                pipeline.incr(key)
                pipeline.expire(key, ttl_seconds, nx=True)
                count, _ = await pipeline.execute()
        except (RedisError, OSError) as error:
            raise _unavailable() from error
        return int(count)


def _unavailable() -> EngineUnavailable:
    return EngineUnavailable("The cache (Redis) does not answer.", code="cache_unavailable")
