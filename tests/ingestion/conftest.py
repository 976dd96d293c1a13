import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.core import stages
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
async def bench(idle_parts: Parts, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A tenant of its own, with an empty knowledge base.

    Its workers look for cancellations only when they renew their lease: what tests do while one is held up in a call
    takes seconds on a busy machine, and is done as if the worker noticed nothing.
    """
    monkeypatch.setattr(stages, "RECORD_SECONDS", idle_parts.ledger.heartbeat_seconds)
    return await Bench.of_new_tenant(idle_parts)


@pytest.fixture
async def neighbour(idle_parts: Parts) -> Bench:
    """Another tenant."""
    return await Bench.of_new_tenant(idle_parts)
