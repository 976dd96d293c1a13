"""The embedder's threads: who asks does not wait for what is ingested, and closing leaves nobody waiting."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from app.adapters.embedding.local import LocalEmbedder
from app.core.errors import EngineUnavailable

MANY = [
    f"The tide table of harbour {number} lists high and low water for every day of the year." for number in range(500)
]


async def test_a_query_does_not_wait_for_passages_which_closing_ends() -> None:
    with tempfile.TemporaryDirectory() as folder:
        embedder = LocalEmbedder(Path(folder))
        await embedder.open()
        passages = asyncio.create_task(embedder.embed_passages(MANY))
        await asyncio.sleep(0)
        assert (await embedder.embed_query("When is high water?")).shape == (384,)
        assert not passages.done()
        await embedder.close()
        with pytest.raises(EngineUnavailable):
            await passages
        with pytest.raises(EngineUnavailable):
            await embedder.embed_query("When is low water?")
