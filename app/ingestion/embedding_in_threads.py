"""The embedder for code that runs in a thread, as chunking does, while the embedder lives on the event loop."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock

from app.core.errors import Cancelled
from app.ports.embedder import Embed, Embedder
from app.ports.vector_index import Vectors


@contextmanager
def embedding_in_threads(embedder: Embedder) -> Iterator[Embed]:
    """Gives a function for threads, on the loop that this is called on.

    A thread can't be stopped from outside. When the block is left, as where an ingestion is cancelled, what the thread
    waits for is cancelled, and whatever it asks for afterwards is refused by `Cancelled`, so that it ends soon.
    """
    loop, lock = asyncio.get_running_loop(), Lock()
    waiting: set[Future[Vectors]] = set()
    is_over = False

    def embed(texts: Sequence[str]) -> Vectors:
        with lock:
            if is_over:
                raise Cancelled("Nobody waits for these vectors any more.")
            future = asyncio.run_coroutine_threadsafe(embedder.embed_passages(texts), loop)
            waiting.add(future)
        try:
            return future.result()
        finally:
            with lock:
                waiting.discard(future)

    try:
        yield embed
    finally:
        with lock:
            is_over = True
            abandoned = list(waiting)
        for future in abandoned:
            future.cancel()
