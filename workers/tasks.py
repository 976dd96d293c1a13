"""The tasks. Arguments are ids; everything else is read again from Postgres."""

from collections.abc import Callable
from uuid import UUID

from celery import Celery

from app.core.ledger import RUN_TASK

Run = Callable[[UUID, UUID], None]
"""Carries out an operation, by tenant and id, on the process's event loop and waits for it."""


def register_tasks(celery: Celery, run: Run) -> None:
    @celery.task(name=RUN_TASK)
    def run_operation(tenant_id: str, operation_id: str) -> None:
        run(UUID(tenant_id), UUID(operation_id))
