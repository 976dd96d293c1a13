"""Calls share the embedder's threads fairly."""

from collections.abc import Iterator
from concurrent.futures import wait
from threading import Event

import numpy as np
import pytest

from app.adapters.embedding.lanes import Lanes
from app.ports.vector_index import Vectors

NOTHING = np.zeros(0, np.float32)


class Calls:
    """Calls to one lane, which stands still until all have come."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.order: list[str] = []
        self._begin = Event()
        self._runs = lanes.submit([(1, self._stand_still)])

    def _stand_still(self) -> Vectors:
        self._begin.wait(30)
        return NOTHING

    def call(self, name: str, *costs: int) -> None:
        def work() -> Vectors:
            self.order.append(name)
            return NOTHING

        self._runs += self.lanes.submit([(cost, work) for cost in costs])

    def ordered(self) -> str:
        self._begin.set()
        assert not wait(self._runs, 30).not_done
        return "".join(self.order)


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    opened = Lanes(1)
    yield opened
    opened.close()


def test_a_short_call_goes_before_what_is_left_of_a_long_one(lanes: Lanes) -> None:
    calls = Calls(lanes)
    calls.call("L", *[100] * 4)
    calls.call("s", 10, 10)
    assert calls.ordered() == "ssLLLL"


def test_calls_of_one_length_are_through_one_after_the_other(lanes: Lanes) -> None:
    """Were they through all at once, whoever gives way after one would do so late."""
    calls = Calls(lanes)
    calls.call("A", *[100] * 4)
    calls.call("b", *[50] * 8)
    calls.call("s", 10)
    assert calls.ordered() == "s" + "A" * 4 + "b" * 8


def test_short_calls_without_end_do_not_keep_a_long_one_waiting(lanes: Lanes) -> None:
    """Each of them comes when the one before it has run."""
    calls = Calls(lanes)
    calls.call("L", 100, 100)

    def next_one(left: int) -> Vectors:
        calls.order.append("s")
        if left:
            lanes.submit([(30, lambda: next_one(left - 1))])
        return NOTHING

    lanes.submit([(30, lambda: next_one(20))])
    assert calls.ordered().rstrip("s") == "s" * 12 + "LL", "it has waited for little more than twice what it costs"


def test_an_error_is_that_of_its_run_and_the_lane_goes_on(lanes: Lanes) -> None:
    def fails() -> Vectors:
        raise ValueError("No such token.")

    failing, working = lanes.submit([(1, fails), (1, lambda: NOTHING)])
    assert isinstance(failing.exception(30), ValueError)
    assert working.result(30) is NOTHING


def test_closing_cancels_what_waits_and_waits_for_what_runs() -> None:
    lanes = Lanes(1)
    begun, end = Event(), Event()

    def hold() -> Vectors:
        begun.set()
        end.wait(30)
        return NOTHING

    held, waiting = lanes.submit([(1, hold), (1, hold)])
    assert begun.wait(30)
    waiting.add_done_callback(lambda _: end.set())
    lanes.close()
    assert (held.done(), held.cancelled(), waiting.cancelled()) == (True, False, True)
    with pytest.raises(RuntimeError):
        lanes.submit([(1, hold)])
