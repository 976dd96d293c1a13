"""The application is killed at every named point of an ingestion and started again: nothing is lost or doubled."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from app.ingestion.checkpoints import POINTS
from tests.e2e.people import Person, register
from tests.e2e.shapes import Service, embedded
from tests.e2e.writing import assert_stores_hold, assert_whole, at_rest, send, small_chunks

pytestmark = [pytest.mark.xdist_group("crashes"), pytest.mark.timeout(900)]
LIKE_OTHERS = ("fetched", "chunked", "embedded", "verified")
"""Points after which the same is found as after the one before: each costs a start of everything."""
THOROUGH = bool(os.environ.get("BIGGRAPH_TEST_THOROUGH"))
"""Kills at every point."""
DEATH_SECONDS = 180
"""Within which a point is reached: long, for a busy machine."""


@dataclass
class Machine:
    """One data folder, on which one process after another runs."""

    service: Service

    @property
    def hold(self) -> Path:
        """While it exists no operation begins."""
        return self.service.folder / "hold"

    @property
    def point(self) -> Path:
        """Names where the application is killed."""
        return self.service.folder / "point"

    def start_ready(self) -> None:
        self.service.processes["api"].start()
        self.service.wait_ready()

    def await_death(self) -> None:
        api = self.service.processes["api"]
        assert api.popen is not None
        assert api.popen.wait(DEATH_SECONDS) == -signal.SIGKILL, self.service.tail("api")

    def tree(self) -> list[psutil.Process]:
        api = self.service.processes["api"]
        assert api.popen is not None
        return psutil.Process(api.popen.pid).children(recursive=True)

    def postmasters(self) -> list[psutil.Process]:
        folder = str(self.service.data / "postgres")
        return [
            process
            for process in psutil.process_iter(["name", "cmdline"])
            if process.info["name"] == "postgres" and folder in (process.info["cmdline"] or [])
        ]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("crashes")
    service = embedded(folder, entry=[sys.executable, "-m", "tests.e2e.crashing", str(folder)])
    made = Machine(service)
    try:
        yield made
        service.stop()
    finally:
        service.destroy()
        for process in made.postmasters():
            process.terminate()


@pytest.fixture(scope="module")
def person(machine: Machine) -> Iterator[Person]:
    machine.start_ready()
    with register(machine.service.url) as person:
        yield person


def left_running(tree: list[psutil.Process], seconds: float = 10) -> list[psutil.Process]:
    """Processes of a killed application that have not ended by themselves; they notice that it is gone."""
    _, alive = psutil.wait_procs(tree, timeout=seconds)
    return alive


@pytest.mark.parametrize("point", POINTS if THOROUGH else [point for point in POINTS if point not in LIKE_OTHERS])
def test_killed_and_started_again_nothing_is_lost_or_doubled(machine: Machine, person: Person, point: str) -> None:
    kb_id = small_chunks(person, f"killed at {point}")
    name = point.replace("_", " ")
    kept = send(person, kb_id, f"{name} replaced", 3, external_id="replaced")
    dropped = send(person, kb_id, f"{name} dropped", 3)
    assert at_rest(person)["clean"]
    first, second, third = person.chunks(kept["document"]["id"])
    edited = [f"{name} replaced {by} people" for by in ("by", "meanwhile by")]
    person.ok("PATCH", f"/v1/chunks/{first['id']}", json={"text": edited[0]})
    assert at_rest(person)["clean"]
    others = person.ok("GET", "/v1/consistency")["vectors"]["wanted"] - 6

    machine.hold.touch()
    replacement = send(person, kb_id, f"{name} replaced", 4, external_id="replaced")
    person.ok("PATCH", f"/v1/chunks/{second['id']}", json={"enabled": False})
    person.ok("PATCH", f"/v1/chunks/{third['id']}", json={"text": edited[1]})
    assert replacement["document"]["id"] == kept["document"]["id"]
    sent = [
        replacement,
        send(person, kb_id, f"{name} long", 40),
        *(send(person, kb_id, f"{name} {n}", 2) for n in "ab"),
    ]
    person.ok("DELETE", f"/v1/documents/{dropped['document']['id']}")
    interrupted = send(person, kb_id, f"{name} interrupted", 5)
    person.ok("DELETE", f"/v1/documents/{interrupted['document']['id']}")
    tree = machine.tree()
    machine.point.write_text(point)
    machine.hold.unlink()
    machine.await_death()

    machine.point.unlink()
    machine.start_ready()
    report = at_rest(person)
    chunks = sum(assert_whole(person, upload) for upload in sent)
    assert_stores_hold(report, others + chunks)
    assert person.ok("GET", f"/v1/documents/{kept['document']['id']}")["active_generation"] == 2
    found = person.chunks(kept["document"]["id"])
    assert [(chunk["text"], chunk["enabled"]) for chunk in found if chunk["edited_at"] or not chunk["enabled"]] == [
        (edited[0], True), (second["text"], False), (edited[1], True),
    ]  # fmt: skip
    for gone in (dropped, interrupted):
        assert person.http.get(f"/v1/documents/{gone['document']['id']}").status_code == 404
        assert person.purged(gone["document"]["id"])["purged_at"] is not None
    assert {process.name() for process in left_running(tree)} <= {"postgres"}
    assert len(machine.postmasters()) == 1


def test_stopped_it_leaves_no_process_behind(machine: Machine, person: Person) -> None:
    """Also after all those kills, of whose parts the last start took over what still ran."""
    assert at_rest(person)["clean"]
    tree = machine.tree()
    machine.service.processes["api"].end()
    assert left_running(tree, 30) == []
    assert machine.postmasters() == []
    machine.start_ready()


def test_stopped_in_the_middle_it_hands_over_without_losing_an_attempt(machine: Machine, person: Person) -> None:
    kb_id = small_chunks(person, "stopped")
    sent = send(person, kb_id, "stopped", 200)
    while person.ok("GET", f"/v1/operations/{sent['operation']['id']}")["stage"] != "embed":
        time.sleep(0.05)
    machine.service.stop()
    machine.start_ready()
    assert at_rest(person)["clean"]
    assert_whole(person, sent)
    operation = person.ok("GET", f"/v1/operations/{sent['operation']['id']}")
    assert operation["attempts"] == 1
    assert [stage["error_code"] for stage in operation["stages"] if stage["error_code"]] == ["interrupted"]
