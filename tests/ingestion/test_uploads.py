"""What an upload makes of a document that is known, how much a tenant may store, and an original that is lost."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from app.core.database import WriteSession
from app.core.errors import TooManyRequests
from app.core.ids import new_id
from app.core.scope import Role, TenantScope
from app.documents import repository
from app.ingestion import service as ingestion
from app.ports.parts import Parts
from tests.conftest import Person, Register, until
from tests.ingestion.bench import Bench

TEXT = {"text": "# Notes\n\nThe lamp shines far.", "title": "Zebra", "name": "Notes", "external_id": "notes"}


class Shelf:
    """A knowledge base of somebody, who sends texts to it."""

    def __init__(self, person: Person, kb_id: str) -> None:
        self.client = person.client
        self.path = f"/v1/knowledge-bases/{kb_id}/documents"

    async def send(self, body: dict[str, Any], **headers: str) -> dict[str, Any]:
        answer = await self.client.post(self.path, json=body, headers=headers)
        sent: dict[str, Any] = answer.json()
        if answer.status_code == 202:
            await self._ended(sent["operation"]["id"])
        return sent

    async def put(self, path: str, content: bytes) -> str:
        """Sends a new version of a document; how its ingestion ended."""
        answer = await self.client.put(path, files={"file": ("notes", content)})
        assert answer.status_code == 202, answer.text
        return str((await self._ended(answer.json()["operation"]["id"]))["state"])

    async def _ended(self, operation_id: str) -> dict[str, Any]:
        async def ended() -> dict[str, Any]:
            operation: dict[str, Any] = (await self.client.get(f"/v1/operations/{operation_id}")).json()
            return operation if operation["finished_at"] else {}

        return await until(ended)

    async def found(self, word: str) -> int:
        answer = await self.client.post("/v1/retrieve", json={"query": word, "mode": "bm25"})
        return len(answer.json()["hits"])


@pytest.fixture
async def shelf(register: Register) -> Shelf:
    person = await register()
    return Shelf(person, (await person.client.post("/v1/knowledge-bases", json={"name": "Shelf"})).json()["id"])


async def test_a_text_of_another_title_is_found_by_it(shelf: Shelf) -> None:
    await shelf.send(TEXT)
    assert (await shelf.send(TEXT))["outcome"] == "unchanged"
    assert (await shelf.send({**TEXT, "title": "Giraffe"}))["outcome"] == "replaced"
    assert (await shelf.found("giraffe"), await shelf.found("zebra")) == (1, 0)


async def test_a_text_of_another_format_is_read_anew(shelf: Shelf) -> None:
    await shelf.send(TEXT)
    sent = await shelf.send({**TEXT, "format": "markdown"})
    assert sent["outcome"] == "replaced"
    chunks = (await shelf.client.get(f"/v1/documents/{sent['document']['id']}/chunks")).json()["items"]
    assert [chunk["heading_path"] for chunk in chunks] == [["Notes"]]
    assert (await shelf.send({**TEXT, "format": "markdown"}))["outcome"] == "unchanged"


async def test_a_file_of_the_same_name_replaces_the_newest_where_that_is_asked_for(shelf: Shelf) -> None:
    def text(word: str, **fields: Any) -> dict[str, Any]:
        return {"text": f"All about the {word}.", "name": "notes.txt", **fields}

    first = await shelf.send(text("lamp"))
    second = await shelf.send(text("anchor"))
    other = await shelf.send(text("compass", external_id="mine"))
    assert [sent["outcome"] for sent in (first, second, other)] == ["created"] * 3
    again = await shelf.send(text("rudder", replace_same_name=True))
    assert (again["outcome"], again["document"]["id"]) == ("replaced", second["document"]["id"])
    assert [await shelf.found(word) for word in ("lamp", "anchor", "compass", "rudder")] == [1, 0, 1, 1]
    assert (await shelf.send(text("rudder", replace_same_name=True)))["outcome"] == "unchanged"
    fresh = await shelf.send({**text("keel", replace_same_name=True), "name": "new.txt"})
    assert fresh["outcome"] == "created"


async def test_files_named_by_the_hashes_of_one_another_do_not_wait_in_a_circle(shelf: Shelf) -> None:
    lamp, anchor = b"All about the lamp.", b"All about the anchor."
    files = [(sha256(anchor).hexdigest(), lamp), (sha256(lamp).hexdigest(), anchor)] * 8
    answers = await asyncio.gather(
        *(shelf.client.post(shelf.path, files={"file": file}, data={"replace_same_name": "true"}) for file in files)
    )
    assert [answer.status_code for answer in answers] == [202] * len(files)
    assert len((await shelf.client.get(shelf.path)).json()["items"]) == 2


async def test_an_idempotency_key_of_another_title(shelf: Shelf) -> None:
    key = {"idempotency-key": "once"}
    await shelf.send(TEXT, **key)
    assert (await shelf.send({**TEXT, "title": "Giraffe"}, **key))["code"] == "idempotency_key_reused"


async def test_a_new_version_counts_against_the_quota(
    shelf: Shelf, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shelf.send(TEXT)
    monkeypatch.setattr(parts.settings, "tenant_max_bytes", 100)
    long = {**TEXT, "text": "The lamp shines far. " * 5}
    assert (await shelf.send(long))["code"] == "storage_quota"
    assert (await shelf.send({**long, "external_id": "other"}))["code"] == "storage_quota"
    assert (await shelf.send({**TEXT, "text": "The lamp is red, and shines far."}))["outcome"] == "replaced"
    monkeypatch.setattr(parts.settings, "tenant_max_bytes", 10)
    assert (await shelf.send({**TEXT, "text": "It is red."}))["outcome"] == "replaced", "it takes less than before"
    monkeypatch.setattr(parts.settings, "tenant_max_documents", 1)
    assert (await shelf.send({**TEXT, "external_id": "other"}))["code"] == "document_quota"


async def test_a_version_that_fails_hides_nothing_from_the_quota(
    shelf: Shelf, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version before it goes on being found, and is kept."""
    text = "The lamp shines far. " * 4
    path = f"/v1/documents/{(await shelf.send({**TEXT, 'text': text}))['document']['id']}/content"
    assert await shelf.put(path, b"%PDF-1.7") == "failed"
    monkeypatch.setattr(parts.settings, "tenant_max_bytes", 100)
    other = {**TEXT, "external_id": "other", "text": "It is red. " * 3}
    assert (await shelf.send(other))["code"] == "storage_quota"
    assert await shelf.put(path, text.replace("far", "near").encode()) == "succeeded"
    assert (await shelf.send({**other, "text": "no"}))["outcome"] == "created"


async def test_versions_that_failed_are_not_kept(shelf: Shelf, parts: Parts) -> None:
    """Else a few bytes of the quota would hold as many originals as somebody likes to send."""
    path = f"/v1/documents/{(await shelf.send(TEXT))['document']['id']}/content"
    for number in range(3):
        assert await shelf.put(path, b"%%PDF-1.%d" % number) == "failed"
    tenant_id = UUID((await shelf.client.get("/v1/tenant")).json()["id"])
    scope = TenantScope(tenant_id, new_id(), Role.OWNER)

    async def purged() -> bool:
        return len([key async for key in parts.blobs.list(scope, "originals")]) == 2

    await until(purged)
    assert (await shelf.client.get(path)).content == b"%PDF-1.2"
    assert await shelf.found("lamp") == 1
    assert (await shelf.client.get("/v1/consistency")).json()["clean"]


async def test_what_is_sent_again_while_its_ingestion_is_cancelled_is_ingested(bench: Bench) -> None:
    """The one that was told to stop stops, and would leave nothing of the file."""
    upload = await bench.upload("The lamp shines far.")
    operation = upload.operation
    assert operation is not None
    await bench.claim(operation.id)
    assert (await bench.upload("The lamp shines far.")).outcome == "unchanged"
    async with bench.parts.database.write(bench.scope) as session:
        await ingestion.cancel(session, bench.parts, operation.id)
    assert (await bench.upload("The lamp shines far.")).outcome == "replaced"
    await bench.lose_lease(operation.id)
    await bench.work()
    assert (await bench.document(upload.document.id)).status == "ready"


@pytest.mark.parametrize(
    ("limit", "code"), [("tenant_max_bytes", "storage_quota"), ("tenant_max_documents", "document_quota")]
)
async def test_two_uploads_at_once_share_the_quota(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit: str, code: str
) -> None:
    """The first has counted what is stored, and commits only once the second has been about it for a while."""
    text = "The lamp shines far."
    monkeypatch.setattr(bench.parts.settings, limit, {"tenant_max_bytes": len(text), "tenant_max_documents": 1}[limit])
    count, second = repository.usage, asyncio.get_running_loop().create_future()

    async def count_and_linger(session: WriteSession) -> tuple[int, int]:
        counted = await count(session)
        monkeypatch.setattr(repository, "usage", count)
        second.set_result(asyncio.create_task(bench.upload(text, external_id="second")))
        await asyncio.wait({second.result()}, timeout=1)
        return counted

    monkeypatch.setattr(repository, "usage", count_and_linger)
    await bench.upload(text, external_id="first")
    with pytest.raises(TooManyRequests) as refused:
        await second.result()
    assert refused.value.error_code == code
    assert [document.external_id for document in await bench.documents()] == ["first"]


async def test_a_new_version_keeps_what_is_known_of_its_document(shelf: Shelf) -> None:
    """Also of one without an external id."""
    text = "# Ferry\n\nIt leaves at nine.\n\n# Bus\n\nIt leaves at ten."
    sent = await shelf.send(
        {"text": text, "title": "", "name": "timetable.md", "format": "markdown", "tags": ["travel"]}
    )
    document_id = sent["document"]["id"]
    path = f"/v1/documents/{document_id}/content"
    changed = text.replace("ten", "eleven").encode()
    answer = await shelf.client.put(path, files={"file": ("timetable.md", changed)})
    assert answer.status_code == 202, answer.text
    told = answer.json()
    assert (told["outcome"], told["document"]["id"], told["document"]["tags"]) == ("replaced", document_id, ["travel"])
    assert (await shelf.client.get(path)).content == changed
    again = await shelf.client.put(path, files={"file": ("summer.md", changed)})
    assert (again.json()["outcome"], again.json()["document"]["name"]) == ("unchanged", "summer.md")
    assert again.json()["document"]["tags"] == ["travel"]
    empty = await shelf.client.put(path, files={"file": ("summer.md", b"")})
    assert (empty.status_code, empty.json()["code"]) == (422, "empty_file")
    as_json = await shelf.client.put(path, json={"text": "words"})
    assert (as_json.status_code, as_json.json()["code"]) == (422, "unsupported_content_type")


async def test_an_original_that_is_lost(shelf: Shelf, parts: Parts) -> None:
    document_id = (await shelf.send(TEXT))["document"]["id"]
    path = f"/v1/documents/{document_id}/content"
    assert (await shelf.client.get(path)).text == TEXT["text"]
    tenant_id = UUID((await shelf.client.get("/v1/tenant")).json()["id"])
    await parts.blobs.delete(TenantScope(tenant_id, new_id(), Role.OWNER), "originals")
    answer = await shelf.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_an_original_that_a_newer_one_replaces_while_it_is_asked_for(
    shelf: Shelf, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = (await shelf.send(TEXT))["document"]["id"]
    path, get = f"/v1/documents/{document_id}/content", parts.blobs.get
    newer = b"It shines farther."

    async def purged() -> bool:
        operations = (await shelf.client.get("/v1/operations", params={"document_id": document_id})).json()["items"]
        return [one["state"] for one in operations if one["kind"] == "purge"] == ["succeeded"]

    async def get_late(scope: TenantScope, key: str) -> AsyncIterator[bytes]:
        monkeypatch.setattr(parts.blobs, "get", get)
        assert await shelf.put(path, newer) == "succeeded"
        await until(purged)
        async for piece in get(scope, key):
            yield piece

    monkeypatch.setattr(parts.blobs, "get", get_late)
    answer = await shelf.client.get(path)
    assert (answer.status_code, answer.content) == (200, newer)
    assert answer.headers["content-length"] == str(len(newer))
