"""Protected files: their password opens them, and is gone when they have been read or given up."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import cast, select
from sqlalchemy.dialects.postgresql import TEXT

from app.core.scope import Role, TenantScope
from app.models import Generation
from app.parsing.parsers.pdf_engine import pymupdf
from app.ports.parts import Parts
from tests.conftest import Person, until

PASSWORD = "open sesame 芝麻开门"


def protected(text: str) -> bytes:
    document = pymupdf.open()
    document.new_page().insert_text((60, 100), text)
    content: bytes = document.tobytes(
        encryption=pymupdf.mupdf.PDF_ENCRYPT_AES_256, user_pw=PASSWORD, owner_pw="another"
    )
    return content


async def knowledge_base(owner: Person, name: str) -> str:
    answer = await owner.client.post("/v1/knowledge-bases", json={"name": name})
    assert answer.status_code == 201, answer.text
    return f"/v1/knowledge-bases/{answer.json()['id']}/documents"


async def sent(owner: Person, documents: str, content: bytes, **fields: str) -> tuple[str, dict[str, Any]]:
    """The outcome of an upload, and the document when its ingestion has ended."""
    answer = await owner.client.post(documents, files={"file": ("a.pdf", content)}, data=fields)
    assert answer.status_code == 202, answer.text

    async def ended() -> dict[str, Any]:
        document: dict[str, Any] = (await owner.client.get(f"/v1/documents/{answer.json()['document']['id']}")).json()
        return document if document["status"] in ("ready", "failed") else {}

    return answer.json()["outcome"], await until(ended)


async def settings_of(parts: Parts, owner: Person, document: dict[str, Any]) -> list[str]:
    """The settings of all its generations, as they are stored."""
    scope = TenantScope(UUID(owner.tenant_id), UUID(owner.user_id), Role.OWNER)
    async with parts.database.read(scope) as session:
        stored = await session.scalars(
            select(cast(Generation.settings, TEXT)).where(Generation.document_id == UUID(document["id"]))
        )
        return list(stored)


async def test_a_failed_upload_is_sent_again_with_its_password(owner: Person, parts: Parts) -> None:
    documents = await knowledge_base(owner, "protected files")
    content = protected("The treasure is under the lighthouse.")
    for fields in ({}, {"password": ""}, {"password": "wrong"}):
        _, document = await sent(owner, documents, content, **fields)
        assert (document["status"], document["error"]["code"]) == ("failed", "encrypted")
        assert ("does not open" in document["error"]["detail"]) == (fields.get("password") == "wrong")
    outcome, ready = await sent(owner, documents, content, password=PASSWORD)
    assert (outcome, ready["status"], ready["id"]) == ("replaced", "ready", document["id"])
    chunks = (await owner.client.get(f"/v1/documents/{ready['id']}/chunks")).json()["items"]
    assert "lighthouse" in chunks[0]["text"]
    stored = await settings_of(parts, owner, ready)
    assert len(stored) == 4
    assert not any("password" in settings for settings in stored)


async def test_a_password_that_is_too_long_is_refused_without_repeating_it(owner: Person) -> None:
    documents = await knowledge_base(owner, "long passwords")
    answer = await owner.client.post(
        documents, files={"file": ("a.pdf", protected("x"))}, data={"password": "swordfish" * 200}
    )
    assert answer.status_code == 422
    assert "swordfish" not in answer.text


async def test_an_idempotency_key_is_bound_to_the_password(owner: Person) -> None:
    documents = await knowledge_base(owner, "keys and passwords")
    content = protected("Bound to a key.")
    for fields, status in (({"password": "one"}, 202), ({"password": "one"}, 202), ({"password": "two"}, 409)):
        answer = await owner.client.post(
            documents, files={"file": ("a.pdf", content)}, data=fields, headers={"idempotency-key": "k"}
        )
        assert answer.status_code == status


async def test_the_password_is_put_right_before_the_file_is_read(
    owner: Person, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = await knowledge_base(owner, "in a hurry")
    files = {"file": ("a.pdf", protected("The key is under the mat."))}
    fetch, sent_all = parts.blobs.fetch, asyncio.Event()

    async def fetch_later(scope: TenantScope, key: str, path: Path) -> None:
        await sent_all.wait()
        await fetch(scope, key, path)

    monkeypatch.setattr(parts.blobs, "fetch", fetch_later)
    outcomes = []
    for password in ("wrong", PASSWORD, PASSWORD, None):
        answer = await owner.client.post(documents, files=files, data={"password": password} if password else None)
        outcomes.append(answer.json()["outcome"])
    sent_all.set()
    assert outcomes == ["created", "replaced", "unchanged", "unchanged"]
    path = f"/v1/documents/{answer.json()['document']['id']}"

    async def ended() -> str:
        status: str = (await owner.client.get(path)).json()["status"]
        return status if status in ("ready", "failed") else ""

    assert await until(ended) == "ready"
