"""Writes points one after another and prints the id of each that was acknowledged, until it is killed."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np

from app.adapters.qdrant_edge.index import EdgeVectorIndex
from app.core.scope import Role, TenantScope
from app.ports.indexes import ChunkSource
from app.ports.vector_index import VectorPoint, VectorSpace


async def main(folder: Path, tenant_id: UUID) -> None:
    index = EdgeVectorIndex(folder, VectorSpace("failures", 4))
    await index.open()
    scope = TenantScope(tenant_id, uuid4(), Role.EDITOR)
    for _ in range(100_000):
        source = ChunkSource(uuid4(), uuid4(), uuid4(), 1, datetime(2026, 1, 1, tzinfo=UTC))
        await index.upsert(scope, [VectorPoint(source, np.array([1, 0, 0, 0], np.float32))])
        print(source.chunk_id, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), UUID(sys.argv[2])))
