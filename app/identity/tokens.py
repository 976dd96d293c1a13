"""What proves a login: short-lived access tokens, which carry claims, and opaque refresh tokens, which are looked up.

Access tokens are JWT (RFC 7519) with one pinned algorithm and type; every claim is required and checked (RFC 8725).
They say who and where, never which role: that is read from Postgres at each use (`app.identity.admission`).
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import jwt

from app.core.errors import NotAuthenticated
from app.core.ids import new_id

ALGORITHM = "HS256"
TYPE = "at+jwt"  # RFC 9068: no other token signed with the same key passes for an access token
ISSUER = "biggraph"
AUDIENCE = "biggraph-api"
CLAIMS = ["iss", "aud", "sub", "tid", "sid", "iat", "nbf", "exp", "jti"]
OPAQUE_BYTES = 32


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom an access token names: a person, in a tenant, in one login (the family of its refresh tokens)."""

    tenant_id: UUID
    user_id: UUID
    login_id: UUID


def issue_access_token(principal: Principal, secret: bytes, lifetime: timedelta) -> str:
    now = datetime.now(UTC)
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": str(principal.user_id),
        "tid": str(principal.tenant_id),
        "sid": str(principal.login_id),
        "iat": now,
        "nbf": now,
        "exp": now + lifetime,
        "jti": str(new_id()),
    }
    return jwt.encode(claims, secret, algorithm=ALGORITHM, headers={"typ": TYPE})


def verify_access_token(token: str, secret: bytes) -> Principal:
    """Whom a token names, if it is genuine and in time. Raises `NotAuthenticated`."""
    try:
        decoded = jwt.decode_complete(
            token,
            secret,
            algorithms=[ALGORITHM],
            audience=AUDIENCE,
            issuer=ISSUER,
            options={"require": CLAIMS, "strict_aud": True},
        )
        claims = decoded["payload"]
        if decoded["header"].get("typ") != TYPE:
            raise jwt.InvalidTokenError("another type of token")
        return Principal(UUID(claims["tid"]), UUID(claims["sub"]), UUID(claims["sid"]))
    except jwt.ExpiredSignatureError as error:
        raise NotAuthenticated(
            "The access token has expired. Get a new one from POST /v1/auth/refresh.", code="token_expired"
        ) from error
    except (jwt.InvalidTokenError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise NotAuthenticated("The bearer token is not valid. Log in again.", code="token_invalid") from error


def new_opaque_token() -> tuple[str, bytes]:
    """A random secret of 256 bits as URL-safe text, and its SHA-256, which alone is kept.

    A secret of full entropy needs no slow hash: there is nothing to guess.
    """
    token = secrets.token_urlsafe(OPAQUE_BYTES)
    return token, hash_opaque_token(token)


def hash_opaque_token(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
