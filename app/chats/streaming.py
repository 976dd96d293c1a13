"""Events of a run as Server-Sent Events."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import anyio
import structlog
from sse_starlette import EventSourceResponse, ServerSentEvent

from app.agent import events
from app.agent.events import Event
from app.core.errors import BigGraphError, Unavailable
from app.identity.admission import Admit

log = structlog.get_logger()

HEARTBEAT_SECONDS = 15
STORING_SECONDS = 20
"""How long a run that was called off may take to store what it has."""
ADMIT_SECONDS = 2.0
"""How often it is asked whether the caller's login still lives."""

Done = Callable[[], Awaitable[dict[str, Any]]]


def event_stream(run: AsyncGenerator[Event], admit: Admit, done: Done) -> EventSourceResponse:
    """Sends the events of `run`, then `done` with what that gives.

    A caller that leaves ends the run, and so does the end of their login, which is told as an `error`.
    """
    return EventSourceResponse(_numbered(run, admit, done), ping=HEARTBEAT_SECONDS, ping_message_factory=_heartbeat)


def _heartbeat() -> ServerSentEvent:
    return ServerSentEvent(comment="alive")


async def _numbered(run: AsyncGenerator[Event], admit: Admit, done: Done) -> AsyncGenerator[ServerSentEvent]:
    number = 0
    async with aclosing(_with_end(run, admit, done)) as told:
        async for event in told:
            number += 1
            data = json.dumps({"type": event["type"], **event["data"]}, ensure_ascii=False, separators=(",", ":"))
            yield ServerSentEvent(data=data, id=str(number))


async def _with_end(run: AsyncGenerator[Event], admit: Admit, done: Done) -> AsyncGenerator[Event]:
    try:
        async with aclosing(while_admitted(run, admit)) as told:
            async for event in told:
                yield event
        last = await done()
    except BigGraphError as error:
        # The answer's status line has been sent, so the problem comes as an event.
        log.warning("answer_failed", code=error.error_code, detail=error.detail)
        yield events.error(error.error_code, error.public_detail)
        last = {"status": "failed"}
    yield Event(type="done", data=last)


async def while_admitted(run: AsyncGenerator[Event], admit: Admit) -> AsyncGenerator[Event]:
    """Walks `run` in a task of its own, which is cancelled when the reader stops early or `admit` raises.

    What `admit` raises is raised here, but for `Unavailable`, which says nothing about the caller. The server cancels
    the reader again and again once a caller has left; the task is cancelled once, so what it awaits while it stores the
    unfinished answer is left in peace.
    """
    queue: asyncio.Queue[Event | None] = asyncio.Queue()

    async def walk() -> None:
        try:
            async with aclosing(run):
                async for event in run:
                    queue.put_nowait(event)
        finally:
            queue.put_nowait(None)

    async def watch() -> None:
        try:
            while True:
                await asyncio.sleep(ADMIT_SECONDS)
                with suppress(Unavailable):
                    await admit()
        finally:
            walking.cancel()  # here, not by the reader, who may be held up by a caller that takes nothing
            queue.put_nowait(None)

    walking = asyncio.create_task(walk())
    watching = asyncio.create_task(watch())
    try:
        while (event := await queue.get()) is not None and not watching.done():
            yield event
        await (watching if watching.done() else walking)
    finally:
        watching.cancel()
        with anyio.move_on_after(STORING_SECONDS, shield=True):
            await asyncio.wait({walking, watching})
