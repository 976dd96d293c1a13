"""Office files under a password: told apart, and opened where the password came with the upload.

New formats are encrypted as a whole (MS-OFFCRYPTO, in an OLE container), old ones keep their container and encrypt its
streams. OpenDocument encrypts the members of its archive (`odf_encryption`).
"""

import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msoffcrypto
from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError

from app.parsing import media_types, odf_encryption
from app.parsing.archives import Declarations, check_archive
from app.parsing.detect import DetectedType
from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure

_OLD_FORMATS = frozenset((media_types.DOC, media_types.XLS, media_types.PPT))
_OPEN_DOCUMENT = frozenset((media_types.ODT, media_types.ODS, media_types.ODP))
_EXCELS_OWN = "VelvetSweatshop"
"""With what Excel encrypts a workbook that is only protected against changes (MS-OFFCRYPTO 2.1.1)."""
# What msoffcrypto lets through of the structures that it unpacks.
_BROKEN = (FileFormatError, ParseError, OSError, ValueError, struct.error, AssertionError, LookupError, TypeError)
_UNREADABLE = (*_BROKEN, AttributeError)


@contextmanager
def opened(path: Path, detected: DetectedType, password: str | None, limits: ParseLimits) -> Iterator[Path]:
    """The file itself, or a decrypted copy that lives as long as the block.

    Raises `ParseFailed`: `encrypted` without the right password, `damaged`, `too_complex`.
    """
    is_open_document = detected.media_type in _OPEN_DOCUMENT and odf_encryption.is_encrypted(path)
    is_old = detected.media_type in _OLD_FORMATS and _is_encrypted(path)
    if not (detected.encrypted_office or is_old or is_open_document):
        yield path
        return
    if is_open_document and not password:
        raise parse_failure("encrypted")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "decrypted"
        if is_open_document:
            check_archive(path, limits, Declarations.NO_ENTITIES)
            odf_encryption.decrypt(path, copy, password or "", limits.expanded_bytes)
        else:
            _decrypt(path, copy, password)
        yield copy


def _is_encrypted(path: Path) -> bool:
    """Of an old format. What is too broken to tell is left to the parser, which says so."""
    try:
        with path.open("rb") as file:
            return bool(msoffcrypto.OfficeFile(file).is_encrypted())
    except _UNREADABLE:
        return False


def _decrypt(path: Path, copy: Path, password: str | None) -> None:
    try:
        with path.open("rb") as file, copy.open("wb") as plain:
            office = msoffcrypto.OfficeFile(file)
            office.load_key(password=password or _EXCELS_OWN)
            office.decrypt(plain)
    except (InvalidKeyError, DecryptionError) as error:
        raise parse_failure("encrypted", "The password given does not open it." if password else "") from error
    except _UNREADABLE as error:
        raise parse_failure("damaged") from error
