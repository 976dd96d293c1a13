"""What every `TextIndex` must do, tried on Tantivy and on a real Elasticsearch."""

import asyncio
import itertools
import math
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from app.adapters.elasticsearch import ElasticsearchIndex
from app.adapters.tantivy import TantivyIndex
from app.core.errors import EngineRejected, EngineUnavailable
from app.core.scope import Role, TenantScope
from app.ports.indexes import ChunkSource, IndexedChunk, IndexFilter
from app.ports.text_index import MAX_QUERY_TERMS, TermDocument, TextIndex
from app.terms import index_terms, query_terms
from tests.contracts.elasticsearch_server import elasticsearch_url

DAY = datetime(2026, 3, 1, tzinfo=UTC)
EVERYTHING = IndexFilter()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with elasticsearch_url() as url:
        yield url


@asynccontextmanager
async def elasticsearch_index(url: str) -> AsyncIterator[ElasticsearchIndex]:
    index = ElasticsearchIndex(url, prefix=f"test-{uuid4().hex}", analyzer_version="1")
    await index.open()
    try:
        yield index
    finally:
        assert index._client is not None
        await index._client.indices.delete(index=f"{index.alias}-000001", ignore_unavailable=True)
        await index.close()


@asynccontextmanager
async def empty_index(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[TextIndex]:
    if request.param == "tantivy":
        tantivy = TantivyIndex(folder, analyzer_version="1")
        await tantivy.open()
        yield tantivy
        await tantivy.close()
    else:
        async with elasticsearch_index(request.getfixturevalue("server")) as elasticsearch:
            yield elasticsearch


@pytest.fixture(scope="module", params=["tantivy", "elasticsearch"])
async def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TextIndex]:
    async with empty_index(request, tmp_path_factory.mktemp("terms")) as made:
        yield made


@pytest.fixture(params=["tantivy", "elasticsearch"])
async def lone_index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TextIndex]:
    """Holds what one test writes, and nothing else."""
    async with empty_index(request, tmp_path) as made:
        yield made


@pytest.fixture
def scope() -> TenantScope:
    """A tenant of its own for each test, so that tests can share an index."""
    return TenantScope(uuid4(), uuid4(), Role.EDITOR)


def other_tenant() -> TenantScope:
    return TenantScope(uuid4(), uuid4(), Role.EDITOR)


def document(text: str, *, version: int = 1, source: ChunkSource | None = None, **facts: object) -> TermDocument:
    made = source or ChunkSource(uuid4(), uuid4(), uuid4(), 1, DAY)
    return TermDocument(replace(made, **facts), tuple(text.split()), version)  # type: ignore[arg-type]  # by name


def ids(documents: Sequence[TermDocument]) -> list[UUID]:
    return [one.source.chunk_id for one in documents]


async def found(
    index: TextIndex, scope: TenantScope, text: str, where: IndexFilter = EVERYTHING, limit: int = 100
) -> list[UUID]:
    return [hit.chunk_id for hit in await index.search(scope, text.split(), where, limit)]


async def held(
    index: TextIndex, scope: TenantScope, *, document_id: UUID | None = None, generation: int | None = None
) -> set[IndexedChunk]:
    chunks = [chunk async for chunk in index.scan(scope, document_id=document_id, generation=generation)]
    assert len(chunks) == len(set(chunks))
    return set(chunks)


def as_indexed(documents: Sequence[TermDocument]) -> set[IndexedChunk]:
    return {IndexedChunk(one.source.chunk_id, one.source.document_id, one.source.generation) for one in documents}


async def test_writes_are_seen_when_they_return(index: TextIndex, scope: TenantScope) -> None:
    await index.check()
    one = document("红 apple apple")
    await index.upsert(scope, [one])
    assert await found(index, scope, "apple") == ids([one])
    assert await found(index, scope, "红") == ids([one])
    assert await held(index, scope) == as_indexed([one])


async def test_ranks_by_bm25_and_gives_positive_scores(index: TextIndex, scope: TenantScope) -> None:
    twice, once, diluted = document("zeta zeta x"), document("zeta x x"), document("zeta" + " y" * 200)
    await index.upsert(scope, [diluted, document("nothing here"), once, twice])
    hits = await index.search(scope, ["zeta"], EVERYTHING, 10)
    assert [hit.chunk_id for hit in hits] == ids([twice, once, diluted])
    assert hits[0].score > hits[1].score > hits[2].score > 0
    assert await found(index, scope, "zeta", limit=2) == ids([twice, once])


async def test_a_term_given_twice_weighs_twice(index: TextIndex, scope: TenantScope) -> None:
    one = document("weighty term")
    await index.upsert(scope, [one])
    single = await index.score(scope, ["weighty"], EVERYTHING, ids([one]))
    double = await index.score(scope, ["weighty", "weighty"], EVERYTHING, ids([one]))
    assert double[one.source.chunk_id] == pytest.approx(2 * single[one.source.chunk_id])


async def test_no_terms_or_no_room_find_nothing(index: TextIndex, scope: TenantScope) -> None:
    one = document("apple")
    await index.upsert(scope, [one])
    assert await index.search(scope, [], EVERYTHING, 10) == []
    assert await index.search(scope, ["apple"], EVERYTHING, 0) == []
    assert await index.search(scope, ["apple"], EVERYTHING, 10_000) != []
    assert await index.score(scope, [], EVERYTHING, ids([one])) == {}
    assert await index.score(scope, ["apple"], EVERYTHING, []) == {}
    assert await index.matched_terms(scope, ["apple"], []) == {}


async def test_empty_writes_are_no_error(index: TextIndex, scope: TenantScope) -> None:
    await index.upsert(scope, [])
    await index.update_source(scope, [])
    await index.delete(scope, [])
    assert await held(index, scope) == set()


async def test_a_chunk_without_terms_is_held_but_not_found(index: TextIndex, scope: TenantScope) -> None:
    one = document("")
    await index.upsert(scope, [one])
    assert await held(index, scope) == as_indexed([one])
    assert await index.score(scope, ["apple"], EVERYTHING, ids([one])) == {}
    assert await index.matched_terms(scope, ["apple"], ids([one])) == {one.source.chunk_id: frozenset()}


@pytest.mark.parametrize("limit", [1, 5, 30])
async def test_ties_are_broken_by_chunk_id(index: TextIndex, scope: TenantScope, limit: int) -> None:
    same = [document("tied words of equal weight") for _ in range(60)]
    for start in range(0, 60, 20):
        await index.upsert(scope, same[start : start + 20])
    assert await found(index, scope, "tied words weight", limit=limit) == sorted(ids(same))[:limit]


async def test_the_same_terms_in_another_order_are_tied(index: TextIndex, scope: TenantScope) -> None:
    words = ("ebb", "flood", "neap", "spring")
    turned = [document(" ".join(order)) for order in itertools.permutations(words)]
    uneven = [document(" ".join(words[:count])) for count in (1, 2, 2, 3, 3, 3)]
    await index.upsert(scope, [*turned, *uneven])
    assert await found(index, scope, " ".join(words), limit=len(turned)) == sorted(ids(turned))


async def test_upsert_is_idempotent_and_replaces(index: TextIndex, scope: TenantScope) -> None:
    one = document("old words")
    await index.upsert(scope, [one])
    await index.upsert(scope, [one])
    assert await found(index, scope, "old") == ids([one])
    await index.upsert(scope, [document("new words", source=one.source)])
    assert await found(index, scope, "old") == []
    assert await found(index, scope, "new") == ids([one])
    assert len(await held(index, scope)) == 1


async def test_the_last_of_one_batch_wins(index: TextIndex, scope: TenantScope) -> None:
    one = document("first", version=3)
    late = document("late", version=2, source=one.source)
    last = document("last", version=3, source=one.source)
    await index.upsert(scope, [one, late, last])
    assert await found(index, scope, "last") == ids([one])
    assert await found(index, scope, "first late") == []


async def test_late_writers_are_dropped(index: TextIndex, scope: TenantScope) -> None:
    one, bystander = document("right", version=7), document("bystander", version=1)
    await index.upsert(scope, [one])
    await index.upsert(scope, [document("late", version=6, source=one.source), bystander])
    assert await found(index, scope, "late") == []
    assert await found(index, scope, "right") == ids([one])
    assert await found(index, scope, "bystander") == ids([bystander])
    await index.upsert(scope, [document("newer", version=8, source=one.source)])
    assert await found(index, scope, "newer") == ids([one])


async def test_deleted_chunks_are_gone_and_may_come_back(index: TextIndex, scope: TenantScope) -> None:
    keep, drop = document("apple keep", version=5), document("apple drop", version=5)
    await index.upsert(scope, [keep, drop])
    await index.delete(scope, [drop.source.chunk_id, uuid4()])
    await index.delete(scope, [drop.source.chunk_id])
    assert await found(index, scope, "apple") == ids([keep])
    assert await held(index, scope) == as_indexed([keep])
    assert await index.matched_terms(scope, ["apple"], ids([drop])) == {}
    await index.upsert(scope, [drop])
    assert set(await found(index, scope, "apple")) == set(ids([keep, drop]))
    await index.delete(scope, ids([drop]))
    assert await found(index, scope, "apple") == ids([keep])


async def test_update_source_changes_filters_and_keeps_terms_and_version(index: TextIndex, scope: TenantScope) -> None:
    one = document("apple pie", version=4, tags=("old",), metadata={"year": 2025})
    await index.upsert(scope, [one])
    changed = replace(one.source, tags=("new",), metadata={"year": 2026})
    unknown = replace(one.source, chunk_id=uuid4())
    await index.update_source(scope, [changed, unknown])
    assert await found(index, scope, "apple", IndexFilter(tags_any=("old",))) == []
    wanted = IndexFilter(tags_any=("new",), metadata={"year": (2026,)})
    assert await found(index, scope, "pie", wanted) == ids([one])
    assert await held(index, scope) == as_indexed([one])
    await index.upsert(scope, [document("late", version=3, source=one.source)])
    assert await found(index, scope, "apple late", wanted) == ids([one])
    await index.upsert(scope, [document("rightful", version=4, source=one.source)])
    assert await found(index, scope, "rightful", IndexFilter(tags_all=("old",))) == ids([one])


async def test_update_source_does_not_bring_back_the_deleted(index: TextIndex, scope: TenantScope) -> None:
    one = document("apple")
    await index.upsert(scope, [one])
    await index.delete(scope, ids([one]))
    await index.update_source(scope, [one.source])
    assert await held(index, scope) == set()


async def test_writes_at_the_same_time_all_arrive(index: TextIndex, scope: TenantScope) -> None:
    documents = [document("crowd", version=version) for version in range(1, 21)]
    contested = documents[0].source
    await asyncio.gather(
        *(index.upsert(scope, [one]) for one in documents),
        *(index.upsert(scope, [document("contested", version=n, source=contested)]) for n in range(20, 0, -1)),
        *(index.update_source(scope, [replace(contested, tags=("tag",))]) for _ in range(2)),
    )
    assert await held(index, scope) == as_indexed(documents)
    late = document("late", version=19, source=contested)
    await index.upsert(scope, [late])
    assert await found(index, scope, "contested") == [contested.chunk_id]
    assert await found(index, scope, "late") == []


FILTERS = [
    ("knowledge base", lambda s: IndexFilter(knowledge_base_ids=(s.knowledge_base_id, uuid4()))),
    ("document", lambda s: IndexFilter(document_ids=(s.document_id,))),
    ("any tag", lambda s: IndexFilter(tags_any=("absent", "重要"))),
    ("all tags", lambda s: IndexFilter(tags_all=("重要", "a b=c"))),
    ("metadata", lambda s: IndexFilter(metadata={"year": (1999, 2026)})),
    ("metadata of two keys", lambda s: IndexFilter(metadata={"year": (2026,), "author": ("Zhang 张",), "none": ()})),
    ("from", lambda s: IndexFilter(created_from=s.created_at)),
    ("before", lambda s: IndexFilter(created_from=DAY, created_before=s.created_at + timedelta(microseconds=1))),
]


@pytest.mark.parametrize("where", [make for _, make in FILTERS], ids=[name for name, _ in FILTERS])
async def test_each_filter_alone(index: TextIndex, scope: TenantScope, where: object) -> None:
    wanted = document(
        "apple",
        tags=("重要", "a b=c"),
        metadata={"year": 2026, "author": "Zhang 张"},
        created_at=DAY + timedelta(days=9, microseconds=7),
    )
    unlike = document("apple", tags=("a b",), metadata={"year": "2026"}, created_at=DAY - timedelta(microseconds=1))
    await index.upsert(scope, [wanted, unlike])
    assert callable(where)
    assert await found(index, scope, "apple", where(wanted.source)) == ids([wanted])


async def test_filters_combined_and_excluded_documents(index: TextIndex, scope: TenantScope) -> None:
    base = ChunkSource(uuid4(), uuid4(), uuid4(), 1, DAY, tags=("x", "y"), metadata={"k": True})
    match = document("apple", source=base)
    others = [
        document("apple", source=replace(base, chunk_id=uuid4(), tags=("x",))),
        document("apple", source=replace(base, chunk_id=uuid4(), metadata={"k": 1})),
        document("apple", source=replace(base, chunk_id=uuid4(), created_at=DAY + timedelta(days=1))),
        document("apple", source=replace(base, chunk_id=uuid4(), document_id=uuid4())),
        document("apple", source=replace(base, chunk_id=uuid4(), knowledge_base_id=uuid4())),
        document("pear", source=replace(base, chunk_id=uuid4())),
    ]
    await index.upsert(scope, [match, *others])
    where = IndexFilter(
        knowledge_base_ids=(base.knowledge_base_id,),
        document_ids=(base.document_id, others[3].source.document_id),
        excluded_document_ids=(others[3].source.document_id, uuid4()),
        tags_any=("x", "z"),
        tags_all=("x", "y"),
        metadata={"k": (True,)},
        created_from=DAY,
        created_before=DAY + timedelta(days=1),
    )
    assert await found(index, scope, "apple", where) == ids([match])
    nothing = replace(where, excluded_document_ids=(base.document_id, others[3].source.document_id))
    assert await found(index, scope, "apple", nothing) == []
    only_excluded = IndexFilter(excluded_document_ids=(base.document_id,))
    assert set(await found(index, scope, "apple", only_excluded)) == {others[3].source.chunk_id}


async def test_filters_do_not_change_scores(index: TextIndex, scope: TenantScope) -> None:
    one = document("apple tree", tags=("t",), metadata={"k": "v"})
    await index.upsert(scope, [one, document("apple")])
    plain = {hit.chunk_id: hit.score for hit in await index.search(scope, ["tree"], EVERYTHING, 5)}
    where = IndexFilter(tags_any=("t",), tags_all=("t",), metadata={"k": ("v",)}, created_from=DAY)
    narrowed = {hit.chunk_id: hit.score for hit in await index.search(scope, ["tree"], where, 5)}
    assert narrowed == pytest.approx(plain)
    assert await index.score(scope, ["tree"], EVERYTHING, ids([one])) == pytest.approx(plain)


@pytest.mark.parametrize(
    ("stored", "equal", "unequal"),
    [
        (1, (1, 1.0), ("1", True, 2, 1.5)),
        (1.5, (1.5,), (1, "1.5")),
        (2**60 + 1, (2**60 + 1,), (2**60, float(2**60))),
        (10**23, (10**23, 1e23), (int(1e23), 10**23 + 1)),
        (True, (True,), (1, "true", False)),
        ("1", ("1",), (1, 1.0, '"1"')),
        ("a=b\n\x00*?~\\", ("a=b\n\x00*?~\\",), ("a=b",)),
        ("长" * 20_000, ("长" * 20_000,), ("长" * 19_999,)),
        ("\ud800", ("\ud800",), ("?",)),
        ("", ("",), (" ", 0, False)),
    ],
    ids=["integer", "float", "large", "beyond floats", "boolean", "text", "hostile", "long", "surrogate", "empty"],
)
async def test_metadata_is_equal_as_json_is(
    index: TextIndex,
    scope: TenantScope,
    stored: str | int | float | bool,
    equal: tuple[str | int | float | bool, ...],
    unequal: tuple[str | int | float | bool, ...],
) -> None:
    one = document("apple", metadata={"key": stored}, tags=(str(stored),))
    await index.upsert(scope, [one])
    for value in equal:
        assert await found(index, scope, "apple", IndexFilter(metadata={"key": (value,)})) == ids([one])
    assert await found(index, scope, "apple", IndexFilter(metadata={"key": unequal})) == []
    assert await found(index, scope, "apple", IndexFilter(metadata={"other": (stored,)})) == []
    assert await found(index, scope, "apple", IndexFilter(tags_all=(str(stored),))) == ids([one])


async def test_score_and_matched_terms(index: TextIndex, scope: TenantScope) -> None:
    both, one, none = document("apple 办理 tree"), document("tree"), document("pear")
    await index.upsert(scope, [both, one, none])
    asked = [*ids([both, one, none]), uuid4()]
    terms = ["办理", "tree", "absent"]
    assert await index.matched_terms(scope, terms, asked) == {
        both.source.chunk_id: {"办理", "tree"},
        one.source.chunk_id: {"tree"},
        none.source.chunk_id: frozenset(),
    }
    scores = await index.score(scope, terms, EVERYTHING, asked)
    ranked = {hit.chunk_id: hit.score for hit in await index.search(scope, terms, EVERYTHING, 10)}
    assert scores == pytest.approx(ranked)
    assert scores.keys() == set(ids([both, one]))


async def test_scan_is_exact(index: TextIndex, scope: TenantScope) -> None:
    base = ChunkSource(uuid4(), uuid4(), uuid4(), 1, DAY)
    many = [document("x", source=replace(base, chunk_id=uuid4(), generation=1 + n % 2)) for n in range(5_300)]
    apart = [document("x") for _ in range(20)]
    await index.upsert(scope, [*many, *apart])
    await index.upsert(other_tenant(), [document("x")])
    assert await held(index, scope) == as_indexed([*many, *apart])
    assert await held(index, scope, document_id=base.document_id) == as_indexed(many)
    second = [one for one in many if one.source.generation == 2]
    assert await held(index, scope, document_id=base.document_id, generation=2) == as_indexed(second)
    assert await held(index, scope, generation=2) == as_indexed(second)
    assert await held(index, scope, document_id=uuid4()) == set()


async def test_a_scan_may_be_left_early(index: TextIndex, scope: TenantScope) -> None:
    await index.upsert(scope, [document("x") for _ in range(3)])
    scan = index.scan(scope)
    first = await anext(scan)
    await scan.aclose()  # type: ignore[attr-defined]  # the port names the iterator, not the generator that it is
    assert first in await held(index, scope)


async def test_tenants_never_meet(index: TextIndex, scope: TenantScope) -> None:
    other = other_tenant()
    mine, theirs = document("secret mine"), document("secret theirs", version=3, tags=("t",))
    await index.upsert(scope, [mine])
    await index.upsert(other, [theirs])
    assert await found(index, scope, "secret") == ids([mine])
    named = IndexFilter(document_ids=(theirs.source.document_id,))
    assert await found(index, scope, "secret", named) == []
    assert await index.score(scope, ["secret"], EVERYTHING, ids([theirs])) == {}
    assert await index.matched_terms(scope, ["secret"], ids([theirs])) == {}
    assert await held(index, scope) == as_indexed([mine])
    assert await held(index, scope, document_id=theirs.source.document_id) == set()


async def test_another_tenants_chunk_id_reaches_nothing_of_theirs(index: TextIndex, scope: TenantScope) -> None:
    other = other_tenant()
    theirs = document("secret", version=3, tags=("t",))
    await index.upsert(other, [theirs])
    await index.update_source(scope, [replace(theirs.source, tags=())])
    await index.delete(scope, ids([theirs]))
    await index.upsert(scope, [document("stolen", version=9, source=theirs.source)])
    assert await found(index, other, "secret", IndexFilter(tags_any=("t",))) == ids([theirs])
    assert await found(index, other, "stolen") == []
    assert await found(index, scope, "stolen") == ids([theirs])
    await index.delete(scope, ids([theirs]))
    assert await held(index, other) == as_indexed([theirs])


@pytest.mark.parametrize("term", ["", "two words", "tab\tbed", "no\u00a0break", "x" * 256, "\ud800"])
async def test_terms_that_no_engine_would_keep_whole_are_refused(
    index: TextIndex, scope: TenantScope, term: str
) -> None:
    source = ChunkSource(uuid4(), uuid4(), uuid4(), 1, DAY)
    with pytest.raises(EngineRejected):
        await index.upsert(scope, [TermDocument(source, ("fine", term), 1)])
    assert await held(index, scope) == set()


@pytest.mark.parametrize("term", ["*", "a:b", "+a", '"a', "[x TO y]", "a~2", "\\", "terms:*", "OR", "(", "\ud800"])
async def test_terms_of_a_query_are_never_syntax(index: TextIndex, scope: TenantScope, term: str) -> None:
    plain = document("apple")
    await index.upsert(scope, [plain])
    assert await index.search(scope, [term], EVERYTHING, 10) == []
    if term != "\ud800":
        hostile = document(f"{term} pear")
        await index.upsert(scope, [hostile])
        assert await found(index, scope, term) == ids([hostile])


async def test_very_long_queries_are_bounded(index: TextIndex, scope: TenantScope) -> None:
    one = document(" ".join(f"w{n}" for n in range(3_000)))
    await index.upsert(scope, [one])
    terms = [f"w{n}" for n in range(3_000)]
    assert [hit.chunk_id for hit in await index.search(scope, terms, EVERYTHING, 10)] == ids([one])
    matched = await index.matched_terms(scope, terms, ids([one]))
    assert matched[one.source.chunk_id] == set(terms[:MAX_QUERY_TERMS])


async def test_large_batches(index: TextIndex, scope: TenantScope) -> None:
    many = [document("common w" + str(n)) for n in range(2_500)]
    await index.upsert(scope, many)
    assert await found(index, scope, "w2499") == ids(many[-1:])
    assert len(await index.score(scope, ["common"], EVERYTHING, ids(many))) == 2_500
    await index.delete(scope, ids(many[1:]))
    assert await held(index, scope) == as_indexed(many[:1])


async def test_text_goes_in_by_terms_and_is_found_by_terms(index: TextIndex, scope: TenantScope) -> None:
    text = "申请护照需要身份证，参见 ZC-2024-001。The maxRetryCount defaults to 3."
    source = ChunkSource(uuid4(), uuid4(), uuid4(), 1, DAY)
    await index.upsert(scope, [TermDocument(source, tuple(index_terms(text)), 1)])
    for question in ("如何办理护照？", "证", "zc-2024-001", "what is maxRetryCount", "retry"):
        assert await index.search(scope, query_terms(question), EVERYTHING, 5), question


async def test_opening_again_and_using_it_closed(
    index: TextIndex, scope: TenantScope, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    await index.open()
    closed: TextIndex = TantivyIndex(tmp_path, analyzer_version="1")
    if isinstance(index, ElasticsearchIndex):
        closed = ElasticsearchIndex(request.getfixturevalue("server"), analyzer_version="1")
    with pytest.raises(EngineUnavailable):
        await closed.check()
    with pytest.raises(EngineUnavailable):
        await closed.search(scope, ["a"], EVERYTHING, 1)
    with pytest.raises(EngineUnavailable):
        await closed.upsert(scope, [document("a")])
    await closed.close()


async def test_terms_weigh_what_they_weigh_among_the_chunks_searched(index: TextIndex, scope: TenantScope) -> None:
    """`flow` is rare in the one knowledge base and common in the other; `duct` the other way round."""
    one, other = (ChunkSource(uuid4(), uuid4(), uuid4(), 1, DAY) for _ in range(2))
    both = [document("flow duct", source=replace(base, chunk_id=uuid4())) for base in (one, other)]
    flows = [document("flow pipe", source=replace(base, chunk_id=uuid4())) for base in (one, *[other] * 20)]
    ducts = [document("duct pipe", source=replace(base, chunk_id=uuid4())) for base in (other, *[one] * 20)]
    await index.upsert(scope, [*both, *flows, *ducts])
    for base, rare, common in ((one, flows[0], "duct"), (other, ducts[0], "flow")):
        where = IndexFilter(knowledge_base_ids=(base.knowledge_base_id,))
        hits = {hit.chunk_id: hit.score for hit in await index.search(scope, ["flow", "duct"], where, 100)}
        of_common = await index.search(scope, [common], where, 100)
        assert list(hits)[1] == rare.source.chunk_id
        assert hits[rare.source.chunk_id] > 5 * min(hit.score for hit in of_common)
        assert await index.score(scope, ["flow", "duct"], where, list(hits)) == pytest.approx(hits)


async def test_scores_are_those_of_an_index_of_the_chunks_searched(index: TextIndex, scope: TenantScope) -> None:
    """By hand: of three chunks two hold `reef`; they have four terms on average. Others are longer and full of it."""
    base = ChunkSource(uuid4(), uuid4(), uuid4(), 1, DAY)
    texts = ("reef reef sand", "reef sand a b c", "sand a b c")
    mine = [document(text, source=replace(base, chunk_id=uuid4())) for text in texts]
    where = IndexFilter(knowledge_base_ids=(base.knowledge_base_id,))
    await index.upsert(scope, mine)
    weight = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    expected = {
        mine[0].source.chunk_id: weight * 2 * 2 / (2 + (0.25 + 0.75 * 3 / 4)),
        mine[1].source.chunk_id: weight * 1 * 2 / (1 + (0.25 + 0.75 * 5 / 4)),
    }
    for _ in range(2):
        found = await index.search(scope, ["reef", "nowhere"], where, 10)
        assert {hit.chunk_id: hit.score for hit in found} == pytest.approx(expected)
        assert await index.score(scope, ["reef", "nowhere"], where, ids(mine)) == pytest.approx(expected)
        await index.upsert(other_tenant(), [document("reef nowhere" + " x" * 90) for _ in range(30)])
        await index.upsert(scope, [document("reef nowhere" + " x" * 90) for _ in range(30)])


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside another tenant"])
async def test_what_is_written_again_counts_once(lone_index: TextIndex, scope: TenantScope, alone: bool) -> None:
    """Engines count an entry that was replaced until its segment is merged: half of the chunks then seem to be all."""
    half = [document("common sand stone") for _ in range(150)]
    rest = [document("other sand stone") for _ in range(150)]
    rare = document("rare sand stone clay")
    await lone_index.upsert(scope, [*half, *rest, rare])
    if not alone:
        await lone_index.upsert(other_tenant(), [document("sand")])
    before = await lone_index.search(scope, ["common", "rare"], EVERYTHING, 10)
    assert before[0].chunk_id == rare.source.chunk_id
    await lone_index.update_source(scope, [replace(one.source, tags=("t",)) for one in half])
    assert await lone_index.search(scope, ["common", "rare"], EVERYTHING, 10) == before
    given = [hit.chunk_id for hit in before]
    scores = await lone_index.score(scope, ["common", "rare"], EVERYTHING, given)
    assert scores == {hit.chunk_id: hit.score for hit in before}


async def test_both_engines_score_alike(server: str, tmp_path: Path, scope: TenantScope) -> None:
    chance = random.Random(7)
    words = [f"w{n}" for n in range(300)]
    weights = [1 / (n + 1) for n in range(300)]
    documents = [document(" ".join(chance.choices(words, weights, k=chance.randrange(3, 400)))) for _ in range(500)]
    tantivy = TantivyIndex(tmp_path, analyzer_version="1")
    await tantivy.open()
    async with elasticsearch_index(server) as elasticsearch:
        for engine in (tantivy, elasticsearch):
            await engine.upsert(scope, documents)
            await engine.delete(scope, ids(documents[:50]))
            await engine.update_source(scope, [replace(one.source, tags=("t",)) for one in documents[50:200]])
        for _ in range(30):
            terms = chance.choices(words, k=chance.randrange(1, 12))
            ours = {hit.chunk_id: hit.score for hit in await tantivy.search(scope, terms, EVERYTHING, 500)}
            theirs = {hit.chunk_id: hit.score for hit in await elasticsearch.search(scope, terms, EVERYTHING, 500)}
            assert ours == theirs
    await tantivy.close()
