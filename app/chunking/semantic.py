"""The semantic strategy: sections are cut where neighbouring sentences mean something else.

Each sentence is embedded together with its neighbours; where the distance to the next one is an outlier among all
distances of the document, a chunk ends (Kamradt, "5 Levels of Text Splitting", 2024, level 4; LangChain's
`SemanticChunker` has the same three rules). Headings still part sections, and sizes hold as everywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from app.chunking.chunk import ChunkKind, DraftChunk
from app.chunking.drafting import Drafter, TextCut
from app.chunking.options import Breakpoint, ChunkingOptions, SemanticOptions
from app.chunking.packing import pack
from app.chunking.pieces import Piece, Text
from app.chunking.sections import heading_text
from app.chunking.structure import merged_sections
from app.parsing.document import ParsedDocument
from app.ports.embedder import Embed, TokenCounter

EMBEDDED_AT_ONCE = 256
SENTENCES = TextCut(everywhere=True)


@dataclass(frozen=True, slots=True)
class _Section:
    members: Sequence[int]
    path: tuple[str, ...]
    room: int
    pieces: list[Piece]
    """Sentences; tables and code as they fit."""


def chunk(
    document: ParsedDocument, options: ChunkingOptions, tokens: TokenCounter, title: str, embed: Embed
) -> Iterator[DraftChunk]:
    return _chunks(Drafter(document, options, tokens, title), embed)


def _chunks(drafter: Drafter, embed: Embed) -> Iterator[DraftChunk]:
    found = []
    for section in merged_sections(drafter):
        path, room = drafter.path_and_room(heading_text(drafter.elements, section.path))
        pieces = list(drafter.pieces(section.members, room, SENTENCES))
        found.append(_Section(section.members, path, room, pieces))
    for number, (own, breaks) in enumerate(zip(found, _breaks(drafter, found, embed), strict=True)):
        for run in _runs(own.pieces, breaks, drafter.options.min_tokens):
            for group in pack(run, drafter.text, own.room, drafter.options, drafter.tokens):
                yield from drafter.fitting(group, own.path, number)
        yield from drafter.chunks_of_tables(own.members, own.room, own.path, number)


def _breaks(drafter: Drafter, found: Sequence[_Section], embed: Embed) -> list[set[int]]:
    """For each section the positions of the sentences after which it is cut."""
    options = drafter.options.semantic
    sentences = [[at for at, piece in enumerate(one.pieces) if piece.kind is ChunkKind.TEXT] for one in found]
    windows = (
        window
        for section, positions in zip(found, sentences, strict=True)
        for window in _windows([section.pieces[at] for at in positions], drafter.text, options.buffer_sentences)
    )
    to_next = _distances(windows, embed)
    distances: list[NDArray[np.float64]] = []
    first = 0
    for positions in sentences:  # the distance from a section's last sentence to the next section says nothing
        distances.append(to_next[first : first + max(0, len(positions) - 1)])
        first += len(positions)
    limit = threshold(np.concatenate(distances), options) if distances else 0.0
    return [
        {positions[at] for at in np.flatnonzero(own > limit)}
        for positions, own in zip(sentences, distances, strict=True)
    ]


def _windows(sentences: Sequence[Piece], text: Text, buffer: int) -> Iterator[str]:
    """Each sentence with up to `buffer` neighbours on both sides."""
    for position in range(len(sentences)):
        around = sentences[max(0, position - buffer) : position + buffer + 1]
        yield " ".join(text[one.start : one.end] for one in around)


def _distances(windows: Iterator[str], embed: Embed) -> NDArray[np.float64]:
    """Cosine distance of each text to the next one; of n texts n - 1, in memory no more vectors than one batch."""
    found: list[NDArray[np.float64]] = []
    last: NDArray[np.float64] | None = None
    while batch := list(islice(windows, EMBEDDED_AT_ONCE)):
        vectors = np.asarray(embed(batch), dtype=np.float64)
        if last is not None:
            vectors = np.vstack([last, vectors])
        found.append(1.0 - np.einsum("ij,ij->i", vectors[:-1], vectors[1:]))
        last = vectors[-1:]
    return np.concatenate(found) if found else np.empty(0)


def threshold(distances: NDArray[np.float64], options: SemanticOptions) -> float:
    """The distance above which two sentences are parted; `inf` where there are too few to tell an outlier."""
    if len(distances) < 2:
        return float("inf")
    amount = options.chosen_amount
    match options.breakpoint:
        case Breakpoint.PERCENTILE:
            return float(np.percentile(distances, amount))
        case Breakpoint.STANDARD_DEVIATION:
            return float(np.mean(distances) + amount * np.std(distances))
        case Breakpoint.INTERQUARTILE:
            first, third = np.percentile(distances, [25, 75])
            return float(np.mean(distances) + amount * (third - first))


def _runs(pieces: Sequence[Piece], breaks: set[int], min_tokens: int) -> Iterator[list[Piece]]:
    """The pieces between breaks; a run shorter than `min_tokens` goes with the next one, or at the end the last."""
    runs: list[list[Piece]] = []
    run: list[Piece] = []
    tokens = 0
    for position, piece in enumerate(pieces):
        run.append(piece)
        tokens += piece.tokens
        if position in breaks and tokens >= min_tokens:
            runs.append(run)
            run, tokens = [], 0
    if run and runs and tokens < min_tokens:
        runs[-1] += run
    elif run:
        runs.append(run)
    yield from runs
