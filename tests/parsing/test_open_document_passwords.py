"""OpenDocument files under a password, as OpenOffice and LibreOffice write them."""

import hashlib
import io
import os
import zipfile
import zlib
from base64 import b64encode

import pytest
from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from app.core.errors import ParseFailed
from app.parsing.limits import ParseLimits
from tests.parsing.conftest import Parse
from tests.parsing.office_files import archive
from tests.parsing.open_document_files import cell, open_document, paragraph, row, table

WAYS = ("aes256-cbc", "aes256-gcm", "Blowfish CFB")
FILES = {
    "text": paragraph("秘密 text"),
    "spreadsheet": table(row(cell("秘密 text"), cell("b")), row(cell("1"), cell("2"))),
    "presentation": f"<draw:page><draw:frame><draw:text-box>{paragraph('秘密 text')}</draw:text-box></draw:frame>"
    "</draw:page>",
}


def encrypted(content: bytes, password: str, way: str, *, derivation: str = "PBKDF2") -> bytes:
    """The archive with its content encrypted. `way` ends the algorithm's name."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members: dict[str, bytes | str] = {name: file.read(name) for name in file.namelist()}
        plain = file.read("content.xml")
    is_old = way.startswith("Blowfish")
    hashed, bits = (hashlib.sha1, 128) if is_old else (hashlib.sha256, 256)
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(plain) + packer.flush()
    salt, vector = os.urandom(16), os.urandom({"aes256-cbc": 16, "aes256-gcm": 12}.get(way, 8))
    key = hashlib.pbkdf2_hmac("sha1", hashed(password.encode()).digest(), salt, 1000, bits // 8)
    members["content.xml"] = _sealed(packed, key, vector, way)
    named = {
        "algorithm": {"algorithm-name": way if is_old else f"http://www.w3.org/2001/04/xmlenc#{way}",
                      "initialisation-vector": b64encode(vector).decode()},
        "start-key-generation": {"start-key-generation-name": hashed().name, "key-size": str(hashed().digest_size)},
        "key-derivation": {"key-derivation-name": derivation, "key-size": str(bits // 8), "iteration-count": "1000",
                           "salt": b64encode(salt).decode()},
    }  # fmt: skip
    inner = "".join(
        f"<m:{tag} {' '.join(f'm:{name}={chr(34)}{value}{chr(34)}' for name, value in values.items())}/>"
        for tag, values in named.items()
    )
    checksum = b64encode(hashed(packed[:1024]).digest()).decode()
    kind = "SHA1/1K" if is_old else "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0#sha256-1k"
    data = f'<m:encryption-data m:checksum-type="{kind}" m:checksum="{checksum}">{inner}</m:encryption-data>'
    entry = f'<m:file-entry m:full-path="content.xml">{data}</m:file-entry>'
    members["META-INF/manifest.xml"] = f'<m:manifest xmlns:m="urn:m">{entry}</m:manifest>'
    return archive(members)


def _sealed(packed: bytes, key: bytes, vector: bytes, way: str) -> bytes:
    if way == "aes256-gcm":
        return vector + AESGCM(key).encrypt(vector, packed, None)
    if way == "aes256-cbc":
        fill = 16 - len(packed) % 16
        packed += os.urandom(fill - 1) + bytes([fill])
    cipher = Cipher(AES(key), CBC(vector)) if way == "aes256-cbc" else Cipher(Blowfish(key), CFB(vector))
    encryptor = cipher.encryptor()
    return encryptor.update(packed) + encryptor.finalize()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", list(FILES))
def test_the_password_opens_it(parse: Parse, kind: str, way: str) -> None:
    content = encrypted(open_document(kind, FILES[kind]), "geheim ü", way)
    assert "秘密 text" in parse(content, "a", password="geheim ü").text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("password", [None, "", "wrong"])
def test_without_it_the_password_is_asked_for(parse: Parse, password: str | None, way: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(encrypted(open_document("text", FILES["text"]), "geheim", way), "a.odt", password=password)
    assert failed.value.error_code == "encrypted"
    assert ("does not open it" in failed.value.detail) is bool(password)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (encrypted(open_document("text", FILES["text"]), "p", "aes256-cbc", derivation="argon2id"), "encrypted"),
        (encrypted(open_document("text", FILES["text"]), "p", "aes999-xyz"), "encrypted"),
        (encrypted(open_document("text", "<broken"), "p", "aes256-cbc"), "damaged"),
        (encrypted(open_document("text", paragraph("x" * 3_000_000)), "p", "aes256-cbc"), "too_complex"),
    ],
    ids=["key", "algorithm", "content", "bomb"],
)
def test_what_can_not_be_opened_has_a_reason(parse: Parse, content: bytes, reason: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.odt", password="p", limits=ParseLimits(expanded_bytes=1_000_000))
    assert failed.value.error_code == reason
