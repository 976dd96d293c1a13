"""Passwords: argon2id for new ones; PBKDF2-SHA256 and bcrypt hashes are verified, and replaced at login."""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog
from passlib.context import CryptContext

from app.core.errors import InvalidInput, Unavailable

log = structlog.get_logger()

Answer = TypeVar("Answer")

MIN_LENGTH = 8
MAX_LENGTH = 256
BCRYPT_BYTES = 72
"""bcrypt reads no further; the hashes that others made with longer passwords are of their first 72 bytes."""
THREADS = 2
MAX_WAITING = 64
"""Beyond that, callers are turned away: each hash costs memory and tens of milliseconds of a core."""


def check_password(password: str, email: str) -> None:
    """Raises `InvalidInput` for a password that may not be chosen. Length and novelty matter, not kinds of characters
    (NIST SP 800-63B, 3.1.1.2)."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise InvalidInput(
            f"A password has {MIN_LENGTH} to {MAX_LENGTH} characters. A few words in a row make a good one.",
            code="password_length",
        )
    if password.strip().lower() == email:
        raise InvalidInput("The password may not be the e-mail address. Choose another.", code="password_is_email")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`upgrade` is the hash to store instead, where the password was right and its hash is of an older kind."""

    correct: bool
    upgrade: str | None = None


class Passwords:
    """Hashes and verifies on a few threads of its own, off the event loop."""

    def __init__(self) -> None:
        # OWASP's minimum for argon2id. 19 MiB a hash keeps a burst of logins far from the memory of the machine.
        self._context = CryptContext(
            schemes=["argon2", "pbkdf2_sha256", "bcrypt"],
            deprecated=["pbkdf2_sha256", "bcrypt"],
            argon2__type="ID",
            argon2__memory_cost=19 * 1024,
            argon2__time_cost=2,
            argon2__parallelism=1,
        )
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="passwords")
        self._waiting = 0
        self._decoy: Future[str] = self._threads.submit(self._hash, secrets.token_urlsafe())

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    async def hash(self, password: str) -> str:
        """Raises `Unavailable` where too many are waiting already."""
        return await self._run(self._hash, password)

    async def verify(self, password: str, stored: str | None) -> Verdict:
        """Whether the password fits the stored hash. None, for nobody, takes the time of a wrong password.

        Raises `Unavailable` where too many are waiting already.
        """
        return await self._run(self._verify, password, stored)

    async def _run(self, function: Callable[..., Answer], *arguments: object) -> Answer:
        if self._waiting >= MAX_WAITING:
            raise Unavailable("Too many people are logging in at this moment. Try again.", code="busy", retry_after=2)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *arguments))
        finally:
            self._waiting -= 1

    def _hash(self, password: str) -> str:
        hashed: str = self._context.hash(password)
        return hashed

    def _verify(self, password: str, stored: str | None) -> Verdict:
        if stored is None:
            self._context.verify(password, self._decoy.result())
            return Verdict(correct=False)
        try:
            is_bcrypt = self._context.identify(stored) == "bcrypt"
            secret = password.encode()[:BCRYPT_BYTES] if is_bcrypt else password
            if not self._context.verify(secret, stored):
                return Verdict(correct=False)
        except ValueError as error:  # a damaged hash, or a NUL, which bcrypt can't take
            log.warning("password_not_verifiable", reason=str(error))
            return Verdict(correct=False)
        return Verdict(correct=True, upgrade=self._hash(password) if self._context.needs_update(stored) else None)
