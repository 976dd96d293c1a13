"""OpenDocument files under a password (OASIS OpenDocument 1.3, part 2, 3.4): each member is packed, then encrypted.

Read are AES in CBC and GCM and the Blowfish of old files, with keys by PBKDF2: what OpenOffice and LibreOffice write.
"""

import hashlib
import hmac
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from lxml import etree

from app.parsing.archives import UNREADABLE, read_member
from app.parsing.parsers.xml_tree import attribute, first, number, parse_xml
from app.parsing.reasons import parse_failure

_MANIFEST = "META-INF/manifest.xml"
_MANIFEST_BYTES = 16 * 1024 * 1024
_MOST_ITERATIONS = 10_000_000
_CHECKED_BYTES = 1024
"""Of the packed content, by the kinds of checksum that end in `1k`."""


class _WrongKey(Exception):
    """The password does not open it, or it was changed since."""


class _UnknownWay(Exception):
    """It is encrypted in a way that is not known here."""


@dataclass(frozen=True, slots=True)
class _Encryption:
    """How one member was encrypted, as its `manifest:encryption-data` says."""

    algorithm: str
    vector: bytes
    salt: bytes
    iterations: int
    key_size: int
    start_key: str
    checksum: bytes
    checksum_kind: str

    @classmethod
    def of(cls, data: etree._Element) -> "_Encryption":
        """Raises `_UnknownWay`, `ValueError`."""
        algorithm, start, key = (first(data, name) for name in ("algorithm", "start-key-generation", "key-derivation"))
        name = attribute(key, "key-derivation-name")
        iterations = number(attribute(key, "iteration-count"), 0)
        if not name.lower().endswith("pbkdf2") or not 0 < iterations <= _MOST_ITERATIONS:
            raise _UnknownWay(name)
        return cls(
            algorithm=attribute(algorithm, "algorithm-name").lower(),
            vector=b64decode(attribute(algorithm, "initialisation-vector")),
            salt=b64decode(attribute(key, "salt")),
            iterations=iterations,
            key_size=number(attribute(key, "key-size"), 16),
            start_key="sha256" if "sha256" in attribute(start, "start-key-generation-name").lower() else "sha1",
            checksum=b64decode(attribute(data, "checksum")),
            checksum_kind=attribute(data, "checksum-type").lower(),
        )

    def packed(self, content: bytes, password: str) -> bytes:
        """The content without its encryption. Raises `_WrongKey`, `_UnknownWay`, `ValueError`."""
        start = hashlib.new(self.start_key, password.encode()).digest()
        key = hashlib.pbkdf2_hmac("sha1", start, self.salt, self.iterations, self.key_size)
        plain = self._decrypted(content, key)
        kind = "sha256" if "sha256" in self.checksum_kind else "sha1"
        checked = plain[:_CHECKED_BYTES] if self.checksum_kind.endswith("1k") else plain
        if self.checksum and not hmac.compare_digest(hashlib.new(kind, checked).digest(), self.checksum):
            raise _WrongKey
        return plain

    def _decrypted(self, content: bytes, key: bytes) -> bytes:
        if self.algorithm.endswith("gcm"):
            try:
                return AESGCM(key).decrypt(self.vector, content.removeprefix(self.vector), None)
            except InvalidTag as error:
                raise _WrongKey from error
        if "blowfish" in self.algorithm:
            decryptor = Cipher(Blowfish(key), CFB(self.vector)).decryptor()
            return decryptor.update(content) + decryptor.finalize()
        if not self.algorithm.endswith("cbc"):
            raise _UnknownWay(self.algorithm)
        decryptor = Cipher(AES(key), CBC(self.vector)).decryptor()
        plain = decryptor.update(content) + decryptor.finalize()
        padding = plain[-1] if plain else 0  # its last byte says how long it is (XML Encryption, 5.2)
        if not 0 < padding <= len(self.vector):
            raise _WrongKey
        return plain[:-padding]


def is_encrypted(path: Path) -> bool:
    """Whether the manifest says so of any member, or of the file as a whole."""
    manifest = read_member(path, _MANIFEST, _MANIFEST_BYTES)
    return manifest is not None and (b"encryption-data" in manifest or b"encrypted-package" in manifest)


def decrypt(path: Path, copy: Path, password: str, most_bytes: int) -> None:
    """Writes the same archive without encryption, of at most so many bytes unpacked.

    Raises `ParseFailed`: `encrypted` where the password is not the right one or the way is not known, `damaged`,
    `too_complex`.
    """
    try:
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w") as plain:
            manifest = parse_xml(archive.read(_MANIFEST))
            encrypted = dict(_encrypted(manifest))
            for name in archive.namelist():
                content = etree.tostring(manifest) if name == _MANIFEST else archive.read(name)
                if name in encrypted:
                    content = _unpacked(_Encryption.of(encrypted[name]).packed(content, password), most_bytes)
                most_bytes -= len(content)
                plain.writestr(name, content)
    except _WrongKey as error:
        raise parse_failure("encrypted", "The password given does not open it.") from error
    except _UnknownWay as error:
        raise parse_failure("encrypted", "It is encrypted in a way that is not known here.") from error
    except (*UNREADABLE, KeyError, etree.XMLSyntaxError) as error:
        raise parse_failure("damaged") from error


def _encrypted(manifest: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """Members with how they were encrypted, which is taken out of the manifest."""
    for entry in manifest.iter("{*}file-entry"):
        data = first(entry, "encryption-data")
        if data is not None:
            entry.remove(data)
            yield attribute(entry, "full-path"), data


def _unpacked(content: bytes, most_bytes: int) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    found = unpacker.decompress(content, max(most_bytes, 1))
    if unpacker.unconsumed_tail:
        raise parse_failure("too_complex")
    return found
