"""The text of a whole text file, with a warning where some of it could not be decoded."""

from app.parsing.encoding import decode
from app.parsing.source import Source


def read_text(source: Source, *, declared: str | None = None, data: bytes | None = None) -> tuple[str, str, list[str]]:
    """Text, name of its encoding, and warnings."""
    decoded = decode(source.path.read_bytes() if data is None else data, declared=declared)
    warnings = [f"{decoded.broken} characters could not be decoded as {decoded.encoding}."] if decoded.broken else []
    return decoded.text, decoded.encoding, warnings
