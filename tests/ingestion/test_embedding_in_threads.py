"""Code in a thread asks the embedder on the event loop, and is let go when nobody waits for it any more."""

import asyncio
from concurrent.futures import CancelledError

import numpy as np
import pytest

from app.core.errors import Cancelled
from app.ingestion.embedding_in_threads import embedding_in_threads
from app.ports.embedder import Embed
from tests.ingestion.bench import Bench

TEXTS = ["The ferry leaves at nine.", "渡轮九点出发。"]


async def test_a_thread_gets_what_the_embedder_makes(bench: Bench) -> None:
    with embedding_in_threads(bench.parts.embedder) as embed:
        made = await asyncio.to_thread(embed, TEXTS)
    assert np.allclose(made, await bench.parts.embedder.embed_passages(TEXTS), atol=1e-5)


async def test_a_thread_ends_when_the_block_is_left(bench: Bench) -> None:
    asked, never = asyncio.Event(), asyncio.Event()

    async def hold_up() -> None:
        asked.set()
        await never.wait()

    with embedding_in_threads(bench.interposed("embedder", "embed_passages", before=hold_up).parts.embedder) as embed:
        thread = asyncio.create_task(asyncio.to_thread(_outcome, embed))
        await asked.wait()
    assert await thread is CancelledError
    with pytest.raises(Cancelled):
        await asyncio.to_thread(embed, TEXTS)


def _outcome(embed: Embed) -> type[BaseException] | None:
    try:
        embed(TEXTS)
    except CancelledError as error:
        return type(error)
    return None
