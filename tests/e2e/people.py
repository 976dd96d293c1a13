"""People who use a running platform over HTTP."""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ENDED = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True)
class Person:
    """The owner of a tenant, logged in."""

    http: httpx.Client
    email: str
    password: str

    def ok(self, method: str, path: str, **arguments: Any) -> Any:
        """The JSON of an answer that must be a success."""
        answer = self.http.request(method, path, **arguments)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def knowledge_base(self, name: str = "") -> str:
        name = name or f"kb {secrets.token_hex(4)}"
        return str(self.ok("POST", "/v1/knowledge-bases", json={"name": name})["id"])

    def upload(self, kb_id: str, path: Path, *, name: str = "", **fields: str) -> dict[str, Any]:
        with path.open("rb") as file:
            files = {"file": (name or path.name, file)}
            sent: dict[str, Any] = self.ok("POST", f"/v1/knowledge-bases/{kb_id}/documents", files=files, data=fields)
        return sent

    def write(self, kb_id: str, title: str, text: str, **facts: Any) -> dict[str, Any]:
        body = {"title": title, "text": text, **facts}
        sent: dict[str, Any] = self.ok("POST", f"/v1/knowledge-bases/{kb_id}/documents", json=body)
        return sent

    def finished(self, sent: dict[str, Any], *, seconds: float = 120) -> dict[str, Any]:
        """The operation of an upload when it has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            operation: dict[str, Any] = self.ok("GET", f"/v1/operations/{sent['operation']['id']}")
            if operation["state"] in ENDED:
                return operation
            time.sleep(0.1)
        raise AssertionError(f"still {operation['state']} in {operation['stage']} after {seconds} s")

    def ready(self, sent: dict[str, Any]) -> dict[str, Any]:
        """The document of an upload when it can be searched."""
        operation = self.finished(sent)
        assert operation["state"] == "succeeded", operation["error"]
        document: dict[str, Any] = self.ok("GET", f"/v1/documents/{sent['document']['id']}")
        assert document["status"] == "ready"
        return document

    def retrieve(self, query: str, kb_id: str, **options: Any) -> dict[str, Any]:
        body = {"query": query, "knowledge_base_ids": [kb_id], **options}
        found: dict[str, Any] = self.ok("POST", "/v1/retrieve", json=body)
        return found

    def ask(self, question: str, kb_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.ok("POST", "/v1/ask", json={"question": question, "knowledge_base_ids": [kb_id]})
        return answer

    def events(self, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        headers = {"accept": "text/event-stream"}
        with self.http.stream("POST", path, json=body, headers=headers) as answer:
            assert answer.status_code == 200
            return [json.loads(line[5:]) for line in answer.iter_lines() if line.startswith("data:")]


@contextmanager
def register(url: str) -> Iterator[Person]:
    """Makes a tenant and its owner."""
    email, password = f"{secrets.token_hex(6)}@example.com", secrets.token_urlsafe(12)
    with httpx.Client(base_url=url, timeout=60) as http:
        answer = http.post("/v1/auth/register", json={"email": email, "password": password, "tenant": email})
        assert answer.status_code == 201, answer.text
        http.headers["authorization"] = f"Bearer {answer.json()['access_token']}"
        yield Person(http, email, password)
