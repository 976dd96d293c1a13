"""Auto-merge: chunks of which enough are found are read as what holds them together. Pure.

As in LlamaIndex's `AutoMergingRetriever`, with two differences. Of a parent that is always read one child is enough,
which makes LangChain's `ParentDocumentRetriever` of the same rule. And only candidates as good as the hits count: the
ranking is read until `top_k` hits are together, so that in a small knowledge base, where every chunk is a candidate,
not everything is merged.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from app.retrieval.fusion import FusedCandidate


@dataclass(frozen=True, slots=True)
class Parent:
    """A chunk that may be read in place of its children."""

    chunk_id: UUID
    parent_id: UUID | None
    child_count: int
    always_read: bool


@dataclass(frozen=True, slots=True)
class MergedHit:
    """One hit: a candidate, or the parent of some."""

    chunk_id: UUID
    """Of what is read."""
    best: FusedCandidate
    """The first of the candidates that it stands for: its scores and ranks are the hit's."""
    merged_from: tuple[UUID, ...] = ()
    """The candidates that a parent stands for, in their order; none where it is a candidate itself."""

    @property
    def candidate_ids(self) -> tuple[UUID, ...]:
        return self.merged_from or (self.chunk_id,)


def merge(
    candidates: Iterable[FusedCandidate],
    parent_of: Mapping[UUID, UUID],
    parents: Mapping[UUID, Parent],
    *,
    share: float,
    top_k: int,
) -> list[MergedHit]:
    """The first `top_k` hits, each at the place of its best candidate.

    `parent_of` names the parent of candidates that have one, `parents` what may be read. A parent is read when at least
    `share` of its children are found, or read themselves; the highest one that is read stands for all below it.
    """
    tree = _Tree(parent_of, parents, share)
    taken: list[FusedCandidate] = []
    heads: dict[UUID, None] = {}
    for candidate in candidates:
        taken.append(candidate)
        if tree.find(candidate.chunk_id):  # a parent has become one that is read: who stands for whom has changed
            heads = dict.fromkeys(tree.head(one.chunk_id) for one in taken)
        else:
            heads[tree.head(candidate.chunk_id)] = None
        if len(heads) == top_k:
            break
    members: dict[UUID, list[FusedCandidate]] = defaultdict(list)
    for one in taken:
        members[tree.head(one.chunk_id)].append(one)
    return [_hit(head, members[head]) for head in heads]


def _hit(head: UUID, members: Sequence[FusedCandidate]) -> MergedHit:
    is_candidate = head == members[0].chunk_id
    return MergedHit(head, members[0], () if is_candidate else tuple(one.chunk_id for one in members))


@dataclass(slots=True)
class _Tree:
    """What has been found of the children of each parent so far, and which parents are read for it."""

    parent_of: Mapping[UUID, UUID]
    parents: Mapping[UUID, Parent]
    share: float
    found: dict[UUID, set[UUID]] = field(default_factory=lambda: defaultdict(set))
    read: set[UUID] = field(default_factory=set)

    def find(self, chunk_id: UUID) -> bool:
        """Notes a candidate; True where a parent is read for it that was not before."""
        changed = False
        while (parent := self._above(chunk_id)) is not None:
            self.found[parent.chunk_id].add(chunk_id)
            enough = parent.always_read or len(self.found[parent.chunk_id]) >= self.share * parent.child_count
            if not enough or parent.chunk_id in self.read:
                break
            self.read.add(parent.chunk_id)
            changed, chunk_id = True, parent.chunk_id
        return changed

    def head(self, chunk_id: UUID) -> UUID:
        """The highest that is read in place of a chunk, or the chunk itself."""
        head = chunk_id
        while (parent := self._above(chunk_id)) is not None:
            chunk_id = parent.chunk_id
            head = chunk_id if chunk_id in self.read else head
        return head

    def _above(self, chunk_id: UUID) -> Parent | None:
        known = self.parents.get(chunk_id)
        parent_id = known.parent_id if known is not None else self.parent_of.get(chunk_id)
        return None if parent_id is None else self.parents.get(parent_id)
