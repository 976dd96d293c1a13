"""Sessions of one person: make, list, change, delete."""

from collections.abc import Sequence
from uuid import UUID

from app.chats import repository
from app.chats.conversation import Conversation, drop_copy, shown_messages
from app.chats.schemas import MessageOut, SessionIn, SessionPatch
from app.core.database import ReadSession, WriteSession
from app.core.errors import NotFound
from app.core.ids import new_id
from app.core.pagination import PageRequest
from app.core.scope import TenantScope
from app.knowledge_bases import service as knowledge_bases
from app.models import ChatSession
from app.ports.cache import Cache


async def create(session: WriteSession, scope: TenantScope, body: SessionIn) -> ChatSession:
    await knowledge_bases.require(session, body.knowledge_base_ids)
    chat = ChatSession(
        id=new_id(),
        tenant_id=scope.tenant_id,
        user_id=scope.principal_id,
        title=body.title or "",
        knowledge_base_ids=list(dict.fromkeys(body.knowledge_base_ids)),
    )
    session.add(chat)
    await session.flush()
    await session.refresh(chat)
    return chat


async def get(session: ReadSession, scope: TenantScope, session_id: UUID) -> ChatSession:
    """A session of the caller. Anybody else's does not exist for them: raises `NotFound`."""
    chat = await repository.find(session, scope.principal_id, session_id)
    if chat is None:
        raise not_found(session_id)
    return chat


async def list_page(session: ReadSession, scope: TenantScope, request: PageRequest) -> list[ChatSession]:
    return await repository.page(session, scope.principal_id, request)


async def change(session: WriteSession, scope: TenantScope, session_id: UUID, body: SessionPatch) -> ChatSession:
    chat = await repository.find(session, scope.principal_id, session_id, lock=True)
    if chat is None:
        raise not_found(session_id)
    if body.title is not None:
        chat.title = body.title
    if body.knowledge_base_ids is not None:
        await knowledge_bases.require(session, body.knowledge_base_ids)
        chat.knowledge_base_ids = list(dict.fromkeys(body.knowledge_base_ids))
    chat.revision += 1
    await session.flush()
    await session.refresh(chat)
    return chat


async def delete(session: WriteSession, scope: TenantScope, cache: Cache, session_id: UUID) -> None:
    """Removes a session with its messages and checkpoints. An answer in the making is not kept."""
    if not await repository.remove(session, scope.principal_id, session_id):
        raise not_found(session_id)
    session.after_commit(lambda: drop_copy(cache, scope.tenant_id, session_id))


async def messages(
    session: ReadSession, scope: TenantScope, cache: Cache, session_id: UUID, request: PageRequest
) -> list[MessageOut]:
    """In order; one more than asked for where there is one."""
    chat = await get(session, scope, session_id)
    return await shown_messages(session, await Conversation(cache, session, chat).page(request.after, request.limit))


async def still_there(session: ReadSession, kb_ids: Sequence[UUID]) -> list[UUID]:
    """Those of a session's knowledge bases that are left. Raises `NotFound` where there were some and none is left."""
    left = await knowledge_bases.live(session, kb_ids)
    if kb_ids and not left:
        raise NotFound(
            "The knowledge bases of this session are deleted. Give it others by PATCH.", code="knowledge_base_not_found"
        )
    return left


def not_found(session_id: UUID) -> NotFound:
    return NotFound(f"There is no session {session_id}.", code="session_not_found")
