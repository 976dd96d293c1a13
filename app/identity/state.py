"""What identity keeps for the life of one application: threads for hashing, attempts counted, people let in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from fastapi import FastAPI

from app.identity.admission import Admission
from app.identity.passwords import Passwords
from app.identity.throttle import LoginThrottle
from app.ports.parts import Parts


@dataclass(frozen=True, slots=True)
class Identity:
    passwords: Passwords
    throttle: LoginThrottle
    admission: Admission


@asynccontextmanager
async def identity_lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Lifespan of the router; FastAPI enters it after the application's own, which sets `app.state.parts`."""
    parts = cast(Parts, app.state.parts)
    passwords = Passwords()
    app.state.identity = Identity(passwords, LoginThrottle(parts.cache), Admission(parts.database))
    try:
        yield
    finally:
        passwords.close()
