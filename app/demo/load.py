"""Makes the demo tenant at the first start, and finds it again at the next."""

import asyncio
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from app.core.errors import BigGraphError

EMAIL = "demo@example.com"
KNOWLEDGE_BASE = "Demo"
FILES = Path(__file__).parent / "files"
COMMANDS = (
    'ask "How many days of paid leave do employees get after three years?"',
    'ask "月光灯塔的灯光可以照到多远？"',
    'search "ZC-2024-001"',
)
READY_WITHIN_SECONDS = 120


class DemoFailed(BigGraphError):
    code = "demo_failed"
    status = 500


@dataclass(frozen=True, slots=True)
class Demo:
    email: str
    password: str
    knowledge_base: str
    documents: int
    commands: tuple[str, ...] = COMMANDS


async def load_demo(url: str, data_dir: Path) -> Demo:
    """Registers, uploads what is not there yet and waits until all of it can be searched. Raises `DemoFailed`."""
    password = _password(data_dir)
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        await _log_in(http, password)
        kb_id = await _knowledge_base(http)
        files = sorted(path for path in FILES.iterdir() if path.is_file())
        operations = [await _upload(http, kb_id, path) for path in files]
        for operation_id in operations:
            await _finished(http, operation_id)
    return Demo(EMAIL, password, KNOWLEDGE_BASE, len(files))


def _password(data_dir: Path) -> str:
    """Random, made once: the service may listen on more than this machine."""
    path = data_dir / "demo.json"
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"password": secrets.token_urlsafe(9)}, file)
    password: str = json.loads(path.read_text())["password"]
    return password


async def _log_in(http: httpx.AsyncClient, password: str) -> None:
    answer = await http.post("/v1/auth/login", json={"email": EMAIL, "password": password})
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        body = {"email": EMAIL, "password": password, "tenant": "Demo"}
        answer = await http.post("/v1/auth/register", json=body)
    http.headers["authorization"] = f"Bearer {_checked(answer)['access_token']}"


async def _knowledge_base(http: httpx.AsyncClient) -> str:
    known = _checked(await http.get("/v1/knowledge-bases", params={"limit": 200}))
    for kb in known["items"]:
        if kb["name"] == KNOWLEDGE_BASE:
            return str(kb["id"])
    body = {"name": KNOWLEDGE_BASE, "description": "Documents that BigGraph ships to be tried."}
    return str(_checked(await http.post("/v1/knowledge-bases", json=body))["id"])


async def _upload(http: httpx.AsyncClient, kb_id: str, path: Path) -> str | None:
    """The id of the ingestion to wait for."""
    content = await asyncio.to_thread(path.read_bytes)
    answer = _checked(
        await http.post(
            f"/v1/knowledge-bases/{kb_id}/documents",
            files={"file": (path.name, content)},
            data={"external_id": f"demo/{path.name}"},
        )
    )
    return str(answer["operation"]["id"]) if answer["operation"] else None


async def _finished(http: httpx.AsyncClient, operation_id: str | None) -> None:
    if operation_id is None:
        return
    async with asyncio.timeout(READY_WITHIN_SECONDS):
        while True:
            operation = _checked(await http.get(f"/v1/operations/{operation_id}"))
            if operation["state"] not in ("queued", "running"):
                break
            await asyncio.sleep(0.1)
    if operation["state"] != "succeeded":
        raise DemoFailed(f"A demo document was not ingested: {operation['error']['detail']}")


def _checked(answer: httpx.Response) -> Any:  # noqa: ANN401 - JSON
    if answer.is_error:
        raise DemoFailed(f"The demo could not be loaded: {answer.request.url.path} answered {answer.text[:300]}")
    return answer.json()
