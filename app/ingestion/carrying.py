"""What people have changed of a document's chunks, from the version before to the new one.

A changed chunk has a counterpart where the new version has a chunk that the file gave the same text. When the new
version is chunked, counterparts get the changed texts at once, so that they are embedded and indexed with the rest and
the switch finds them in effect. The switch itself settles it under the document's lock, where nobody can change the old
version any more: counterparts take over what was changed since, whether they are found, and the history. What was
changed since becomes pending, as any edit does (`app.ingestion.edits`). A change whose text is gone keeps its history
under the old chunk, until the document is deleted.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.chunking.chunk import embedded_text, text_hash
from app.core.database import ReadSession, WriteSession
from app.ingestion import edits_repository
from app.ingestion.edits_repository import FileText
from app.ingestion.repository import Subject
from app.models import Chunk
from app.ports.embedder import TokenCounter


@dataclass(frozen=True, slots=True)
class Carried:
    """How many changed chunks of the version before have a counterpart, how many have none."""

    carried: int = 0
    lost: int = 0
    pending: bool = False
    """Some of the new texts have to be brought into the indexes yet."""

    @property
    def counts(self) -> dict[str, int]:
        """Empty where nothing had been changed."""
        return {"edits_carried": self.carried, "edits_lost": self.lost} if self.carried or self.lost else {}


def counterparts(before: Sequence[FileText], after: Sequence[FileText]) -> dict[UUID, UUID]:
    """Chunks of the new version by those of the version before that the file gave the same text; both in order.

    Of chunks with the same text under the same headings the first is that of the first, and so on. What is left may
    stand under another heading now, if that says without doubt which is which: there are as many as before.
    """
    same_place = _paired(before, after, lambda one: (one.level, one.text, one.heading_path))
    found = {old.chunk_id: new.chunk_id for olds, news in same_place for old, new in zip(olds, news, strict=False)}
    taken = set(found.values())
    elsewhere = _paired(
        [old for old in before if old.chunk_id not in found],
        [new for new in after if new.chunk_id not in taken],
        lambda one: (one.level, one.text),
    )
    for olds, news in elsewhere:
        if len(olds) == len(news):
            found |= {old.chunk_id: new.chunk_id for old, new in zip(olds, news, strict=True)}
    return found


def _paired(
    before: Sequence[FileText], after: Sequence[FileText], key: Callable[[FileText], Hashable]
) -> list[tuple[list[FileText], list[FileText]]]:
    """Those of both versions that have one key, in their order."""
    groups: defaultdict[Hashable, tuple[list[FileText], list[FileText]]] = defaultdict(lambda: ([], []))
    for one in before:
        groups[key(one)][0].append(one)
    for one in after:
        groups[key(one)][1].append(one)
    return list(groups.values())


async def carry_texts(session: WriteSession, subject: Subject, tokens: TokenCounter) -> int:
    """Gives changed texts to the chunks of a generation that nothing searches yet; the number of these chunks."""
    document = subject.document.id
    active = await edits_repository.active_generation(session, document) or 0
    edited = await edits_repository.edited_chunks(session, document, active)
    changed = 0
    for old, new in await _with_counterparts(session, subject, active, edited):
        if new is None or new.text == old.wanted_text:
            continue
        whole = embedded_text(subject.generation.title, new.heading_path, old.wanted_text)
        edits_repository.replace_text(new, old.wanted_text, text_hash(whole), tokens.count(whole))
        new.edited_at, new.edited_by = old.edited_at, old.edited_by
        changed += 1
    return changed


async def carry_changes(session: WriteSession, subject: Subject) -> Carried:
    """Everything that people have changed of the active generation, to the one that takes its place.

    The document is locked, and the other generation active until the caller changes that in the same transaction.
    """
    document_id, generation = subject.key
    active = subject.document.active_generation or 0
    changed = await edits_repository.changed_chunks(session, document_id, active)
    pairs = await _with_counterparts(session, subject, active, changed)
    found = [(old, new) for old, new in pairs if new is not None]
    for old, new in found:
        new.enabled = old.enabled
        if old.edited_at is not None:
            new.edited_at, new.edited_by = old.edited_at, old.edited_by
        new.pending_text = None if old.wanted_text == new.text else old.wanted_text
    await edits_repository.move_history(session, generation, {old.id: new.id for old, new in found})
    await edits_repository.mark_parents(session, [new for _, new in found])
    pending = any(new.pending_text is not None for _, new in found)
    return Carried(carried=len(found), lost=len(changed) - len(found), pending=pending)


async def _with_counterparts(
    session: ReadSession, subject: Subject, active: int, changed: Sequence[Chunk]
) -> list[tuple[Chunk, Chunk | None]]:
    """Changed chunks of the active generation, each with its counterpart in the subject's."""
    if not changed:
        return []
    document_id, generation = subject.key
    before = await edits_repository.file_texts(session, document_id, active)
    found = counterparts(before, await edits_repository.file_texts(session, document_id, generation))
    chunks = await edits_repository.chunks(session, [found[old.id] for old in changed if old.id in found])
    return [(old, chunks.get(found[old.id]) if old.id in found else None) for old in changed]
