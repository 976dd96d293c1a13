"""Knowledge bases: make, list, change, delete."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.exc import IntegrityError

from app.core.database import ReadSession, WriteSession
from app.core.errors import Conflict, KnowledgeBaseNotFound
from app.core.ids import new_id
from app.core.pagination import PageRequest
from app.core.scope import TenantScope
from app.knowledge_bases import reports_repository, repository
from app.knowledge_bases.repository import Counts
from app.knowledge_bases.schemas import (
    DocumentProvenance,
    KnowledgeBaseIn,
    KnowledgeBasePatch,
    TreeDocument,
    TreeNode,
)
from app.models import KnowledgeBase, OperationKind
from app.ports.parts import Parts

MOST_HEADINGS = 1_000
"""Of one document in a tree: its outline has them all."""
MOST_PATHS = 10_000
"""Of headings in one answer, and at least a document's: making a tree of them holds up everybody."""


async def create(session: WriteSession, scope: TenantScope, body: KnowledgeBaseIn) -> KnowledgeBase:
    kb = KnowledgeBase(
        id=new_id(),
        tenant_id=scope.tenant_id,
        name=body.name,
        description=body.description,
        settings=body.settings.model_dump(mode="json"),
        created_by=scope.principal_id,
    )
    session.add(kb)
    await _flush(session, kb)
    return kb


async def get(session: ReadSession, kb_id: UUID, *, lock: bool = False) -> KnowledgeBase:
    """A live knowledge base; `lock` keeps it alive until the transaction ends. Raises `KnowledgeBaseNotFound`."""
    kb = await repository.find(session, kb_id, lock=lock)
    if kb is None:
        raise KnowledgeBaseNotFound(kb_id)
    return kb


async def live(session: ReadSession, kb_ids: Sequence[UUID]) -> list[UUID]:
    """Those of the knowledge bases that are not deleted, in the order given, each once."""
    if not kb_ids:
        return []
    found = await repository.live_ids(session, kb_ids)
    return [kb_id for kb_id in dict.fromkeys(kb_ids) if kb_id in found]


async def require(session: ReadSession, kb_ids: Sequence[UUID]) -> None:
    """Raises `KnowledgeBaseNotFound` unless all of them live."""
    for missing in set(kb_ids).difference(await live(session, kb_ids)):
        raise KnowledgeBaseNotFound(missing)


async def get_with_counts(session: ReadSession, kb_id: UUID) -> tuple[KnowledgeBase, Counts]:
    return await get(session, kb_id), await repository.counts(session, kb_id)


async def list_page(session: ReadSession, request: PageRequest) -> list[KnowledgeBase]:
    return await repository.page(session, request)


async def provenance(session: ReadSession, kb_id: UUID, request: PageRequest) -> list[DocumentProvenance]:
    """One more than asked for, where there is one. Raises `KnowledgeBaseNotFound`."""
    await get(session, kb_id)
    rows = await reports_repository.provenance(session, kb_id, request)
    return [DocumentProvenance.model_validate(row) for row in rows]


async def tree(session: ReadSession, kb_id: UUID, request: PageRequest) -> tuple[list[TreeDocument], bool]:
    """At most `limit` documents, of those with many headings fewer; and whether more follow.

    Raises `KnowledgeBaseNotFound`.
    """
    await get(session, kb_id)
    rows = await reports_repository.documents(session, kb_id, request)
    shown, more = rows[: request.limit], len(rows) > request.limit
    ids = [document_id for document_id, _ in shown]
    paths = await reports_repository.heading_paths(session, ids, MOST_HEADINGS + 1, MOST_PATHS + 1)
    if len(paths) > MOST_PATHS:  # the last of their documents may not have all of its own: the next page begins with it
        shown, more = shown[: ids.index(paths[-1].document_id)], True
    found = {
        document_id: TreeDocument(document_id=document_id, name=name, chunks=0, headings=[], truncated=False)
        for document_id, name in shown
    }
    seen: Counter[UUID] = Counter()
    for document_id, path, page, chunks in paths:
        document = found.get(document_id)
        if document is None:
            break
        seen[document_id] += 1
        if seen[document_id] > MOST_HEADINGS:
            document.truncated = True
        elif not path:
            document.chunks += chunks
        else:
            _under(document.headings, path, page, chunks)
    return list(found.values()), more


def _under(siblings: list[TreeNode], path: Sequence[str], page: int | None, chunks: int) -> None:
    """Counts the chunks at the node of that path, which is made where it is missing."""
    for depth, title in enumerate(path, start=1):
        node = siblings[-1] if siblings and siblings[-1].title == title else None
        if node is None:
            node = TreeNode(title=title, page=page, chunks=0, children=[])
            siblings.append(node)
        node.chunks += chunks if depth == len(path) else 0
        siblings = node.children


async def change(session: WriteSession, kb_id: UUID, body: KnowledgeBasePatch) -> KnowledgeBase:
    kb = await repository.find_for_update(session, kb_id)
    if kb is None:
        raise KnowledgeBaseNotFound(kb_id)
    if body.name is not None:
        kb.name = body.name
    if body.description is not None:
        kb.description = body.description
    if body.settings is not None:
        kb.settings = body.settings.model_dump(mode="json")
    await _flush(session, kb)
    return kb


async def delete(session: WriteSession, scope: TenantScope, parts: Parts, kb_id: UUID) -> None:
    """Tombstones the knowledge base: its documents are gone at once, what they left in the stores is purged later."""
    kb = await repository.find_for_update(session, kb_id)
    if kb is None:
        raise KnowledgeBaseNotFound(kb_id)
    kb.deleted_at = func.now()
    parts.ledger.enqueue(session, scope, OperationKind.PURGE, knowledge_base_id=kb_id)


async def _flush(session: WriteSession, kb: KnowledgeBase) -> None:
    name = kb.name
    try:
        await session.flush()
    except IntegrityError as error:
        if "uq_knowledge_bases_name" not in str(error.orig):
            raise
        raise Conflict(
            f"A knowledge base named “{name}” exists already. Choose another name.", code="name_taken"
        ) from error
    await session.refresh(kb)
