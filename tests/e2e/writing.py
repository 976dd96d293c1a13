"""Texts with a known number of chunks, and what must be true of documents when everything has come to rest."""

import time
from typing import Any

from tests.e2e.people import Person

CHUNKING = {"target_tokens": 48, "max_tokens": 64, "max_embedded_tokens": 128, "min_tokens": 0, "overlap_tokens": 0}


def small_chunks(person: Person, name: str) -> str:
    """A knowledge base in which `prose` gives one chunk a section."""
    return str(person.ok("POST", "/v1/knowledge-bases", json={"name": name, "settings": {"chunking": CHUNKING}})["id"])


def prose(subject: str, sections: int) -> str:
    return "\n\n".join(
        f"# {subject} part {number}\n\nThe {subject} of part {number} 讲述了第 {number} 部分的内容。"
        for number in range(1, sections + 1)
    )


def send(person: Person, kb_id: str, subject: str, sections: int, **facts: Any) -> dict[str, Any]:
    sent = person.write(kb_id, subject, prose(subject, sections), format="markdown", **facts)
    return {**sent, "sections": sections, "subject": subject}


def at_rest(person: Person, *, seconds: float = 120) -> dict[str, Any]:
    """The comparison of the stores once no operation is queued or running any more."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        open_operations = [
            operation
            for state in ("running", "queued", "running")  # one that loses its worker goes from here to there
            for operation in person.ok("GET", "/v1/operations", params={"state": state})["items"]
        ]
        if not open_operations:
            report: dict[str, Any] = person.ok("GET", "/v1/consistency")
            return report
        time.sleep(0.2)
    raise AssertionError(f"still at work after {seconds:.0f} s: {open_operations}")


def assert_whole(person: Person, sent: dict[str, Any]) -> int:
    """An upload is ready with each of its chunks once. The number of chunks."""
    operation = person.ok("GET", f"/v1/operations/{sent['operation']['id']}")
    document = person.ok("GET", f"/v1/documents/{sent['document']['id']}")
    assert (operation["state"], document["status"]) == ("succeeded", "ready"), (operation, document)
    chunks = person.chunks(document["id"])
    assert [chunk["ordinal"] for chunk in chunks] == list(range(sent["sections"]))
    assert all(sent["subject"] in chunk["text"] for chunk in chunks)
    assert document["chunk_count"] == sent["sections"]
    return len(chunks)


def assert_stores_hold(report: dict[str, Any], chunks: int) -> None:
    """Each index holds exactly so many chunks of the tenant."""
    assert report["clean"], report
    for index in ("vectors", "terms"):
        assert (report[index]["wanted"], report[index]["found"]) == (chunks, chunks), report
