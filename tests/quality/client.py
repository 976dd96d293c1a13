"""The platform as a client sees it: a tenant of its own, a knowledge base a collection, and its answers as rankings."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.quality.labelled import Document

CONCURRENCY = 16
QUERIES_AT_ONCE = 4
ATTEMPTS = 10
PAUSE_SECONDS = 1.0
"""Between two looks at how far ingestion is, or two attempts at an answer of both channels."""


class PlatformError(Exception):
    """The platform refused a call, or could not ingest a document."""


class Platform:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._credentials: dict[str, str] = {}

    async def register(self) -> None:
        """A new tenant, so that runs see nothing of each other."""
        mark = secrets.token_hex(6)
        await self._register({"email": f"quality-{mark}@example.com", "password": secrets.token_urlsafe(16)})

    async def enter(self, email: str, password: str) -> None:
        """As somebody who may have measured before; registered where nobody has that address."""
        self._credentials = {"email": email, "password": password}
        try:
            await self._log_in("/v1/auth/login", self._credentials)
        except PlatformError:
            await self._register(self._credentials)

    async def _register(self, credentials: dict[str, str]) -> None:
        self._credentials = credentials
        await self._log_in("/v1/auth/register", credentials | {"tenant": credentials["email"]})

    async def find_knowledge_base(self, name: str, documents: int) -> str | None:
        """One of that name with so many documents; None where there is none."""
        cursor: str | None = ""
        while cursor is not None:
            page = await self._call("GET", "/v1/knowledge-bases", params={"cursor": cursor} if cursor else {})
            for item in page["items"]:
                if item["name"] == name:
                    detail = await self._call("GET", f"/v1/knowledge-bases/{item['id']}")
                    if detail["document_count"] == documents:
                        return str(item["id"])
            cursor = page["next_cursor"]
        return None

    async def create_knowledge_base(self, name: str) -> str:
        answer = await self._call("POST", "/v1/knowledge-bases", json={"name": name})
        return str(answer["id"])

    async def upload(
        self, knowledge_base_id: str, documents: Sequence[Document], progress: Callable[[int], None]
    ) -> None:
        """All documents, some at a time. `progress` is told how many have been accepted."""
        waiting = iter(documents)
        accepted = 0

        async def one_after_another() -> None:
            nonlocal accepted
            for document in waiting:
                body = {"text": document.text, "external_id": document.id}
                if document.title:
                    body["title"] = document.title
                await self._call("POST", f"/v1/knowledge-bases/{knowledge_base_id}/documents", json=body)
                accepted += 1
                progress(accepted)

        async with asyncio.TaskGroup() as group:
            for _ in range(CONCURRENCY):
                group.create_task(one_after_another())

    async def wait_until_ready(self, knowledge_base_id: str, expected: int, progress: Callable[[int], None]) -> None:
        """Until every document is searchable. Raises `PlatformError` if one failed, or if there are not `expected`."""
        path = f"/v1/knowledge-bases/{knowledge_base_id}/documents"
        while True:
            detail = await self._call("GET", f"/v1/knowledge-bases/{knowledge_base_id}")
            progress(detail["ready_count"])
            failed = await self._call("GET", path, params={"status": "failed", "limit": 1})
            if failed["items"]:
                document = failed["items"][0]
                raise PlatformError(f"Document {document['external_id']} failed: {document['error']}")
            if detail["ready_count"] >= expected:
                break
            await asyncio.sleep(PAUSE_SECONDS)
        if detail["document_count"] != expected:
            raise PlatformError(f"There are {detail['document_count']} documents instead of {expected}.")

    async def search(self, knowledge_base_id: str, query: str, options: dict[str, Any], top_k: int) -> list[str]:
        """External ids of documents, best first, each by its best chunk."""
        body = {"query": query, "knowledge_base_ids": [knowledge_base_id], "top_k": top_k, **options}
        for _ in range(ATTEMPTS):
            answer = await self._call("POST", "/v1/retrieve", json=body)
            if not answer["degraded"]:
                return list(dict.fromkeys(hit["external_id"] for hit in answer["hits"]))
            await asyncio.sleep(PAUSE_SECONDS)  # a busy machine may miss a channel's deadline
        raise PlatformError(f"A channel is missing from answers: {answer['degraded']}")

    async def _log_in(self, path: str, body: dict[str, str]) -> None:
        answer = await self._call("POST", path, json=body, may_log_in=False)
        self._client.headers["authorization"] = f"Bearer {answer['access_token']}"

    async def _call(self, method: str, path: str, *, may_log_in: bool = True, **options: Any) -> Any:
        """The body of a good answer. Waits when told to, and logs in again when the token has run out."""
        for _ in range(60):
            used = self._client.headers.get("authorization")
            try:
                response = await self._client.request(method, path, **options)
            except httpx.TransportError as error:
                raise PlatformError(f"{self._client.base_url} does not answer: {error}") from error
            if response.status_code == httpx.codes.UNAUTHORIZED and may_log_in:
                if used == self._client.headers.get("authorization"):
                    await self._log_in("/v1/auth/login", self._credentials)
            elif response.status_code in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE):
                await asyncio.sleep(min(float(response.headers.get("retry-after", 1)), 30))
            elif response.is_success:
                return response.json()
            else:
                break
        raise PlatformError(f"{method} {path}: {response.status_code} {response.text[:500]}")


@asynccontextmanager
async def connected(url: str, account: tuple[str, str] | None = None) -> AsyncIterator[Platform]:
    """With an account (e-mail and password) what was measured before is found again."""
    limits = httpx.Limits(max_connections=2 * CONCURRENCY)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        platform = Platform(client)
        if account is None:
            await platform.register()
        else:
            await platform.enter(*account)
        yield platform
