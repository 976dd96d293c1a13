"""Bodies of the routes that tell of operations and of the consistency of the stores."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import ConfigDict

from app.core.described import ApiModel
from app.ingestion.reconciler import IndexReport, TenantReport
from app.models import Operation, OperationKind, OperationStage, OperationState


class OperationError(ApiModel):
    code: str
    detail: str


class StageOut(ApiModel):
    """One run of one stage. `done` and `total` count pages, chunks or vectors, whatever the stage works on."""

    model_config = ConfigDict(from_attributes=True)

    attempt: int
    """From 1."""
    stage: str
    done: int
    total: int | None
    error_code: str | None
    started_at: datetime
    finished_at: datetime | None


class OperationOut(ApiModel):
    id: UUID
    kind: OperationKind
    state: OperationState
    knowledge_base_id: UUID | None
    document_id: UUID | None
    generation: int | None
    stage: str | None
    """Where it is, or has ended: `parse`, `chunk`, `embed`, `index`, `verify`, `activate`."""
    percent: int
    counts: dict[str, int]
    """Of an ingestion: the `chunks` that are searched are those `embedded`, whose vector it made, and those `reused`,
    whose text had a vector already, from the version before, another document, or a chunk of the same text. Of chunks
    that people had edited or disabled in the version before, `edits_carried` are in the new one as well, and changed as
    they were; the original text of `edits_lost` is not in it.
    """
    attempts: int
    max_attempts: int
    cancel_requested: bool
    """A person has cancelled it. What runs stops at its next step."""
    error: OperationError | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, row: Operation) -> Self:
        return cls(
            id=row.id,
            kind=row.kind,
            state=row.state,
            knowledge_base_id=row.knowledge_base_id,
            document_id=row.document_id,
            generation=row.generation,
            stage=row.stage,
            percent=row.percent,
            counts=row.counts,
            attempts=row.attempts,
            max_attempts=row.max_attempts,
            cancel_requested=row.cancel_requested_at is not None,
            error=OperationError(code=row.error_code, detail=row.error_detail or "") if row.error_code else None,
            created_at=row.created_at,
            started_at=row.started_at,
            finished_at=row.finished_at,
        )


class OperationDetail(OperationOut):
    stages: list[StageOut]
    lost_edits: list[UUID]
    """Of an ingestion that succeeded: chunks of the version before that people had edited or disabled, and whose text
    the new one has not. `/v1/chunks/{id}/history` tells what had been changed of them.
    """

    @classmethod
    def of_parts(cls, row: Operation, stages: list[OperationStage], lost_edits: list[UUID]) -> Self:
        return cls(
            **OperationOut.of(row).model_dump(),
            stages=[StageOut.model_validate(stage) for stage in stages],
            lost_edits=lost_edits,
        )


class IndexConsistency(ApiModel):
    wanted: int
    """Chunks that it must hold: of active generations of live documents."""
    found: int
    missing: int
    orphaned: int

    @classmethod
    def of(cls, report: IndexReport) -> "IndexConsistency":
        return cls(wanted=report.wanted, found=report.found, missing=report.missing_count, orphaned=len(report.orphans))


class Consistency(ApiModel):
    clean: bool
    vectors: IndexConsistency
    terms: IndexConsistency
    blobs_missing: list[str]
    """Originals that are lost: the documents stay searchable, but can't be downloaded or ingested again."""
    blobs_orphaned: int
    unpurged_documents: list[UUID]

    @classmethod
    def of(cls, report: TenantReport) -> "Consistency":
        return cls(
            clean=report.clean,
            vectors=IndexConsistency.of(report.vectors),
            terms=IndexConsistency.of(report.terms),
            blobs_missing=report.blobs_missing,
            blobs_orphaned=len(report.blobs_orphaned),
            unpurged_documents=report.unpurged,
        )
