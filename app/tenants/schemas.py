from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import ConfigDict

from app.core.described import ApiModel
from app.core.scope import Role
from app.identity.schemas import Email, OpaqueToken, Password, TenantName


class TenantOut(ApiModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    created_at: datetime
    updated_at: datetime


class TenantPatch(ApiModel):
    model_config = ConfigDict(extra="forbid")

    name: TenantName


class MemberOut(ApiModel):
    user_id: UUID
    email: str
    role: Role
    """What the person may do in this tenant."""
    joined_at: datetime


class MemberPatch(ApiModel):
    model_config = ConfigDict(extra="forbid")

    role: Role
    """Not above your own. The last owner of a tenant stays one."""


class InvitationIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    email: Email
    role: Role
    """Not above your own."""


class InvitationStatus(StrEnum):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REVOKED = "revoked"
    EXPIRED = "expired"


class InvitationOut(ApiModel):
    id: UUID
    email: str
    role: Role
    """That the person will have."""
    status: InvitationStatus
    """`revoked` also where a newer invitation of the same person took its place."""
    invited_by: UUID | None
    """The id of a person; None where they are gone."""
    created_at: datetime
    expires_at: datetime
    """Until when it can be accepted."""
    accepted_at: datetime | None
    """None while it has not been."""


class NewInvitation(InvitationOut):
    token: str
    """Shown this once. Give it to the person whom you invite."""


class AcceptIn(ApiModel):
    model_config = ConfigDict(extra="forbid")

    token: OpaqueToken
    """That came with the invitation."""
    password: Password | None = None
    """Of the person who is invited: one that they choose now, or the one that they have if they are registered. May be
    left out by somebody who is logged in."""
