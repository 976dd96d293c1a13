"""The chunks of a generation that are searched, for the stages that follow their making.

Few that an attempt has made itself are kept in memory, with their vectors; else they are read, some at a time.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import UUID

from app.core.database import ReadSession
from app.core.scope import TenantScope
from app.ingestion import chunks_repository, projection, vectors_repository
from app.ingestion.chunks_repository import ChunkRow
from app.ingestion.projection import Batch
from app.ingestion.repository import Subject
from app.models import Chunk
from app.ports.parts import Parts
from app.ports.vector_index import Vectors

EMBED_BATCH = 32
UNEMBEDDED_PAGE = 1024
"""Chunks that wait for their vector and are read at once: finding them takes longer than reading them."""


class SearchedChunks:
    def __init__(self, parts: Parts, scope: TenantScope, subject: Subject) -> None:
        self._parts = parts
        self._scope = scope
        self._subject = subject
        self._kept: Batch | None = None
        """All of them, or none."""

    async def keep(self, session: ReadSession, rows: Sequence[ChunkRow]) -> None:
        """Keeps all chunks of the generation, as they were just written, if they are few."""
        searched = [Chunk(**row) for row in rows if row["level"] == 0]
        if len(searched) <= projection.BATCH:
            hashes = [found.text_hash for found in searched]
            known = await vectors_repository.vectors(session, self._space, hashes)
            self._kept = Batch({self._subject.key: self._subject}, searched, known)

    def keep_vectors(self, made: Mapping[bytes, Vectors]) -> None:
        """Vectors by the hash of their text, with the chunks if these are kept."""
        if self._kept is not None:
            self._kept.vectors.update(made)

    async def count_texts(self) -> tuple[int, int]:
        """How many different texts there are, and how many of them have a vector already."""
        if self._kept is not None:
            hashes = {chunk.text_hash for chunk in self._kept.chunks}
            return len(hashes), len(hashes & self._kept.vectors.keys())
        async with self._parts.database.read(self._scope) as session:
            return await chunks_repository.count_texts(session, *self._subject.key, self._space)

    async def unembedded(self) -> AsyncIterator[dict[bytes, str]]:
        """Texts without a vector, by hash, in batches: of similar length together, for less padding."""
        async for page in self._unembedded_pages():
            texts = list({chunk.text_hash: page.text(chunk) for chunk in page.chunks}.items())
            for first in range(0, len(texts), EMBED_BATCH):
                yield dict(texts[first : first + EMBED_BATCH])

    async def _unembedded_pages(self) -> AsyncIterator[Batch]:
        if self._kept is not None:
            yield self._kept.unembedded()
            return
        after = -1, b""
        while True:
            async with self._parts.database.read(self._scope) as session:
                chunks = await chunks_repository.unembedded_chunks(
                    session, *self._subject.key, self._space, after, UNEMBEDDED_PAGE
                )
            if not chunks:
                return
            yield Batch({self._subject.key: self._subject}, chunks, {})
            after = chunks[-1].token_count, chunks[-1].text_hash

    async def batches(self) -> AsyncIterator[Batch]:
        """All of them, with the vectors that there are, in order."""
        if self._kept is not None:
            yield self._kept
            return
        async for batch in projection.batches(self._parts, self._scope, self._subject):
            yield batch

    async def ids(self) -> set[UUID]:
        if self._kept is not None:
            return {chunk.id for chunk in self._kept.chunks}
        async with self._parts.database.read(self._scope) as session:
            return await chunks_repository.chunk_ids(session, *self._subject.key)

    @property
    def _space(self) -> str:
        return self._parts.embedder.space.name
