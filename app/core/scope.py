"""Who is calling, for which tenant. Made by authentication (or by a job from its own row), required by everything."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from uuid import UUID


class Role(StrEnum):
    """What a person may do in a tenant: read and ask; besides, change documents; besides, manage knowledge bases and
    people; besides, make others owners."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> "RoleRank":
        return RoleRank[self.name]

    def at_least(self, other: "Role") -> bool:
        return self.rank >= other.rank


class RoleRank(IntEnum):
    VIEWER = 1
    EDITOR = 2
    ADMIN = 3
    OWNER = 4


class PrincipalKind(StrEnum):
    USER = "user"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class TenantScope:
    """The tenant that a piece of work is confined to, and the principal that does it.

    `principal_id` is the user's id, or for a job the id of its operation. The tenant comes from a credential or from
    the job's own row, never from a header, path or body.
    """

    tenant_id: UUID
    principal_id: UUID
    role: Role
    kind: PrincipalKind = PrincipalKind.USER
