"""Composition root: builds every engine and client from the settings. The only place that knows adapters.

An adapter of which there are several is imported where it is chosen: the clients of servers that are not configured
would cost more than half of the time that a start takes.
"""
# ruff: noqa: PLC0415

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

import structlog

from app.adapters.blobs.store import ObjectBlobStore
from app.adapters.celery.broker import CeleryBroker, create_celery
from app.adapters.embedded.postgres import DatabaseUrls, EmbeddedPostgres
from app.adapters.embedded.valkey import EmbeddedValkey
from app.adapters.redis.cache import RedisCache
from app.core import data_folder
from app.core.database import Database
from app.core.ledger import Ledger
from app.core.outbox import Outbox
from app.core.question_vectors import QuestionVectors
from app.core.schema import migrate, verify_schema
from app.core.settings import Settings
from app.core.slots import TenantSlots
from app.parsing.sandbox import start_sandbox, stop_sandbox
from app.ports.blob_store import BlobStore
from app.ports.chat_models import ChatModels
from app.ports.embedder import Embedder, TokenCounter
from app.ports.parts import Parts
from app.ports.reranker import Reranker
from app.ports.text_index import TextIndex
from app.ports.vector_index import VectorIndex, VectorSpace
from app.terms import ANALYZER_VERSION

log = structlog.get_logger()

PRIVATE_FOLDERS = ("blobs", "models", "scratch", "terms", "valkey", "vectors")
"""What tenants store lies here: no other user of the machine may look. Postgres sees to its own folder; where it runs
as another user than root, the data folder itself must let that user pass."""

LEAST_PARSERS = 2
"""At once, where there are fewer cores: a scan that is read for minutes does not hold up all other files."""


class _Opened(Protocol):
    async def open(self) -> None: ...

    async def close(self) -> None: ...


@asynccontextmanager
async def open_parts(settings: Settings) -> AsyncIterator[Parts]:
    """Starts and opens everything, in the order of need; closes it in the reverse order when the block ends."""
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        _prepare_folders(settings, stack)
        urls, (redis_url, celery_url) = await asyncio.gather(_database(settings, stack), _redis(settings, stack))
        database = Database(settings.sqlalchemy_url(urls.application), pool_size=settings.database_pool_size)
        stack.push_async_callback(database.close)
        await verify_schema(database)
        broker = CeleryBroker(create_celery(celery_url, settings.index_prefix))
        stack.push_async_callback(broker.close)
        cache = RedisCache(redis_url)
        stack.push_async_callback(cache.close)
        embedder, blobs = _embedder(settings), _blobs(settings)
        vectors, texts = _vectors(settings, embedder.space), _texts(settings)
        chat_models, reranker = _chat_models(settings), _reranker(settings, embedder.tokens)
        opened: list[_Opened] = [embedder, blobs, vectors, texts, chat_models]
        if reranker is not None:
            opened.append(reranker)
        for part in opened:
            stack.push_async_callback(part.close)
        stack.push_async_callback(stop_sandbox)
        await asyncio.gather(start_sandbox(settings.pdf_engine), *(part.open() for part in opened))
        outbox = Outbox(database, broker)
        ledger = Ledger(database, outbox, lease_seconds=settings.lease_seconds, max_attempts=settings.max_attempts)
        log.info("ready", embedded=settings.embedded, seconds=round(time.monotonic() - started, 2))
        yield Parts(
            settings=settings,
            database=database,
            database_url=urls.application,
            broker_url=celery_url,
            secret_key=_secret(settings),
            cache=cache,
            broker=broker,
            outbox=outbox,
            ledger=ledger,
            parsers=TenantSlots(max(LEAST_PARSERS, os.cpu_count() or 1)),
            blobs=blobs,
            vectors=vectors,
            texts=texts,
            embedder=embedder,
            question_vectors=QuestionVectors(cache),
            chat_models=chat_models,
            reranker=reranker,
        )


def _prepare_folders(settings: Settings, stack: AsyncExitStack) -> None:
    """One application process a folder where engines are embedded."""
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if settings.worker_in_process:
        stack.enter_context(data_folder.locked(settings.data_dir))
        shutil.rmtree(settings.scratch_dir, ignore_errors=True)  # what an earlier process left unfinished
    for name in PRIVATE_FOLDERS:
        folder = settings.data_dir / name
        folder.mkdir(exist_ok=True)
        folder.chmod(0o700)


async def _database(settings: Settings, stack: AsyncExitStack) -> DatabaseUrls:
    if not settings.embedded:
        return DatabaseUrls(
            owner=settings.database_owner_url.get_secret_value(),
            application=settings.database_url.get_secret_value(),
        )
    postgres = EmbeddedPostgres(settings.data_dir / "postgres")
    stack.push_async_callback(postgres.stop)
    await postgres.start()
    urls = await postgres.database("biggraph")
    await migrate(urls.owner, urls.application)
    return urls


async def _redis(settings: Settings, stack: AsyncExitStack) -> tuple[str, str]:
    """The address as redis-py writes it, and as Celery does."""
    url = settings.redis_url.get_secret_value()
    if url:
        return url, url
    valkey = EmbeddedValkey(settings.data_dir / "valkey")
    stack.push_async_callback(valkey.stop)
    await valkey.start()
    return valkey.url, valkey.celery_url


def _embedder(settings: Settings) -> Embedder:
    if settings.embedding_url:
        from app.adapters.embedding.openai import OpenAIEmbedder

        return OpenAIEmbedder(
            settings.embedding_url,
            settings.embedding_model,
            dimensions=settings.embedding_dimensions,
            max_tokens=settings.embedding_max_tokens,
            api_key=settings.embedding_api_key.get_secret_value(),
        )
    from app.adapters.embedding.local import LocalEmbedder

    return LocalEmbedder(settings.data_dir / "models", threads=settings.embedding_threads or os.cpu_count() or 1)


def _vectors(settings: Settings, space: VectorSpace) -> VectorIndex:
    if settings.qdrant_url:
        from app.adapters.qdrant.index import QdrantVectorIndex

        api_key = settings.qdrant_api_key.get_secret_value() or None
        return QdrantVectorIndex(settings.qdrant_url, space, api_key=api_key, prefix=f"{settings.index_prefix}-")
    from app.adapters.qdrant_edge.index import EdgeVectorIndex

    return EdgeVectorIndex(settings.data_dir / "vectors", space)


def _texts(settings: Settings) -> TextIndex:
    url = settings.elasticsearch_url.get_secret_value()
    if url:
        from app.adapters.elasticsearch.index import ElasticsearchIndex

        api_key = settings.elasticsearch_api_key.get_secret_value() or None
        return ElasticsearchIndex(url, analyzer_version=ANALYZER_VERSION, api_key=api_key, prefix=settings.index_prefix)
    from app.adapters.tantivy.index import TantivyIndex

    return TantivyIndex(settings.data_dir / "terms", analyzer_version=ANALYZER_VERSION)


def _blobs(settings: Settings) -> BlobStore:
    return ObjectBlobStore(settings.blob_url or (settings.data_dir / "blobs").as_uri())


def _chat_models(settings: Settings) -> ChatModels:
    if not settings.llm_url:
        from app.adapters.llm.none import NoChatModels

        return NoChatModels()
    from app.adapters.llm.openai import OpenAIChatModels

    return OpenAIChatModels(
        settings.llm_url,
        settings.llm_models,
        api_key=settings.llm_api_key.get_secret_value(),
        timeout_seconds=settings.llm_timeout_seconds,
    )


def _reranker(settings: Settings, tokens: TokenCounter) -> Reranker | None:
    """None is embedded: no package that could be depended on holds the weights of a multilingual cross-encoder."""
    if not settings.rerank_url:
        return None
    from app.adapters.rerank.http import HttpReranker

    return HttpReranker(
        settings.rerank_url,
        settings.rerank_model,
        tokens,
        style=settings.rerank_style,
        max_tokens=settings.rerank_max_tokens,
        api_key=settings.rerank_api_key.get_secret_value(),
        timeout_seconds=settings.rerank_timeout_seconds,
    )


def _secret(settings: Settings) -> bytes:
    """The configured secret, or the embedded shape's own, made at its first start and readable by its user alone."""
    given = settings.secret_key.get_secret_value()
    if given:
        return given.encode()
    path: Path = settings.data_dir / "secret"
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
    return path.read_text().encode()
