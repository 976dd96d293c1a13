"""Identifiers: UUIDv7 for rows (RFC 9562, sortable by time), UUIDv5 for chunks (a retry makes the same ones)."""

from uuid import UUID, uuid5

from uuid6 import uuid7


def new_id() -> UUID:
    """A fresh UUIDv7 as a standard `uuid.UUID`."""
    return UUID(int=uuid7().int)


def chunk_id(document_id: UUID, generation: int, ordinal: int) -> UUID:
    """The id of the `ordinal`-th chunk (from 0) of one generation of a document."""
    return uuid5(document_id, f"{generation}:{ordinal}")
