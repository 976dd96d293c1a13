"""The structure-aware strategy: sections by heading, tables and code in one where they fit, nothing lost.

A section that fits is one chunk. A longer one is packed from its elements up to the target size, and an element that
does not fit itself is split where its kind breaks best. Headings are kept as the chunk's path, apart from its text.
"""

from collections.abc import Iterator

from app.chunking.chunk import DraftChunk
from app.chunking.drafting import Drafter
from app.chunking.options import ChunkingOptions
from app.chunking.packing import pack
from app.chunking.sections import Section, heading_text, merged, sections
from app.chunking.splitting import fits
from app.parsing.document import ParsedDocument
from app.ports.embedder import Embed, TokenCounter


def chunk(
    document: ParsedDocument, options: ChunkingOptions, tokens: TokenCounter, title: str, _embed: Embed
) -> Iterator[DraftChunk]:
    return _chunks(Drafter(document, options, tokens, title))


def merged_sections(drafter: Drafter) -> list[Section]:
    """The document's sections, neighbours that are both small put together."""
    small = drafter.options.min_tokens
    return merged(sections(drafter.elements), small, lambda section: _size(drafter, section, small))


def _chunks(drafter: Drafter) -> Iterator[DraftChunk]:
    for number, section in enumerate(merged_sections(drafter)):
        path, room = drafter.path_and_room(heading_text(drafter.elements, section.path))
        pieces = list(drafter.pieces(section.members, room))
        for group in pack(pieces, drafter.text, room, drafter.options, drafter.tokens):
            yield from drafter.fitting(group, path, number)
        yield from drafter.chunks_of_tables(section.members, room, path, number)


def _size(drafter: Drafter, section: Section, small: int) -> int:
    """Tokens of a section and its heading, if it is small; else as large as need be."""
    total = 0
    for index in {*section.members, *section.path[-1:]}:
        count = fits(drafter.elements[index].text, small, drafter.tokens)
        if count is None:
            return small + 1
        total += count
        if total > small:
            break
    return total
