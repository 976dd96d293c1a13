"""Knowledge bases of the cases on a running server, and what it answers."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.agent.quality.cases import Base, Case
from tests.quality.client import Platform, PlatformError

EMAIL, PASSWORD = "answers@example.com", "measured again and again"


@dataclass(frozen=True, slots=True)
class Quote:
    document: str
    """External id."""
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    case: Case
    quotes: list[Quote]
    """Empty where the question was declined."""


class Answers(Platform):
    """One person whose knowledge bases are kept from run to run."""

    async def prepared(self, base: Base) -> str:
        """The id of the knowledge base, with all of its documents ready."""
        wanted = len(base.files) + len(base.texts)
        found = await self.find_knowledge_base(base.name, wanted)
        if found is None:
            found = await self.create_knowledge_base(base.name)
            await self.upload(found, base.texts, lambda _: None)
            for path in base.files:
                file = {"file": (path.name, await asyncio.to_thread(path.read_bytes))}
                data = {"external_id": path.name}
                await self._call("POST", f"/v1/knowledge-bases/{found}/documents", files=file, data=data)
        await self.wait_until_ready(found, wanted, lambda _: None)
        return found

    async def external_ids(self, kb_id: str) -> dict[str, str]:
        """By the documents' ids."""
        found: dict[str, str] = {}
        cursor: str | None = ""
        while cursor is not None:
            params = {"limit": 200} | ({"cursor": cursor} if cursor else {})
            page = await self._call("GET", f"/v1/knowledge-bases/{kb_id}/documents", params=params)
            found |= {item["id"]: item["external_id"] for item in page["items"]}
            cursor = page["next_cursor"]
        return found

    async def asked(self, kb_id: str, case: Case, external_ids: Mapping[str, str]) -> Asked:
        """Raises `PlatformError` where a part was missing: what is left of an answer then says nothing."""
        answer = await (self._said(kb_id, case) if case.before else self._answer(kb_id, case.question))
        if answer["steps"][0]["degraded"]:
            raise PlatformError(f"Parts were missing for “{case.question}”: {answer['steps'][0]['degraded']}")
        return Asked(case, [Quote(external_ids[one["document_id"]], one["quote"]) for one in answer["citations"]])

    async def _answer(self, kb_id: str, question: str) -> Any:
        return await self._call("POST", "/v1/ask", json={"question": question, "knowledge_base_ids": [kb_id]})

    async def _said(self, kb_id: str, case: Case) -> Any:
        """In a session of its own, after what was asked before."""
        session = await self._call("POST", "/v1/sessions", json={"knowledge_base_ids": [kb_id]})
        path = f"/v1/sessions/{session['id']}/messages"
        await self._call("POST", path, json={"question": case.before})
        return await self._call("POST", path, json={"question": case.question})


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Answers]:
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        platform = Answers(client)
        await platform.enter(EMAIL, PASSWORD)
        yield platform
