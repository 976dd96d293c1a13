import pytest

from app.ports.parts import Parts
from tests.retrieval.shelf import Shelf


@pytest.fixture
async def shelf(parts: Parts) -> Shelf:
    """A tenant of its own, without any document."""
    return await Shelf.of_new_tenant(parts)


@pytest.fixture
async def foreign_shelf(parts: Parts) -> Shelf:
    """Another tenant's."""
    return await Shelf.of_new_tenant(parts)
