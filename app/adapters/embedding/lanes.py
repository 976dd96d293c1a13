"""Threads that calls share fairly, so that a short one does not wait until all before it are through."""

import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Lock

from app.ports.vector_index import Vectors


@dataclass(order=True, slots=True)
class _Run:
    finish: float
    number: int
    cost: int = field(compare=False)
    is_last: bool = field(compare=False)
    """Of its call."""
    work: Callable[[], Vectors] = field(compare=False)
    future: "Future[Vectors]" = field(compare=False)


class Lanes:
    """Fair queueing (Demers 1989, https://doi.org/10.1145/75247.75248) of calls over a number of threads.

    A call's finish tag is the moment at which it would be through if all calls had run side by side, one as fast as the
    other; the call with the lowest tag runs. So a short one goes before what is left of the long ones, calls of one
    length go one after the other, and no number of later ones keeps a long one waiting.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "embedder")
        self._lock = Lock()
        self._waiting: list[_Run] = []
        self._calls = 0
        """Those of which runs wait."""
        self._clock = 0.0
        """What each of the calls would have been given by now, in the unit of costs."""
        self._numbers = count()

    def submit(self, call: Sequence[tuple[int, Callable[[], Vectors]]]) -> "list[Future[Vectors]]":
        """The runs of one call, each with its cost, in any one unit. Raises `RuntimeError` after `close`."""
        runs = []
        with self._lock:
            finish = self._clock + sum(cost for cost, _ in call)
            for left, (cost, work) in zip(range(len(call) - 1, -1, -1), call, strict=True):
                runs.append(_Run(finish, next(self._numbers), cost, left == 0, work, Future()))
                heapq.heappush(self._waiting, runs[-1])
            self._calls += bool(runs)
        for _ in runs:
            self._threads.submit(self._run_next)
        return [run.future for run in runs]

    def _run_next(self) -> None:
        with self._lock:
            run = heapq.heappop(self._waiting)
            is_wanted = run.future.set_running_or_notify_cancel()
            self._clock += run.cost / self._calls if is_wanted else 0
            self._calls -= run.is_last
        if is_wanted:
            try:
                run.future.set_result(run.work())
            except BaseException as error:  # noqa: BLE001 - as an executor's own futures do
                run.future.set_exception(error)

    def close(self) -> None:
        """Cancels what waits and waits for what runs."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            waiting = list(self._waiting)
        for run in waiting:
            run.future.cancel()
        self._threads.shutdown(wait=True)
