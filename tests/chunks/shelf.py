"""A person with a knowledge base, used over HTTP."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.conftest import Person, until

FAMILIES = {"child_tokens": 48, "parent_tokens": 400}


@dataclass(frozen=True)
class Shelf:
    person: Person
    kb_id: str

    @classmethod
    async def of(cls, person: Person, chunking: dict[str, Any] | None = None) -> "Shelf":
        body = {"name": f"Shelf of {chunking}", "settings": {"chunking": chunking or {}}}
        answer = await person.client.post("/v1/knowledge-bases", json=body)
        assert answer.status_code == 201, answer.text
        return cls(person, answer.json()["id"])

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.person.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def add(self, text: str, *, external_id: str | None = None) -> str:
        """Id of a document that is ready."""
        document_id, _ = await self.ingest(text, external_id=external_id)
        return document_id

    async def ingest(self, text: str, *, external_id: str | None = None) -> tuple[str, dict[str, Any]]:
        body = {"text": text, "title": "Handbook", "format": "markdown", "external_id": external_id}
        return await self._sent(await self.person.client.post(self.documents, json=body))

    async def upload(self, name: str, content: bytes) -> str:
        document_id, _ = await self._sent(
            await self.person.client.post(self.documents, files={"file": (name, content)})
        )
        return document_id

    async def _sent(self, answer: httpx.Response) -> tuple[str, dict[str, Any]]:
        assert answer.status_code == 202, answer.text
        return answer.json()["document"]["id"], await self.done(answer.json()["operation"]["id"])

    async def done(self, operation_id: str) -> dict[str, Any]:
        """The operation once it has succeeded."""

        async def ended() -> dict[str, Any] | None:
            operation: dict[str, Any] = await self.get(f"/v1/operations/{operation_id}")
            assert operation["state"] not in ("failed", "cancelled"), operation
            return operation if operation["state"] == "succeeded" else None

        found = await until(ended)
        assert found is not None
        return found

    @property
    def documents(self) -> str:
        return f"/v1/knowledge-bases/{self.kb_id}/documents"

    async def chunks(self, document_id: str, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.get(f"/v1/documents/{document_id}/chunks", limit=200, **query))[
            "items"
        ]
        return found

    async def retrieve(self, query: str, **settings: Any) -> dict[str, Any]:
        body = {"query": query, "knowledge_base_ids": [self.kb_id], **settings}
        answer = await self.person.client.post("/v1/retrieve", json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def change(self, chunk_id: str, **patch: Any) -> dict[str, Any]:
        """Changes a chunk and waits until searches know it."""
        answer = await self.person.client.patch(f"/v1/chunks/{chunk_id}", json=patch)
        assert answer.status_code == 200, answer.text
        if answer.json()["operation"]:
            await self.done(answer.json()["operation"]["id"])
        found: dict[str, Any] = await self.get(f"/v1/chunks/{chunk_id}")
        return found
