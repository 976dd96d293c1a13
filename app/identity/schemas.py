"""Bodies of `/v1/auth`."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from app.core.described import ApiModel
from app.core.scope import Role
from app.core.text import Storable

MAX_PASSWORD_INPUT = 1024
"""What is read at all; which passwords may be chosen is said by `app.identity.passwords`."""


def normal_email(text: str) -> str:
    """The address in lower case, as it is stored. Raises `ValueError`. Whether mail reaches it is not asked."""
    try:
        return validate_email(text.strip(), check_deliverability=False, test_environment=True).normalized.lower()
    except EmailNotValidError as error:
        raise ValueError(f"not an e-mail address: {error}") from error


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("a name has no line breaks, control characters or unassigned characters")
    return text


Email = Annotated[str, Field(max_length=320, examples=["li.wei@example.com"]), AfterValidator(normal_email)]
TenantName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_printable)
]
Password = Annotated[str, Storable(max_length=MAX_PASSWORD_INPUT)]
OpaqueToken = Annotated[str, Storable(min_length=1, max_length=256)]


class RegisterIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    email: Email
    password: Password
    """8 to 256 characters; not the e-mail address."""
    tenant: TenantName
    """Name of the tenant that is made."""


class LoginIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    email: Email
    password: Password
    tenant_id: UUID | None = None
    """One of your tenants; the first that you joined if left out."""


class RefreshIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    refresh_token: OpaqueToken
    """The newest of the login: each is good for one use."""


class LogoutIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    refresh_token: OpaqueToken | None = None
    """Of the login that ends; left out, that of the bearer token ends."""


class PasswordChangeIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    current_password: Password
    new_password: Password
    """8 to 256 characters; not the e-mail address."""


class Tokens(ApiModel):
    """Shown once: only the SHA-256 of a refresh token is kept."""

    access_token: str
    """For the header `Authorization: Bearer …`."""
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - RFC 6750's word
    """As RFC 6750 calls it."""
    expires_in: int
    """Seconds until the access token expires."""
    refresh_token: str
    """Good for one use; using it again ends the login."""


class UserOut(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    email: str
    created_at: datetime


class TenantRef(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str


class Me(ApiModel):
    user: UserOut
    tenant: TenantRef
    """That this login is for."""
    role: Role
    """What you may do in this tenant."""


class OwnTenant(TenantRef):
    """A tenant that one may log in to."""

    role: Role
    """What you may do there."""


class OwnTenants(ApiModel):
    items: list[OwnTenant]
