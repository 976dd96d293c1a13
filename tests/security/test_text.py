"""NUL characters and halves of surrogate pairs, in every field that takes text: refused in a sentence, never a 500."""

from typing import Any

import httpx
import pytest

from tests.conftest import Person
from tests.security.conftest import Shelf

UNSTORABLE = {"nul": r"\u0000", "half of a pair": r"\ud800"}
BODIES = [
    ("POST", "/v1/auth/register", '{"email": "x@@@example.com", "password": "correct horse", "tenant": "t"}'),
    ("POST", "/v1/auth/register", '{"email": "x@example.com", "password": "correct horse @@", "tenant": "t"}'),
    ("POST", "/v1/auth/register", '{"email": "x@example.com", "password": "correct horse", "tenant": "t@@"}'),
    ("POST", "/v1/auth/register", '{"email": "x@example.com", "password": "correct horse", "tenant": "t", "@@": 1}'),
    ("POST", "/v1/auth/login", '{"email": "x@example.com", "password": "correct horse @@"}'),
    ("POST", "/v1/auth/refresh", '{"refresh_token": "@@"}'),
    ("POST", "/v1/auth/logout", '{"refresh_token": "@@"}'),
    ("POST", "/v1/auth/password", '{"current_password": "@@", "new_password": "correct horse"}'),
    ("POST", "/v1/auth/password", '{"current_password": "correct horse", "new_password": "correct horse @@"}'),
    ("POST", "/v1/invitations", '{"email": "x@@@example.com", "role": "viewer"}'),
    ("POST", "/v1/invitations", '{"email": "x@example.com", "role": "@@"}'),
    ("POST", "/v1/invitations/accept", '{"token": "@@", "password": "correct horse"}'),
    ("PATCH", "/v1/tenant", '{"name": "t@@"}'),
    ("POST", "/v1/knowledge-bases", '{"name": "k@@"}'),
    ("POST", "/v1/knowledge-bases", '{"name": "k", "description": "@@"}'),
    ("POST", "/v1/knowledge-bases", '{"name": "k", "settings": {"@@": 1}}'),
    (
        "POST",
        "/v1/knowledge-bases",
        '{"name": "k", "settings": {"chunking": {"strategy": "recursive", "recursive": {"separators": ["@@"]}}}}',
    ),
    ("POST", "/v1/knowledge-bases/{kb}/documents", '{"text": "t", "title": "@@"}'),
    ("POST", "/v1/knowledge-bases/{kb}/documents", '{"text": "t", "title": "t", "external_id": "@@"}'),
    ("POST", "/v1/knowledge-bases/{kb}/documents", '{"text": "t", "title": "t", "tags": ["@@"]}'),
    ("POST", "/v1/knowledge-bases/{kb}/documents", '{"text": "t", "title": "t", "metadata": {"@@": 1}}'),
    ("POST", "/v1/knowledge-bases/{kb}/documents", '{"text": "t", "title": "t", "metadata": {"a": "@@"}}'),
    ("PATCH", "/v1/documents/{document}", '{"name": "@@"}'),
    ("PATCH", "/v1/documents/{document}", '{"tags": ["@@"]}'),
    ("PATCH", "/v1/documents/{document}", '{"metadata": {"@@": 1}}'),
    ("PATCH", "/v1/documents/{document}", '{"metadata": {"@@": []}}'),
    ("PATCH", "/v1/documents/{document}", '{"metadata": {"a": "@@"}}'),
    ("POST", "/v1/retrieve", '{"query": "@@"}'),
    ("POST", "/v1/retrieve", '{"query": "q", "mode": "@@"}'),
    ("POST", "/v1/retrieve", '{"query": "q", "filter": {"tags_any": ["@@"]}}'),
    ("POST", "/v1/retrieve", '{"query": "q", "filter": {"external_ids": ["@@"]}}'),
    ("POST", "/v1/retrieve", '{"query": "q", "filter": {"metadata": {"@@": 1}}}'),
    ("POST", "/v1/retrieve", '{"query": "q", "filter": {"metadata": {"a": ["@@"]}}}'),
    ("POST", "/v1/ask", '{"question": "@@"}'),
    ("POST", "/v1/ask", '{"question": "q", "model": "@@"}'),
    ("POST", "/v1/sessions", '{"title": "@@"}'),
    ("PATCH", "/v1/sessions/{session}", '{"title": "@@"}'),
    ("POST", "/v1/sessions/{session}/messages", '{"question": "@@"}'),
    ("POST", "/v1/sessions/{session}/messages", '{"question": "q", "model": "@@"}'),
]


def path_of(template: str, shelf: Shelf) -> str:
    return template.format(kb=shelf.knowledge_base_id, document=shelf.document_id, session=shelf.session_id)


@pytest.mark.parametrize("escape", UNSTORABLE.values(), ids=UNSTORABLE)
@pytest.mark.parametrize(("method", "path", "body"), BODIES, ids=[f"{one[1]} {one[2][:60]}" for one in BODIES])
async def test_a_body(shelf: Shelf, method: str, path: str, body: str, escape: str) -> None:
    for content in (body.replace("@@", escape).encode(), _raw(body, escape)):
        answer = await shelf.person.client.request(
            method, path_of(path, shelf), content=content, headers={"content-type": "application/json"}
        )
        assert answer.status_code in (400, 422), answer.text
        assert answer.json()["code"]


def _raw(body: str, escape: str) -> bytes:
    """The sign itself, which JSON allows of neither; Python's parser takes half of a pair."""
    sign: str = escape.encode().decode("unicode_escape")
    return body.replace("@@", sign).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("parameter", ["name", "tag", "external_id", "cursor", "limit", "status"])
async def test_a_query(shelf: Shelf, parameter: str) -> None:
    path = f"/v1/knowledge-bases/{shelf.knowledge_base_id}/documents?{parameter}=%00"
    assert (await shelf.person.client.get(path)).status_code == 422


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", rb'{"a": "\ud800"}'),
        ("metadata", rb'{"\ud800": 1}'),
        ("metadata", b'{"a": ' + b"[" * 100_000),
        ("metadata", b'{"a": 1e400}'),
        ("tags", rb'["\ud800"]'),
        ("tags", '["\u3000"]'.encode()),
        ("tags", b"[" * 100_000),
        ("external_id", b"\x00"),
        ("name", b"\x00"),
    ],
)
async def test_a_field_of_a_form(shelf: Shelf, field: str, value: bytes) -> None:
    answer = await upload(shelf.person, shelf, {field: value})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation_failed")


@pytest.mark.parametrize("charset", ["undefined", "punycode", "idna", "unicode_escape", "utf-7", "utf-16", "nonsense"])
async def test_an_encoding_that_a_form_may_not_have(shelf: Shelf, charset: str) -> None:
    answer = await upload(shelf.person, shelf, {"external_id": rb"\ud800"}, charset=charset)
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_charset")


async def test_a_form_that_names_its_encoding(shelf: Shelf) -> None:
    answer = await upload(shelf.person, shelf, {"external_id": "编号".encode()}, charset="UTF-8")
    assert answer.json()["document"]["external_id"] == "编号"


@pytest.mark.parametrize("after", [2**31, 2**63, 10**40, "9" * 5000])
async def test_a_cursor_beyond_all_numbers(shelf: Shelf, after: Any) -> None:
    path = f"/v1/documents/{shelf.document_id}/chunks?cursor={after}"
    assert (await shelf.person.client.get(path)).status_code == 422


async def upload(
    person: Person, shelf: Shelf, fields: dict[str, bytes], *, charset: str | None = None
) -> httpx.Response:
    parts = [(f'name="{name}"', value) for name, value in fields.items()]
    parts.append(('name="file"; filename="a.txt"', b"Some words."))
    body = b"".join(
        b"--X\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + value + b"\r\n"
        for head, value in parts
    )
    content_type = "multipart/form-data; boundary=X" + (f"; charset={charset}" if charset else "")
    return await person.client.post(
        f"/v1/knowledge-bases/{shelf.knowledge_base_id}/documents",
        content=body + b"--X--\r\n",
        headers={"content-type": content_type},
    )
