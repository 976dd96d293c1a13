"""`/v1/operations`: what the platform is doing with documents."""

import json
from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from sse_starlette import EventSourceResponse, ServerSentEvent

from app.core.errors import BigGraphError
from app.core.pagination import Page, Paging, by_id, page_of
from app.identity.access import AdmitAgain, Editor, PartsDep, Reading, Viewer, Writing
from app.ingestion import service
from app.ingestion.operations_repository import OperationFilter
from app.ingestion.schemas import OperationDetail, OperationOut
from app.ingestion.state import Followers, followers_lifespan
from app.models import OperationState

router = APIRouter(prefix="/v1/operations", tags=["operations"], lifespan=followers_lifespan)


@router.get("")
async def list_operations(
    paging: Paging,
    _scope: Viewer,
    session: Reading,
    state: Annotated[OperationState | None, Query(description="Only those that are in this state")] = None,
    document_id: Annotated[UUID | None, Query(description="Only those on this document")] = None,
    knowledge_base_id: Annotated[UUID | None, Query(description="Only those on this, or on its documents")] = None,
) -> Page[OperationOut]:
    """Newest first. `state=failed` lists what was given up."""
    rows = await service.list_page(session, paging, OperationFilter(state, document_id, knowledge_base_id))
    return page_of(map(OperationOut.of, rows), paging.limit, by_id)


@router.get("/{operation_id}")
async def get_operation(operation_id: UUID, _scope: Viewer, session: Reading) -> OperationDetail:
    """An operation with every run of its stages."""
    return await service.get(session, operation_id)


@router.get("/{operation_id}/events", response_class=EventSourceResponse)
async def follow_operation(
    operation_id: UUID, scope: Viewer, admit: AdmitAgain, parts: PartsDep, followers: Followers
) -> EventSourceResponse:
    """Server-sent events: the operation now, then at each change, until it has ended or your login has."""

    async def followed() -> AsyncIterator[OperationDetail]:
        with followers.place(scope.principal_id):
            async for state in service.follow(parts, scope, operation_id, admit):
                yield state

    states = followed()
    first = await anext(states)  # an unknown id is a 404, not a stream

    async def events() -> AsyncIterator[ServerSentEvent]:
        number = 1
        yield ServerSentEvent(first.model_dump_json(), event="operation", id=str(number))
        try:
            async for state in states:
                number += 1
                yield ServerSentEvent(state.model_dump_json(), event="operation", id=str(number))
        except BigGraphError as error:  # the status line has been sent, so the problem comes as an event
            yield ServerSentEvent(json.dumps({"code": error.error_code, "detail": error.public_detail}), event="error")

    return EventSourceResponse(events(), ping=15)


@router.post("/{operation_id}:cancel", status_code=202)
async def cancel_operation(operation_id: UUID, _scope: Editor, session: Writing, parts: PartsDep) -> OperationOut:
    """Ends an ingestion: at once where it waits, else at its next step. The version before goes on being found."""
    return OperationOut.of(await service.cancel(session, parts, operation_id))


@router.post("/{operation_id}:retry", status_code=202)
async def retry_operation(operation_id: UUID, _scope: Editor, session: Writing, parts: PartsDep) -> OperationOut:
    """Queues a failed or cancelled operation again; it goes on at the stage where it stopped."""
    return OperationOut.of(await service.retry(session, parts, operation_id))
