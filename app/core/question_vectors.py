"""Vectors of questions: the same one is asked again with another filter, for the next answer, or by a colleague.

Kept in two levels, by model and hash of the text: the latest in this process, and for a day in the cache that all
processes share. By tenant, too: how fast an answer comes must not tell what others have asked. (Vectors of passages are
kept in Postgres, where a new version of a document finds those of the texts that have not changed.)
"""

import asyncio
import hashlib
from collections import OrderedDict
from contextlib import suppress
from uuid import UUID

import numpy as np

from app.core.errors import EngineUnavailable
from app.ports.cache import Cache
from app.ports.embedder import Embedder
from app.ports.vector_index import Vectors

MOST_HERE = 2_000
KEPT_SECONDS = 24 * 3600
_PATIENCE_SECONDS = 0.1  # with the shared cache: making a vector takes not much longer


class QuestionVectors:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._here: OrderedDict[str, Vectors] = OrderedDict()

    async def get(self, embedder: Embedder, tenant_id: UUID, question: str) -> Vectors:
        """Shape (dimensions,), length 1. Raises what `embedder.embed_query` does, nothing for a cache that is down."""
        text_hash = hashlib.sha256(question.encode()).hexdigest()
        key = f"question-vector:{tenant_id}:{embedder.space.name}:{text_hash}"
        vector = self._here.get(key)
        if vector is None:
            vector = await self._shared(key, embedder.space.dimensions)
        if vector is None:
            vector = await embedder.embed_query(question)
            await self._share(key, vector)
        self._here[key] = vector
        self._here.move_to_end(key)
        if len(self._here) > MOST_HERE:
            self._here.popitem(last=False)
        return vector

    async def _shared(self, key: str, dimensions: int) -> Vectors | None:
        with suppress(EngineUnavailable, TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                kept = await self._cache.get(key)
            if kept is not None and len(kept) == 4 * dimensions:
                return np.frombuffer(kept, dtype="<f4")
        return None

    async def _share(self, key: str, vector: Vectors) -> None:
        with suppress(EngineUnavailable, TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._cache.set(key, vector.astype("<f4").tobytes(), ttl_seconds=KEPT_SECONDS)
