"""`/v1/ask` and `/v1/sessions`."""

from uuid import UUID

from fastapi import APIRouter

from app.chats import service
from app.chats.schemas import SessionIn, SessionOut, SessionPatch
from app.core.pagination import Page, Paging, encode_cursor
from app.identity.access import Reading, Viewer, Writing

router = APIRouter(prefix="/v1", tags=["chats"])


@router.post("/sessions", status_code=201)
async def create_session(body: SessionIn, scope: Viewer, session: Writing) -> SessionOut:
    return SessionOut.model_validate(await service.create(session, scope, body))


@router.get("/sessions")
async def list_sessions(paging: Paging, scope: Viewer, session: Reading) -> Page[SessionOut]:
    rows = await service.list_page(session, scope, paging)
    items = [SessionOut.model_validate(row) for row in rows[: paging.limit]]
    return Page(items=items, next_cursor=encode_cursor(items[-1].id) if len(rows) > paging.limit else None)


@router.get("/sessions/{session_id}")
async def get_session(session_id: UUID, scope: Viewer, session: Reading) -> SessionOut:
    return SessionOut.model_validate(await service.get(session, scope, session_id))


@router.patch("/sessions/{session_id}")
async def change_session(session_id: UUID, body: SessionPatch, scope: Viewer, session: Writing) -> SessionOut:
    return SessionOut.model_validate(await service.change(session, scope, session_id, body))


@router.delete("/sessions/{session_id}", status_code=204)
async def delete_session(session_id: UUID, scope: Viewer, session: Writing) -> None:
    await service.delete(session, scope, session_id)
