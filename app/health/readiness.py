"""Whether the platform can serve, and which of its parts can't. Each part is asked at the same time, with a deadline.

Only Postgres is indispensable: everything else has another way (design, section 8), so its loss degrades and no more.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum

import structlog

from app.core.described import ApiModel
from app.parsing.converter import find_libreoffice
from app.ports.parts import Parts

log = structlog.get_logger()

DEADLINE_SECONDS = 2.0
INDISPENSABLE = "database"

Check = Callable[[], Awaitable[None]]


class PartStatus(StrEnum):
    OK = "ok"
    FAILING = "failing"
    LATE = "late"
    """It did not answer within the deadline."""
    CONFIGURED = "configured"
    """Chat models that others run. They are not called here: a probe every few seconds would cost their owner money."""
    NOT_CONFIGURED = "not_configured"
    INSTALLED = "installed"
    """A program that some formats are read with. It is a fact about this machine, whose lack fails nothing else."""
    NOT_INSTALLED = "not_installed"


class Overall(StrEnum):
    READY = "ready"
    DEGRADED = "degraded"
    """It serves, with less: some part is failing or late."""
    UNAVAILABLE = "unavailable"
    STOPPING = "stopping"


class Readiness(ApiModel):
    status: Overall
    """`degraded` where it serves with less, because a part fails or is late."""
    parts: dict[str, PartStatus]
    """How each part is, by its name."""

    @property
    def serves(self) -> bool:
        return self.status in (Overall.READY, Overall.DEGRADED)


async def readiness(parts: Parts, *, stopping: bool) -> Readiness:
    checks: dict[str, Check] = {
        INDISPENSABLE: parts.database.check,
        "cache": parts.cache.check,
        "vector_index": parts.vectors.check,
        "text_index": parts.texts.check,
        "blobs": parts.blobs.check,
        "embedder": parts.embedder.check,
    }
    if parts.reranker is not None:
        checks["reranker"] = parts.reranker.check
    found = await check_all(checks)
    found.setdefault("reranker", PartStatus.NOT_CONFIGURED)
    found["chat_models"] = PartStatus.CONFIGURED if parts.chat_models.names else PartStatus.NOT_CONFIGURED
    found["libreoffice"] = PartStatus.INSTALLED if find_libreoffice() else PartStatus.NOT_INSTALLED
    return Readiness(status=_overall(found, stopping), parts=found)


async def check_all(checks: Mapping[str, Check], deadline_seconds: float = DEADLINE_SECONDS) -> dict[str, PartStatus]:
    """Runs all checks at once. Why a part fails is logged and not told: the answer is public."""
    outcomes = await asyncio.gather(
        *(asyncio.wait_for(check(), deadline_seconds) for check in checks.values()), return_exceptions=True
    )
    return {name: _status(name, outcome) for name, outcome in zip(checks, outcomes, strict=True)}


def _status(name: str, outcome: BaseException | None) -> PartStatus:
    if outcome is None:
        return PartStatus.OK
    if not isinstance(outcome, Exception):
        raise outcome
    log.warning("part_not_ready", part=name, reason=repr(outcome))
    return PartStatus.LATE if isinstance(outcome, TimeoutError) else PartStatus.FAILING


def _overall(parts: Mapping[str, PartStatus], stopping: bool) -> Overall:
    if stopping:
        return Overall.STOPPING
    if parts[INDISPENSABLE] is not PartStatus.OK:
        return Overall.UNAVAILABLE
    failing = any(status in (PartStatus.FAILING, PartStatus.LATE) for status in parts.values())
    return Overall.DEGRADED if failing else Overall.READY
