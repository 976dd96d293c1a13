"""Workers that are killed, stopped, absent or frozen: whatever becomes of them, documents become ready, once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from tests.e2e.conftest import needed, start
from tests.e2e.databases import own_database
from tests.e2e.people import Person, register
from tests.e2e.shapes import Process, Servers, Service, on_servers
from tests.e2e.writing import assert_stores_hold, assert_whole, at_rest, send, small_chunks

pytestmark = [pytest.mark.xdist_group("workers"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Service]:
    """API and two workers with a database and a broker of their own, so that nobody else's workers help them."""
    with own_database(needed("BIGGRAPH_TEST_DATABASE_URL")) as (owner_url, application_url):
        redis = urlsplit(needed("BIGGRAPH_TEST_REDIS_URL"))
        servers = Servers(
            database_owner_url=owner_url,
            database_url=application_url,
            redis_url=redis._replace(path="/7").geturl(),
            elasticsearch_url=needed("BIGGRAPH_TEST_ELASTICSEARCH_URL"),
            qdrant_url=request.getfixturevalue("qdrant_peer").url,
        )
        service = on_servers(tmp_path_factory.mktemp("workers"), servers)
        try:
            start(service)
            yield service
            service.stop()
        finally:
            service.destroy()


@pytest.fixture(scope="module")
def person(platform: Service) -> Iterator[Person]:
    with register(platform.url) as person:
        yield person


@pytest.fixture
def kb_id(person: Person, platform: Service, request: pytest.FixtureRequest) -> str:
    """An empty knowledge base, with both workers at rest."""
    for name in ("worker1", "worker2"):
        if not platform.processes[name].running:
            platform.processes[name].start()
    assert at_rest(person)["clean"]
    return small_chunks(person, request.node.name)


def tree_of(worker: Process) -> list[psutil.Process]:
    assert worker.popen is not None
    parent = psutil.Process(worker.popen.pid)
    return [parent, *parent.children(recursive=True)]


def kill(worker: Process) -> None:
    for process in tree_of(worker):
        process.kill()
    assert worker.popen is not None
    worker.popen.wait(30)


@contextmanager
def frozen(worker: Process) -> Iterator[None]:
    tree = tree_of(worker)
    for process in tree:
        process.suspend()
    try:
        yield
    finally:
        for process in tree:
            process.resume()


def soon(condition: Callable[[], bool], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"nothing happened within {seconds:.0f} s"
        time.sleep(0.1)


def operation_of(person: Person, sent: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = person.ok("GET", f"/v1/operations/{sent['operation']['id']}")
    return found


def wanted(person: Person) -> int:
    return int(person.ok("GET", "/v1/consistency")["vectors"]["wanted"])


def test_a_worker_killed_in_the_middle_of_twenty_documents(platform: Service, person: Person, kb_id: str) -> None:
    before = wanted(person)
    sent = [send(person, kb_id, f"twenty {number}", 5 + number) for number in range(20)]
    soon(lambda: sum(operation_of(person, one)["state"] == "succeeded" for one in sent) >= 3)
    kill(platform.processes["worker1"])
    assert any(operation_of(person, one)["state"] != "succeeded" for one in sent)
    report = at_rest(person, seconds=240)
    assert_stores_hold(report, before + sum(assert_whole(person, one) for one in sent))


def test_a_worker_that_is_stopped_finishes_or_hands_over(platform: Service, person: Person, kb_id: str) -> None:
    before = wanted(person)
    sent = [send(person, kb_id, f"stopped {number}", 20) for number in range(6)]
    soon(lambda: any(operation_of(person, one)["state"] == "running" for one in sent))
    platform.processes["worker1"].end()
    assert_stores_hold(at_rest(person), before + sum(assert_whole(person, one) for one in sent))
    assert {operation_of(person, one)["attempts"] for one in sent} == {1}
    assert "Traceback" not in platform.tail("worker1")


def test_a_worker_that_may_not_finish_hands_over_at_once(platform: Service, person: Person, kb_id: str) -> None:
    worker, before = platform.processes["worker1"], wanted(person)
    worker.end()
    platform.processes["worker2"].end()
    sent = send(person, kb_id, "handed over", 200)
    hasty = platform.add("hasty", worker.command, {"BIGGRAPH_DRAIN_SECONDS": "0"})
    hasty.start()
    soon(lambda: operation_of(person, sent)["stage"] == "embed")
    hasty.end()
    del platform.processes["hasty"]
    operation = operation_of(person, sent)
    assert (operation["state"], operation["attempts"]) == ("queued", 0)
    assert operation["stages"][-1]["error_code"] == "interrupted"
    platform.processes["worker2"].start()
    assert_stores_hold(at_rest(person), before + assert_whole_after(person, sent))


def assert_whole_after(person: Person, sent: dict[str, Any]) -> int:
    at_rest(person)
    return assert_whole(person, sent)


def test_without_workers_documents_are_accepted_and_wait(platform: Service, person: Person, kb_id: str) -> None:
    before = wanted(person)
    for name in ("worker1", "worker2"):
        platform.processes[name].end()
    sent = [send(person, kb_id, f"waiting {number}", 3) for number in range(3)]
    assert {operation_of(person, one)["state"] for one in sent} == {"queued"}
    platform.processes["worker2"].start()
    report = at_rest(person)
    assert_stores_hold(report, before + sum(assert_whole(person, one) for one in sent))


def test_a_worker_frozen_past_its_lease_writes_nothing_when_it_goes_on(
    platform: Service, person: Person, kb_id: str
) -> None:
    before = wanted(person)
    platform.processes["worker2"].end()
    sent = send(person, kb_id, "frozen", 200)
    soon(lambda: operation_of(person, sent)["stage"] == "embed")
    with frozen(platform.processes["worker1"]):
        platform.processes["worker2"].start()
        soon(lambda: operation_of(person, sent)["state"] == "succeeded")
        at_rest(person)
        done = operation_of(person, sent)
        document = person.ok("GET", f"/v1/documents/{sent['document']['id']}")
    soon(lambda: "operation_taken_over" in platform.tail("worker1", 100_000))
    report = at_rest(person)
    assert operation_of(person, sent) == done
    assert person.ok("GET", f"/v1/documents/{sent['document']['id']}") == document
    assert_stores_hold(report, before + assert_whole(person, sent))
    assert done["attempts"] == 2
