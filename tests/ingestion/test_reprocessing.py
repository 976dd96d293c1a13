"""A document's original, read and cut once more."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.core.scope import TenantScope
from app.ports.parts import Parts
from tests.chunks.shelf import Shelf
from tests.conftest import Person, Register, until
from tests.ingestion.test_passwords import PASSWORD, knowledge_base, protected, sent

TEXT = "# Lamps\n\nThe lamp shines far.\n\n# Boats\n\nThe boat sails in spring.\n\n" + " ".join(
    f"Wave {number} rises and falls." for number in range(200)
)


async def reprocess(shelf: Shelf, document_id: str, **body: str) -> dict[str, Any]:
    answer = await shelf.person.client.post(f"/v1/documents/{document_id}:reprocess", json=body or None)
    assert answer.status_code == 202, answer.text
    assert answer.json()["outcome"] == "replaced"
    return await shelf.done(answer.json()["operation"]["id"])


async def test_new_settings_reach_what_is_there_already(register: Register) -> None:
    """Sending the file again does not do it: it is the same."""
    shelf = await Shelf.of(await register())
    client = shelf.person.client
    document_id = await shelf.add(TEXT, external_id="waves")
    path, renamed = f"/v1/documents/{document_id}", {"name": "Waves", "tags": ["sea"], "metadata": {"year": 2026}}
    await client.patch(path, json=renamed)
    settings = {"chunking": {"strategy": "parent_child", "parent_child": {"child_tokens": 64, "parent_tokens": 512}}}
    assert (await client.patch(f"/v1/knowledge-bases/{shelf.kb_id}", json={"settings": settings})).is_success
    assert {chunk["level"] for chunk in await shelf.chunks(document_id, parents=True)} == {0}

    operation = await reprocess(shelf, document_id)
    assert (operation["state"], operation["generation"]) == ("succeeded", 2)
    assert {chunk["level"] for chunk in await shelf.chunks(document_id, parents=True)} == {0, 1}
    document = await shelf.get(path)
    assert {name: document[name] for name in (*renamed, "external_id")} == renamed | {"external_id": "waves"}
    content = await client.get(f"{path}/content")
    assert (content.status_code, content.text) == (200, TEXT)


async def test_what_is_the_same_is_neither_embedded_again_nor_enabled(register: Register) -> None:
    shelf = await Shelf.of(await register())
    document_id = await shelf.add(TEXT)
    [first, *_] = await shelf.chunks(document_id)
    await shelf.change(first["id"], enabled=False)
    counts = (await reprocess(shelf, document_id))["counts"]
    assert (counts["embedded"], counts["reused"]) == (0, counts["chunks"])
    assert [chunk["enabled"] for chunk in await shelf.chunks(document_id)] == [False] + [True] * (counts["chunks"] - 1)


async def test_a_protected_file_needs_its_password_again(owner: Person) -> None:
    """The one of the upload was forgotten as soon as the file had been read. Without it the version before stays."""
    documents = await knowledge_base(owner, "reprocessed secrets")
    _, document = await sent(owner, documents, protected("A secret page."), password=PASSWORD)
    path = f"/v1/documents/{document['id']}"

    async def ended(operation_id: str) -> dict[str, Any]:
        now: dict[str, Any] = (await owner.client.get(f"/v1/operations/{operation_id}")).json()
        return now if now["finished_at"] else {}

    for body, state, error in (({}, "failed", "encrypted"), ({"password": PASSWORD}, "succeeded", None)):
        operation = (await owner.client.post(f"{path}:reprocess", json=body)).json()["operation"]
        assert (await until(partial(ended, operation["id"])))["state"] == state
        document = (await owner.client.get(path)).json()
        assert (document["error"] or {}).get("code") == error
        assert "A secret page." in (await owner.client.get(f"{path}/chunks")).json()["items"][0]["text"]


async def test_a_version_that_arrives_meanwhile_is_kept(
    register: Register, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = await Shelf.of(await register())
    client = shelf.person.client
    document_id = await shelf.add("The old text.", external_id="raced")
    fetch = parts.blobs.fetch

    async def while_another_sends(scope: TenantScope, key: str, path: Path) -> None:
        await fetch(scope, key, path)
        if str(scope.tenant_id) == shelf.person.tenant_id:  # others ingest as well
            monkeypatch.undo()
            await shelf.add("The new text.", external_id="raced")

    monkeypatch.setattr(parts.blobs, "fetch", while_another_sends)
    answer = await client.post(f"/v1/documents/{document_id}:reprocess")
    assert (answer.status_code, answer.json()["code"]) == (409, "document_changed")
    assert [chunk["text"] for chunk in await shelf.chunks(document_id)] == ["The new text."]
