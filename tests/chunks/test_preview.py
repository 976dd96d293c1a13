"""`chunks:preview`: what ingestion would make of a file, and nothing stored."""

import json
from typing import Any
from uuid import UUID

import httpx
import pytest

from app.chunks.preview import MOST_BYTES, MOST_SHOWN
from app.core.scope import Role, TenantScope
from app.ports.parts import Parts
from tests.chunks.shelf import FAMILIES, Shelf
from tests.conftest import Member, Register

TEXT = "# 合同\n\n第一条，双方同意。\n\n# Ferry\n\n" + "The ferry leaves at nine. " * 40
SMALL = {"min_tokens": 0}


@pytest.fixture
async def shelf(register: Register) -> Shelf:
    return await Shelf.of(await register(), SMALL)


async def preview(shelf: Shelf, content: bytes, name: str = "note.md", **fields: str) -> httpx.Response:
    path = f"/v1/knowledge-bases/{shelf.kb_id}/chunks:preview"
    return await shelf.person.client.post(path, files={"file": (name, content)}, data=fields)


async def previewed(shelf: Shelf, content: str, **fields: str) -> dict[str, Any]:
    answer = await preview(shelf, content.encode(), **fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_it_tells_what_ingestion_makes(shelf: Shelf, parts: Parts) -> None:
    told = await previewed(shelf, TEXT)
    assert told["elements"] == {"heading": 2, "paragraph": 2}
    assert told["element_count"] == 4
    assert (told["title"], told["truncated"], told["parent_count"]) == ("合同", False, 0)
    assert told["token_count"] == sum(one["token_count"] for one in told["chunks"])
    assert told["chunks"][0]["embedded_text"] == "合同\n第一条，双方同意。"
    scope = TenantScope(UUID(shelf.person.tenant_id), UUID(shelf.person.user_id), Role.OWNER)
    assert [key async for key in parts.blobs.list(scope)] == []
    assert (await shelf.get(shelf.documents))["items"] == []
    assert (await shelf.get("/v1/operations"))["items"] == []

    document_id = await shelf.upload("note.md", TEXT.encode())
    kept = ("ordinal", "kind", "text", "heading_path", "section", "page", "start_offset", "end_offset", "token_count")
    made = [{name: one[name] for name in kept} for one in await shelf.chunks(document_id)]
    assert [{name: one[name] for name in kept} for one in told["chunks"]] == made


@pytest.mark.parametrize(
    ("settings", "levels"),
    [
        ({"strategy": "recursive", "target_tokens": 64, "min_tokens": 0, "overlap_tokens": 8}, {0}),
        ({"strategy": "semantic", "semantic": {"amount": 50}}, {0}),
        ({"strategy": "parent_child", "parent_child": FAMILIES}, {0, 1}),
    ],
)
async def test_other_settings_can_be_tried(shelf: Shelf, settings: dict[str, Any], levels: set[int]) -> None:
    told = await previewed(shelf, TEXT, settings=json.dumps(settings))
    assert told["settings"]["strategy"] == settings["strategy"]
    assert {one["level"] for one in told["chunks"]} == levels
    parents = [one for one in told["chunks"] if one["level"]]
    assert told["parent_count"] == len(parents)
    assert all(one["embedded_text"] is None for one in parents)


async def test_a_long_answer_is_cut(shelf: Shelf) -> None:
    told = await previewed(shelf, "".join(f"# {number}\n\nText {number}.\n\n" for number in range(MOST_SHOWN + 20)))
    assert (told["chunk_count"], len(told["chunks"]), told["truncated"]) == (MOST_SHOWN + 20, MOST_SHOWN, True)


@pytest.mark.parametrize(
    ("content", "name", "fields", "status", "code"),
    [
        (b"", "note.md", {}, 422, "empty_file"),
        (b"<html><body><p> </p></body></html>", "note.html", {}, 422, "no_text"),
        (b"\x7fELF" + b"\0" * 99, "note.bin", {}, 422, "unsupported_type"),
        (b"Text.", "note.md", {"settings": '{"strategy": "magic"}'}, 422, "validation_failed"),
        (b"Text.", "note.md", {"settings": "[" * 99_999}, 422, "validation_failed"),
        (b"Text.", "note.md", {"settings": '{"recursive": {"size": 1}}'}, 422, "validation_failed"),
        (b"Text.", "note.md", {"metadata": "{}"}, 422, "validation_failed"),
        (b"a" * (MOST_BYTES + 1), "note.txt", {}, 413, "too_large"),
    ],
)
async def test_what_can_not_be_previewed(
    shelf: Shelf, content: bytes, name: str, fields: dict[str, str], status: int, code: str
) -> None:
    answer = await preview(shelf, content, name, **fields)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_it_takes_a_form(shelf: Shelf) -> None:
    path = f"/v1/knowledge-bases/{shelf.kb_id}/chunks:preview"
    answer = await shelf.person.client.post(path, json={"text": "Text."})
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_content_type")
    answer = await shelf.person.client.post(path, files={"other": ("note.md", b"Text.")})
    assert (answer.status_code, answer.json()["code"]) == (422, "file_missing")


async def test_a_viewer_may_not(shelf: Shelf, member: Member) -> None:
    viewer = Shelf(await member("viewer", by=shelf.person), shelf.kb_id)
    assert (await preview(viewer, b"Text.")).status_code == 403
