"""Registering is limited by address, with and without the cache: each costs a hash, and tells who has an account."""

import pytest

from app.adapters.redis.cache import RedisCache
from app.core.errors import TooManyRequests
from app.identity.throttle import LOCAL, SHARED, WINDOW_SECONDS, LoginThrottle
from app.ports.cache import Cache
from app.ports.parts import Parts


async def admitted(throttle: LoginThrottle, address: str) -> int:
    for number in range(2 * SHARED.registrations):
        try:
            await throttle.admit_registration(address)
        except TooManyRequests:
            return number
    pytest.fail("never refused")


@pytest.mark.parametrize("with_cache", [True, False])
async def test_registrations_from_one_address(parts: Parts, with_cache: bool) -> None:
    dead: Cache = RedisCache("redis://127.0.0.1:1", timeout_seconds=0.2)
    throttle = LoginThrottle(parts.cache if with_cache else dead, clock=lambda: 1_000_000.0)
    limit = SHARED.registrations if with_cache else LOCAL.registrations
    assert await admitted(throttle, "203.0.113.1") == limit
    await throttle.admit_registration("203.0.113.2")
    with pytest.raises(TooManyRequests) as refused:
        await throttle.admit_registration("203.0.113.1")
    assert 0 < (refused.value.retry_after or 0) <= WINDOW_SECONDS
    assert await admitted(throttle, "2001:db8::1") == limit
    with pytest.raises(TooManyRequests):  # the same /64
        await throttle.admit_registration("2001:db8::ffff")
