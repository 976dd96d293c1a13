"""The life of documents: replaced, repeated, changed, cancelled, retried, deleted, listed and followed."""

import json
import time
from typing import Any
from uuid import uuid4

import pytest

from app.demo.load import FILES as DEMO
from tests.e2e.people import Person, as_problem
from tests.e2e.shapes import Service

MODES = ("dense", "bm25", "hybrid")


@pytest.fixture
def kb_id(owner: Person) -> str:
    return owner.knowledge_base()


def found(person: Person, kb_id: str, query: str, **options: Any) -> list[str]:
    """Names of the documents that are found."""
    return [hit["document_name"] for hit in person.retrieve(query, kb_id, **options)["hits"]]


def test_a_document_is_replaced_by_its_external_id(owner: Person, kb_id: str) -> None:
    first = owner.write(kb_id, "Rates", "The rate of the harbour is seven crowns.", external_id="rates")
    document = owner.ready(first)
    second = owner.write(kb_id, "Rates 2", "The rate of the harbour is nine crowns.", external_id="rates")
    assert (first["outcome"], second["outcome"]) == ("created", "replaced")
    replaced = owner.ready(second)
    assert replaced["id"] == document["id"]
    assert (replaced["name"], replaced["active_generation"]) == ("Rates 2", 2)
    for mode in MODES:
        hits = owner.retrieve("rate of the harbour", kb_id, mode=mode)["hits"]
        assert [hit["text"] for hit in hits] == ["The rate of the harbour is nine crowns."]
    report = owner.clean()
    assert report["vectors"]["found"] == report["vectors"]["wanted"]
    assert owner.http.get(f"/v1/documents/{document['id']}/content").text == "The rate of the harbour is nine crowns."


def test_the_same_content_again_is_unchanged(owner: Person, kb_id: str) -> None:
    path = DEMO / "tern-drone-faq.md"
    first = owner.upload(kb_id, path)
    owner.ready(first)
    again = owner.upload(kb_id, path, name="renamed.md", tags='["faq"]')
    assert again["outcome"] == "unchanged"
    assert again["document"]["id"] == first["document"]["id"]
    assert again["operation"]["id"] == first["operation"]["id"]
    assert (again["document"]["name"], again["document"]["tags"]) == ("renamed.md", ["faq"])
    owner.clean()
    assert found(owner, kb_id, "error E-17", filter={"tags_any": ["faq"]})
    assert len(owner.ok("GET", f"/v1/knowledge-bases/{kb_id}/documents")["items"]) == 1


def test_an_idempotency_key_makes_one_document(owner: Person, kb_id: str) -> None:
    headers, body = {"Idempotency-Key": str(uuid4())}, {"title": "Once", "text": "This is said once."}
    path = f"/v1/knowledge-bases/{kb_id}/documents"
    first = owner.ok("POST", path, json=body, headers=headers)
    again = owner.ok("POST", path, json=body, headers=headers)
    assert again["document"]["id"] == first["document"]["id"]
    assert again["operation"]["id"] == first["operation"]["id"]
    owner.ready(first)
    assert len(owner.ok("GET", path)["items"]) == 1


@pytest.mark.parametrize("mode", MODES)
def test_changed_facts_reach_the_filters_of_both_engines(owner: Person, kb_id: str, mode: str) -> None:
    text = "The lighthouse keeper writes the log every evening."
    document = owner.ready(owner.write(kb_id, "Log", text, metadata={"year": 2024, "draft": True}, tags=["old"]))
    owner.ready(owner.write(kb_id, "Other", text + " Or not.", metadata={"year": 2025}))
    patch = {"metadata": {"year": 2026, "城市": "青屿"}, "tags": ["new", "值班"], "name": "Logbook"}
    owner.ok("PATCH", f"/v1/documents/{document['id']}", json=patch)
    owner.clean()

    def names(**conditions: Any) -> list[str]:
        return found(owner, kb_id, "lighthouse keeper log", mode=mode, filter=conditions)

    assert names(metadata={"year": 2026}) == names(metadata={"城市": ["青屿", "x"]}) == ["Logbook"]
    assert names(tags_all=["new", "值班"]) == ["Logbook"]
    assert names(metadata={"year": 2025}) == ["Other"]
    assert names(metadata={"year": 2024}) == names(tags_any=["old"]) == names(metadata={"draft": True}) == []
    assert names(metadata={"year": "2026"}) == []


def long_text(sections: int) -> str:
    return "\n\n".join(
        f"# Section {number}\n\n" + " ".join(f"Word{number}x{word} stands here." for word in range(120))
        for number in range(sections)
    )


def test_a_running_ingestion_is_cancelled_and_retried_where_it_stopped(owner: Person, kb_id: str) -> None:
    sent = owner.write(kb_id, "Long", long_text(24), format="markdown")
    path = f"/v1/operations/{sent['operation']['id']}"
    deadline = time.monotonic() + 60
    while (running := owner.ok("GET", path))["stage"] != "embed":
        assert time.monotonic() < deadline, running
        assert running["state"] in ("queued", "running")
    owner.ok("POST", f"{path}:cancel")
    cancelled = owner.finished(sent)
    assert (cancelled["state"], cancelled["error"]["code"]) == ("cancelled", "cancelled")
    document = owner.ok("GET", f"/v1/documents/{sent['document']['id']}")
    assert (document["status"], document["error"]["code"]) == ("failed", "cancelled")
    assert not found(owner, kb_id, "Word1x1 stands here")
    owner.problem(409, "operation_finished", "POST", f"{path}:cancel")
    before = {(stage["attempt"], stage["stage"]) for stage in cancelled["stages"]}

    owner.ok("POST", f"{path}:retry")
    owner.ready(sent)
    finished = owner.ok("GET", path)
    later = [stage["stage"] for stage in finished["stages"]][len(before) :]
    assert later == ["embed", "index", "verify", "activate"], finished["stages"]
    owner.problem(409, "operation_not_retryable", "POST", f"{path}:retry")
    assert found(owner, kb_id, "Word1x1 stands here", top_k=1) == ["Long"]
    owner.clean()
    owner.forget(sent)


def test_a_deleted_document_is_found_by_nothing_at_once(owner: Person, kb_id: str) -> None:
    text = "The secret of the Petrel buoy is its keel of slate."
    sent = owner.write(kb_id, "Secret", text)
    document = owner.ready(sent)
    session = owner.ok("POST", "/v1/sessions", json={"knowledge_base_ids": [kb_id]})
    messages = f"/v1/sessions/{session['id']}/messages"
    told = owner.ok("POST", messages, json={"question": "What is the secret of the Petrel buoy?"})
    assert "slate" in told["content"]

    owner.ok("DELETE", f"/v1/documents/{document['id']}")
    for mode in MODES:
        assert not found(owner, kb_id, "secret of the Petrel buoy", mode=mode)
    assert owner.ask("What is the secret of the Petrel buoy?", kb_id)["citations"] == []
    assert "slate" not in json.dumps(owner.ok("GET", messages))
    for path in ("", "/chunks", "/content"):
        owner.problem(404, "document_not_found", "GET", f"/v1/documents/{document['id']}{path}")
    owner.problem(404, "document_not_found", "DELETE", f"/v1/documents/{document['id']}")

    receipt = owner.purged(document["id"])
    assert receipt["document_name"] == "Secret"
    assert receipt["counts"] == {"vectors": 1, "terms": 1, "chunks": 1, "blobs": 2}
    owner.clean()


def test_deleting_a_knowledge_base_takes_everything_with_it(service: Service, owner: Person) -> None:
    before = owner.clean()
    kb_id = owner.knowledge_base()
    names = ("employee-handbook.docx", "products.xlsx", "青屿岛值班日志.txt")
    sent = [owner.upload(kb_id, DEMO / name) for name in names]
    for upload in sent:
        owner.ready(upload)
    held = owner.clean()
    assert held["vectors"]["found"] > before["vectors"]["found"]
    owner.ok("DELETE", f"/v1/knowledge-bases/{kb_id}")
    owner.problem(404, "knowledge_base_not_found", "GET", f"/v1/knowledge-bases/{kb_id}")
    body = {"query": "paid leave", "knowledge_base_ids": [kb_id]}
    owner.problem(404, "knowledge_base_not_found", "POST", "/v1/retrieve", json=body)
    for upload in sent:
        owner.problem(404, "document_not_found", "GET", f"/v1/documents/{upload['document']['id']}")
        assert owner.purged(upload["document"]["id"])["counts"]["chunks"] > 0
    after = owner.clean()
    assert (after["vectors"], after["terms"]) == (before["vectors"], before["terms"])
    ids = {upload["document"]["id"] for upload in sent}
    assert not [path for path in service.blobs.rglob("*") if any(one in str(path) for one in ids)]


def test_lists_come_in_pages(owner: Person, kb_id: str) -> None:
    sent = [owner.write(kb_id, f"Note {number}", f"This is note {number}.") for number in range(5)]
    path, seen, cursor = f"/v1/knowledge-bases/{kb_id}/documents", [], None
    while True:
        page = owner.ok("GET", path, params={"limit": 2, **({"cursor": cursor} if cursor else {})})
        seen += [document["id"] for document in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
        assert len(page["items"]) == 2
    assert seen == [one["document"]["id"] for one in sent]
    for limit in (0, 201, "many"):
        owner.problem(422, "validation_failed", "GET", path, params={"limit": limit})
    owner.problem(422, "bad_cursor", "GET", path, params={"cursor": "neverGiven"})
    for upload in sent:
        owner.ready(upload)
    assert len(owner.ok("GET", path, params={"status": "ready", "name": "note"})["items"]) == 5


def test_an_operation_is_followed_by_events(owner: Person, kb_id: str) -> None:
    sent = owner.upload(kb_id, DEMO / "employee-handbook.docx")
    path = f"/v1/operations/{sent['operation']['id']}"
    events = owner.events("GET", f"{path}/events")
    assert [event.id for event in events] == [str(number) for number in range(1, len(events) + 1)]
    percents = [event.data["percent"] for event in events]
    assert percents == sorted(percents)
    assert events[-1].data == owner.ok("GET", path)
    assert (events[-1].data["state"], percents[-1]) == ("succeeded", 100)
    stages = [stage["stage"] for stage in events[-1].data["stages"]]
    assert stages == ["parse", "chunk", "embed", "index", "verify", "activate"]
    as_problem(owner.http.get(f"/v1/operations/{uuid4()}/events"), 404, "operation_not_found")
