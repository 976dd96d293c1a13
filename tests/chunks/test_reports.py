"""What a knowledge base tells of itself: where its content comes from, and under which headings it stands."""

import hashlib
from typing import Any

import pytest

from app.knowledge_bases import service
from tests.chunks.shelf import Shelf
from tests.conftest import Register

TEXT = "Before.\n\n# Lamp\n\n" + "The lamp shines far. " * 60 + "\n\n## Oil\n\n" + "Oil is filled in at dusk. " * 60
CHUNKING = {"strategy": "structure", "min_tokens": 0}


async def test_provenance_follows_the_active_version(register: Register) -> None:
    shelf = await Shelf.of(await register(), CHUNKING)
    await shelf.upload("old.csv", b'a,b\n1,"2\n3,4\n')
    document_id = await shelf.add(TEXT, external_id="x")
    await shelf.ingest(TEXT + " More.", external_id="x")
    chunks = (await shelf.get(f"/v1/documents/{document_id}/chunks"))["items"]
    await shelf.person.client.patch(f"/v1/chunks/{chunks[0]['id']}", json={"enabled": False})
    edited = await shelf.person.client.patch(f"/v1/chunks/{chunks[1]['id']}", json={"text": "Mine."})
    await shelf.done(edited.json()["operation"]["id"])
    table, text = (await shelf.get(f"/v1/knowledge-bases/{shelf.kb_id}/provenance"))["items"]
    assert (table["file_name"], table["media_type"], table["generation"]) == ("old.csv", "text/csv", 1)
    assert table["sha256"] == hashlib.sha256(b'a,b\n1,"2\n3,4\n').hexdigest()
    assert (table["reading"]["parser"], len(table["reading"]["warnings"])) == ("delimited 1", 1)
    assert (text["document_id"], text["external_id"], text["generation"]) == (document_id, "x", 2)
    assert (text["chunks"], text["disabled_chunks"], text["edited_chunks"]) == (len(chunks), 1, 1)
    assert text["created_by"]
    assert text["uploaded_at"] <= text["activated_at"]


async def test_the_tree_counts_chunks_under_their_headings(register: Register) -> None:
    shelf = await Shelf.of(await register(), CHUNKING)
    ids = [await shelf.add(TEXT, external_id=str(number)) for number in range(2)]
    path = f"/v1/knowledge-bases/{shelf.kb_id}/tree"
    first = await shelf.get(path, limit=1)
    second = await shelf.get(path, limit=1, cursor=first["next_cursor"])
    assert [page["items"][0]["document_id"] for page in (first, second)] == ids
    assert second["next_cursor"] is None
    (document,) = first["items"]
    chunks = (await shelf.get(f"/v1/documents/{ids[0]}/chunks"))["items"]
    paths = [tuple(chunk["heading_path"]) for chunk in chunks]
    (lamp,) = document["headings"]
    (oil,) = lamp["children"]
    assert (lamp["title"], oil["title"], oil["children"], document["truncated"]) == ("Lamp", "Oil", [], False)
    assert [document["chunks"], lamp["chunks"], oil["chunks"]] == [
        paths.count(()), paths.count(("Lamp",)), paths.count(("Lamp", "Oil")),
    ]  # fmt: skip
    assert min(document["chunks"], lamp["chunks"], oil["chunks"]) >= 1


async def test_a_tree_of_many_headings_has_few_documents_a_page(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = await Shelf.of(await register(), CHUNKING)
    text = "# One\n\nText.\n\n# Two\n\nText.\n\n# Three\n\nText."
    ids = [await shelf.add(text, external_id=str(number)) for number in range(5)]
    path = f"/v1/knowledge-bases/{shelf.kb_id}/tree"
    whole = await shelf.get(path)
    assert ([one["document_id"] for one in whole["items"]], whole["next_cursor"]) == (ids, None)
    monkeypatch.setattr(service, "MOST_PATHS", 6)
    pages: list[list[dict[str, Any]]] = []
    query: dict[str, str] = {}
    while not pages or query:
        page = await shelf.get(path, **query)
        pages.append(page["items"])
        query = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
    assert [len(items) for items in pages] == [2, 2, 1]
    assert [document for items in pages for document in items] == whole["items"]
