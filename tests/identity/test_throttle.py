"""Guessing passwords is limited, with and without the cache, and nobody else is locked out by it."""

import httpx
import pytest

from app.adapters.redis.cache import RedisCache
from app.core.errors import TooManyRequests
from app.identity.throttle import LOCAL, SHARED, WINDOW_SECONDS, LoginThrottle
from app.ports.cache import Cache
from app.ports.parts import Parts
from tests.conftest import Person, Register
from tests.identity.conftest import FromAddress


async def attempts_until_refused(client: httpx.AsyncClient, email: str) -> tuple[int, httpx.Response]:
    """The number of wrong attempts that were looked at. A window may end in between, once."""
    for number in range(2 * SHARED.pair + 1):
        answer = await client.post("/v1/auth/login", json={"email": email, "password": "wrong password"})
        if answer.status_code != 401:
            return number, answer
    pytest.fail("never refused")


async def test_guessing_is_refused_and_says_until_when(
    from_address: FromAddress, register: Register, owner: Person
) -> None:
    person = await register()
    guesser, elsewhere = from_address("192.0.2.10"), from_address("192.0.2.11")
    number, refused = await attempts_until_refused(guesser, person.email)
    assert number >= SHARED.pair
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_logins")
    assert 0 < int(refused.headers["retry-after"]) <= WINDOW_SECONDS

    right = {"email": person.email, "password": person.password}
    assert (await elsewhere.post("/v1/auth/login", json=right)).status_code == 200
    other = {"email": owner.email, "password": owner.password}
    assert (await guesser.post("/v1/auth/login", json=other)).status_code == 200


async def test_unknown_emails_are_limited_alike(from_address: FromAddress) -> None:
    _, refused = await attempts_until_refused(from_address("192.0.2.12"), "nobody.at.all@example.com")
    assert refused.status_code == 429


async def test_the_password_of_a_registered_guest_is_limited_too(
    from_address: FromAddress, owner: Person, register: Register
) -> None:
    guest = await register()
    invitation = await owner.client.post("/v1/invitations", json={"email": guest.email, "role": "viewer"})
    client = from_address("192.0.2.13")
    body = {"token": invitation.json()["token"], "password": "wrong password"}
    statuses = [
        (await client.post("/v1/invitations/accept", json=body)).status_code for _ in range(2 * SHARED.pair + 1)
    ]
    assert 429 in statuses
    assert set(statuses) == {401, 429}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def admitted(throttle: LoginThrottle, address: str, email: str, tries: int = 300) -> int:
    """How many failing attempts are let through."""
    for number in range(tries):
        try:
            await throttle.admit(address, email)
        except TooManyRequests:
            return number
        await throttle.failed(address, email)
    return tries


@pytest.fixture(params=["cache", "no cache"])
async def limited(request: pytest.FixtureRequest, parts: Parts) -> tuple[LoginThrottle, int, int, Clock]:
    """A throttle, its limits a pair and an address, and its clock."""
    clock = Clock()
    if request.param == "cache":
        return LoginThrottle(parts.cache, clock), SHARED.pair, SHARED.address, clock
    dead: Cache = RedisCache("redis://127.0.0.1:1", timeout_seconds=0.2)
    return LoginThrottle(dead, clock), LOCAL.pair, LOCAL.address, clock


Limited = tuple[LoginThrottle, int, int, Clock]


async def test_a_pair_of_address_and_email(limited: Limited) -> None:
    throttle, pair, _, clock = limited
    assert await admitted(throttle, "198.51.100.1", "a@example.com") == pair
    assert await admitted(throttle, "198.51.100.2", "a@example.com", tries=1) == 1
    clock.now += WINDOW_SECONDS
    assert await admitted(throttle, "198.51.100.1", "a@example.com", tries=1) == 1


async def test_a_success_clears_the_pair(limited: Limited) -> None:
    throttle, pair, _, _ = limited
    assert await admitted(throttle, "198.51.100.3", "b@example.com", tries=pair - 1) == pair - 1
    await throttle.admit("198.51.100.3", "b@example.com")
    await throttle.succeeded("198.51.100.3", "b@example.com")
    assert await admitted(throttle, "198.51.100.3", "b@example.com") == pair


async def test_an_address_that_tries_many_emails(limited: Limited) -> None:
    throttle, _, address, _ = limited
    for number in range(address):
        assert await admitted(throttle, "198.51.100.4", f"c{number}@example.com", tries=1) == 1
    assert await admitted(throttle, "198.51.100.4", "fresh@example.com", tries=1) == 0
    assert await admitted(throttle, "198.51.100.5", "fresh@example.com", tries=1) == 1


async def test_many_people_behind_one_address_log_in(limited: Limited) -> None:
    throttle, _, address, _ = limited
    for number in range(address + 5):
        await throttle.admit("198.51.100.6", f"d{number}@example.com")
        await throttle.succeeded("198.51.100.6", f"d{number}@example.com")


async def test_an_ipv6_network_counts_as_one_address(limited: Limited) -> None:
    throttle, pair, _, _ = limited
    assert await admitted(throttle, "2001:db8:1:2::1", "e@example.com") == pair
    assert await admitted(throttle, "2001:db8:1:2:ffff::9", "e@example.com", tries=1) == 0
    assert await admitted(throttle, "2001:db8:1:3::1", "e@example.com", tries=1) == 1
    assert await admitted(throttle, "::ffff:198.51.100.7", "f@example.com") == pair
    assert await admitted(throttle, "198.51.100.7", "f@example.com", tries=1) == 0
    assert await admitted(throttle, "::ffff:198.51.100.8", "f@example.com", tries=1) == 1
