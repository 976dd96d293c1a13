"""Short secrets at rest: encrypted with keys that are derived from the platform's own secret.

A key is derived for each purpose (HKDF-SHA256, RFC 5869), so what is sealed for one row opens nowhere else. Fernet adds
the authentication: AES-128-CBC with HMAC-SHA256.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def seal(secret: bytes, purpose: str, text: str) -> str:
    """Printable text that only `unseal` with the same secret and purpose makes readable."""
    return _fernet(secret, purpose).encrypt(text.encode()).decode("ascii")


def unseal(secret: bytes, purpose: str, sealed: str) -> str | None:
    """None where it was sealed with another secret or for another purpose, or was changed since."""
    try:
        return _fernet(secret, purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        return None


def _fernet(secret: bytes, purpose: str) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"biggraph sealed {purpose}".encode()).derive(secret)
    return Fernet(base64.urlsafe_b64encode(key))
