"""`/v1/ask` and `/v1/sessions`."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header
from sse_starlette import EventSourceResponse

from app.chats import service
from app.chats.answering import SessionAnswer
from app.chats.asking import answer_of, ask
from app.chats.schemas import AnswerOut, AskIn, MessageIn, MessageOut, SessionIn, SessionOut, SessionPatch
from app.chats.streaming import event_stream, while_admitted
from app.core.pagination import Page, Paging, by_id, page_of
from app.identity.access import AdmitAgain, PartsDep, Reading, Viewer, Writing

router = APIRouter(prefix="/v1", tags=["chats"])

Accept = Annotated[str, Header(description="`text/event-stream` for events while the answer is made.")]
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; or, for `Accept: text/event-stream`, events with an `id` and JSON `data` whose "
        "`type` is step, delta, citation, usage, error or done.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


def wants_events(accept: str) -> bool:
    return any(part.split(";")[0].strip().lower() == "text/event-stream" for part in accept.split(","))


@router.post("/ask", response_model=AnswerOut, responses=STREAM)
async def ask_once(
    body: AskIn, scope: Viewer, admit: AdmitAgain, parts: PartsDep, accept: Accept = "application/json"
) -> AnswerOut | EventSourceResponse:
    """Answers one question from documents. Nothing is kept of it."""
    run = await ask(parts, scope, body)
    if wants_events(accept):

        async def done() -> dict[str, Any]:
            return answer_of(run).model_dump(mode="json", exclude={"answer", "citations", "steps"})

        return event_stream(run.events(), admit, done)
    async for _ in while_admitted(run.events(), admit):
        pass
    return answer_of(run)


@router.post("/sessions", status_code=201)
async def create_session(body: SessionIn, scope: Viewer, session: Writing) -> SessionOut:
    """Begins a conversation, which nobody else sees."""
    return SessionOut.model_validate(await service.create(session, scope, body))


@router.get("/sessions")
async def list_sessions(paging: Paging, scope: Viewer, session: Reading) -> Page[SessionOut]:
    """Your own, newest first."""
    rows = await service.list_page(session, scope, paging)
    return page_of(map(SessionOut.model_validate, rows), paging.limit, by_id)


@router.get("/sessions/{session_id}")
async def get_session(session_id: UUID, scope: Viewer, session: Reading) -> SessionOut:
    """One of your sessions, without its messages."""
    return SessionOut.model_validate(await service.get(session, scope, session_id))


@router.patch("/sessions/{session_id}")
async def change_session(session_id: UUID, body: SessionPatch, scope: Viewer, session: Writing) -> SessionOut:
    """Title and knowledge bases, each only where it is given. Answers that are there stay."""
    return SessionOut.model_validate(await service.change(session, scope, session_id, body))


@router.delete("/sessions/{session_id}", status_code=204)
async def delete_session(session_id: UUID, scope: Viewer, session: Writing, parts: PartsDep) -> None:
    """With all its messages."""
    await service.delete(session, scope, parts.cache, session_id)


@router.get("/sessions/{session_id}/messages")
async def list_messages(
    session_id: UUID, paging: Paging, scope: Viewer, session: Reading, parts: PartsDep
) -> Page[MessageOut]:
    """Questions and answers, the oldest first. Quotes are shown as far as their documents are still there."""
    return page_of(await service.messages(session, scope, parts.cache, session_id, paging), paging.limit, by_id)


@router.post("/sessions/{session_id}/messages", status_code=201, response_model=MessageOut, responses=STREAM)
async def post_message(
    session_id: UUID,
    body: MessageIn,
    scope: Viewer,
    admit: AdmitAgain,
    parts: PartsDep,
    accept: Accept = "application/json",
) -> MessageOut | EventSourceResponse:
    """Asks in a session, and gives the answer. One at a time: 409 while another is being made."""
    answer = await SessionAnswer.begin(parts, scope, session_id, body)
    if wants_events(accept):

        async def done() -> dict[str, Any]:
            message = await answer.message()
            return message.model_dump(mode="json", exclude={"content", "citations", "steps"})

        return event_stream(answer.events(), admit, done)
    async for _ in while_admitted(answer.events(), admit):
        pass
    return await answer.message()
