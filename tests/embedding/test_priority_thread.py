"""Urgent calls overtake those that wait."""

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest

from app.adapters.embedding.priority_thread import Priority, PriorityThread


@pytest.fixture
async def thread() -> AsyncIterator[PriorityThread]:
    running = PriorityThread("test")
    yield running
    await running.close()


async def test_urgent_calls_go_first_and_others_in_order(thread: PriorityThread) -> None:
    gate = threading.Event()
    done: list[str] = []
    calls: list[Future[Any]] = [thread.submit(gate.wait, Priority.USUAL)]
    for name, priority in [("a", Priority.USUAL), ("b", Priority.USUAL), ("now", Priority.URGENT)]:
        calls.append(thread.submit(partial(done.append, name), priority))
    gate.set()
    await asyncio.gather(*map(asyncio.wrap_future, calls))
    assert done == ["now", "a", "b"]


async def test_a_cancelled_call_is_skipped(thread: PriorityThread) -> None:
    gate = threading.Event()
    done: list[str] = []
    first = thread.submit(gate.wait, Priority.USUAL)
    skipped = thread.submit(lambda: done.append("skipped"), Priority.USUAL)
    last = thread.submit(lambda: done.append("last"), Priority.USUAL)
    assert skipped.cancel()
    gate.set()
    await asyncio.gather(asyncio.wrap_future(first), asyncio.wrap_future(last))
    assert done == ["last"]


async def test_an_error_reaches_its_caller_and_the_thread_goes_on(thread: PriorityThread) -> None:
    with pytest.raises(ZeroDivisionError):
        await asyncio.wrap_future(thread.submit(lambda: 1 / 0, Priority.USUAL))
    assert await asyncio.wrap_future(thread.submit(lambda: 42, Priority.USUAL)) == 42


async def test_close_ends_what_waits() -> None:
    thread = PriorityThread("test")
    gate, started = threading.Event(), threading.Event()

    def hold() -> str:
        started.set()
        gate.wait()
        return "whole"

    running = thread.submit(hold, Priority.USUAL)
    waiting = thread.submit(lambda: "never", Priority.USUAL)
    await asyncio.to_thread(started.wait)
    closing = asyncio.create_task(thread.close())
    with pytest.raises(RuntimeError, match="closed"):
        await asyncio.wrap_future(waiting)
    gate.set()
    await closing
    assert await asyncio.wrap_future(running) == "whole"
    with pytest.raises(RuntimeError, match="closed"):
        thread.submit(lambda: None, Priority.URGENT)
