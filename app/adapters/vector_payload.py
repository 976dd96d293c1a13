"""How a chunk becomes a point, and a filter becomes conditions, for Qdrant Edge and for a Qdrant server alike.

Isolation of tenants rests on two things. Every read carries the tenant's condition. And the id of a point is derived
from tenant and chunk together, so a tenant that names another's chunk id addresses a point of its own: it can neither
overwrite, nor update, nor delete what is not its own, whatever ids it brings. The chunk's id is kept in the payload.

Imports no numpy: the process that runs the embedded engine imports this module, and stays small.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from app.core.errors import EngineRejected
from app.core.scope import TenantScope
from app.ports.indexes import Candidate, ChunkSource, IndexFilter

if TYPE_CHECKING:
    from app.ports.vector_index import Vectors, VectorSpace

TENANT = "tenant_id"
CHUNK = "chunk_id"
KNOWLEDGE_BASE = "knowledge_base_id"
DOCUMENT = "document_id"
GENERATION = "generation"
CREATED = "created_at"
TAGS = "tags"
METADATA = "metadata"

LONGEST_TOKEN = 256
"""Characters of a metadata token that are indexed as they are; what is longer is indexed by its hash."""

TIE_MARGIN = 8
MOST_ASKED = 10_000


@dataclass(frozen=True, slots=True)
class OneOf:
    """The payload's field equals, or as a list holds, at least one of the values."""

    field: str
    values: tuple[str, ...] | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Period:
    """RFC 3339 times: `start` inclusive, `end` exclusive."""

    field: str
    start: str | None
    end: str | None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a point must and must not be; `point_ids`, where given, are the only ones considered."""

    must: tuple[OneOf | Period, ...]
    must_not: tuple[OneOf, ...] = ()
    point_ids: tuple[str, ...] | None = None


def point_id(scope: TenantScope, chunk_id: UUID) -> str:
    return str(uuid5(scope.tenant_id, str(chunk_id)))


def payload(scope: TenantScope, source: ChunkSource) -> dict[str, Any]:
    """What is stored beside a vector. Every field is always there, so that setting all of them replaces all of them."""
    return {TENANT: str(scope.tenant_id), CHUNK: str(source.chunk_id), **document_facts(source)}


def document_facts(source: ChunkSource) -> dict[str, Any]:
    """The part of the payload that chunks of one document have in common."""
    return {
        KNOWLEDGE_BASE: str(source.knowledge_base_id),
        DOCUMENT: str(source.document_id),
        GENERATION: source.generation,
        CREATED: timestamp(source.created_at),
        TAGS: list(source.tags),
        METADATA: [metadata_token(key, value) for key, value in source.metadata.items()],
    }


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def metadata_token(key: str, value: str | int | float | bool) -> str:
    """One keyword for key and value, equal exactly when both are equal as JSON: `1` is `1.0`, but not `"1"` or `true`.

    A keyword index knows neither floats nor types, and one index over tokens serves any key.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(Decimal(repr(value)))  # the number as JSON writes it, which Postgres keeps: 1e23, not the nearest
    token = json.dumps([key, value])
    if len(token) <= LONGEST_TOKEN:
        return token
    return json.dumps({"sha256": hashlib.sha256(token.encode()).hexdigest()})  # an object, so it never equals a pair


def conditions(scope: TenantScope, where: IndexFilter) -> Conditions:
    must: list[OneOf | Period] = [OneOf(TENANT, (str(scope.tenant_id),))]
    for field, ids in ((KNOWLEDGE_BASE, where.knowledge_base_ids), (DOCUMENT, where.document_ids)):
        if ids:
            must.append(OneOf(field, tuple(map(str, ids))))
    if where.tags_any:
        must.append(OneOf(TAGS, where.tags_any))
    must.extend(OneOf(TAGS, (tag,)) for tag in where.tags_all)
    must.extend(
        OneOf(METADATA, tuple(metadata_token(key, value) for value in values))
        for key, values in where.metadata.items()
        if values
    )
    if where.created_from or where.created_before:
        start = timestamp(where.created_from) if where.created_from else None
        end = timestamp(where.created_before) if where.created_before else None
        must.append(Period(CREATED, start, end))
    excluded = tuple(map(str, where.excluded_document_ids))
    return Conditions(tuple(must), (OneOf(DOCUMENT, excluded),) if excluded else ())


def given_chunks(scope: TenantScope, chunk_ids: Iterable[UUID]) -> Conditions:
    """The tenant's points of the given chunks, those that exist."""
    ids = tuple(point_id(scope, chunk_id) for chunk_id in chunk_ids)
    return Conditions((OneOf(TENANT, (str(scope.tenant_id),)),), point_ids=ids)


def held_chunks(scope: TenantScope, document_id: UUID | None, generation: int | None) -> Conditions:
    must = [OneOf(TENANT, (str(scope.tenant_id),))]
    if document_id is not None:
        must.append(OneOf(DOCUMENT, (str(document_id),)))
    if generation is not None:
        must.append(OneOf(GENERATION, (generation,)))
    return Conditions(tuple(must))


def check_vectors(space: "VectorSpace", vectors: Iterable["Vectors"]) -> None:
    """`EngineRejected` if the shape of one is not `(dimensions,)` or a value of it is not finite."""
    for vector in vectors:
        if vector.shape != (space.dimensions,):
            raise EngineRejected(
                f"A vector of shape {vector.shape} does not fit {space.name}, which has {space.dimensions} dimensions.",
                code="wrong_vector",
            )
        if not math.isfinite(vector @ vector):
            raise EngineRejected("A vector holds values that are not finite numbers.", code="wrong_vector")


def candidate(chunk_id: str, score: float) -> Candidate:
    """Rounding carries the cosine of equal vectors a little above 1."""
    return Candidate(UUID(chunk_id), max(-1.0, min(1.0, score)))


def first_request(limit: int) -> int:
    """How many hits to ask for to return `limit`: some more, to see whether the last place is tied."""
    return limit + TIE_MARGIN


def tied_beyond(hits: Sequence[Candidate], limit: int, asked: int) -> bool:
    """Whether points of the same score as the last place may have been left out, so that more must be asked for.

    Engines order equal scores by storage position. Equal text has equal vectors, so ties are common.
    """
    return len(hits) == asked < MOST_ASKED and hits[limit - 1].score == hits[-1].score


def ranked(hits: Iterable[Candidate], limit: int) -> list[Candidate]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]


def shared_facts(sources: Iterable[ChunkSource]) -> list[tuple[dict[str, Any], list[UUID]]]:
    """Document facts with the chunks that have them: one update instead of one for every chunk."""
    groups: dict[str, tuple[dict[str, Any], list[UUID]]] = {}
    for source in sources:
        facts = document_facts(source)
        groups.setdefault(json.dumps(facts, sort_keys=True), (facts, []))[1].append(source.chunk_id)
    return list(groups.values())
