"""Parts are lost while the platform runs: it does with what is left, says so, and mends itself when they are back."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psutil
import pytest

from tests.e2e.lines import Line
from tests.e2e.people import Person, as_problem
from tests.e2e.shapes import Service
from tests.peers.qdrant import QdrantPeer

TEXT = "The ferry to the island leaves at a quarter past nine."
QUESTION = "When does the ferry to the island leave?"


@pytest.fixture(scope="module")
def kb_id(owner: Person) -> str:
    kb = owner.knowledge_base()
    owner.ready(owner.write(kb, "Ferry", TEXT))
    return kb


@pytest.fixture
def wires(service: Service, request: pytest.FixtureRequest) -> dict[str, Line]:
    """Lines to the servers, for tests of what only servers can lose."""
    if service.shape != "servers":
        pytest.skip("embedded, this engine is a part of the process")
    found: dict[str, Line] = request.getfixturevalue("lines")
    return found


def soon(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Waits until the condition gives something true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.2)
    raise AssertionError(f"nothing happened within {seconds:.0f} s")


def undegraded(person: Person, kb_id: str) -> bool:
    answer = person.http.post("/v1/retrieve", json={"query": QUESTION, "knowledge_base_ids": [kb_id]})
    return answer.is_success and answer.json()["degraded"] == []


def assert_answers_without(person: Person, kb_id: str, engine: str) -> None:
    answer = person.retrieve(QUESTION, kb_id)
    assert [hit["text"] for hit in answer["hits"]] == [TEXT]
    assert answer["degraded"] == [engine]
    assert answer["degraded_reasons"][engine].endswith(".")
    channel = "bm25" if engine == "terms" else "dense"
    assert answer["hits"][0]["scores"][channel] is None
    told = person.ask(QUESTION, kb_id)
    assert told["citations"][0]["quote"] == TEXT
    assert told["degraded"] == [engine]


def test_without_terms_the_dense_channel_answers(owner: Person, kb_id: str, wires: dict[str, Line]) -> None:
    with wires["elasticsearch"].cut():
        assert_answers_without(owner, kb_id, "terms")
        body = {"query": QUESTION, "knowledge_base_ids": [kb_id], "mode": "bm25"}
        problem = owner.problem(503, "retrieval_unavailable", "POST", "/v1/retrieve", json=body)
        assert problem["degraded"] == ["terms"]
        ready = owner.http.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert ready.json()["parts"]["text_index"] != "ok"
    soon(lambda: undegraded(owner, kb_id))


def test_without_vectors_bm25_answers(owner: Person, kb_id: str, wires: dict[str, Line]) -> None:
    with wires["qdrant"].cut():
        assert_answers_without(owner, kb_id, "vectors")
    soon(lambda: undegraded(owner, kb_id))


@pytest.fixture
def peer(wires: dict[str, Line], request: pytest.FixtureRequest) -> Iterator[QdrantPeer]:
    """The peer that plays Qdrant for the service."""
    if os.environ.get("BIGGRAPH_TEST_QDRANT_URL"):
        pytest.skip("a real Qdrant does not fail when told to")
    found: QdrantPeer = request.getfixturevalue("qdrant_peer")
    yield found
    found.reset()


@pytest.mark.parametrize("status", [500, 429, 400])
def test_vectors_that_answer_errors_degrade(owner: Person, kb_id: str, peer: QdrantPeer, status: int) -> None:
    peer.fault("query", "error", times=1000, status=status)
    assert_answers_without(owner, kb_id, "vectors")
    peer.reset()
    assert undegraded(owner, kb_id)


def test_the_embedded_vector_engine_is_started_again(service: Service, owner: Person, kb_id: str) -> None:
    if service.shape != "embedded":
        pytest.skip("the engine is a server here")
    (engine,) = service.processes["api"].children("app.adapters.qdrant_edge.engine")
    engine.kill()
    soon(lambda: engine.status() == psutil.STATUS_ZOMBIE)  # the application takes notice at the next call
    answer = owner.retrieve(QUESTION, kb_id)
    assert [hit["text"] for hit in answer["hits"]] == [TEXT]
    assert answer["degraded"] == ["vectors"]
    soon(lambda: undegraded(owner, kb_id))


def test_without_both_there_is_no_answer(owner: Person, kb_id: str, wires: dict[str, Line]) -> None:
    body = {"query": QUESTION, "knowledge_base_ids": [kb_id]}
    with wires["elasticsearch"].cut(), wires["qdrant"].cut():
        answer = owner.http.post("/v1/retrieve", json=body)
        assert as_problem(answer, 503, "retrieval_unavailable")["degraded"] == ["terms", "vectors"]
        assert int(answer.headers["retry-after"]) > 0
        asked = owner.http.post("/v1/ask", json={"question": QUESTION, "knowledge_base_ids": [kb_id]})
        as_problem(asked, 503, "retrieval_unavailable")
        assert int(asked.headers["retry-after"]) > 0
        events = owner.events("POST", "/v1/ask", {"question": QUESTION, "knowledge_base_ids": [kb_id]})
        assert [event.data["code"] for event in events if event.type == "error"] == ["retrieval_unavailable"]
        assert events[-1].type == "done"
    soon(lambda: undegraded(owner, kb_id))


def test_an_ingestion_outlives_its_indexes(owner: Person, kb_id: str, wires: dict[str, Line]) -> None:
    """It is tried again until they are back; meanwhile nothing of it is found."""
    with wires["elasticsearch"].cut():
        sent = owner.write(kb_id, "Bus", "The bus meets the ferry at the northern pier.")
        path = f"/v1/operations/{sent['operation']['id']}"
        failed = soon(lambda: (now := owner.ok("GET", path))["error"] and now)
        assert failed["stage"] == "index"
        assert not owner.retrieve(
            "northern pier", kb_id, mode="dense", filter={"document_ids": [sent["document"]["id"]]}
        )["hits"]
    owner.ready(sent)
    owner.clean()
    owner.forget(sent)


@contextmanager
def broker_lost(service: Service, request: pytest.FixtureRequest) -> Iterator[None]:
    """Redis unreachable; or the embedded Valkey hanging, then killed: it is started again, with nothing in it."""
    if service.shape == "servers":
        lines: dict[str, Line] = request.getfixturevalue("lines")
        with lines["redis"].cut():
            yield
        return
    servers = service.processes["api"].children("valkey-server")
    assert servers
    for server in servers:
        server.suspend()
    try:
        yield
    finally:
        for server in servers:
            server.kill()


def test_without_redis_uploads_are_accepted_and_processed_later(
    service: Service, owner: Person, kb_id: str, request: pytest.FixtureRequest
) -> None:
    with broker_lost(service, request):
        sent = [owner.write(kb_id, f"Tide {number}", f"Tide {number} is high at noon.") for number in range(3)]
        assert all(one["document"]["status"] == "queued" for one in sent)
        body = {"email": owner.email, "password": owner.password}
        assert owner.ok("POST", "/v1/auth/login", json=body)["access_token"]
        assert owner.retrieve(QUESTION, kb_id)["hits"][0]["text"] == TEXT
        session = owner.ok("POST", "/v1/sessions", json={"knowledge_base_ids": [kb_id]})
        path = f"/v1/sessions/{session['id']}/messages"
        assert owner.ok("POST", path, json={"question": QUESTION})["citations"][0]["quote"] == TEXT
        assert len(owner.ok("GET", path)["items"]) == 2
        ready = owner.http.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    for one in sent:
        owner.ready(one)
    owner.clean()
    for one in sent:
        owner.forget(one)
    soon(lambda: owner.http.get("/readyz").json()["status"] == "ready")


def test_without_postgres_nothing_is_half_written(
    service: Service, owner: Person, kb_id: str, wires: dict[str, Line]
) -> None:
    path = f"/v1/knowledge-bases/{kb_id}/documents"
    before = (owner.ok("GET", path)["items"], service.files())
    running = owner.write(kb_id, "Slow", " ".join(f"Word{number} stands here." for number in range(400)))
    with wires["postgres"].cut():
        requests: list[tuple[str, str, dict[str, Any]]] = [
            ("GET", path, {}),
            ("POST", path, {"json": {"title": "Lost", "text": "This is never kept."}}),
            ("POST", path, {"files": {"file": ("lost.txt", b"This is never kept.")}}),
            ("DELETE", f"/v1/documents/{running['document']['id']}", {}),
            ("POST", "/v1/knowledge-bases", {"json": {"name": "lost"}}),
            ("POST", "/v1/retrieve", {"json": {"query": QUESTION}}),
            ("POST", "/v1/auth/login", {"json": {"email": owner.email, "password": owner.password}}),
        ]
        for method, address, arguments in requests:
            answer = owner.http.request(method, address, **arguments)
            as_problem(answer, 503, "database_unavailable")
            assert int(answer.headers["retry-after"]) > 0
        assert owner.http.get("/readyz").status_code == 503
        assert owner.http.get("/healthz").status_code == 200
    soon(lambda: owner.http.get("/readyz").status_code == 200)
    owner.ready(running, seconds=200)
    owner.clean()
    owner.forget(running)
    assert (owner.ok("GET", path)["items"], service.files()) == before
    names = [kb["name"] for kb in owner.ok("GET", "/v1/knowledge-bases", params={"limit": 200})["items"]]
    assert "lost" not in names
    assert undegraded(owner, kb_id)


def test_a_stopped_service_goes_on_where_it_was(service: Service, owner: Person, kb_id: str) -> None:
    """SIGTERM in the middle of an ingestion: it ends within its grace, and the next start finishes the work."""
    sent = owner.write(kb_id, "Interrupted", " ".join(f"Wort{number} steht hier." for number in range(400)))
    soon(lambda: owner.ok("GET", f"/v1/operations/{sent['operation']['id']}")["state"] == "running")
    service.stop()
    with pytest.raises(httpx.TransportError):
        owner.http.get("/healthz")
    for process in service.processes.values():
        process.start()
    service.wait_ready()
    owner.ready(sent, seconds=200)
    owner.clean()
    owner.forget(sent)
