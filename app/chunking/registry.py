"""The way into chunking."""

from collections.abc import Iterator

from app.chunking.chunk import DraftChunk
from app.chunking.settings import ChunkingSettings
from app.chunking.strategies import STRATEGIES
from app.parsing.document import ParsedDocument
from app.ports.embedder import Embed, TokenCounter


def chunk(
    document: ParsedDocument, settings: ChunkingSettings, tokens: TokenCounter, title: str = "", *, embed: Embed
) -> Iterator[DraftChunk]:
    """Chunks in document order, then the parents of some, if the strategy makes any; none for a document without text.
    They are made as they are asked for, as far as the strategy can: those of a large document fill no list.

    `title` is the document's name as it will be given to `DraftChunk.embedded_text`: its tokens count. `embed` is only
    called by strategies that need to know what sentences mean. Deterministic, takes time linear in the text. Raises
    `InvalidInput` (code `chunks_do_not_fit`) where title and headings leave no room in what the embedding model reads.
    """
    return STRATEGIES[settings.strategy](document, settings, tokens, title, embed)
