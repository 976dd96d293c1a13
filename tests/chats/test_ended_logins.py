"""An answer in the making ends with the login that asked for it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from uuid import UUID

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from app.agent import events
from app.agent.events import Event
from app.chats import streaming
from app.chats.streaming import while_admitted
from app.core.errors import NotAuthenticated, Unavailable
from app.core.ids import new_id
from app.identity import admission
from app.models import Message, MessageStatus
from app.ports.parts import Parts
from tests.chats.conftest import Swap
from tests.chats.events import events_of, text_of
from tests.chats.people import colleague_of
from tests.chats.scripted import Pause, ScriptedModels
from tests.chats.test_sessions import QUESTION, say
from tests.conftest import Person, until
from tests.identity.conftest import set_column
from tests.retrieval.shelf import Shelf

EVENTS = {"accept": "text/event-stream"}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked often, and nothing is remembered."""
    monkeypatch.setattr(streaming, "ADMIT_SECONDS", 0.05)
    monkeypatch.setattr(admission, "MAX_AGE_SECONDS", 0.0)


@pytest.fixture
async def viewer(platform: FastAPI, owner: Person) -> AsyncIterator[Person]:
    async with colleague_of(platform, owner, f"{new_id()}@example.com") as person:
        yield person


@pytest.fixture
def model(swap_parts: Swap) -> ScriptedModels:
    """Never comes to an end."""
    models = ScriptedModels([["You get ", "25 days [1]. ", "And ", Pause()]])
    swap_parts(chat_models=models)
    return models


async def said(model: ScriptedModels) -> None:
    pause = model.script[0][-1]
    assert isinstance(pause, Pause)
    await pause.reached.wait()


async def end_login(how: str, viewer: Person, owner: Person, parts: Parts) -> None:
    if how == "logged out":
        assert (await viewer.client.post("/v1/auth/logout")).status_code == 204
    elif how == "removed":
        assert (await owner.client.delete(f"/v1/members/{viewer.user_id}")).status_code == 204
    else:
        await set_column(parts, viewer, "disabled_at = now()")


@pytest.mark.parametrize("how", ["logged out", "removed", "disabled"])
async def test_the_stream_of_a_session_ends_and_what_was_said_is_kept(
    how: str, owner: Person, viewer: Person, handbook: UUID, model: ScriptedModels, parts: Parts, library: Shelf
) -> None:
    made = await viewer.client.post("/v1/sessions", json={"knowledge_base_ids": [str(handbook)]})
    answer = asyncio.create_task(say(viewer, made.json()["id"], **EVENTS))
    await said(model)
    await end_login(how, viewer, owner, parts)
    told = events_of(await asyncio.wait_for(answer, 30))
    error, done = told[-2:]
    assert (error["type"], error["code"]) == ("error", "login_ended")
    assert (done["type"], done["status"]) == ("done", "failed")
    assert text_of(told) == "You get 25 days [1]. And"
    assert model.ended == 1
    async with parts.database.read(library.scope) as session:
        of_session = select(Message).where(Message.session_id == UUID(made.json()["id"])).order_by(Message.id)
        kept = (await session.scalars(of_session)).all()[-1]
    assert (kept.status, kept.content) == (MessageStatus.INTERRUPTED, "You get 25 days [1]. And")


@pytest.mark.parametrize("headers", [EVENTS, {}])
async def test_a_question_without_session_ends(
    headers: dict[str, str], owner: Person, viewer: Person, handbook: UUID, model: ScriptedModels, parts: Parts
) -> None:
    body = {"question": QUESTION, "knowledge_base_ids": [str(handbook)]}
    asked = asyncio.create_task(viewer.client.post("/v1/ask", json=body, headers=headers))
    await said(model)
    await end_login("logged out", viewer, owner, parts)
    answer = await asyncio.wait_for(asked, 30)
    if headers:
        assert [event["type"] for event in events_of(answer)][-2:] == ["error", "done"]
    else:
        assert (answer.status_code, answer.json()["code"]) == (401, "login_ended")
    assert model.ended == 1


async def test_a_login_that_nobody_can_look_up_ends_nothing() -> None:
    asked = 0

    async def admit() -> None:
        nonlocal asked
        asked += 1
        raise Unavailable("The database does not answer.")

    async def run() -> AsyncGenerator[Event]:
        yield events.delta("one")

        async def often() -> bool:
            return asked > 2

        await until(often)
        yield events.delta("two")

    assert [event["data"]["text"] async for event in while_admitted(run(), admit)] == ["one", "two"]


async def test_a_caller_who_takes_nothing_does_not_keep_the_run_going() -> None:
    """The reader is held up between two events for as long as the caller's connection is full."""
    ended = asyncio.Event()

    async def refuse() -> None:
        raise NotAuthenticated("This login has ended.")

    async def run() -> AsyncGenerator[Event]:
        try:
            while True:
                yield events.delta("more")
                await asyncio.sleep(0.01)
        finally:
            ended.set()

    told = while_admitted(run(), refuse)
    await anext(told)
    await asyncio.wait_for(ended.wait(), 30)
    with pytest.raises(NotAuthenticated):
        await anext(told)
