"""`/v1/tenant`, `/v1/members` and `/v1/invitations`."""

from uuid import UUID

from fastapi import APIRouter, Response

from app.core.pagination import Page, Paging
from app.identity.access import (
    Admin,
    ClientAddress,
    Credentials,
    IdentityDep,
    PartsDep,
    Public,
    Reading,
    Viewer,
    Writing,
    read_bearer,
)
from app.identity.schemas import Tokens
from app.tenants import invitations, service
from app.tenants.schemas import (
    AcceptIn,
    InvitationIn,
    InvitationOut,
    MemberOut,
    MemberPatch,
    NewInvitation,
    TenantOut,
    TenantPatch,
)

router = APIRouter(prefix="/v1", tags=["tenants"])


@router.get("/tenant")
async def get_tenant(scope: Viewer, session: Reading) -> TenantOut:
    """The tenant that your login is for."""
    return TenantOut.model_validate(await service.get_tenant(session, scope))


@router.patch("/tenant")
async def rename_tenant(body: TenantPatch, scope: Admin, session: Writing) -> TenantOut:
    """Gives the tenant another name."""
    return TenantOut.model_validate(await service.rename_tenant(session, scope, body.name))


@router.get("/members")
async def list_members(paging: Paging, scope: Viewer, session: Reading) -> Page[MemberOut]:
    """The people of the tenant and their roles, in the order in which they registered."""
    return await service.list_members(session, scope, paging)


@router.patch("/members/{user_id}")
async def change_member(
    user_id: UUID, body: MemberPatch, scope: Admin, session: Writing, identity: IdentityDep
) -> MemberOut:
    """Gives a member another role: neither role may be above your own, and the last owner stays one. Holds at once."""
    return await service.change_role(session, identity, scope, user_id, body.role)


@router.delete("/members/{user_id}", status_code=204)
async def remove_member(user_id: UUID, scope: Admin, session: Writing, identity: IdentityDep) -> None:
    """Takes a person out of the tenant, which may not be its last owner. Their logins here end at once."""
    await service.remove_member(session, identity, scope, user_id)


@router.post("/invitations", status_code=201)
async def invite(
    body: InvitationIn, scope: Admin, session: Writing, parts: PartsDep, response: Response
) -> NewInvitation:
    """Invites a person. The token in the answer is shown this once."""
    response.headers["cache-control"] = "no-store"
    return await invitations.invite(session, parts, scope, body)


@router.get("/invitations")
async def list_invitations(paging: Paging, scope: Admin, session: Reading) -> Page[InvitationOut]:
    """Invitations in every state, oldest first."""
    return await invitations.list_invitations(session, scope, paging)


@router.delete("/invitations/{invitation_id}", status_code=204)
async def revoke_invitation(invitation_id: UUID, scope: Admin, session: Writing) -> None:
    """Takes back an invitation that has not been accepted."""
    await invitations.revoke(session, scope, invitation_id)


@router.post("/invitations/accept", status_code=201, dependencies=[Public])
async def accept_invitation(
    *,
    body: AcceptIn,
    parts: PartsDep,
    identity: IdentityDep,
    address: ClientAddress,
    credentials: Credentials,
    response: Response,
) -> Tokens:
    """Joins the tenant that sent the invitation, and logs in to it."""
    response.headers["cache-control"] = "no-store"
    logged_in = None
    if body.password is None and credentials is not None:
        principal = read_bearer(credentials, parts.secret_key)
        logged_in = (await identity.admission.scope(principal)).principal_id
    guest = await invitations.receive(parts, identity, body, address=address, logged_in=logged_in)
    async with parts.database.system() as session:
        return await invitations.accept(session, parts, identity, body.token, guest)
