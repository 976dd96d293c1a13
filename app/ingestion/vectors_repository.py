"""SQL of cached vectors, by the hash of their text. Row-level security confines it to the session's tenant."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import numpy as np
from sqlalchemy import ColumnElement, delete, exists, func, select
from sqlalchemy.dialects.postgresql import insert

from app.core.database import ReadSession, WriteSession
from app.models import Chunk, Embedding
from app.ports.vector_index import Vectors


async def vectors(session: ReadSession, space: str, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Cached vectors by the hash of their text, as far as there are any."""
    rows = await session.execute(
        select(Embedding.text_hash, Embedding.vector).where(Embedding.space == space, Embedding.text_hash.in_(hashes))
    )
    return {text_hash: np.frombuffer(vector, dtype="<f4") for text_hash, vector in rows}


async def add_vectors(session: WriteSession, tenant_id: UUID, space: str, vectors: Mapping[bytes, Vectors]) -> None:
    """Caches vectors by the hash of their text, as far as a chunk of the tenant has it.

    What a purge has just removed stays away.
    """
    if not vectors:
        return
    await session.execute(select(func.pg_advisory_xact_lock_shared(embeddings_lock(tenant_id))))
    used = set(await session.scalars(select(Chunk.text_hash).where(Chunk.text_hash.in_(vectors))))
    rows = [
        {"tenant_id": tenant_id, "space": space, "text_hash": text_hash, "vector": vector.astype("<f4").tobytes()}
        for text_hash, vector in sorted(vectors.items(), key=lambda item: item[0])  # or two would wait in a circle
        if text_hash in used
    ]
    if rows:
        await session.execute(insert(Embedding).on_conflict_do_nothing(), rows)


async def forget_unused_vectors(session: WriteSession, hashes: Collection[bytes]) -> None:
    """Removes cached vectors of texts that no chunk of the tenant has. The caller holds `embeddings_lock`."""
    await session.execute(
        delete(Embedding)
        .where(Embedding.text_hash.in_(hashes), ~exists().where(Chunk.text_hash == Embedding.text_hash))
        .execution_options(synchronize_session=False)
    )


def embeddings_lock(tenant_id: UUID) -> ColumnElement[int]:
    """The advisory lock of a tenant's cached vectors: shared by who adds some, exclusive to who removes unused ones."""
    return func.hashtextextended(f"embeddings:{tenant_id}", 0)
