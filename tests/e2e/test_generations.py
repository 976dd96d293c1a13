"""A document that is replaced again and again is always found, and always in one version."""

import itertools
import threading
from typing import Any

import pytest

from tests.e2e.people import Person
from tests.e2e.writing import small_chunks

pytestmark = pytest.mark.timeout(900)

VERSIONS = 50
PARTS = 3
MODES = ("hybrid", "dense", "bm25")


def version(number: int) -> str:
    """As many chunks as parts; each says of which version it is."""
    return "\n\n".join(
        f"# Part {part}\n\nTide table of the harbour, part {part}, in version {number}" for part in range(PARTS)
    )


class Watcher(threading.Thread):
    """Asks without a pause until told to stop, in each mode by turns; what was wrong is in `wrong`."""

    def __init__(self, person: Person, kb_id: str) -> None:
        super().__init__(name="watcher")
        self.wrong: list[Any] = []
        self.versions: list[int] = []
        self.stopped = threading.Event()
        self._person, self._kb_id = person, kb_id

    def run(self) -> None:
        for mode in itertools.cycle(MODES):
            if self.stopped.is_set():
                return
            try:
                question = "tide table of the harbour"
                self._look(mode, self._person.retrieve(question, self._kb_id, mode=mode, top_k=10))
            except AssertionError as error:
                self.wrong.append((mode, str(error)))

    def _look(self, mode: str, answer: dict[str, Any]) -> None:
        hits = answer["hits"]
        generations = {hit["generation"] for hit in hits}
        told = {hit["text"].rpartition(" ")[2] for hit in hits}
        parts = sorted(hit["ordinal"] for hit in hits)
        if len(generations) != 1 or len(told) != 1 or parts != list(range(PARTS)) or answer["degraded"]:
            self.wrong.append((mode, sorted(generations), sorted(told), parts, answer["degraded"]))
        else:
            self.versions.append(generations.pop())


def test_a_search_never_sees_two_generations_nor_none(owner: Person) -> None:
    kb_id = small_chunks(owner, "Tides")

    def write(number: int) -> None:
        sent = owner.write(kb_id, "Tides", version(number), format="markdown", external_id="tides")
        assert owner.ready(sent)["active_generation"] == number

    write(1)
    watcher = Watcher(owner, kb_id)
    watcher.start()
    try:
        for number in range(2, VERSIONS + 1):
            write(number)
    finally:
        watcher.stopped.set()
        watcher.join(60)
    assert watcher.wrong == []
    assert watcher.versions == sorted(watcher.versions), "an older version was seen after a newer one"
    assert len(set(watcher.versions)) > VERSIONS / 5, "too few questions were asked to tell"
    report = owner.clean()
    assert report["vectors"]["found"] == report["vectors"]["wanted"]
