from datetime import datetime
from typing import Self
from uuid import UUID

from app.core.described import ApiModel
from app.ingestion.reconciler import IndexReport, TenantReport
from app.models import Operation, OperationKind, OperationStage, OperationState


class OperationError(ApiModel):
    code: str
    detail: str


class StageOut(ApiModel):
    """One run of one stage. `done` and `total` count pages, chunks or vectors, whatever the stage works on."""

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
    """Of an ingestion: `chunks`, and of their texts how many were `embedded`, and how many `reused`, as they had been
    embedded before. A text that several chunks have counts once."""
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

    @classmethod
    def with_stages(cls, row: Operation, stages: list[OperationStage]) -> Self:
        return cls(
            **OperationOut.of(row).model_dump(),
            stages=[
                StageOut(
                    attempt=stage.attempt,
                    stage=stage.stage,
                    done=stage.done,
                    total=stage.total,
                    error_code=stage.error_code,
                    started_at=stage.started_at,
                    finished_at=stage.finished_at,
                )
                for stage in stages
            ],
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
