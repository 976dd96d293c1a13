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
    """Stable: what programs may go by."""
    detail: str
    """What happened, and what to do about it."""


class StageOut(ApiModel):
    """One run of one stage. `done` and `total` count pages, chunks or vectors, whatever the stage works on."""

    model_config = ConfigDict(from_attributes=True)

    attempt: int
    """From 1."""
    stage: str
    """As `stage` of the operation."""
    done: int
    """Of `total`."""
    total: int | None
    """None where it can't be known before."""
    error_code: str | None
    """Why it ended before it was done; None where it did not."""
    started_at: datetime
    finished_at: datetime | None
    """None while it goes on."""


class OperationOut(ApiModel):
    id: UUID
    kind: OperationKind
    """`ingest` makes a version of a document, `purge` removes from all stores what was replaced or deleted, `reindex`
    writes what people changed into the indexes."""
    state: OperationState
    """`queued` also between two attempts."""
    knowledge_base_id: UUID | None
    """That it is about."""
    document_id: UUID | None
    """That it is about; None where it is about the whole knowledge base."""
    generation: int | None
    """The version that an ingestion makes, from 1; None of others."""
    stage: str | None
    """Where it is, or has ended: `parse`, `chunk`, `embed`, `index`, `verify`, `activate`."""
    percent: int
    """Of all of its stages."""
    counts: dict[str, int]
    """Of an ingestion: the `chunks` that are searched are those `embedded`, whose vector it made, and those `reused`,
    whose text had a vector already, from the version before, another document, or a chunk of the same text. Of chunks
    that people had edited or disabled in the version before, `edits_carried` are in the new one as well, and changed as
    they were; the original text of `edits_lost` is not in it.
    """
    attempts: int
    """How often it has begun, but for what was postponed."""
    max_attempts: int
    """After so many it is given up."""
    cancel_requested: bool
    """A person has cancelled it. What runs stops at its next step."""
    error: OperationError | None
    """Of the last attempt that failed; None once one has succeeded."""
    created_at: datetime
    started_at: datetime | None
    """When the first attempt began; None while it waits for it."""
    finished_at: datetime | None
    """None until it has succeeded, failed for good, or was cancelled."""

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
    """Every run of every stage, in order."""
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
    """Chunks that it holds."""
    missing: int
    """Chunks that it must hold and does not."""
    orphaned: int
    """Chunks that it holds and must not."""

    @classmethod
    def of(cls, report: IndexReport) -> "IndexConsistency":
        return cls(wanted=report.wanted, found=report.found, missing=report.missing_count, orphaned=len(report.orphans))


class Consistency(ApiModel):
    clean: bool
    """Whether nothing differs."""
    vectors: IndexConsistency
    """The vector index against the database."""
    terms: IndexConsistency
    """The term index against the database."""
    blobs_missing: list[str]
    """Originals that are lost: the documents stay searchable, but can't be downloaded or ingested again."""
    blobs_orphaned: int
    """How many files no document names."""
    unpurged_documents: list[UUID]
    """Deleted documents, or those with replaced versions, that no purge is under way for."""

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
