from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import Person, Register, until


@dataclass(frozen=True)
class Shelf:
    """Somebody's knowledge base with one document in it, its ingestion, and a session."""

    person: Person
    knowledge_base_id: str
    document_id: str
    operation_id: str
    session_id: str

    @classmethod
    async def of(cls, person: Person, text: str) -> "Shelf":
        client = person.client
        kb = (await client.post("/v1/knowledge-bases", json={"name": "Shelf"})).json()["id"]
        body = {"text": text, "title": "Notes", "external_id": "one", "metadata": {"a": 1}, "tags": ["x"]}
        sent = (await client.post(f"/v1/knowledge-bases/{kb}/documents", json=body)).json()
        session = (await client.post("/v1/sessions", json={"knowledge_base_ids": [kb]})).json()["id"]
        found = cls(person, kb, sent["document"]["id"], sent["operation"]["id"], session)

        async def ended() -> dict[str, Any] | None:
            operation: dict[str, Any] = (await client.get(f"/v1/operations/{found.operation_id}")).json()
            return operation if operation["finished_at"] else None

        operation = await until(ended)
        assert operation is not None
        assert operation["state"] == "succeeded", operation["error"]
        return found


@pytest.fixture(scope="session")
async def shelf(register: Register) -> Shelf:
    return await Shelf.of(await register(), "The notice period is three months.")
