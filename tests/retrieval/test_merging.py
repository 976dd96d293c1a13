"""Which parents are read in place of what was found. Chunks are named by letters, parents by capitals."""

from collections.abc import Mapping
from uuid import UUID

from app.ports.indexes import Candidate
from app.retrieval.fusion import FusionSettings, fuse
from app.retrieval.merging import Parent, merge


def uid(name: str) -> UUID:
    return UUID(bytes=name.encode().ljust(16, b"\0"))


def name(chunk_id: UUID) -> str:
    return chunk_id.bytes.rstrip(b"\0").decode()


def parent(of: str, children: int, *, above: str | None = None, always: bool = False) -> Parent:
    return Parent(uid(of), uid(above) if above else None, children, always)


def merged(
    ranking: str, children: Mapping[str, str], *parents: Parent, share: float = 0.5, top_k: int = 10
) -> list[tuple[str, str]]:
    """Each hit with the candidates that it stands for. `children` names those of each parent."""
    dense = [Candidate(uid(one), 1.0 - number / 100) for number, one in enumerate(ranking)]
    parent_of = {uid(child): uid(above) for above, below in children.items() for child in below}
    known = {one.chunk_id: one for one in parents}
    candidates = fuse(dense, [], FusionSettings(), u=0.0).candidates
    hits = merge(candidates, parent_of, known, share=share, top_k=top_k)
    return [(name(hit.chunk_id), "".join(name(one) for one in hit.merged_from)) for hit in hits]


def test_enough_children_give_their_place_to_the_parent() -> None:
    assert merged("axb", {"P": "abcd"}, parent("P", 4)) == [("P", "ab"), ("x", "")]


def test_too_few_children_stay() -> None:
    assert merged("axb", {"P": "abcde"}, parent("P", 5)) == [("a", ""), ("x", ""), ("b", "")]
    assert merged("axb", {"P": "abcde"}, parent("P", 5), share=0.4) == [("P", "ab"), ("x", "")]


def test_one_child_is_enough_for_a_parent_that_is_always_read() -> None:
    assert merged("xa", {"P": "abcde"}, parent("P", 5, always=True)) == [("x", ""), ("P", "a")]


def test_a_parent_stands_where_its_best_child_stood() -> None:
    assert merged("xayb", {"P": "ab"}, parent("P", 2), share=1) == [("x", ""), ("P", "ab"), ("y", "")]


def test_parents_that_are_read_count_for_theirs() -> None:
    tree = (parent("P", 2, above="T"), parent("Q", 2, above="T"), parent("T", 2))
    assert merged("abcd", {"P": "ab", "Q": "cd"}, *tree, share=1) == [("T", "abcd")]
    assert merged("abc", {"P": "ab", "Q": "cd"}, *tree, share=1) == [("P", "ab"), ("c", "")]


def test_the_highest_parent_stands_for_everything_below_it() -> None:
    """Also for what is not enough to have its own parent read."""
    tree = (parent("P", 2, above="T"), parent("Q", 4, above="T"), parent("T", 2))
    assert merged("abcx", {"P": "ab", "Q": "cdef"}, *tree) == [("T", "abc"), ("x", "")]


def test_a_parent_that_may_not_be_read_changes_nothing() -> None:
    assert merged("ab", {"P": "ab"}) == [("a", ""), ("b", "")]
    assert merged("ab", {"P": "ab"}, parent("T", 1)) == [("a", ""), ("b", "")]


def test_candidates_behind_the_last_hit_do_not_count() -> None:
    assert merged("axyb", {"P": "ab"}, parent("P", 2), share=1, top_k=2) == [("a", ""), ("x", "")]


def test_what_is_merged_makes_room_for_more_hits() -> None:
    assert merged("abxyz", {"P": "ab"}, parent("P", 2), top_k=3) == [("P", "ab"), ("x", ""), ("y", "")]


def test_nothing_from_nothing() -> None:
    assert merged("", {}) == []
