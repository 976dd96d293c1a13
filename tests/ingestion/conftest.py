import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.core.settings import Settings
from app.ports.parts import Parts
from app.runtime import open_parts
from tests.ingestion.bench import Bench


@pytest.fixture(scope="session")
async def idle_parts() -> AsyncIterator[Parts]:
    """Embedded engines and nobody who works."""
    with tempfile.TemporaryDirectory(prefix="bg-") as folder:
        async with open_parts(Settings(_env_file=None, data_dir=Path(folder))) as parts:
            yield parts


@pytest.fixture
async def bench(idle_parts: Parts) -> Bench:
    """A tenant of its own, with an empty knowledge base."""
    return await Bench.of_new_tenant(idle_parts)


@pytest.fixture
async def neighbour(idle_parts: Parts) -> Bench:
    """Another tenant."""
    return await Bench.of_new_tenant(idle_parts)
