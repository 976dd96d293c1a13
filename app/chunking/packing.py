"""Pieces of one section into chunks: whole if it fits, else greedily, with overlap. Pure, in linear time."""

from collections.abc import Sequence
from dataclasses import replace

from app.chunking.chunk import ChunkKind
from app.chunking.pieces import Piece, Text
from app.chunking.sizes import ChunkSizes
from app.chunking.splitting import TEXT_LEVELS, split
from app.ports.embedder import TokenCounter

SEPARATOR_TOKENS = 1
"""What the gap between two pieces may cost in a tokenizer that sees line breaks."""


def pack(pieces: Sequence[Piece], text: Text, room: int, sizes: ChunkSizes, tokens: TokenCounter) -> list[list[Piece]]:
    """Groups of pieces as `grouped` makes them, each beginning with the end of the one before, as the sizes say."""
    groups = grouped(pieces, room, min(sizes.target_tokens, room))
    return [
        _with_overlap(groups[number - 1], group, text, min(sizes.overlap_tokens, room - _cost(group)), tokens)
        if number
        else group
        for number, group in enumerate(groups)
    ]


def grouped(pieces: Sequence[Piece], room: int, target: int) -> list[list[Piece]]:
    """Groups of pieces, in order, of at most `room` tokens each; every piece is in one, and none is empty."""
    groups: list[list[Piece]] = []
    run: list[Piece] = []
    for piece in pieces:
        if piece.alone:
            groups += _pack_run(run, room, target)
            groups.append([piece])
            run = []
        else:
            run.append(piece)
    groups += _pack_run(run, room, target)
    return groups


def _cost(pieces: Sequence[Piece]) -> int:
    return sum(piece.tokens + SEPARATOR_TOKENS for piece in pieces)


def _pack_run(pieces: list[Piece], room: int, target: int) -> list[list[Piece]]:
    if not pieces:
        return []
    if _cost(pieces) <= room:
        return [pieces]
    groups: list[list[Piece]] = []
    used = 0
    for piece in pieces:
        cost = piece.tokens + SEPARATOR_TOKENS
        # A group that is not yet half full takes a piece that carries it past the target, rather than stay small.
        limit = target if used * 2 >= target else room
        if groups and used + cost <= limit:
            groups[-1].append(piece)
            used += cost
        else:
            groups.append([piece])
            used = cost
    if len(groups) > 1 and _cost(groups[-1]) * 4 < target and _cost(groups[-2]) + _cost(groups[-1]) <= room:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def _with_overlap(
    before: Sequence[Piece], group: list[Piece], text: Text, overlap: int, tokens: TokenCounter
) -> list[Piece]:
    """The group with the last sentences of the one before, at most `overlap` tokens of it; running text only."""
    last = before[-1]
    allowed = overlap - SEPARATOR_TOKENS
    if allowed <= 0 or last.kind is not ChunkKind.TEXT or group[0].kind is not ChunkKind.TEXT:
        return group
    start, used = last.end, 0
    for span in reversed(split(text[last.start : last.end], allowed, tokens, TEXT_LEVELS)):
        used += span.tokens
        if used > allowed:
            break
        start = last.start + span.start
    if start == last.end:
        return group
    return [replace(last, start=start, tokens=tokens.count(text[start : last.end])), *group]
