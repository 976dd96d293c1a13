"""Limits on guessing passwords, by address and e-mail. Counted in the cache, so that all processes count together.

Windows are fixed and start at multiples of their length: a counter's key names its window, and the end of the window
is what `Retry-After` says. While the cache is down each process counts for itself, with lower limits.
"""

import hashlib
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from app.core.errors import EngineUnavailable, TooManyRequests
from app.ports.cache import Cache

log = structlog.get_logger()

WINDOW_SECONDS = 15 * 60
LOCAL_KEYS = 20_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Attempts in one window."""

    pair: int
    """On one e-mail from one address; a success clears it."""
    email: int
    """On one e-mail from anywhere; a success clears it."""
    address: int
    """Failures from one address, on any e-mail: many people may share an address, so their successes don't count."""

    registrations: int
    """Registrations from one address, those that are refused too: each costs a hash, and tells whether somebody has an
    e-mail."""


SHARED = Limits(pair=10, email=100, address=200, registrations=300)
LOCAL = Limits(pair=5, email=20, address=50, registrations=100)


class LocalCounters:
    """Counters of this process; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def get(self, key: str) -> int:
        return self._counts.get(key, 0)

    def increment(self, key: str) -> int:
        self._counts[key] = self._counts.get(key, 0) + 1
        self._counts.move_to_end(key)
        while len(self._counts) > LOCAL_KEYS:
            self._counts.popitem(last=False)
        return self._counts[key]

    def delete(self, key: str) -> None:
        self._counts.pop(key, None)


@dataclass(frozen=True, slots=True)
class _Keys:
    pair: str
    email: str
    address: str
    blocked: str
    """Set once an address has failed too often."""
    registrations: str
    seconds_left: int


class LoginThrottle:
    """Call `admit` before a password is looked at, then `failed` or `succeeded`."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.time) -> None:
        self._cache = cache
        self._clock = clock
        self._local = LocalCounters()

    async def admit(self, address: str, email: str) -> None:
        """Counts an attempt. Raises `TooManyRequests` with the seconds until the next window."""
        keys = _keys(address, email, int(self._clock()))
        try:
            admitted = (
                await self._cache.get(keys.blocked) is None
                and await self._cache.increment(keys.pair, ttl_seconds=WINDOW_SECONDS) <= SHARED.pair
                and await self._cache.increment(keys.email, ttl_seconds=WINDOW_SECONDS) <= SHARED.email
            )
        except EngineUnavailable:
            log.warning("login_throttle_local")
            admitted = (
                self._local.get(keys.address) < LOCAL.address
                and self._local.increment(keys.pair) <= LOCAL.pair
                and self._local.increment(keys.email) <= LOCAL.email
            )
        if not admitted:
            raise TooManyRequests(
                f"Too many attempts to log in. Wait {keys.seconds_left} seconds, then try again.",
                code="too_many_logins",
                retry_after=keys.seconds_left,
            )

    async def admit_registration(self, address: str) -> None:
        """Counts a registration before its password is hashed. Raises `TooManyRequests` like `admit`."""
        keys = _keys(address, "", int(self._clock()))
        try:
            admitted = (
                await self._cache.increment(keys.registrations, ttl_seconds=WINDOW_SECONDS) <= SHARED.registrations
            )
        except EngineUnavailable:
            log.warning("login_throttle_local")
            admitted = self._local.increment(keys.registrations) <= LOCAL.registrations
        if not admitted:
            raise TooManyRequests(
                f"Too many registrations from your network. Wait {keys.seconds_left} seconds, then try again.",
                code="too_many_registrations",
                retry_after=keys.seconds_left,
            )

    async def failed(self, address: str, email: str) -> None:
        keys = _keys(address, email, int(self._clock()))
        try:
            if await self._cache.increment(keys.address, ttl_seconds=WINDOW_SECONDS) >= SHARED.address:
                await self._cache.set(keys.blocked, b"1", ttl_seconds=keys.seconds_left)
        except EngineUnavailable:
            self._local.increment(keys.address)

    async def succeeded(self, address: str, email: str) -> None:
        keys = _keys(address, email, int(self._clock()))
        self._local.delete(keys.pair)
        self._local.delete(keys.email)
        try:
            await self._cache.delete(keys.pair)
            await self._cache.delete(keys.email)
        except EngineUnavailable:
            log.warning("login_throttle_local")


def _keys(address: str, email: str, now: int) -> _Keys:
    """`now` in seconds since the epoch."""
    window = now // WINDOW_SECONDS
    network = _network(address)
    return _Keys(
        pair=_key("pair", window, network, email),
        email=_key("email", window, email),
        address=_key("address", window, network),
        blocked=_key("blocked", window, network),
        registrations=_key("registrations", window, network),
        seconds_left=(window + 1) * WINDOW_SECONDS - now,
    )


def _key(kind: str, window: int, *parts: str) -> str:
    """Hashed: keys stay short, and the cache holds nobody's e-mail."""
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return f"login:{kind}:{window}:{digest}"


def _network(address: str) -> str:
    """One household or host has a whole /64 of IPv6 to itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(parsed), 64), strict=False).network_address)
    return str(parsed)
