from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.core.scope import Role
from app.identity.schemas import Email, OpaqueToken, Password, TenantName


class TenantOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    created_at: datetime
    updated_at: datetime


class TenantPatch(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: TenantName


class MemberOut(BaseModel):
    user_id: UUID
    email: str
    role: Role
    joined_at: datetime


class MemberPatch(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Role


class InvitationIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    email: Email
    role: Role


class InvitationStatus(StrEnum):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REVOKED = "revoked"
    EXPIRED = "expired"


class InvitationOut(BaseModel):
    id: UUID
    email: str
    role: Role
    status: InvitationStatus
    invited_by: UUID | None
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None


class NewInvitation(InvitationOut):
    token: Annotated[str, Field(description="Shown this once. Give it to the person whom you invite.")]


class AcceptIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: OpaqueToken
    password: Annotated[
        Password | None,
        Field(
            description="Of the person who is invited: one that they choose now, or the one that they have if they are "
            "registered. May be left out by somebody who is logged in."
        ),
    ] = None
