"""How long a question takes as the number of chunks grows, beside what the engines alone take.

    python -m tests.bench.retrieval [--sizes 1000 10000 100000] [--queries 200]

Everything runs in this process on embedded engines. Texts are made up: words by Zipf's law, half of them Chinese.
Vectors are made by the model for the first `--embed` chunks; the others are vectors of short texts with noise, since
embedding 100,000 chunks takes an hour and a search does not care.
For each query every part is measured in turn, so that a busy machine disturbs all of them alike.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
import numpy as np
from sqlalchemy import func, insert

from app.chunking.chunk import ChunkKind
from app.core.ids import chunk_id, new_id
from app.core.scope import Role, TenantScope
from app.core.settings import Settings
from app.main import create_app
from app.models import Chunk, Document, DocumentStatus, Generation, GenerationState
from app.ports.indexes import ChunkSource, IndexFilter
from app.ports.parts import Parts
from app.ports.text_index import TermDocument
from app.ports.vector_index import VectorPoint, Vectors
from app.retrieval.schemas import RetrieveRequest
from app.retrieval.service import Retriever
from app.terms import index_terms, query_terms

CHUNKS_A_DOCUMENT = 100
CANDIDATES = 100
WORDS_A_CHUNK = 90
WARM_UP = 20
SYLLABLES = ["ka", "to", "ri", "mel", "dun", "sor", "vin", "pra", "lo", "xe", "bra", "ny", "tis", "gor", "hal"]


class Writer:
    """Makes up texts, the same ones in every run."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        latin = ["".join(self._random.choices(SYLLABLES, k=self._random.randint(2, 4))) for _ in range(15_000)]
        han = ["".join(chr(self._random.randint(0x4E00, 0x6FFF)) for _ in range(2)) for _ in range(15_000)]
        self._words = [word for pair in zip(latin, han, strict=True) for word in pair]
        self._weights = np.cumsum(1 / np.arange(1, len(self._words) + 1) ** 1.05).tolist()

    def text(self) -> str:
        return " ".join(self._random.choices(self._words, cum_weights=self._weights, k=WORDS_A_CHUNK))

    def query(self, text: str) -> str:
        """Some neighbouring words of a text, and some that stand anywhere."""
        words = text.split()
        start = self._random.randrange(len(words) - 6)
        return " ".join(words[start : start + 6] + self._random.choices(words, k=2))


@dataclass
class Corpus:
    """One knowledge base that grows, written straight into the three stores."""

    parts: Parts
    scope: TenantScope
    kb_id: UUID
    embed: int
    writer: Writer = field(default_factory=Writer)
    size: int = 0
    sample: list[str] = field(default_factory=list)
    _seeds: Vectors | None = None
    _noise: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    async def grow(self, size: int) -> None:
        while self.size < size:
            texts = [self.writer.text() for _ in range(min(CHUNKS_A_DOCUMENT, size - self.size))]
            await self._add_document(texts, await self._vectors(texts))
            self.size += len(texts)
            self.sample.append(texts[0])

    async def _vectors(self, texts: list[str]) -> list[Vectors]:
        if self.size < self.embed:
            return list(await self.parts.embedder.embed_passages(texts))
        if self._seeds is None:
            self._seeds = await self.parts.embedder.embed_passages([text[:40] for text in texts])
        seeds = self._seeds[self._noise.integers(len(self._seeds), size=len(texts))]
        noisy = seeds + self._noise.normal(0, 0.02, seeds.shape).astype(np.float32)
        return list(noisy / np.linalg.norm(noisy, axis=1, keepdims=True))

    async def _add_document(self, texts: list[str], vectors: list[Vectors]) -> None:
        tenant_id, document_id, created = self.scope.tenant_id, new_id(), datetime.now(UTC)
        sources = [
            ChunkSource(chunk_id(document_id, 1, ordinal), self.kb_id, document_id, 1, created)
            for ordinal in range(len(texts))
        ]
        terms = await asyncio.to_thread(lambda: [tuple(index_terms(text)) for text in texts])
        await self.parts.vectors.upsert(self.scope, [VectorPoint(*pair) for pair in zip(sources, vectors, strict=True)])
        await self.parts.texts.upsert(
            self.scope, [TermDocument(source, own, 1) for source, own in zip(sources, terms, strict=True)]
        )
        async with self.parts.database.write(self.scope) as session:
            session.add(
                Document(
                    id=document_id,
                    tenant_id=tenant_id,
                    knowledge_base_id=self.kb_id,
                    name="made-up.txt",
                    size_bytes=1,
                    sha256="",
                    doc_metadata={},
                    tags=[],
                    status=DocumentStatus.READY,
                    active_generation=1,
                )
            )
            await session.flush()
            session.add(
                Generation(
                    tenant_id=tenant_id,
                    document_id=document_id,
                    generation=1,
                    state=GenerationState.ACTIVE,
                    sha256="",
                    size_bytes=1,
                    file_name="made-up.txt",
                    blob_key="",
                    settings={},
                    activated_at=func.now(),
                )
            )
            await session.flush()
            await session.execute(insert(Chunk), self._rows(document_id, texts))

    def _rows(self, document_id: UUID, texts: list[str]) -> list[dict[str, object]]:
        return [
            {
                "id": chunk_id(document_id, 1, ordinal),
                "tenant_id": self.scope.tenant_id,
                "knowledge_base_id": self.kb_id,
                "document_id": document_id,
                "generation": 1,
                "ordinal": ordinal,
                "kind": ChunkKind.TEXT,
                "text": text,
                "heading_path": ["Made up"],
                "section": 0,
                "start_offset": 0,
                "end_offset": len(text),
                "token_count": WORDS_A_CHUNK,
                "text_hash": bytes(32),
            }
            for ordinal, text in enumerate(texts)
        ]


@dataclass
class Measured:
    """Milliseconds of each part, one for each query."""

    parts: dict[str, list[float]] = field(default_factory=dict)

    async def time(self, part: str, work: Callable[[], Awaitable[object]]) -> object:
        start = time.perf_counter()
        result = await work()
        self.parts.setdefault(part, []).append((time.perf_counter() - start) * 1000)
        return result

    def percentile(self, part: str, share: float) -> float:
        return float(np.percentile(self.parts[part], share))


async def measure(corpus: Corpus, client: httpx.AsyncClient, queries: int) -> Measured:
    measured, parts, scope = Measured(), corpus.parts, corpus.scope
    where = IndexFilter(knowledge_base_ids=(corpus.kb_id,))
    retriever = Retriever(parts)
    chosen = random.Random(11)
    for number in range(WARM_UP + queries):
        if number == WARM_UP:
            measured = Measured()
        query = corpus.writer.query(chosen.choice(corpus.sample))
        vector = await parts.embedder.embed_query(query)
        terms = query_terms(query)
        request = RetrieveRequest(query=query, knowledge_base_ids=[corpus.kb_id])
        # Of its own: the service would know the vector of what has just been asked.
        asked_over_http = RetrieveRequest(
            query=corpus.writer.query(chosen.choice(corpus.sample)), knowledge_base_ids=[corpus.kb_id]
        )
        body = asked_over_http.model_dump(mode="json", exclude_unset=True)
        await measured.time("embedding", lambda query=query: parts.embedder.embed_query(query))  # type: ignore[misc]
        await measured.time("vectors", lambda v=vector: parts.vectors.search(scope, v, where, CANDIDATES))  # type: ignore[misc]
        await measured.time("terms", lambda t=terms: parts.texts.search(scope, t, where, CANDIDATES))  # type: ignore[misc]
        await measured.time("service", lambda r=request: retriever.retrieve(scope, r))  # type: ignore[misc]
        await measured.time("HTTP", lambda b=body: _post(client, b))  # type: ignore[misc]
    return measured


async def _post(client: httpx.AsyncClient, body: dict[str, object]) -> None:
    answer = await client.post("/v1/retrieve", json=body)
    answer.raise_for_status()
    if not answer.json()["hits"]:
        raise RuntimeError("A query found nothing: the figures would mean nothing.")


def report(size: int, measured: Measured) -> None:
    for share in (50, 95):
        at = {part: measured.percentile(part, share) for part in measured.parts}
        engines = at["vectors"] + at["terms"]
        print(
            f"{size:>8}  p{share}  "
            + "  ".join(f"{at[part]:>9.1f}" for part in ("embedding", "vectors", "terms", "service", "HTTP"))
            + f"  {at['service'] / engines:>9.1f}  {at['service'] / (engines + at['embedding']):>9.2f}"
        )


async def run(sizes: list[int], queries: int, embed: int) -> None:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bg-"))
        app = create_app(Settings(_env_file=None, data_dir=Path(folder), port=0, log_level="WARNING"))
        await stack.enter_async_context(app.router.lifespan_context(app))
        transport = httpx.ASGITransport(app)
        client = await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://bench"))
        person = {"email": "bench@example.com", "password": "correct horse battery", "tenant": "Bench"}
        tokens = (await client.post("/v1/auth/register", json=person)).raise_for_status().json()
        client.headers["authorization"] = f"Bearer {tokens['access_token']}"
        me = (await client.get("/v1/auth/me")).raise_for_status().json()
        kb = (await client.post("/v1/knowledge-bases", json={"name": "Bench"})).raise_for_status().json()
        scope = TenantScope(UUID(me["tenant"]["id"]), UUID(me["user"]["id"]), Role.OWNER)
        corpus = Corpus(app.state.parts, scope, UUID(kb["id"]), embed)
        print("Milliseconds; the last columns are ratios of the service to vectors + terms, and to these + embedding.")
        print(
            f"{'chunks':>8}  {'':3}  "
            + "  ".join(f"{name:>9}" for name in ("embedding", "vectors", "terms", "service", "HTTP"))
            + f"  {'/engines':>9}  {'/all':>9}"
        )
        for size in sorted(sizes):
            await corpus.grow(size)
            report(size, await measure(corpus, client, queries))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.retrieval", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--embed", type=int, default=0, help="chunks whose vectors are made by the model")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.sizes, arguments.queries, arguments.embed))


if __name__ == "__main__":
    main()
