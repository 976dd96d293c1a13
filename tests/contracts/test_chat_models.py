"""What every `ChatModels` does: the empty one, and the one over HTTP against a scripted server."""

from collections.abc import AsyncIterator, Iterator

import pytest

from app.adapters.llm.none import NoChatModels
from app.adapters.llm.openai import OpenAIChatModels
from app.core.errors import EngineUnavailable, NotFound
from app.ports.chat_models import ChatDelta, ChatMessage, ChatModels, TokenUsage
from tests.peers.openai import Fault, OpenAIPeer, running_peer

QUESTION = [
    ChatMessage("system", "Answer briefly."),
    ChatMessage("user", "你好"),
    ChatMessage("assistant", "你好！"),
    ChatMessage("user", "Who wrote it?"),
]


@pytest.fixture(scope="module")
def shared_peer() -> Iterator[OpenAIPeer]:
    with running_peer() as peer:
        yield peer


@pytest.fixture
def peer(shared_peer: OpenAIPeer) -> OpenAIPeer:
    shared_peer.reset()
    return shared_peer


@pytest.fixture
async def models(peer: OpenAIPeer) -> AsyncIterator[ChatModels]:
    adapter = OpenAIChatModels(peer.url, ["small", "large"], timeout_seconds=1.0)
    await adapter.open()
    await adapter.open()
    yield adapter
    await adapter.close()
    await adapter.close()


async def answer(models: ChatModels, model: str | None = None) -> list[ChatDelta]:
    return [delta async for delta in models.stream(QUESTION, model=model)]


def text_of(deltas: list[ChatDelta]) -> str:
    return "".join(delta.text for delta in deltas)


async def test_streams_pieces_as_they_come_and_usage_with_the_last(peer: OpenAIPeer, models: ChatModels) -> None:
    peer.say("Lu ", "Xun ", "[1]。", usage=(31, 7))
    deltas = await answer(models)
    assert [delta.text for delta in deltas if delta.text] == ["Lu ", "Xun ", "[1]。"]
    assert {delta.model for delta in deltas} == {"small"}
    assert [delta.usage for delta in deltas[:-1]] == [None] * (len(deltas) - 1)
    assert deltas[-1].usage == TokenUsage(31, 7)


async def test_sends_every_message_in_its_role(peer: OpenAIPeer, models: ChatModels) -> None:
    await answer(models)
    (request,) = peer.requests("chat")
    sent = [(message["role"], message["content"]) for message in request["messages"]]
    assert sent == [(message.role, message.content) for message in QUESTION]


async def test_a_server_that_tells_no_usage_is_fine(peer: OpenAIPeer, models: ChatModels) -> None:
    peer.say("Yes.", usage=None)
    deltas = await answer(models)
    assert text_of(deltas) == "Yes."
    assert all(delta.usage is None for delta in deltas)


async def test_the_named_model_is_tried_first(peer: OpenAIPeer, models: ChatModels) -> None:
    assert {delta.model for delta in await answer(models, "large")} == {"large"}
    peer.fail("chat", Fault(status=500), model="large")
    assert {delta.model for delta in await answer(models, "large")} == {"small"}


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429, retry_after="60"),
        Fault(status=500),
        Fault(status=401),
        Fault(status=400),
        Fault(hang=True),
        Fault(text="<html>not an API</html>"),
        Fault(break_after=0),
        Fault(end_after=0),
    ],
    ids=["busy", "failing", "refused", "rejected", "hanging", "no API", "broken", "empty"],
)
async def test_falls_back_while_nothing_was_said(peer: OpenAIPeer, models: ChatModels, fault: Fault) -> None:
    peer.fail("chat", fault, model="small")
    peer.reply = lambda _: "From the second."
    deltas = await answer(models)
    assert text_of(deltas) == "From the second."
    assert {delta.model for delta in deltas} == {"large"}
    assert [request["model"] for request in peer.requests("chat")] == ["small", "large"]


@pytest.mark.parametrize("fault", [Fault(break_after=2), Fault(end_after=2)], ids=["broken", "ended early"])
async def test_an_answer_that_breaks_off_is_an_error(peer: OpenAIPeer, models: ChatModels, fault: Fault) -> None:
    peer.fail("chat", fault)
    peer.say("one ", "two ", "three")
    said: list[str] = []

    async def listen() -> None:
        async for delta in models.stream(QUESTION):
            said.append(delta.text)

    with pytest.raises(EngineUnavailable, match="broke off"):
        await listen()
    assert said == ["one ", "two "]
    assert len(peer.requests("chat")) == 1


async def test_all_failing_is_unavailable(peer: OpenAIPeer, models: ChatModels) -> None:
    peer.fail("chat", Fault(status=503), times=2)
    with pytest.raises(EngineUnavailable):
        await answer(models)


async def test_an_unknown_model_is_not_found(peer: OpenAIPeer, models: ChatModels) -> None:
    with pytest.raises(NotFound):
        await answer(models, "enormous")
    assert peer.requests("chat") == []


async def test_check_tells_each_model_apart(peer: OpenAIPeer) -> None:
    adapter = OpenAIChatModels(peer.url, ["small", "retired"])
    await adapter.open()
    found = await adapter.check()
    assert found["small"] is None
    assert "does not offer" in (found["retired"] or "")
    peer.fail("models", Fault(status=404))
    assert await adapter.check() == {"small": None, "retired": None}
    peer.fail("models", Fault(status=500))
    assert all((await adapter.check()).values())
    await adapter.close()


async def test_the_key_is_sent(peer: OpenAIPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer, "api_key", "right")
    right = OpenAIChatModels(peer.url, ["small"], api_key="right")
    wrong = OpenAIChatModels(peer.url, ["small"], api_key="wrong")
    for adapter in (right, wrong):
        await adapter.open()
    assert await answer(right)
    assert await right.check() == {"small": None}
    with pytest.raises(EngineUnavailable) as refused:
        await answer(wrong)
    assert "wrong" not in refused.value.detail
    assert "401" in ((await wrong.check())["small"] or "")
    for adapter in (right, wrong):
        await adapter.close()


async def test_a_server_that_is_down(peer: OpenAIPeer) -> None:
    adapter = OpenAIChatModels("http://127.0.0.1:9/v1", ["small"], timeout_seconds=1.0)
    await adapter.open()
    with pytest.raises(EngineUnavailable):
        await answer(adapter)
    assert all((await adapter.check()).values())
    await adapter.close()


async def test_none_configured() -> None:
    adapter = NoChatModels()
    await adapter.open()
    assert adapter.names == ()
    assert await adapter.check() == {}
    with pytest.raises(EngineUnavailable) as unavailable:
        await answer(adapter)
    assert unavailable.value.error_code == "no_chat_model"
    with pytest.raises(NotFound):
        await answer(adapter, model="small")
    await adapter.close()
