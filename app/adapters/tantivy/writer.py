"""The one writer of an index folder: fences versions, and commits what came together once.

A commit costs two or more calls of fsync, whatever it holds. Writes that arrive while one is being committed wait and
share the next commit. A write returns when its commit is on disk and open to searches.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from tantivy import DocAddress, Index, IndexWriter, Searcher

from app.adapters.tantivy.schema import Queries, entry
from app.adapters.text_fields import entry_key
from app.core.errors import BigGraphError, EngineRejected, EngineUnavailable
from app.core.scope import TenantScope
from app.ports.indexes import ChunkSource

_HEAP_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    source: ChunkSource
    terms: str
    version: int


@contextmanager
def translated_errors() -> Iterator[None]:
    """The engine's errors as ours: it raises `ValueError` for all of them, and panics on files that are damaged."""
    try:
        yield
    except ValueError as error:
        raise EngineUnavailable("The embedded text index failed.", code="text_index_failed") from error
    except BaseException as error:
        # Rust's panics reach Python as a BaseException of a class that can't be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise EngineRejected(
            "The embedded text index is damaged. Remove its folder and run `biggraph repair` to rebuild it.",
            code="index_damaged",
        ) from error


class Transaction:
    """Writes of one commit. Sees what it has written itself, which the searcher does not."""

    def __init__(self, writer: IndexWriter, searcher: Searcher, queries: Queries) -> None:
        self._writer = writer
        self._searcher = searcher
        self._queries = queries
        self._written: dict[str, Entry | None] = {}

    def upsert(self, scope: TenantScope, entries: Sequence[Entry]) -> None:
        """Writes entries, except those of a lower version than what is stored."""
        versions = self._versions(scope, [new.source.chunk_id for new in entries])
        for new in entries:
            stored = versions.get(new.source.chunk_id)
            if stored is None or new.version >= stored:
                self._put(scope, new, replaces=stored is not None)
                versions[new.source.chunk_id] = new.version

    def update_source(self, scope: TenantScope, sources: Sequence[ChunkSource]) -> None:
        versions = self._versions(scope, [source.chunk_id for source in sources])
        for source in sources:
            version = versions.get(source.chunk_id)
            if version is not None:
                self._put(scope, Entry(source, self._terms(scope, source.chunk_id), version), replaces=True)

    def delete(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> None:
        for chunk_id in chunk_ids:
            self._remove(entry_key(scope, chunk_id))

    def _put(self, scope: TenantScope, new: Entry, *, replaces: bool) -> None:
        key = entry_key(scope, new.source.chunk_id)
        if replaces:
            self._remove(key)
        self._writer.add_document(entry(scope, new.source, new.terms, new.version))
        self._written[key] = new

    def _remove(self, key: str) -> None:
        self._writer.delete_documents_by_term("key", key)
        self._written[key] = None

    def _versions(self, scope: TenantScope, chunk_ids: Sequence[UUID]) -> dict[UUID, int]:
        addresses = stored_chunks(self._searcher, self._queries, scope, chunk_ids)
        found = dict(zip(addresses, column(self._searcher, "version", list(addresses.values())), strict=True))
        for chunk_id in chunk_ids:
            key = entry_key(scope, chunk_id)
            if key in self._written:
                found.pop(chunk_id, None)
                written = self._written[key]
                if written is not None:
                    found[chunk_id] = written.version
        return found

    def _terms(self, scope: TenantScope, chunk_id: UUID) -> str:
        written = self._written.get(entry_key(scope, chunk_id))
        if written is not None:
            return written.terms
        address = stored_chunks(self._searcher, self._queries, scope, [chunk_id])[chunk_id]
        return stored_terms(self._searcher, address)


class GroupCommitWriter:
    """Runs writes one after another on the thread that calls `drain`, one commit for all that wait."""

    def __init__(self, index: Index, queries: Queries) -> None:
        self._index = index
        self._queries = queries
        self._waiting: deque[tuple[Callable[[Transaction], None], Future[None]]] = deque()
        self._lock = Lock()
        # One thread: chunks arrive as fast as they are embedded, far below what one thread indexes.
        self._writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        self.searcher = index.searcher()
        """The last commit, immutable; safe to use from any thread, and after later commits."""

    def enqueue(self, write: Callable[[Transaction], None]) -> Future[None]:
        """Takes a write for the next `drain`. Cancelling the future before it begins drops the write."""
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append((write, future))
        return future

    def drain(self) -> None:
        """Applies and commits all that waits. Errors go to the futures: a failed group is rolled back whole."""
        with self._lock:
            waiting = [(write, future) for write, future in self._waiting if future.set_running_or_notify_cancel()]
            self._waiting.clear()
        if not waiting:
            return
        try:
            with translated_errors():
                self._commit([write for write, _ in waiting])
        except BaseException as error:
            for _, future in waiting:
                future.set_exception(error)
            if not isinstance(error, BigGraphError):
                raise
        else:
            for _, future in waiting:
                future.set_result(None)

    def close(self) -> None:
        """Gives the folder free. Merges under way are dropped; nothing committed is."""
        del self._writer

    def _commit(self, writes: Sequence[Callable[[Transaction], None]]) -> None:
        transaction = Transaction(self._writer, self.searcher, self._queries)
        committed = False
        try:
            for write in writes:
                write(transaction)
            self._writer.commit()
            committed = True
        finally:
            if not committed:
                self._writer.rollback()  # also revives a writer whose thread has ended
        self._index.reload()
        self.searcher = self._index.searcher()


def stored_chunks(
    searcher: Searcher, queries: Queries, scope: TenantScope, chunk_ids: Sequence[UUID]
) -> dict[UUID, DocAddress]:
    """Where those of the tenant's chunks that exist are stored."""
    if not chunk_ids:
        return {}
    hits = searcher.search(queries.given(scope, chunk_ids), len(set(chunk_ids)), count=False).hits
    addresses = [address for _, address in hits]
    return dict(zip(column_uuids(searcher, "chunk", addresses), addresses, strict=True))


def column_uuids(searcher: Searcher, name: str, addresses: list[DocAddress]) -> list[UUID]:
    """Ids out of the columns `<name>_high` and `<name>_low`."""
    high, low = (column(searcher, f"{name}_{half}", addresses) for half in ("high", "low"))
    return [UUID(int=upper << 64 | lower) for upper, lower in zip(high, low, strict=True)]


def column(searcher: Searcher, name: str, addresses: list[DocAddress]) -> list[int]:
    return [int(value or 0) for value in searcher.fast_field_values(name, addresses)]


def stored_terms(searcher: Searcher, address: DocAddress) -> str:
    """The terms of an entry, joined by spaces."""
    return str(searcher.doc(address).get_first("terms") or "")
