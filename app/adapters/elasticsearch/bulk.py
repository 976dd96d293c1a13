"""Writes in bulk, every item checked, and what the versions of entries mean.

An entry's version is the fencing number of its writer, given from outside (`external_gte`): the server itself refuses
a lower one with 409, which means that the writer is late, and is dropped. The server's own way to update or delete
would count the version up by one, and then refuse the rightful writer for a minute or for good. So both read the
version first and write with the same number:

- A deletion that meets a newer entry is refused, as if it had come before it.
- A change of the source writes the whole entry again. If a newer one came in between it is refused, and tried on the
  newer one. If the entry was deleted in between, the write brings it back; the answer says `created`, and it is
  deleted again. Should the process end just there, the entry is an orphan, which no search shows (hits are looked up in
  Postgres) and the reconciler removes.
- Two writes with one number come from one holder of a lease, which writes one text for a chunk.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from elasticsearch import AsyncElasticsearch

from app.adapters.elasticsearch.errors import index_missing, translated_errors
from app.core.errors import EngineRejected, EngineUnavailable

_ITEMS = 1_000
_CHARACTERS = 8_000_000
"""Of one request. The server refuses 100 MB, and one of its documents takes at most three bytes a character."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Write:
    """One item of a bulk request: the entry `body`, or the deletion of `id` where it is None."""

    id: str
    version: int
    body: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Stored:
    version: int
    terms: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Ids of items that were refused because something newer is stored, and of those that were not there before."""

    refused: frozenset[str]
    created: frozenset[str]


class BulkWriter:
    """Bulk requests to one alias. Never to an index that the server would make by itself: it would lack the mapping."""

    def __init__(self, client: AsyncElasticsearch, alias: str) -> None:
        self._client = client
        self._alias = alias

    async def write(self, routing: str, writes: Sequence[Write]) -> Outcome:
        """Raises if any item failed for another reason than its version; the other items may have been written."""
        refused: set[str] = set()
        created: set[str] = set()
        for batch in _batches(writes):
            operations = [line for write in batch for line in _lines(write)]
            with translated_errors():
                answer = await self._client.bulk(
                    index=self._alias, operations=operations, routing=routing, require_alias=True
                )
            for write, item in zip(batch, answer["items"], strict=True):
                result = next(iter(item.values()))
                if result["status"] == 409:
                    refused.add(write.id)
                elif "error" in result:
                    raise _item_error(result)
                elif result.get("result") == "created":
                    created.add(write.id)
        return Outcome(frozenset(refused), frozenset(created))

    async def stored(self, routing: str, ids: Iterable[str], *, terms: bool = False) -> dict[str, Stored]:
        """Versions (and terms) of those entries that exist, as last written, whether refreshed or not."""
        found: dict[str, Stored] = {}
        for batch in slices(list(dict.fromkeys(ids)), _ITEMS):
            with translated_errors():
                answer = await self._client.mget(
                    index=self._alias,
                    ids=batch,
                    routing=routing,
                    source_includes=["terms"] if terms else None,
                    source=None if terms else False,
                )
            for document in answer["docs"]:
                if "error" in document:
                    raise _item_error(document)
                if document["found"]:
                    text = document["_source"]["terms"] if terms else ""
                    found[document["_id"]] = Stored(document["_version"], text)
        return found

    async def refresh(self) -> None:
        """Lets searches see what was written. `EngineUnavailable` where a copy of a shard could not."""
        with translated_errors():
            answer = await self._client.indices.refresh(index=self._alias)
        # Copies fail one by one under status 200, and searches may be answered by any of them.
        if answer["_shards"]["failed"]:
            raise EngineUnavailable("Elasticsearch could not refresh all of its index.", code="text_index_failed")


def slices(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _batches(writes: Sequence[Write]) -> Iterator[list[Write]]:
    batch: list[Write] = []
    characters = 0
    for write in writes:
        size = len(write.body["terms"]) if write.body else 0
        if batch and (len(batch) == _ITEMS or characters + size > _CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(write)
        characters += size
    if batch:
        yield batch


def _lines(write: Write) -> list[dict[str, Any]]:
    action = {"_id": write.id, "version": write.version, "version_type": "external_gte"}
    return [{"delete": action}] if write.body is None else [{"index": action}, write.body]


def _item_error(item: dict[str, Any]) -> EngineUnavailable | EngineRejected:
    """A full queue or a lost shard passes; a refused document does not."""
    kind = item["error"].get("type", "unknown")
    if kind == "index_not_found_exception":
        return index_missing()
    status = item.get("status", 500)
    if status == 429 or status >= 500:
        return EngineUnavailable("Elasticsearch could not write a chunk now.", code="text_index_failed", reason=kind)
    return EngineRejected("Elasticsearch refused a chunk.", code="text_index_refused", reason=kind)
