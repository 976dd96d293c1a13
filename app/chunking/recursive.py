"""The recursive strategy: text is filled up to the target size whatever headings stand in it, and cut at separators.

What `RecursiveCharacterTextSplitter` of LangChain does, but in tokens of the embedding model, in linear time, and with
exact offsets. Tables and code are kept apart as everywhere. Headings stand in the text; a chunk's path is that of the
headings above its beginning.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.chunking.chunk import DraftChunk
from app.chunking.drafting import Drafter, TextCut
from app.chunking.options import ChunkingOptions
from app.chunking.packing import pack
from app.chunking.sections import HeadingPath, heading_text, is_blank
from app.chunking.splitting import LINE_LEVELS, at
from app.parsing.document import ElementKind, ParsedDocument
from app.ports.embedder import Embed, TokenCounter


def chunk(
    document: ParsedDocument, options: ChunkingOptions, tokens: TokenCounter, title: str, _embed: Embed
) -> Iterator[DraftChunk]:
    # Tables are described when all else is cut; a description stands after the beginning of its table.
    return iter(sorted(_chunks(Drafter(document, options, tokens, title)), key=lambda draft: draft.start))


def _chunks(drafter: Drafter) -> Iterator[DraftChunk]:
    places = _places(drafter)
    if not places:
        return
    members = [place.index for place in places]
    starts = [place.start for place in places]
    # Which headings a chunk stands under is known when it is packed: each gets the room that the longest path leaves.
    room = min(drafter.path_and_room(path)[1] for path in {place.path for place in places})
    pieces = list(drafter.pieces(members, room, _cut(drafter.options.recursive.separators)))
    for group in pack(pieces, drafter.text, room, drafter.options, drafter.tokens):
        place = places[bisect_right(starts, group[0].start) - 1]
        yield from drafter.fitting(group, drafter.path_and_room(place.path)[0], place.section)
    for position, place in enumerate(places):
        if drafter.elements[place.index].table is not None:
            with_caption = members[max(0, position - 1) : position + 1]
            path = drafter.path_and_room(place.path)[0]
            yield from drafter.chunks_of_tables(with_caption, room, path, place.section)


@dataclass(frozen=True, slots=True)
class _Place:
    """An element with text, and what stands above it."""

    index: int
    start: int
    path: tuple[str, ...]
    section: int


def _places(drafter: Drafter) -> list[_Place]:
    places: list[_Place] = []
    headings = HeadingPath()
    section = 0
    for index, element in enumerate(drafter.elements):
        if is_blank(element):
            continue
        if element.kind is ElementKind.HEADING:
            headings.enter(index, element)
            section += bool(places)
        above = headings.path[:-1] if element.kind is ElementKind.HEADING else headings.path
        places.append(_Place(index, drafter.starts[index], heading_text(drafter.elements, above), section))
    return places


def _cut(separators: Sequence[str] | None) -> TextCut:
    if separators is None:
        return TextCut(LINE_LEVELS)  # paragraphs are elements: blank lines have parted them already
    return TextCut([at(separator) for separator in separators], everywhere=True)
