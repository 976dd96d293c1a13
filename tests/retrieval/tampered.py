"""The real indexes and the real embedder with something in the way: failures, delays, things that happen meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from app.core.errors import EngineUnavailable
from app.core.scope import TenantScope
from app.ports.embedder import Embedder
from app.ports.indexes import Candidate, IndexFilter
from app.ports.text_index import TextIndex
from app.ports.vector_index import VectorIndex, Vectors

Happening = Callable[[], Awaitable[None]]


async def fail() -> None:
    raise EngineUnavailable("The engine is down for this test.")


async def hang() -> None:
    await asyncio.sleep(3600)


class _Tampered:
    """Passes everything on to the real part, but for what a subclass intercepts."""

    def __init__(self, inner: object, happening: Happening) -> None:
        self._inner: Any = inner
        self._happening = happening
        self.limits: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Vectors(_Tampered):
    async def search(self, scope: TenantScope, vector: Vectors, where: IndexFilter, limit: int) -> list[Candidate]:
        self.limits.append(limit)
        found: list[Candidate] = await self._inner.search(scope, vector, where, limit)
        await self._happening()
        return found


class _Texts(_Tampered):
    async def search(self, scope: TenantScope, terms: Sequence[str], where: IndexFilter, limit: int) -> list[Candidate]:
        self.limits.append(limit)
        found: list[Candidate] = await self._inner.search(scope, terms, where, limit)
        await self._happening()
        return found


class _Embedder(_Tampered):
    async def embed_query(self, text: str) -> Vectors:
        await self._happening()
        vector: Vectors = await self._inner.embed_query(text)
        return vector


def vectors_with(inner: VectorIndex, happening: Happening) -> VectorIndex:
    """`happening` comes after the index was read and before the caller gets what was found."""
    return cast(VectorIndex, _Vectors(inner, happening))


def texts_with(inner: TextIndex, happening: Happening) -> TextIndex:
    return cast(TextIndex, _Texts(inner, happening))


def embedder_with(inner: Embedder, happening: Happening) -> Embedder:
    return cast(Embedder, _Embedder(inner, happening))
