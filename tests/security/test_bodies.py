"""Bodies that would fill memory, disk or connections: refused before anybody is asked who they are."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI, Request

from app.core.body_limit import MAX_BODY_BYTES, BodyLimitMiddleware
from app.core.problems import install_problem_handlers
from app.ports.parts import Parts
from app.runtime import PRIVATE_FOLDERS
from tests.security.conftest import Shelf

NOBODY_READS = ["/v1/auth/login", "/v1/auth/register", "/v1/invitations/accept", "/v1/retrieve", "/v1/ask"]


async def pieces(size: int) -> AsyncIterator[bytes]:
    """Without a length that is told beforehand."""
    for _ in range(0, size, 65536):
        yield b" " * 65536


@pytest.mark.parametrize("path", NOBODY_READS)
@pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data; boundary=x"])
async def test_a_long_body_from_nobody(anonymous: httpx.AsyncClient, path: str, content_type: str) -> None:
    for content in (b" " * (MAX_BODY_BYTES + 1), pieces(MAX_BODY_BYTES + 65536)):
        answer = await anonymous.post(path, content=content, headers={"content-type": content_type})
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_two_content_types_do_not_raise_the_limit(shelf: Shelf, anonymous: httpx.AsyncClient) -> None:
    headers = [("content-type", "application/json"), ("content-type", "multipart/form-data; boundary=x")]
    path = f"/v1/knowledge-bases/{shelf.knowledge_base_id}/documents"
    answer = await anonymous.post(path, content=b"{}", headers=[*headers, ("content-length", str(64 * 1024**2))])
    assert answer.status_code == 413


async def test_a_document_may_be_longer(shelf: Shelf) -> None:
    path = f"/v1/knowledge-bases/{shelf.knowledge_base_id}/documents"
    body = {"text": "Word. " * (MAX_BODY_BYTES // 4), "title": "Long"}
    assert (await shelf.person.client.post(path, json=body)).status_code == 202


async def test_a_body_that_does_not_arrive() -> None:
    app = FastAPI()
    install_problem_handlers(app)
    app.add_middleware(BodyLimitMiddleware, max_file_bytes=1, uploads=re.compile("-"), grace_seconds=0.05)

    @app.post("/")
    async def read(request: Request) -> int:
        return len(await request.body())

    async def stalled() -> AsyncIterator[bytes]:
        yield b"first"
        await asyncio.Event().wait()

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        assert (await client.post("/", content=b"whole")).json() == 5
        answer = await client.post("/", content=stalled())
    assert (answer.status_code, answer.json()["code"]) == (408, "request_timeout")


async def test_a_token_whose_header_is_a_tower(anonymous: httpx.AsyncClient) -> None:
    tower = base64.urlsafe_b64encode(b"[" * 30_000).decode()
    answer = await anonymous.get("/v1/auth/me", headers={"authorization": f"Bearer {tower}.e30.x"})
    assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")


async def test_other_users_of_the_machine_see_nothing(parts: Parts) -> None:
    folder: Path = parts.settings.data_dir
    closed = [*PRIVATE_FOLDERS, "postgres", "secret"]
    assert {name: (folder / name).stat().st_mode & 0o077 for name in closed} == dict.fromkeys(closed, 0)


async def test_a_page_is_never_shown_from_our_origin(shelf: Shelf) -> None:
    path = f"/v1/knowledge-bases/{shelf.knowledge_base_id}/documents"
    page = b"<!doctype html><html><body><script>alert(1)</script><p>Hello.</p></body></html>"
    sent = await shelf.person.client.post(path, files={"file": ('a";\u2028<x>.html', page, "text/html")})
    content = await shelf.person.client.get(f"/v1/documents/{sent.json()['document']['id']}/content")
    assert content.content == page
    assert content.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    assert content.headers["content-disposition"].isascii()
    assert content.headers["x-content-type-options"] == "nosniff"
    assert content.headers["content-security-policy"].startswith("sandbox")


async def test_nobody_is_sent_to_another_host(anonymous: httpx.AsyncClient) -> None:
    answer = await anonymous.get("/v1/sessions/", headers={"host": "elsewhere.example"})
    assert answer.status_code == 404
    assert "location" not in answer.headers
