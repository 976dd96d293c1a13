"""One thread that works off calls, urgent ones first."""

import asyncio
import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class Priority(IntEnum):
    URGENT = 0
    USUAL = 1


@dataclass(order=True, slots=True)
class _Call:
    priority: Priority
    order: int
    run: Callable[[], Any] = field(compare=False)
    future: "Future[Any]" = field(compare=False)


class PriorityThread:
    """Calls of one priority run in the order in which they came; a call that runs is never interrupted.

    Belongs to no event loop: any number of loops and threads may submit.
    """

    def __init__(self, name: str) -> None:
        self._calls: list[_Call] = []
        self._orders = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, run: Callable[[], _Result], priority: Priority) -> "Future[_Result]":
        """Raises `RuntimeError` after `close`. A future that is cancelled before its turn is skipped."""
        future: Future[_Result] = Future()
        with self._changed:
            if self._closed:
                raise RuntimeError("The thread has been closed.")
            heapq.heappush(self._calls, _Call(priority, next(self._orders), run, future))
            self._changed.notify()
        return future

    async def close(self) -> None:
        """Ends after the running call; calls that wait raise `RuntimeError`."""
        with self._changed:
            self._closed = True
            waiting, self._calls = self._calls, []
            self._changed.notify()
        for call in waiting:
            if call.future.set_running_or_notify_cancel():
                call.future.set_exception(RuntimeError("The thread has been closed."))
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls or self._closed)
                if self._closed:
                    return
                call = heapq.heappop(self._calls)
            if not call.future.set_running_or_notify_cancel():
                continue
            try:
                result = call.run()
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits, as concurrent.futures does
                call.future.set_exception(error)
            else:
                call.future.set_result(result)
            del call  # a result is not kept until the next call comes
