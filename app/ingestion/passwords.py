"""Passwords that came with an upload: needed once, by the worker that reads the file, and then forgotten.

They wait encrypted in the settings of their generation and leave them when the file has been read, or when its
ingestion is given up. A retry after that ends as `encrypted`: the file is uploaded again with its password.
"""

from typing import Any
from uuid import UUID

from pydantic import SecretStr
from sqlalchemy import ColumnElement

from app.core import sealing
from app.models import Generation
from app.ports.parts import Parts

SETTING = "password"
"""Its name in a generation's settings."""


def seal(parts: Parts, document_id: UUID, password: SecretStr) -> str:
    return sealing.seal(parts.secret_key, _purpose(document_id), password.get_secret_value())


def of_generation(parts: Parts, generation: Generation) -> str | None:
    """None where none was given, or where it was sealed with a secret that is no longer the platform's."""
    sealed = generation.settings.get(SETTING)
    return sealing.unseal(parts.secret_key, _purpose(generation.document_id), sealed) if sealed else None


def forget(generation: Generation) -> None:
    generation.settings = {name: value for name, value in generation.settings.items() if name != SETTING}


def settings_without() -> ColumnElement[dict[str, Any]]:
    """In SQL, the settings of generations that are given up unread."""
    return Generation.settings.op("-")(SETTING)


def _purpose(document_id: UUID) -> str:
    return f"password of document {document_id}"
