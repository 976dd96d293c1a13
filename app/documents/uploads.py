"""Receiving a file: streamed to a temporary file, hashed and measured on the way, its type told by its content."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import UploadFile

from app.core.errors import TooLarge
from app.parsing.detect import detect
from app.parsing.reasons import parse_failure
from app.parsing.registry import registry

PIECE = 1024**2


@dataclass(frozen=True, slots=True)
class Received:
    """A file that has arrived whole, and lives as long as the block that received it."""

    path: Path
    size_bytes: int
    sha256: str
    media_type: str


@asynccontextmanager
async def receive(source: UploadFile | bytes, name: str, folder: Path, max_bytes: int) -> AsyncIterator[Received]:
    """Raises `TooLarge`, or `ParseFailed` for an empty file or a type that nothing here reads."""
    with tempfile.TemporaryDirectory(prefix="upload-", dir=folder) as scratch:
        path = Path(scratch) / "content"
        digest = hashlib.sha256()
        size = 0
        with path.open("wb") as file:
            async for piece in _pieces(source):
                size += len(piece)
                if size > max_bytes:
                    raise TooLarge(
                        f"“{name}” is larger than the {max_bytes // 1024**2} MB that a document may have. Split it.",
                        max_bytes=max_bytes,
                    )
                digest.update(piece)
                await asyncio.to_thread(file.write, piece)
        if size == 0:
            raise parse_failure("empty_file")
        detected = await asyncio.to_thread(detect, path, name)
        if not detected.encrypted_office:  # what is encrypted is told apart by the parser, which names the reason
            registry.parser_for(detected.media_type)
        yield Received(path, size, digest.hexdigest(), detected.media_type)


async def _pieces(source: UploadFile | bytes) -> AsyncIterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    while piece := await source.read(PIECE):
        yield piece
