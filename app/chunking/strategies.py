"""The chunking strategies by name. Another one is a file beside this and a line here."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from app.chunking import families, recursive, semantic, structure
from app.chunking.chunk import DraftChunk
from app.chunking.options import ChunkingOptions
from app.parsing.document import ParsedDocument
from app.ports.embedder import Embed, TokenCounter


class ChunkingStrategy(Protocol):
    def __call__(
        self, document: ParsedDocument, options: ChunkingOptions, tokens: TokenCounter, title: str, embed: Embed, /
    ) -> Iterator[DraftChunk]:
        """Deterministic; what is searched first, in document order, then parents by level.

        Raises `InvalidInput` where nothing can be made that the model reads whole, and what `embed` raises.
        """


STRATEGIES: Mapping[str, ChunkingStrategy] = {
    "structure": structure.chunk,
    "recursive": recursive.chunk,
    "semantic": semantic.chunk,
    "parent_child": families.parent_child,
    "hierarchical": families.hierarchical,
}
