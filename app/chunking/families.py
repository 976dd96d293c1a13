"""Two strategies with parents: small chunks are searched, and the text around them is what is read.

`parent_child` makes small children and, of each section, parents; wherever a child is found its parent is read.
`hierarchical` makes leaves, what holds those of one section, and what holds several of these under one first heading;
which of the three is read is decided by how many of its children a question finds (`app.retrieval.merging`).

A parent's text is a verbatim range of the document, headings inside it included. A table that had to be split stands in
no parent: its parts carry their header themselves, and a range of it could be as long as the table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from app.chunking.chunk import DraftChunk, context_line
from app.chunking.drafting import Drafter
from app.chunking.options import ChunkingOptions
from app.chunking.packing import grouped
from app.chunking.sections import heading_text
from app.chunking.structure import merged_sections
from app.parsing.document import ParsedDocument
from app.ports.embedder import Embed, TokenCounter


def parent_child(
    document: ParsedDocument, options: ChunkingOptions, tokens: TokenCounter, title: str, _embed: Embed
) -> Iterator[DraftChunk]:
    family = _Family(Drafter(document, options, tokens, title), title, options.parent_child.child_tokens)
    family.add_parents(options.parent_child.parent_tokens, level=1, always_read=True)
    return iter(family.drafts)


def hierarchical(
    document: ParsedDocument, options: ChunkingOptions, tokens: TokenCounter, title: str, _embed: Embed
) -> Iterator[DraftChunk]:
    family = _Family(Drafter(document, options, tokens, title), title, options.hierarchical.leaf_tokens)
    family.add_parents(options.hierarchical.middle_tokens, level=1)
    family.add_parents(options.hierarchical.top_tokens, level=2, across_sections=True)
    return iter(family.drafts)


@dataclass(frozen=True, slots=True)
class _Node:
    """A chunk that the next level may take into a parent."""

    ordinal: int
    start: int
    end: int
    tokens: int
    section: int
    headings: tuple[int, ...]
    """Indexes of the headings it stands under, highest first."""
    opens_section: bool
    loner: bool
    """It has no parent, and none reaches across it."""


class _Family:
    """Chunks level by level: each call of `add_parents` works on what the one before left on top."""

    def __init__(self, drafter: Drafter, title: str, leaf_tokens: int) -> None:
        self._drafter = drafter
        self._title = title
        self.drafts: list[DraftChunk] = []
        self._top = list(self._leaves(leaf_tokens))

    def _leaves(self, leaf_tokens: int) -> Iterator[_Node]:
        drafter = self._drafter
        for number, section in enumerate(merged_sections(drafter)):
            path, room = drafter.path_and_room(heading_text(drafter.elements, section.path))
            room = min(room, leaf_tokens)
            context = drafter.tokens.count(context_line(self._title, path))
            is_first = True
            for group in grouped(list(drafter.pieces(section.members, room)), room, room):
                for draft in drafter.fitting(group, path, number):
                    self.drafts.append(draft)
                    yield _Node(
                        ordinal=len(self.drafts) - 1,
                        start=draft.start,
                        end=draft.end,
                        tokens=max(1, draft.token_count - context),
                        section=number,
                        headings=section.path,
                        opens_section=is_first,
                        loner=group[0].alone,
                    )
                    is_first = False
            self.drafts += drafter.chunks_of_tables(section.members, room, path, number)

    def add_parents(self, size: int, *, level: int, always_read: bool = False, across_sections: bool = False) -> None:
        """Puts a parent of at most about `size` tokens over neighbours of one section, or of one first heading.

        What would be alone under its parent goes on to the next level by itself.
        """
        above: list[_Node] = []
        for _, kin in groupby(self._top, lambda node: _kinship(node, across_sections=across_sections)):
            for group in _groups(list(kin), size):
                above.append(self._parent(group, level, always_read=always_read) if len(group) > 1 else group[0])
        self._top = above

    def _parent(self, children: Sequence[_Node], level: int, *, always_read: bool) -> _Node:
        drafter, first = self._drafter, children[0]
        shared = _common(first.headings, children[-1].headings)
        start = min(node.start for node in children)
        if first.opens_section and len(first.headings) > len(shared):
            # Its own heading, which the path that it shares with the others leaves out.
            start = min(start, drafter.starts[first.headings[len(shared)]])
        node = replace(
            first,
            ordinal=len(self.drafts),
            start=start,
            end=max(node.end for node in children),
            tokens=sum(node.tokens for node in children),
            headings=shared,
        )
        path = heading_text(drafter.elements, shared)
        made = drafter.verbatim(node.start, node.end, path, node.section)
        self.drafts.append(made.model_copy(update={"level": level, "always_read": always_read}))
        for child in children:
            self.drafts[child.ordinal] = self.drafts[child.ordinal].model_copy(update={"parent": node.ordinal})
        return node


def _kinship(node: _Node, *, across_sections: bool) -> tuple[bool, tuple[int, ...] | int, int]:
    """What nodes share that may have one parent. A loner shares it with nobody."""
    kin = node.headings[:1] if across_sections else node.section
    return node.loner, kin, node.ordinal if node.loner else -1


def _groups(nodes: Sequence[_Node], size: int) -> Iterator[list[_Node]]:
    """Neighbours, as many together as `size` tokens hold, in groups of about the same size."""
    total = sum(node.tokens for node in nodes)
    target = total / max(1, -(-total // size))
    group: list[_Node] = []
    used = 0
    for node in nodes:
        if group and (used + node.tokens > size or used >= target):
            yield group
            group, used = [], 0
        group.append(node)
        used += node.tokens
    if group:
        yield group


def _common(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    shared: list[int] = []
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        shared.append(mine)
    return tuple(shared)
