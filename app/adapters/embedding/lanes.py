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
    finish: int
    number: int
    work: Callable[[], Vectors] = field(compare=False)
    future: "Future[Vectors]" = field(compare=False)


class Lanes:
    """Self-clocked fair queueing (Golestani 1994, https://doi.org/10.1109/INFCOM.1994.337677) over a number of threads.

    Runs of a call get rising finish tags: what the clock shows when it comes, plus what its runs up to that one cost.
    The run with the lowest tag is next, and the clock is set to its tag. So calls advance alike in what they cost, the
    shorter one is through first, and no number of later ones keeps a long one waiting.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "embedder")
        self._lock = Lock()
        self._waiting: list[_Run] = []
        self._clock = 0
        self._numbers = count()

    def submit(self, call: Sequence[tuple[int, Callable[[], Vectors]]]) -> "list[Future[Vectors]]":
        """The runs of one call, each with its cost, in any one unit. Raises `RuntimeError` after `close`."""
        runs = []
        with self._lock:
            finish = self._clock
            for cost, work in call:
                finish += cost
                runs.append(_Run(finish, next(self._numbers), work, Future()))
                heapq.heappush(self._waiting, runs[-1])
        for _ in runs:
            self._threads.submit(self._run_next)
        return [run.future for run in runs]

    def _run_next(self) -> None:
        with self._lock:
            run = heapq.heappop(self._waiting)
            self._clock = max(self._clock, run.finish)
        if run.future.set_running_or_notify_cancel():
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
