"""The tasks. Arguments are ids; everything else is read again from Postgres."""

from collections.abc import Callable
from uuid import UUID

from celery import Celery

from app.core.ledger import RUN_TASK
from workers.running import Work

Run = Callable[[Work], None]
"""Runs a coroutine of the runner on the process's event loop and waits for it."""


def register_tasks(celery: Celery, run: Run) -> None:
    @celery.task(name=RUN_TASK)
    def run_operation(tenant_id: str, operation_id: str) -> None:
        run(lambda runner: runner.run(UUID(tenant_id), UUID(operation_id)))
