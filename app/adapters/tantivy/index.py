"""`TextIndex` over Tantivy in the process.

One index serves all tenants, each held apart by a filter that adds nothing to scores; `bm25` tells how chunks are
scored by the statistics of those searched. An index per tenant would need a writer with its own buffer and thread each.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from tantivy import DocAddress, Index, Query, Searcher

from app.adapters.bm25 import MARGIN, Scorer, TermStatistics
from app.adapters.tantivy.schema import Queries, build_schema
from app.adapters.tantivy.writer import (
    Entry,
    GroupCommitWriter,
    Transaction,
    column,
    column_uuids,
    stored_chunks,
    stored_terms,
    translated_errors,
)
from app.adapters.text_fields import LAYOUT_VERSION, joined_terms, weighted_terms
from app.adapters.vector_payload import first_request, ranked, tied_beyond
from app.core.errors import EngineRejected, EngineUnavailable
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, ChunkSource, IndexedChunk, IndexFilter
from app.ports.text_index import TermDocument

_T = TypeVar("_T")
_SCAN_SLICE = 2_000


class TantivyIndex:
    """A text index in `folder`. Only one process may have it open.

    `analyzer_version` says which tokenizer made the terms: each version has a folder of its own inside.
    """

    def __init__(self, folder: Path, *, analyzer_version: str) -> None:
        self._folder = folder / f"{LAYOUT_VERSION}-{analyzer_version}"
        self._queries = Queries(build_schema())
        self._opened: _Opened | None = None
        self._counted: tuple[Searcher, int] | None = None
        """Entries of the commit that was searched last."""

    async def open(self) -> None:
        """`EngineUnavailable` while another process has the folder open, `EngineRejected` if its files are damaged."""
        if self._opened is None:
            writer = await asyncio.to_thread(self._open)
            self._opened = _Opened(
                writer,
                ThreadPoolExecutor(1, thread_name_prefix="text-index-write"),
                ThreadPoolExecutor(4, thread_name_prefix="text-index-read"),
            )

    async def close(self) -> None:
        opened, self._opened = self._opened, None
        self._counted = None
        if opened is not None:
            await asyncio.to_thread(opened.close)

    async def check(self) -> None:
        await self._read(lambda searcher: searcher.num_docs)

    async def upsert(self, scope: TenantScope, documents: Sequence[TermDocument]) -> None:
        entries = [Entry(document.source, joined_terms(document.terms), document.version) for document in documents]
        if entries:
            await self._write(lambda transaction: transaction.upsert(scope, entries))

    async def update_source(self, scope: TenantScope, sources: Sequence[ChunkSource]) -> None:
        if sources:
            await self._write(lambda transaction: transaction.update_source(scope, sources))

    async def delete(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> None:
        if chunk_ids:
            await self._write(lambda transaction: transaction.delete(scope, chunk_ids))

    async def search(self, scope: TenantScope, terms: Sequence[str], where: IndexFilter, limit: int) -> list[Candidate]:
        weighted = weighted_terms(terms)
        if not weighted or limit < 1:
            return []
        matching = self._queries.matching(scope, where)

        def read(searcher: Searcher) -> list[Candidate]:
            index = self._index_statistics(searcher, weighted)
            scorer = self._scorer(searcher, scope, index, weighted, where)
            best = _best(searcher, self._queries.scored(scorer.boosts(index), matching), limit + MARGIN)
            held = self._terms(searcher, scope, [hit.chunk_id for hit in best])
            return ranked((Candidate(chunk_id, scorer.score(own)) for chunk_id, own in held.items()), limit)

        return await self._read(read)

    async def score(
        self, scope: TenantScope, terms: Sequence[str], where: IndexFilter, chunk_ids: Sequence[UUID]
    ) -> dict[UUID, float]:
        weighted = weighted_terms(terms)
        if not weighted or not chunk_ids:
            return {}

        def read(searcher: Searcher) -> dict[UUID, float]:
            scorer = self._scorer(searcher, scope, self._index_statistics(searcher, weighted), weighted, where)
            held = self._terms(searcher, scope, chunk_ids)
            return {chunk_id: score for chunk_id, own in held.items() if (score := scorer.score(own))}

        return await self._read(read)

    async def matched_terms(
        self, scope: TenantScope, terms: Sequence[str], chunk_ids: Sequence[UUID]
    ) -> dict[UUID, frozenset[str]]:
        wanted = frozenset(weighted_terms(terms))
        held = await self._read(lambda searcher: self._terms(searcher, scope, chunk_ids))
        return {chunk_id: wanted.intersection(own) for chunk_id, own in held.items()}

    async def scan(
        self, scope: TenantScope, *, document_id: UUID | None = None, generation: int | None = None
    ) -> AsyncIterator[IndexedChunk]:
        """Reads one commit from beginning to end: writes during a scan are not seen by it."""
        query = self._queries.held(scope, document_id, generation)
        searcher = self._parts().writer.searcher
        hits = await self._read(lambda _: searcher.search(query, max(searcher.num_docs, 1), count=False).hits)
        for start in range(0, len(hits), _SCAN_SLICE):
            addresses = [address for _, address in hits[start : start + _SCAN_SLICE]]
            for chunk in await self._read(partial(_indexed_chunks, searcher, addresses)):
                yield chunk

    def _index_statistics(self, searcher: Searcher, terms: Iterable[str]) -> TermStatistics:
        """What the engine itself weighs with: deleted entries included, until their segment is merged or empty."""
        counted = self._counted
        if counted is None or counted[0] is not searcher:
            # The binding does not tell how many entries there are with the deleted ones, but each has one tenant.
            counted = searcher, sum(entries for _, entries in searcher.terms_with_prefix("tenant", ""))
            self._counted = counted
        return TermStatistics(counted[1], {term: searcher.doc_freq("terms", term) for term in terms})

    def _scorer(
        self,
        searcher: Searcher,
        scope: TenantScope,
        index: TermStatistics,
        weighted: Mapping[str, int],
        where: IndexFilter,
    ) -> Scorer:
        among = self._queries.in_knowledge_bases(scope, where)
        lengths = searcher.aggregate(among, {"length": {"stats": {"field": "length"}}})["length"]
        chunks = int(lengths["count"])
        whole = chunks == index.chunks
        holding = {
            term: held if whole else _count(searcher, self._queries.holding(term, among))
            for term, held in index.holding.items()
            if held
        }
        return Scorer(weighted, TermStatistics(chunks, holding), lengths["avg"] or 1.0)

    def _terms(self, searcher: Searcher, scope: TenantScope, chunk_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
        stored = stored_chunks(searcher, self._queries, scope, chunk_ids)
        return {chunk_id: stored_terms(searcher, address).split() for chunk_id, address in stored.items()}

    def _open(self) -> GroupCommitWriter:
        self._folder.mkdir(parents=True, exist_ok=True)
        meta = self._folder / "meta.json"
        if not meta.exists() and any(self._folder.glob("*.store")):
            raise _damaged(self._folder)
        try:
            with translated_errors():
                index = Index(build_schema(), path=str(self._folder))
                index.config_reader("manual")
                index.searcher().search(Query.all_query(), 1)
        except EngineUnavailable as error:
            raise _damaged(self._folder) from error
        try:
            with translated_errors():
                return GroupCommitWriter(index, self._queries)
        except EngineUnavailable as error:
            raise EngineUnavailable(
                f"The text index in {self._folder} can't be opened for writing: is another process using it?",
                code="text_index_locked",
            ) from error

    def _parts(self) -> "_Opened":
        if self._opened is None:
            raise EngineUnavailable("The embedded text index is not open.", code="text_index_closed")
        return self._opened

    async def _write(self, write: Callable[[Transaction], None]) -> None:
        parts = self._parts()
        done = parts.writer.enqueue(write)
        parts.write_thread.submit(parts.writer.drain)
        await asyncio.wrap_future(done)

    async def _read(self, read: Callable[[Searcher], _T]) -> _T:
        parts = self._parts()

        def call() -> _T:
            with translated_errors():
                return read(parts.writer.searcher)

        return await asyncio.get_running_loop().run_in_executor(parts.read_threads, call)


@dataclass(frozen=True, slots=True)
class _Opened:
    writer: GroupCommitWriter
    write_thread: ThreadPoolExecutor
    read_threads: ThreadPoolExecutor

    def close(self) -> None:
        """Waits for what has begun."""
        self.write_thread.shutdown()
        self.read_threads.shutdown()
        self.writer.close()


def _damaged(folder: Path) -> EngineRejected:
    return EngineRejected(
        f"The text index in {folder} is damaged. Stop the application, remove that folder, start it again, "
        "and run `biggraph repair` to rebuild it.",
        code="index_damaged",
    )


def _count(searcher: Searcher, query: Query) -> int:
    # Ordered by a column, because a search that counts would else score what it counts.
    result: Any = searcher.search(query, 1, count=True, order_by_field="created")  # its type lacks `count`
    return int(result.count)


def _best(searcher: Searcher, query: Query, limit: int) -> list[Candidate]:
    """The best hits, ties by id. The engine orders ties by storage, so it is asked beyond the last tie."""
    asked = first_request(limit)
    hits = _hits(searcher, query, asked)
    while tied_beyond(hits, limit, asked):
        asked *= 4
        hits = _hits(searcher, query, asked)
    return ranked(hits, limit)


def _indexed_chunks(searcher: Searcher, addresses: list[DocAddress], _: Searcher) -> list[IndexedChunk]:
    chunks = column_uuids(searcher, "chunk", addresses)
    documents = column_uuids(searcher, "document", addresses)
    generations = column(searcher, "generation", addresses)
    return [IndexedChunk(*facts) for facts in zip(chunks, documents, generations, strict=True)]


def _hits(searcher: Searcher, query: Query, limit: int) -> list[Candidate]:
    hits = searcher.search(query, limit, count=False).hits
    chunk_ids = column_uuids(searcher, "chunk", [address for _, address in hits])
    return [Candidate(chunk_id, float(score)) for chunk_id, (score, _) in zip(chunk_ids, hits, strict=True)]
