"""The disk is full: uploads and ingestions say so, leave nothing half written, and go on once there is room again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.people import Person, register
from tests.e2e.shapes import Service, embedded
from tests.e2e.writing import assert_stores_hold, assert_whole, at_rest, prose, send, small_chunks
from tests.small_disk import MEGABYTE, filled, small_disk

pytestmark = [pytest.mark.xdist_group("crashes"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    with small_disk("700m") as folder:
        yield folder


@pytest.fixture(scope="module")
def platform(disk: Path) -> Iterator[Service]:
    service = embedded(disk)
    try:
        service.processes["api"].start()
        service.wait_ready()
        yield service
        service.stop()
    finally:
        service.destroy()


@pytest.fixture(scope="module")
def person(platform: Service) -> Iterator[Person]:
    with register(platform.url) as person:
        yield person


def files_under(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("size", [1000, 3 * MEGABYTE])
def test_an_upload_says_that_there_is_no_room(platform: Service, person: Person, disk: Path, size: int) -> None:
    kb_id = small_chunks(person, f"full {size}")
    originals = files_under(platform.blobs)
    text = (prose("full", 20) * (size // 1000))[:size]
    with filled(disk):
        body = {"title": "full", "text": text}
        answer = person.http.post(f"/v1/knowledge-bases/{kb_id}/documents", json=body)
        assert answer.status_code == 507, answer.text
        assert answer.json()["code"] == "disk_full"
        assert "free" in answer.json()["detail"]
    assert person.ok("GET", f"/v1/knowledge-bases/{kb_id}/documents")["items"] == []
    assert files_under(platform.blobs) == originals
    assert files_under(platform.data / "scratch") == set()
    assert_whole_and_clean(person, kb_id)


def test_an_ingestion_waits_for_room_or_fails_with_a_reason(platform: Service, person: Person, disk: Path) -> None:
    kb_id = small_chunks(person, "full meanwhile")
    sent = send(person, kb_id, "full meanwhile", 200)
    with filled(disk):
        operation = person.finished(sent)
    if operation["state"] == "failed":
        assert operation["error"]["code"] != "internal_error", platform.tail("api")
        document = person.ok("GET", f"/v1/documents/{sent['document']['id']}")
        assert (document["status"], document["error"]["code"]) == ("failed", operation["error"]["code"])
        person.ok("POST", f"/v1/operations/{sent['operation']['id']}:retry")
    at_rest(person)
    assert_whole(person, sent)
    assert_whole_and_clean(person, kb_id)
    assert files_under(platform.data / "scratch") == set()


def assert_whole_and_clean(person: Person, kb_id: str) -> None:
    """The platform works as before."""
    sent = send(person, kb_id, "room again", 3)
    report = at_rest(person)
    assert_whole(person, sent)
    assert_stores_hold(report, report["vectors"]["wanted"])
