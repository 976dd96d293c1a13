"""What a language model, over a real socket, says of tables."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy import select

from app.adapters.llm.openai import OpenAIChatModels
from app.chunking.chunk import ChunkKind
from app.chunking.table_summary import TableSummary, table_summary
from app.core.errors import Postponed
from app.ingestion import describing, pipeline
from app.knowledge_bases import service as knowledge_bases
from app.knowledge_bases.schemas import KnowledgeBasePatch
from app.models import Chunk
from app.parsing.document import ParsedDocument
from app.ports.chat_models import ChatDelta, ChatMessage, ChatModels
from app.ports.parts import Parts
from tests.chunking.documents import document as parsed_document
from tests.chunking.documents import table
from tests.ingestion.bench import CHUNKING, Bench
from tests.peers.openai import Fault, OpenAIPeer, running_peer

BERTHS = "| Berth | Length | Price |\n| --- | --- | --- |\n| Quay 1 | 12 | 40 |\n| Quay 2 | 15 | 55 |\n"
BOATS = "| Boat | Owner | Since |\n| --- | --- | --- |\n| Ada | Berg | 1987 |\n| Mia | Lund | 1992 |\n"
HARBOUR = f"# Berths\n\n{BERTHS}\n\n# Boats\n\n{BOATS}"
SAID = "What mooring costs a night."


@pytest.fixture
def peer() -> Iterator[OpenAIPeer]:
    with running_peer() as peer:
        peer.reply = lambda body: SAID if "Quay" in body["messages"][-1]["content"] else "Who owns which vessel."
        yield peer


@pytest.fixture
async def described(bench: Bench, idle_parts: Parts, peer: OpenAIPeer) -> AsyncIterator[Bench]:
    models = OpenAIChatModels(peer.url, peer.models[:1], timeout_seconds=10)
    await models.open()
    yield replace(bench, parts=replace(idle_parts, chat_models=models))
    await models.close()


async def summaries(bench: Bench, document: UUID) -> list[str]:
    """Of the version that is active."""
    found = select(Chunk.text).where(
        Chunk.document_id == document,
        Chunk.generation == (await bench.document(document)).active_generation,
        Chunk.kind == ChunkKind.TABLE_SUMMARY,
    )
    async with bench.parts.database.read(bench.scope) as session:
        return list(await session.scalars(found.order_by(Chunk.ordinal)))


async def set_tables(bench: Bench, **options: bool) -> None:
    body = KnowledgeBasePatch.model_validate({"settings": {"chunking": {**CHUNKING, "tables": options}}})
    async with bench.parts.database.write(bench.scope) as session:
        await knowledge_bases.change(session, bench.kb_id, body)


async def test_a_summary_begins_with_what_the_model_says(described: Bench, peer: OpenAIPeer) -> None:
    document = await described.ingested(HARBOUR, title="Harbour")
    berths, boats = await summaries(described, document)
    assert berths.splitlines()[:2] == ["Table: 2 rows, 3 columns.", SAID]
    assert "Who owns which vessel." in boats
    questions = sorted(request["messages"][-1]["content"] for request in peer.requests("chat"))
    assert len(questions) == 2
    assert any(
        "It stands in: Harbour > Berths" in question and "Price (number, 40 to 55)" in question
        for question in questions
    )
    assert (await described.document(document)).reading["warnings"] == []


async def test_a_new_version_asks_for_the_tables_that_changed(described: Bench, peer: OpenAIPeer) -> None:
    await described.ingested(HARBOUR, external_id="harbour", title="Harbour")
    peer.reset()
    peer.reply = lambda _: "Which vessel lies where."
    changed = f"{HARBOUR}| Eva | Holm | 2001 |\n"
    document = await described.ingested(changed, external_id="harbour", title="Harbour")
    (request,) = peer.requests("chat")
    assert "Eva" in request["messages"][-1]["content"]
    berths, boats = await summaries(described, document)
    assert SAID in berths
    assert "Which vessel lies where." in boats


async def test_a_silent_model_costs_only_its_sentences(described: Bench, peer: OpenAIPeer) -> None:
    peer.fail("chat", Fault(status=500), times=10)
    document = await described.ingested(HARBOUR)
    assert [text.splitlines()[1].split(" (")[0] for text in await summaries(described, document)] == ["Berth", "Boat"]
    (warning,) = (await described.document(document)).reading["warnings"]
    assert warning == describing.warning(2)


def many(count: int) -> str:
    return "\n\n".join(BERTHS.replace("Length", f"Length {number}") for number in range(count))


async def kept_nowhere(_: ParsedDocument) -> None:
    pass


async def test_a_worker_that_stops_leaves_what_it_was_told_to_the_next(
    described: Bench, peer: OpenAIPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describing, "_KEPT_AFTER", 2)
    for fault in (Fault(), Fault(), Fault(hang=True)):
        peer.fail("chat", fault)
    operation = (await described.upload(many(4))).operation
    assert operation is not None
    working = asyncio.create_task(described.run(operation.id))
    await asyncio.to_thread(peer.wait_for, "chat", 3)
    working.cancel()
    await asyncio.wait([working])
    asked = {request["messages"][-1]["content"].split("\n", 1)[1] for request in peer.requests("chat")[:2]}
    peer.reset()
    await described.work()
    assert len(peer.requests("chat")) == 2
    assert all(request["messages"][-1]["content"].split("\n", 1)[1] not in asked for request in peer.requests("chat"))


async def test_many_tables_give_way_to_what_waits(
    described: Bench, neighbour: Bench, peer: OpenAIPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describing, "_KEPT_AFTER", 2)
    monkeypatch.setattr(pipeline, "TURN_SECONDS", 0.0)
    operation = (await described.upload(many(4))).operation
    waiting = (await neighbour.upload("A note.")).operation
    assert operation is not None
    assert waiting is not None
    lease = await described.claim(operation.id)
    await neighbour.pass_time(waiting.id)
    with pytest.raises(Postponed):
        await pipeline.Ingestion(described.parts, lease).run()
    assert len(peer.requests("chat")) == 2


async def test_a_model_that_fails_half_of_the_time_describes_the_other_half(described: Bench, peer: OpenAIPeer) -> None:
    for _ in range(12):
        peer.fail("chat", Fault(status=500))
        peer.fail("chat", Fault())
    document = await described.ingested(many(24))
    assert sum(SAID in text for text in await summaries(described, document)) == 12
    assert (await described.document(document)).reading["warnings"] == [describing.warning(12)]


async def test_a_model_that_is_down_is_soon_left_alone(described: Bench, peer: OpenAIPeer) -> None:
    peer.fail("chat", Fault(status=500), times=40)
    document = await described.ingested(many(40))
    assert len(peer.requests("chat")) < 20
    assert (await described.document(document)).reading["warnings"] == [describing.warning(40)]


async def test_a_model_that_talks_on_and_on_is_not_waited_for(described: Bench, peer: OpenAIPeer) -> None:
    peer.say(*["So it is. "] * 300)
    peer.fail("chat", Fault(break_after=250))
    document = await described.ingested(BERTHS)
    (text,) = await summaries(described, document)
    assert text.splitlines()[1].startswith("So it is. So it is.")
    assert (await described.document(document)).reading["warnings"] == []


@dataclass(frozen=True)
class Held:
    """Models whose answers wait."""

    models: ChatModels
    asked: asyncio.Event
    answer: asyncio.Event

    @property
    def names(self) -> tuple[str, ...]:
        return self.models.names

    async def stream(self, messages: Sequence[ChatMessage]) -> AsyncIterator[ChatDelta]:
        self.asked.set()
        await self.answer.wait()
        async for delta in self.models.stream(messages):
            yield delta


async def test_a_worker_whose_lease_was_lost_while_it_asked_leaves_what_others_were_told(
    described: Bench, peer: OpenAIPeer
) -> None:
    held = Held(described.parts.chat_models, asyncio.Event(), asyncio.Event())
    late = replace(described, parts=replace(described.parts, chat_models=cast("ChatModels", held)))
    operation = (await described.upload(BERTHS)).operation
    assert operation is not None
    working = asyncio.create_task(late.run(operation.id))
    await held.asked.wait()
    await described.lose_lease(operation.id)
    await described.work()
    peer.reply = lambda _: "Said too late."
    held.answer.set()
    await working
    (key,) = [key for key in await described.blobs() if key.startswith("parsed/")]
    form = b"".join([part async for part in described.parts.blobs.get(described.scope, key)]).decode()
    assert SAID in form
    assert "Said too late." not in form


async def test_tables_beyond_the_first_are_said_to_be_left_out(
    described: Bench, peer: OpenAIPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And are not asked for by the next attempt."""
    monkeypatch.setattr(describing, "MOST_TABLES", 2)
    parsed = parsed_document(*(table([["Berth", "Price"], ["Quay 1", str(at)], ["Quay 2", "2"]]) for at in range(3)))
    models, tokens = described.parts.chat_models, described.parts.embedder.tokens
    once, warnings = await describing.describe_tables(models, tokens, parsed, "Harbour", {}, kept_nowhere)
    assert [one.table.description for one in once.elements if one.table is not None] == [SAID, SAID, ""]
    assert warnings == [describing.TOO_MANY]
    again = await describing.describe_tables(models, tokens, once, "Harbour", {}, kept_nowhere)
    assert again == (once, warnings)
    assert len(peer.requests("chat")) == 2


async def test_questions_are_made_beside_the_event_loop(
    described: Bench, peer: OpenAIPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of many thousands of rows takes seconds to look at."""
    threads: list[threading.Thread] = []

    def seen(*arguments: Any) -> TableSummary | None:
        threads.append(threading.current_thread())
        return table_summary(*arguments)

    monkeypatch.setattr(describing, "table_summary", seen)
    await described.ingested(BERTHS)
    assert len(peer.requests("chat")) == 1
    assert threading.main_thread() not in threads


async def test_one_table_that_is_refused_leaves_the_others(described: Bench, peer: OpenAIPeer) -> None:
    peer.fail("chat", Fault(status=400))
    document = await described.ingested(HARBOUR)
    told = [
        any(said in text for said in (SAID, "Who owns which vessel.")) for text in await summaries(described, document)
    ]
    assert sorted(told) == [False, True]
    assert (await described.document(document)).reading["warnings"] == [describing.warning(1)]


async def test_who_does_not_want_it_is_not_asked_for_it(described: Bench, peer: OpenAIPeer) -> None:
    await set_tables(described, described=False)
    await described.ingested(HARBOUR)
    await set_tables(described, summary=False)
    await described.ingested(f"{HARBOUR}\n\nAnd more.")
    assert peer.requests("chat") == []
