"""The chunking strategies by name. Another one is a file beside this and a line here."""

from collections.abc import Mapping
from typing import Protocol

from app.chunking import structure
from app.chunking.chunk import DraftChunk
from app.chunking.sizes import ChunkSizes
from app.parsing.document import ParsedDocument
from app.ports.embedder import TokenCounter


class ChunkingStrategy(Protocol):
    def __call__(
        self, document: ParsedDocument, sizes: ChunkSizes, tokens: TokenCounter, title: str
    ) -> list[DraftChunk]:
        """Pure and deterministic. Raises `InvalidInput` where nothing can be made that the model reads whole."""


STRATEGIES: Mapping[str, ChunkingStrategy] = {
    "structure": structure.chunk,
}
