"""What `celery -A workers worker` finds: the application configured from the environment, its tasks, its life.

Servers only: with embedded engines the worker is a thread of the one process (`workers.in_process`).
"""

import contextlib
import os
import signal

from billiard.process import active_children
from celery.signals import setup_logging, worker_process_init, worker_process_shutdown, worker_shutting_down
from pydantic import ValidationError

from app.adapters.celery.broker import create_celery
from app.core.logging import configure_logging
from app.core.settings import Settings, setting_problems
from workers.runtime import WorkerRuntime
from workers.tasks import register_tasks


def _settings() -> Settings:
    """Ends the command with what is missing or wrong: any other exception Celery would show with its traceback."""
    try:
        settings = Settings()
    except ValidationError as error:
        raise SystemExit("\n".join(f"bad_setting: {problem}" for problem in setting_problems(error))) from error
    if settings.worker_in_process:
        raise SystemExit(
            f"embedded_worker: A separate worker needs servers. Set {', '.join(settings.missing_servers)}; "
            "without them the worker is part of `biggraph up`."
        )
    return settings


settings = _settings()
DRAIN_SIGNAL = signal.SIGUSR2
"""From the worker to its processes: Celery itself would let them finish whatever they do, however long it takes."""

app = create_celery(settings.redis_url.get_secret_value(), settings.index_prefix)
app.conf.worker_concurrency = settings.worker_concurrency
runtime = WorkerRuntime(settings)
register_tasks(app, runtime.run)


@setup_logging.connect(weak=False)
def _logging(**_: object) -> None:
    configure_logging(settings.log_level, settings.log_format)


@worker_process_init.connect(weak=False)
def _start(**_: object) -> None:
    """After the fork: event loops, threads and connections do not survive one."""
    runtime.start()
    signal.signal(DRAIN_SIGNAL, lambda *_: runtime.drain())


@worker_shutting_down.connect(weak=False)
def _drain(**_: object) -> None:
    """In the worker, at SIGTERM or Ctrl-C: it waits for its processes, and these for what they do."""
    for child in active_children():
        if child.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, DRAIN_SIGNAL)


@worker_process_shutdown.connect(weak=False)
def _stop(**_: object) -> None:
    runtime.stop()
