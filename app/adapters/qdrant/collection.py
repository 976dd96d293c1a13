"""The collection of a vector space: how it is made, and checked when it is there already."""

from qdrant_client import AsyncQdrantClient
from qdrant_client import models as qdrant
from qdrant_client.http.exceptions import UnexpectedResponse

from app.adapters import vector_payload as payload
from app.core.errors import EngineRejected
from app.ports.vector_index import VectorSpace

OLDEST_SERVER = (1, 15)
FIRST_WITHOUT_LINKS = (1, 17)
"""The first server that can be told not to build graph links for a payload index."""


async def prepare(client: AsyncQdrantClient, name: str, space: VectorSpace) -> None:
    """Makes the collection and whichever of its payload indexes are missing. Several processes may do so at once."""
    version = _version((await client.info()).version)
    if version < OLDEST_SERVER:
        raise EngineRejected(
            f"Qdrant {'.'.join(map(str, version))} is too old: version {'.'.join(map(str, OLDEST_SERVER))} is needed.",
            code="engine_too_old",
        )
    if not await client.collection_exists(name):
        await _create(client, name, space)
    info = await client.get_collection(name)
    _check(info, name, space)
    for field, schema in _indexes(link_free=version >= FIRST_WITHOUT_LINKS).items():
        if field not in info.payload_schema:
            await client.create_payload_index(name, field, schema, wait=True)


async def _create(client: AsyncQdrantClient, name: str, space: VectorSpace) -> None:
    """Without a graph over all points: no search crosses tenants, so graphs are built for each large tenant instead.

    That is Qdrant's advice for payload-based multitenancy, and makes indexing much cheaper. Small tenants are scanned.
    https://qdrant.tech/documentation/manage-data/multitenancy/#calibrate-performance
    """
    try:
        await client.create_collection(
            name,
            vectors_config=qdrant.VectorParams(size=space.dimensions, distance=qdrant.Distance.COSINE),
            hnsw_config=qdrant.HnswConfigDiff(m=0, payload_m=16),
        )
    except UnexpectedResponse:
        if not await client.collection_exists(name):  # else another process was faster
            raise


def _check(info: qdrant.CollectionInfo, name: str, space: VectorSpace) -> None:
    vectors = info.config.params.vectors
    if (
        not isinstance(vectors, qdrant.VectorParams)
        or vectors.size != space.dimensions
        or vectors.distance is not qdrant.Distance.COSINE
    ):
        raise EngineRejected(
            f"Qdrant's collection {name} was not made for {space.dimensions} dimensions compared by cosine. "
            "Delete it, restart, and run `biggraph repair`.",
            code="index_mismatch",
        )


def _indexes(*, link_free: bool) -> dict[str, qdrant.PayloadSchemaParams]:
    """Every field that is filtered by has one, as a server in strict mode demands.

    Links only follow tenants and knowledge bases, which is what searches are confined to. Links for the generation,
    for one, would be the graph over all points that the collection does without.
    """
    links = False if link_free else None
    return {
        payload.TENANT: qdrant.KeywordIndexParams(type=qdrant.KeywordIndexType.KEYWORD, is_tenant=True),
        payload.KNOWLEDGE_BASE: qdrant.UuidIndexParams(type=qdrant.UuidIndexType.UUID),
        payload.DOCUMENT: qdrant.UuidIndexParams(type=qdrant.UuidIndexType.UUID, enable_hnsw=links),
        payload.GENERATION: qdrant.IntegerIndexParams(
            type=qdrant.IntegerIndexType.INTEGER, lookup=True, range=False, enable_hnsw=links
        ),
        payload.TAGS: qdrant.KeywordIndexParams(type=qdrant.KeywordIndexType.KEYWORD, enable_hnsw=links),
        payload.METADATA: qdrant.KeywordIndexParams(type=qdrant.KeywordIndexType.KEYWORD, enable_hnsw=links),
        payload.CREATED: qdrant.DatetimeIndexParams(type=qdrant.DatetimeIndexType.DATETIME, enable_hnsw=links),
    }


def _version(text: str) -> tuple[int, ...]:
    """Major and minor of `1.15.3-dev`."""
    parts = text.split(".")[:2]
    return tuple(int(part) if part.isdecimal() else 0 for part in parts)
