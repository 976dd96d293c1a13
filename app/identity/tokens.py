"""Access tokens: JWT (RFC 7519) with one pinned algorithm; every claim is required and checked (RFC 8725)."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import jwt

from app.core.errors import NotAuthenticated
from app.core.ids import new_id
from app.core.scope import Role, TenantScope

ALGORITHM = "HS256"
ISSUER = "biggraph"
AUDIENCE = "biggraph-api"
CLAIMS = ["iss", "aud", "sub", "tid", "role", "iat", "nbf", "exp", "jti"]


def issue_access_token(scope: TenantScope, secret: bytes, lifetime: timedelta) -> str:
    now = datetime.now(UTC)
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": str(scope.principal_id),
        "tid": str(scope.tenant_id),
        "role": scope.role.value,
        "iat": now,
        "nbf": now,
        "exp": now + lifetime,
        "jti": str(new_id()),
    }
    return jwt.encode(claims, secret, algorithm=ALGORITHM, headers={"typ": "at+jwt"})


def verify_access_token(token: str, secret: bytes) -> TenantScope:
    """The scope that a token grants. Raises `NotAuthenticated`."""
    try:
        claims = jwt.decode(
            token, secret, algorithms=[ALGORITHM], audience=AUDIENCE, issuer=ISSUER, options={"require": CLAIMS}
        )
        return TenantScope(UUID(claims["tid"]), UUID(claims["sub"]), Role(claims["role"]))
    except jwt.ExpiredSignatureError as error:
        raise NotAuthenticated(
            "The access token has expired. Get a new one from POST /v1/auth/refresh.", code="token_expired"
        ) from error
    except (jwt.InvalidTokenError, ValueError, TypeError, AttributeError) as error:
        raise NotAuthenticated("The bearer token is not valid. Log in again.", code="token_invalid") from error
