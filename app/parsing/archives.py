"""Zip archives from strangers: what they claim to hold, and what they really hold, before anything unpacks them."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import IO

from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure


class Declarations(Enum):
    """What of a document type declaration an archive's XML may have."""

    NONE = "none"
    """OOXML forbids them all (ECMA-376 part 2, 10.2.4)."""
    NO_ENTITIES = "no_entities"
    """OpenDocument: early programs named the DTD of the manifest."""
    ANY = "any"
    """EPUB: its chapters are XHTML. Nothing here expands what they declare."""


_PIECE = 1024 * 1024
_XML_HEAD = 4096
_MOST_DIRECTORY_BYTES = 4 * 1024 * 1024
"""More than 20,000 parts take. Each becomes an object many times as large as its entry, in whoever opens the file."""
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""All that OOXML (ECMA-376 part 2, annex B), OpenDocument and EPUB allow. Of others Python unpacks all at once."""
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError)
"""What reading a broken archive raises."""


class _Bounded(io.BufferedReader):
    """A file of which nothing large is read at once, as `ZipFile` reads an archive's directory."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Raises `ParseFailed` (`too_complex`)."""
        if size is not None and size > _MOST_DIRECTORY_BYTES:
            raise parse_failure("too_complex", "It holds too many parts.")
        return super().read(size)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Raises `ParseFailed`: `too_complex`, and `damaged` where the archive turns out to be broken inside the block."""
    try:
        with _Bounded(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except UNREADABLE as error:
        raise parse_failure("damaged") from error


def _open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """Raises `ParseFailed`: `encrypted` (ZIP's own encryption), `damaged`."""
    if member.flag_bits & 1:
        raise parse_failure("encrypted")
    if member.compress_type not in _PACKED:
        raise parse_failure("damaged", "Its parts are packed in a way that this format does not allow.")
    return archive.open(member)


def member_names(path: Path) -> frozenset[str]:
    """Raises `ParseFailed` where the central directory can't be read (`damaged`) or is huge (`too_complex`)."""
    with _opened(path) as archive:
        return frozenset(archive.namelist())


def check_archive(path: Path, limits: ParseLimits, declarations: Declarations = Declarations.NONE) -> None:
    """Refuses an archive that expands beyond the limits, lies about sizes, or declares in its XML what it may not.

    Sizes are first added up as declared, then each member is unpacked in pieces and thrown away, so a bomb costs
    no memory, and no more time than unpacking `expanded_bytes`. Only document type declarations can hold entity bombs.

    Raises `ParseFailed`: `too_complex`, `damaged`, or `encrypted` (ZIP's own encryption).
    """
    with _opened(path) as archive:
        members = archive.infolist()
        if len(members) > limits.archive_members:
            raise parse_failure("too_complex", f"It holds {len(members)} parts.")
        declared = sum(member.file_size for member in members)
        if declared > limits.expanded_bytes:
            raise parse_failure("too_complex", f"It would expand to {declared // (1024 * 1024)} MB.")
        for member in members:
            _check_member(archive, member, declarations)


def _check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, declarations: Declarations) -> None:
    """Python's reader stops at the declared size and then compares checksums, which catches a false size."""
    is_xml = member.filename.lower().endswith((".xml", ".rels", ".vml"))
    with _open_member(archive, member) as stream:
        head = stream.read(_XML_HEAD)
        if is_xml and _declares(head, declarations):
            raise parse_failure("too_complex", "One of its parts declares XML entities.")
        while stream.read(_PIECE):
            pass


def _declares(head: bytes, allowed: Declarations) -> bool:
    """Whether an XML part begins with a declaration that is not allowed, in any encoding that keeps ASCII apart."""
    plain = head.replace(b"\0", b"").upper()
    if allowed is Declarations.NONE and b"<!DOCTYPE" in plain:
        return True
    return allowed is not Declarations.ANY and b"<!ENTITY" in plain


def read_member(path: Path, name: str, limit: int) -> bytes | None:
    """One member's content, None where it is missing; at most `limit` bytes are read.

    Raises `ParseFailed`: `too_complex`, `damaged`, or `encrypted` (ZIP's own encryption).
    """
    with _opened(path) as archive:
        if name not in archive.NameToInfo:
            return None
        with _open_member(archive, archive.getinfo(name)) as stream:
            return stream.read(limit)
