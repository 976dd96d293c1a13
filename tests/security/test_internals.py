"""What an engine says of itself, its addresses and folders among it, is for the operator's log and for nobody else."""

import json
from collections.abc import AsyncGenerator
from typing import Any, NoReturn

import httpx
import pytest
from fastapi import FastAPI
from sse_starlette import EventSourceResponse

from app.agent.events import Event
from app.chats.streaming import event_stream
from app.core.errors import BigGraphError, EngineRejected, EngineUnavailable
from app.core.problems import install_problem_handlers
from app.ports.parts import Parts
from tests.conftest import until
from tests.security.conftest import Shelf

SAID = "http://10.0.0.7:6333 refused /srv/biggraph/vectors: check QDRANT_API_KEY"
ERRORS = [EngineRejected(SAID, code="engine_key_refused"), EngineUnavailable(SAID, code="index_missing")]


@pytest.mark.parametrize("error", ERRORS)
async def test_an_answer(error: BigGraphError) -> None:
    app = FastAPI()
    install_problem_handlers(app)

    @app.get("/")
    async def fail() -> None:
        raise error

    @app.get("/stream")
    async def fail_in_a_stream() -> EventSourceResponse:
        async def run() -> AsyncGenerator[Event]:
            raise error
            yield

        async def done() -> dict[str, Any]:
            return {}

        return event_stream(run(), done, done)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        for path in ("/", "/stream"):
            answer = (await client.get(path)).text
            assert error.error_code in answer
            assert "10.0.0.7" not in answer


@pytest.mark.parametrize("error", ERRORS[:1])
async def test_an_operation(shelf: Shelf, parts: Parts, error: BigGraphError, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(parts.vectors, "upsert", refuse)
    client = shelf.person.client
    body = {"text": "Words that no index takes.", "external_id": "refused"}
    sent = (await client.post(f"/v1/knowledge-bases/{shelf.knowledge_base_id}/documents", json=body)).json()
    path = f"/v1/operations/{sent['operation']['id']}"

    async def ended() -> bool:
        return (await client.get(path)).json()["finished_at"] is not None

    await until(ended)
    for shown in (path, f"/v1/documents/{sent['document']['id']}"):
        told = (await client.get(shown)).json()["error"]
        assert told["code"] == error.error_code
        assert "10.0.0.7" not in json.dumps(told)
