import dataclasses
from collections.abc import AsyncIterator, Callable, Iterator
from uuid import UUID

import pytest
from fastapi import FastAPI

from app.ports.parts import Parts
from tests.chats.people import HANDBOOK, RULES, colleague_of, shelf_of
from tests.conftest import Person
from tests.retrieval.shelf import Shelf


@pytest.fixture(scope="session")
async def library(parts: Parts, owner: Person) -> Shelf:
    """The owner's documents, straight in the stores."""
    return shelf_of(parts, owner)


@pytest.fixture(scope="session")
async def handbook(library: Shelf) -> UUID:
    """A knowledge base with one English document."""
    kb_id = await library.knowledge_base()
    await library.document(kb_id, *HANDBOOK, name="handbook.md")
    return kb_id


@pytest.fixture(scope="session")
async def rules(library: Shelf) -> UUID:
    """A knowledge base with one Chinese document."""
    kb_id = await library.knowledge_base()
    await library.document(kb_id, *RULES, name="员工手册.md")
    return kb_id


@pytest.fixture(scope="session")
async def bases(handbook: UUID, rules: UUID) -> dict[str, UUID]:
    return {"handbook": handbook, "rules": rules}


@pytest.fixture(scope="session")
async def colleague(platform: FastAPI, owner: Person) -> AsyncIterator[Person]:
    """A viewer of the owner's tenant."""
    async with colleague_of(platform, owner, "chats-colleague@example.com") as person:
        yield person


@pytest.fixture(scope="session")
async def others(colleague: Person, stranger: Person) -> dict[str, Person]:
    """People who may not see the owner's chats."""
    return {"colleague": colleague, "stranger": stranger}


@pytest.fixture
async def session_id(owner: Person, handbook: UUID) -> str:
    """A fresh session of the owner over the handbook."""
    answer = await owner.client.post("/v1/sessions", json={"knowledge_base_ids": [str(handbook)]})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


Swap = Callable[..., None]


@pytest.fixture
def swap_parts(platform: FastAPI, parts: Parts) -> Iterator[Swap]:
    """Gives the running application other parts until the test ends: `swap_parts(chat_models=...)`."""

    def swap(**others: object) -> None:
        platform.state.parts = dataclasses.replace(platform.state.parts, **others)

    yield swap
    platform.state.parts = parts
