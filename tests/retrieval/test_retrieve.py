"""What a question finds, on the real engines."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError
from sqlalchemy import event

from app.core.errors import NotFound
from app.core.ids import chunk_id, new_id
from app.models import Chunk, Document, KnowledgeBase
from app.ports.parts import Parts
from app.retrieval.schemas import RetrievalResult, RetrieveRequest
from tests.retrieval.shelf import Shelf

LEAVE = "Employees get twenty-five days of paid leave a year."
PUMP = "The pump P-101 must be shut off before the valve is opened."
LEAVE_ZH = "员工每年享有二十五天带薪年假。"
MODES = ["hybrid", "dense", "bm25"]
FUSIONS: list[dict[str, Any]] = [
    {"method": "convex"},
    {"method": "rrf"},
    {"method": "rrf", "k": 10, "adaptive": True},
    {"method": "convex", "weights": {"dense": 1, "bm25": 3}},
]


def texts(result: RetrievalResult) -> list[str]:
    return [hit.text for hit in result.hits]


def documents(result: RetrievalResult) -> set[UUID]:
    return {hit.document_id for hit in result.hits}


_counting: ContextVar[bool] = ContextVar("counting", default=False)


@contextmanager
def counted_statements(parts: Parts) -> Iterator[list[str]]:
    """Statements that this task and its own send to Postgres, without those that confine a transaction to its tenant.

    Workers and the sweeper send theirs meanwhile, in tasks that know nothing of this.
    """
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if _counting.get() and "set_config" not in statement:
            sent.append(statement)

    engine = parts.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    counting = _counting.set(True)
    try:
        yield sent
    finally:
        _counting.reset(counting)
        event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fusion", FUSIONS)
async def test_the_best_chunk_comes_first_with_all_that_is_known_of_it(
    shelf: Shelf, mode: str, fusion: dict[str, Any]
) -> None:
    kb_id = await shelf.knowledge_base()
    document_id = await shelf.document(
        kb_id, LEAVE, PUMP, name="handbook.pdf", external_id="H-1", tags=["hr"], metadata={"year": 2026}
    )
    result = await shelf.retrieve("How many days of paid leave?", mode=mode, fusion=fusion)
    hit = result.hits[0]
    assert hit.chunk_id == chunk_id(document_id, 1, 0)
    assert (hit.document_id, hit.document_name, hit.external_id) == (document_id, "handbook.pdf", "H-1")
    assert (hit.knowledge_base_id, hit.generation, hit.ordinal, hit.kind) == (kb_id, 1, 0, "text")
    assert (hit.text, hit.heading_path, hit.start, hit.end) == (LEAVE, ["Part", "Section 0"], 0, len(LEAVE))
    assert (hit.page, hit.page_end, hit.tags, hit.metadata) == (1, 1, ["hr"], {"year": 2026})
    assert hit.bbox is not None
    assert hit.bbox.right == 3
    assert (hit.scores.dense is None, hit.ranks.dense is None) == ((mode == "bm25"),) * 2
    assert (hit.scores.bm25 is None, hit.ranks.bm25 is None) == ((mode == "dense"),) * 2
    assert hit.ranks.rrf == 1
    assert hit.scores.rerank is None
    assert result.degraded == []
    assert result.took_ms.total >= result.took_ms.hydrate > 0
    if mode != "dense":
        assert {"day", "paid", "leav"} <= set(hit.matched_terms)


@pytest.mark.parametrize("mode", MODES)
async def test_chinese_finds_chinese(shelf: Shelf, mode: str) -> None:
    kb_id = await shelf.knowledge_base()
    await shelf.document(kb_id, "水泵在打开阀门之前必须关闭。", LEAVE_ZH)
    result = await shelf.retrieve("带薪年假有多少天?", mode=mode)
    assert texts(result)[0] == LEAVE_ZH


async def test_a_hit_of_one_channel_lacks_the_other_score(shelf: Shelf) -> None:
    kb_id = await shelf.knowledge_base()
    await shelf.document(kb_id, PUMP, LEAVE_ZH)
    result = await shelf.retrieve("pump", candidates=100)
    by_text = {hit.text: hit for hit in result.hits}
    assert by_text[PUMP].ranks.bm25 == 1
    assert by_text[LEAVE_ZH].scores.bm25 is None
    assert by_text[LEAVE_ZH].matched_terms == []
    assert by_text[LEAVE_ZH].scores.dense is not None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "condition",
    [
        {"tags_any": ["hr", "none"]},
        {"tags_all": ["hr", "policy"]},
        {"metadata": {"year": 2026}},
        {"metadata": {"year": [2025, 2026.0]}},
        {"metadata": {"lang": ["en", "zh"], "final": True}},
        {"created_from": "2026-03-01T00:00:00Z"},
        {"created_from": "2026-03-01T08:00:00+08:00", "created_before": "2026-03-01T00:00:01Z"},
        {"external_ids": ["H-1", "never heard of"]},
    ],
    ids=str,
)
async def test_filters_hold_in_every_mode(shelf: Shelf, mode: str, condition: dict[str, Any]) -> None:
    kb_id = await shelf.knowledge_base()
    wanted = await shelf.document(
        kb_id,
        LEAVE,
        external_id="H-1",
        tags=["hr", "policy"],
        metadata={"year": 2026, "lang": "en", "final": True},
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    await shelf.document(
        kb_id,
        LEAVE,
        external_id="H-2",
        tags=["policy"],
        metadata={"year": "2026", "lang": "en", "final": "true"},
        created_at=datetime(2026, 2, 1, tzinfo=UTC),
    )
    await shelf.document(kb_id, LEAVE, created_at=datetime(2026, 2, 28, tzinfo=UTC))
    assert documents(await shelf.retrieve("paid leave", mode=mode, filter=condition)) == {wanted}
    assert len(documents(await shelf.retrieve("paid leave", mode=mode))) == 3


@pytest.mark.parametrize(
    ("stored", "asked", "unlike"),
    [
        (1e23, 1e23, 1e22),
        (10**23, 1e23, 10**23 + 1),
        (1e23, 10**23, int(1e23)),
        (2**64 + 1, 2**64 + 1, 2**64),
        (-(10**400), -(10**400), 10**400),
        (1e308, 1e308, 1e307),
    ],
)
async def test_numbers_of_any_size_are_found(shelf: Shelf, stored: float, asked: float, unlike: float) -> None:
    wanted = await shelf.document(await shelf.knowledge_base(), LEAVE, metadata={"n": stored})
    assert documents(await shelf.retrieve("leave", filter={"metadata": {"n": asked}})) == {wanted}
    assert (await shelf.retrieve("leave", filter={"metadata": {"n": unlike}})).hits == []


async def test_the_largest_filter_makes_no_large_statement(shelf: Shelf, parts: Parts) -> None:
    """One of thousands of parameters holds up everybody for seconds while it is compiled."""
    facts = {f"key {number}": number for number in range(64)}
    wanted = await shelf.document(await shelf.knowledge_base(), LEAVE, metadata=facts)
    condition: dict[str, Any] = {"metadata": {key: list(range(100)) for key in facts}}
    with counted_statements(parts) as sent:
        assert documents(await shelf.retrieve("leave", filter=condition)) == {wanted}
    assert max(statement.count("$") for statement in sent) < 5 * len(facts)
    condition["metadata"]["key 63"] = ["63", 64, True]
    assert (await shelf.retrieve("leave", filter=condition)).hits == []


async def test_document_ids_and_external_ids_hold_at_once(shelf: Shelf) -> None:
    kb_id = await shelf.knowledge_base()
    first = await shelf.document(kb_id, LEAVE, external_id="1")
    second = await shelf.document(kb_id, LEAVE, external_id="2")
    both = {"document_ids": [first, second], "external_ids": ["2", "3"]}
    assert documents(await shelf.retrieve("leave", filter=both)) == {second}
    none = {"document_ids": [first], "external_ids": ["2"]}
    assert (await shelf.retrieve("leave", filter=none)).hits == []
    assert (await shelf.retrieve("leave", filter={"external_ids": ["9"]})).hits == []


async def test_postgres_has_the_last_word_on_the_filter(shelf: Shelf) -> None:
    """The indexes still hold the tags of a moment ago."""
    kb_id = await shelf.knowledge_base()
    document_id = await shelf.document(kb_id, LEAVE, tags=["draft"])
    await shelf.change(Document, document_id, tags=["final"])
    assert (await shelf.retrieve("leave", filter={"tags_any": ["draft"]})).hits == []


async def test_only_the_asked_knowledge_bases_answer(shelf: Shelf) -> None:
    first, second = await shelf.knowledge_base(), await shelf.knowledge_base()
    in_first, in_second = await shelf.document(first, LEAVE), await shelf.document(second, LEAVE)
    assert documents(await shelf.retrieve("leave", knowledge_base_ids=[first])) == {in_first}
    assert documents(await shelf.retrieve("leave", knowledge_base_ids=[first, second])) == {in_first, in_second}
    assert documents(await shelf.retrieve("leave")) == {in_first, in_second}
    await shelf.change(KnowledgeBase, second, deleted_at=datetime.now(UTC))
    assert documents(await shelf.retrieve("leave")) == {in_first}
    with pytest.raises(NotFound) as raised:
        await shelf.retrieve("leave", knowledge_base_ids=[first, second])
    assert raised.value.error_code == "knowledge_base_not_found"


async def test_nothing_is_found_where_there_is_nothing(shelf: Shelf) -> None:
    assert (await shelf.retrieve("leave")).hits == []
    await shelf.knowledge_base()
    assert (await shelf.retrieve("leave")).hits == []


@pytest.mark.parametrize("mode", MODES)
async def test_what_may_not_be_seen_is_not_seen(shelf: Shelf, mode: str) -> None:
    kb_id = await shelf.knowledge_base()
    live = await shelf.document(kb_id, LEAVE, LEAVE)
    deleted = await shelf.document(kb_id, LEAVE)
    unready = await shelf.document(kb_id, LEAVE)
    await shelf.change(Chunk, chunk_id(live, 1, 1), enabled=False)
    await shelf.change(Document, deleted, deleted_at=datetime.now(UTC))
    await shelf.change(Document, unready, active_generation=None)
    await shelf.index(await shelf.find(live), 7, LEAVE, LEAVE)
    result = await shelf.retrieve("paid leave", mode=mode)
    assert [hit.chunk_id for hit in result.hits] == [chunk_id(live, 1, 0)]
    assert [hit.ranks.rrf for hit in result.hits] == [1]


@pytest.mark.parametrize("mode", MODES)
async def test_tenants_do_not_see_each_other(shelf: Shelf, foreign_shelf: Shelf, mode: str) -> None:
    own_kb, foreign_kb = await shelf.knowledge_base(), await foreign_shelf.knowledge_base()
    own = await shelf.document(own_kb, LEAVE, external_id="same")
    foreign = await foreign_shelf.document(foreign_kb, LEAVE, external_id="same")
    assert documents(await shelf.retrieve("leave", mode=mode)) == {own}
    assert documents(await shelf.retrieve("leave", mode=mode, filter={"external_ids": ["same"]})) == {own}
    # Even what lies in this tenant's part of the indexes: a foreign document's chunk has no row for this tenant.
    await shelf.index(await foreign_shelf.find(foreign), 1, LEAVE)
    assert documents(await shelf.retrieve("leave", mode=mode)) == {own}


async def test_foreign_and_unknown_ids_are_not_found(shelf: Shelf, foreign_shelf: Shelf) -> None:
    await shelf.knowledge_base()
    kb_id = await foreign_shelf.knowledge_base()
    document_id = await foreign_shelf.document(kb_id, LEAVE)
    for foreign, unknown in (
        ({"knowledge_base_ids": [kb_id]}, {"knowledge_base_ids": [new_id()]}),
        ({"filter": {"document_ids": [document_id]}}, {"filter": {"document_ids": [new_id()]}}),
        ({"explain_document_ids": [document_id]}, {"explain_document_ids": [new_id()]}),
        ({"explain_chunk_ids": [chunk_id(document_id, 1, 0)]}, {"explain_chunk_ids": [new_id()]}),
    ):
        problems = []
        for request in (foreign, unknown):
            with pytest.raises(NotFound) as raised:
                await shelf.retrieve("leave", **request)
            problems.append((raised.value.error_code, re.sub(r"[0-9a-f-]{36}", "", raised.value.detail)))
        assert problems[0] == problems[1]


async def test_a_deleted_document_is_not_found(shelf: Shelf) -> None:
    kb_id = await shelf.knowledge_base()
    document_id = await shelf.document(kb_id, LEAVE)
    await shelf.change(Document, document_id, deleted_at=datetime.now(UTC))
    with pytest.raises(NotFound):
        await shelf.retrieve("leave", filter={"document_ids": [document_id]})


async def test_top_k_and_min_dense_score(shelf: Shelf) -> None:
    kb_id = await shelf.knowledge_base()
    await shelf.document(kb_id, LEAVE, PUMP, LEAVE_ZH)
    everything = await shelf.retrieve("paid leave", mode="dense")
    assert len(everything.hits) == 3
    assert len((await shelf.retrieve("paid leave", top_k=2)).hits) == 2
    best, second = (hit.scores.dense or 0 for hit in everything.hits[:2])
    threshold = (best + second) / 2
    assert len((await shelf.retrieve("paid leave", mode="dense", min_dense_score=threshold)).hits) == 1
    # The threshold is the dense channel's alone: BM25 still brings what it finds.
    assert PUMP in texts(await shelf.retrieve("pump", mode="hybrid", min_dense_score=1))


async def test_punctuation_alone_has_no_terms(shelf: Shelf) -> None:
    kb_id = await shelf.knowledge_base()
    await shelf.document(kb_id, LEAVE)
    lexical = await shelf.retrieve("?!…。", mode="bm25")
    assert (lexical.hits, lexical.degraded) == ([], [])
    hybrid = await shelf.retrieve("?!…。")
    assert len(hybrid.hits) == 1
    assert hybrid.degraded == []


async def test_stored_settings_are_used_where_the_request_is_silent(shelf: Shelf) -> None:
    first = await shelf.knowledge_base(top_k=1, fusion={"method": "rrf", "k": 7})
    await shelf.document(first, LEAVE, PUMP)
    result = await shelf.retrieve("leave", fusion={"adaptive": True})
    assert len(result.hits) == 1
    used = result.settings
    assert (used.source, used.overridden) == ("knowledge_bases", ["fusion"])
    assert (used.fusion.method, used.fusion.k, used.fusion.adaptive) == ("rrf", 7, True)
    assert len((await shelf.retrieve("leave", top_k=2)).hits) == 2

    alike = await shelf.knowledge_base(top_k=1, fusion={"method": "rrf", "k": 7})
    assert (await shelf.retrieve("leave", knowledge_base_ids=[first, alike])).settings.source == "knowledge_bases"
    await shelf.knowledge_base(top_k=3)
    mixed = (await shelf.retrieve("leave")).settings
    assert (mixed.source, mixed.top_k, mixed.fusion.method) == ("defaults", 10, "convex")


async def test_stored_settings_of_an_earlier_version_do_no_harm(shelf: Shelf) -> None:
    await shelf.knowledge_base(top_k=4, no_longer_known=True)
    assert (await shelf.retrieve("leave")).settings.top_k == 4


async def test_two_statements_answer_a_question(shelf: Shelf) -> None:
    kb_id = await shelf.knowledge_base()
    document_id = await shelf.document(kb_id, *(f"{LEAVE} {number}" for number in range(30)), tags=["hr"])
    with counted_statements(shelf.parts) as sent:
        narrowed = {"document_ids": [document_id], "tags_any": ["hr"]}
        result = await shelf.retrieve("paid leave", knowledge_base_ids=[kb_id], filter=narrowed, top_k=20)
    assert len(result.hits) == 20
    assert len(sent) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"query": ""},
        {"query": " \n\t　"},
        {"query": "x" * 8_001},
        {"query": "\x00"},
        {"query": "half \ud800"},
        {"query": "x", "top_k": 0},
        {"query": "x", "top_k": 201},
        {"query": "x", "candidates": 99},
        {"query": "x", "candidates": 150, "top_k": 200},
        {"query": "x", "mode": "sparse"},
        {"query": "x", "fusion": {"weights": {"dense": 0, "bm25": 0}}},
        {"query": "x", "fusion": {"weights": {"dense": float("nan")}}},
        {"query": "x", "weights": {}, "fusion": {"weights": {}}},
        {"query": "x", "min_dense_score": 1.1},
        {"query": "x", "filter": {"created_from": "2026-01-01T00:00:00"}},
        {"query": "x", "filter": {"created_from": "0001-01-01T00:00:00+14:00"}},
        {"query": "x", "filter": {"metadata": {"key": []}}},
        {"query": "x", "filter": {"metadata": {"key": {"nested": 1}}}},
        {"query": "x", "filter": {"metadata": {"key": float("inf")}}},
        {"query": "x", "filter": {"tags_any": ["\x00"]}},
        {"query": "x", "tenant_id": "other"},
    ],
    ids=lambda body: str(body)[:60].encode("ascii", "replace").decode(),
)
def test_senseless_requests_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RetrieveRequest.model_validate(body)


async def test_hostile_text_is_only_text(shelf: Shelf) -> None:
    kb_id = await shelf.knowledge_base()
    await shelf.document(kb_id, LEAVE)
    for query in ("leave'; drop table chunks; --", "leave AND (", "leave:* ~9 ^", '{"match_all":{}}', "a " * 3_999):
        await shelf.retrieve(query)
    odd = {"tags_any": ["' or 1=1 --"], "metadata": {"a'b\"": ["\\", "", 2**63 - 1, 1e300]}}
    assert (await shelf.retrieve("leave", filter=odd)).hits == []
