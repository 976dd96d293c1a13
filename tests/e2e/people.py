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

    def finished(self, sent: dict[str, Any], *, seconds: float = 240) -> dict[str, Any]:
        """The operation of an upload when it has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            operation: dict[str, Any] = self.ok("GET", f"/v1/operations/{sent['operation']['id']}")
            if operation["state"] in ENDED:
                return operation
            time.sleep(0.1)
        raise AssertionError(f"still {operation['state']} in {operation['stage']} after {seconds} s")

    def ready(self, sent: dict[str, Any], *, seconds: float = 240) -> dict[str, Any]:
        """The document of an upload when it can be searched."""
        operation = self.finished(sent, seconds=seconds)
        assert operation["state"] == "succeeded", operation["error"]
        document: dict[str, Any] = self.ok("GET", f"/v1/documents/{sent['document']['id']}")
        assert document["status"] == "ready"
        return document

    def forget(self, sent: dict[str, Any]) -> dict[str, Any]:
        """Deletes the document of an upload; the receipt once it is gone from every store."""
        self.ok("DELETE", f"/v1/documents/{sent['document']['id']}")
        return self.purged(sent["document"]["id"])

    def purged(self, document_id: str) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            answer = self.http.get(f"/v1/documents/{document_id}/deletion")
            receipt: dict[str, Any] = answer.json()
            if answer.is_success and receipt["purged_at"] is not None:
                return receipt
            time.sleep(0.1)
        raise AssertionError("not purged after 60 s")

    def chunks(self, document_id: str) -> list[dict[str, Any]]:
        """The first 200 of the active version."""
        items: list[dict[str, Any]]
        items = self.ok("GET", f"/v1/documents/{document_id}/chunks", params={"limit": 200})["items"]
        return items

    def retrieve(self, query: str, kb_id: str, **options: Any) -> dict[str, Any]:
        body = {"query": query, "knowledge_base_ids": [kb_id], **options}
        found: dict[str, Any] = self.ok("POST", "/v1/retrieve", json=body)
        return found

    def ask(self, question: str, kb_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.ok("POST", "/v1/ask", json={"question": question, "knowledge_base_ids": [kb_id]})
        return answer

    def events(self, method: str, path: str, body: dict[str, Any] | None = None) -> list["Event"]:
        """All events of a stream, when it has ended."""
        headers = {"accept": "text/event-stream"}
        with self.http.stream(method, path, json=body, headers=headers) as answer:
            assert answer.status_code in (200, 201), answer.read()
            assert answer.headers["content-type"].startswith("text/event-stream")
            return list(_events(answer.iter_lines()))

    def problem(self, status: int, code: str, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """The problem that a request must answer: of this status and code, and fit to be read by a person."""
        return as_problem(self.http.request(method, path, **arguments), status, code)

    def clean(self) -> dict[str, Any]:
        """The consistency report of the tenant once nothing is under way; fails the test if the stores differ."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            states = [
                state
                for state in ("queued", "running")
                if self.ok("GET", "/v1/operations", params={"state": state, "limit": 1})["items"]
            ]
            if not states:
                report: dict[str, Any] = self.ok("GET", "/v1/consistency")
                assert report["clean"], report
                return report
            time.sleep(0.2)
        raise AssertionError("operations are still under way after 60 s")


@dataclass(frozen=True)
class Event:
    """A server-sent event with JSON data."""

    id: str
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.data["type"])


def _events(lines: Iterator[str]) -> Iterator[Event]:
    number = ""
    for line in lines:
        if line.startswith("id:"):
            number = line[3:].strip()
        elif line.startswith("data:"):
            yield Event(number, json.loads(line[5:]))


def as_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """RFC 9457, our `code`, and a sentence: it begins like one, ends like one, and shows no internals."""
    assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["code"] == code, problem
    assert problem["status"] == status
    assert problem["title"]
    assert problem["request_id"] == answer.headers["x-request-id"]
    readable(problem["detail"])
    return problem


def readable(sentence: str) -> None:
    assert len(sentence) > 20, sentence
    assert sentence.endswith("."), sentence
    for internal in ("Traceback", "Error(", "sqlalchemy", "asyncpg", "/app/", "scratch", "None"):
        assert internal not in sentence, sentence


@contextmanager
def register(url: str) -> Iterator[Person]:
    """Makes a tenant and its owner."""
    email, password = f"{secrets.token_hex(6)}@example.com", secrets.token_urlsafe(12)
    with httpx.Client(base_url=url, timeout=60) as http:
        answer = http.post("/v1/auth/register", json={"email": email, "password": password, "tenant": email})
        assert answer.status_code == 201, answer.text
        http.headers["authorization"] = f"Bearer {answer.json()['access_token']}"
        yield Person(http, email, password)
