"""What should not be uploaded is refused with a sentence that helps, and leaves nothing behind."""

import io
import struct
import zipfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pymupdf
import pytest

from app.demo.load import FILES as DEMO
from tests.e2e.people import Person, as_problem, readable
from tests.e2e.shapes import MAX_UPLOAD_BYTES, Service

AES_256 = 5  # PDF_ENCRYPT_AES_256
HANDBOOK = (DEMO / "employee-handbook.docx").read_bytes()
GUIDE = (DEMO / "月光灯塔参观指南.pdf").read_bytes()


@pytest.fixture(scope="module")
def kb_id(owner: Person) -> str:
    return owner.knowledge_base()


@pytest.fixture
def documents(kb_id: str) -> str:
    return f"/v1/knowledge-bases/{kb_id}/documents"


@pytest.fixture(autouse=True)
def _nothing_is_left(service: Service, owner: Person, kb_id: str) -> Iterator[None]:
    """After each test: the files and rows that were there before, and no others."""
    before = traces(service, owner, kb_id)
    yield
    assert traces(service, owner, kb_id) == before


def traces(service: Service, owner: Person, kb_id: str) -> dict[str, Any]:
    found = owner.ok("GET", f"/v1/knowledge-bases/{kb_id}")
    report = owner.clean()
    return {
        "documents": owner.ok("GET", f"/v1/knowledge-bases/{kb_id}/documents")["items"],
        "counts": (found["document_count"], found["ready_count"], found["chunk_count"]),
        "stores": (report["vectors"], report["terms"]),
        "blobs": service.files(),
        "scratch": sorted(str(path) for path in (service.data / "scratch").iterdir()),
    }


def password_protected() -> bytes:
    with pymupdf.open(stream=GUIDE, filetype="pdf") as document:
        protected: bytes = document.tobytes(encryption=AES_256, user_pw="secret")
    return protected


def zip_bomb() -> bytes:
    """A Word file whose directory says that its text unpacks to four gigabytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", bytes(1024**2))
    content = bytearray(buffer.getvalue())
    struct.pack_into("<I", content, content.rindex(b"PK\x01\x02") + 24, 0xFFFF_FF00)  # APPNOTE.TXT, 4.3.12
    return bytes(content)


def png() -> bytes:
    picture = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 64, 64), False)
    picture.clear_with(255)
    pixels: bytes = picture.tobytes("png")
    return pixels


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("empty.pdf", b"", "empty_file"),
        ("program.txt", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 20, "unsupported_type"),
        ("archive.docx", b"PK\x03\x04" + bytes(200), "damaged"),
    ],
)
def test_a_file_that_nothing_can_read_is_refused_at_once(
    owner: Person, documents: str, name: str, content: bytes, code: str
) -> None:
    owner.problem(422, code, "POST", documents, files={"file": (name, content)})


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("protected.pdf", password_protected(), "encrypted"),
        ("cut-off.pdf", GUIDE[: len(GUIDE) // 2], "damaged"),
        ("cut-off.docx", HANDBOOK[: len(HANDBOOK) // 2], "damaged"),
        ("bomb.docx", zip_bomb(), "too_complex"),
        ("blank.txt", b" \n\t\n ", "empty_file"),
        ("picture.png", png(), "no_text"),
        ("picture.pdf", png(), "no_text"),
    ],
)
def test_a_file_that_turns_out_bad_is_refused_or_fails_with_a_reason(
    owner: Person, documents: str, name: str, content: bytes, code: str
) -> None:
    """Some of it shows only when the parser reads it: then the document says why. Deleted, nothing of it is left."""
    answer = owner.http.post(documents, files={"file": (name, content)})
    if answer.is_error:
        as_problem(answer, 422, code)
        return
    sent = answer.json()
    operation = owner.finished(sent)
    assert (operation["state"], operation["error"]["code"]) == ("failed", code)
    assert operation["attempts"] == 1, "what can't succeed is not tried again"
    document = owner.ok("GET", f"/v1/documents/{sent['document']['id']}")
    assert (document["status"], document["chunk_count"]) == ("failed", 0)
    assert document["error"] == operation["error"]
    readable(document["error"]["detail"])
    report = owner.clean()
    assert report["vectors"]["orphaned"] == report["terms"]["orphaned"] == 0
    owner.forget(sent)


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("pdf/pdfplumber__empty.pdf", "empty_file"),
        ("pdf/pypdf__r6-user-password.pdf", "encrypted"),
        ("docx/tika__testWORD_protected_passtika.docx", "encrypted"),
        ("docx/poi__truncated62886.docx", "damaged"),
        ("xlsx/poi__poc-xmlbomb.xlsx", "too_complex"),
    ],
)
def test_real_bad_files(owner: Person, documents: str, shared_files: Path, file: str, code: str) -> None:
    path = shared_files / file
    test_a_file_that_turns_out_bad_is_refused_or_fails_with_a_reason(
        owner, documents, path.name, path.read_bytes(), code
    )


def test_content_decides_and_not_the_extension(owner: Person, documents: str) -> None:
    sent = owner.ok("POST", documents, files={"file": ("handbook.pdf", HANDBOOK, "application/pdf")})
    document = owner.ready(sent)
    assert document["media_type"].endswith("wordprocessingml.document")
    owner.forget(sent)


def too_much(size: int) -> Iterator[bytes]:
    yield b'--cut\r\ncontent-disposition: form-data; name="file"; filename="large.txt"\r\n\r\n'
    for _ in range(0, size, 65536):
        yield b"x" * 65536


MULTIPART = {"content-type": "multipart/form-data; boundary=cut"}


def test_two_gigabytes_are_refused_by_their_declared_length(service: Service, owner: Person, documents: str) -> None:
    """Before any of it is sent."""
    with closing(HTTPConnection(service.host, timeout=30)) as connection:
        connection.putrequest("POST", documents)
        headers = {
            **MULTIPART,
            "content-length": str(2 * 1024**3),
            "authorization": owner.http.headers["authorization"],
        }
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        problem = as_problem(
            httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read()), 413, "too_large"
        )
    assert problem["max_bytes"] >= MAX_UPLOAD_BYTES


@pytest.mark.parametrize("path", ["documents", "/v1/retrieve"])
def test_too_much_without_a_length_is_refused_while_it_arrives(owner: Person, documents: str, path: str) -> None:
    """Also where it is no upload. The limit is counted, and nothing is kept of what had come."""
    upload = path == "documents"
    headers = MULTIPART if upload else {"content-type": "application/json"}
    answer = owner.http.post(documents if upload else path, headers=headers, content=too_much(64 * 1024**2))
    as_problem(answer, 413, "too_large")
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
def test_a_file_just_too_large_is_refused(owner: Person, documents: str, declared: bool) -> None:
    form = {"file": ("large.txt", b"x" * (MAX_UPLOAD_BYTES + 1))}
    request = owner.http.build_request("POST", documents, files=form)
    body = request.read()
    content = body if declared else iter([body])
    headers = {"content-type": request.headers["content-type"]}
    problem = as_problem(owner.http.post(documents, headers=headers, content=content), 413, "too_large")
    assert "large.txt" in problem["detail"]


@pytest.mark.parametrize("name", ["../../etc/passwd.txt", "..\\..\\boot.txt", "..", "a/b.txt", "a\nb.txt", "x" * 256])
def test_a_name_that_is_a_path_is_refused(owner: Person, documents: str, name: str) -> None:
    owner.problem(422, "validation_failed", "POST", documents, files={"file": ("ok.txt", b"text")}, data={"name": name})


def test_a_title_that_is_a_path_becomes_a_name(owner: Person, documents: str) -> None:
    sent = owner.ok("POST", documents, json={"title": "../../etc/passwd", "text": "Some words."})
    assert not {"/", "\\"} & set(sent["document"]["name"])
    owner.ready(sent)
    owner.forget(sent)


def test_a_file_name_that_is_a_path_is_refused(owner: Person, documents: str) -> None:
    owner.problem(422, "validation_failed", "POST", documents, files={"file": ("../../../etc/passwd.txt", b"text")})


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": "{not json"},
        {"metadata": "[1]"},
        {"metadata": '{"nested": {"a": 1}}'},
        {"metadata": '{"nothing": null}'},
        {"metadata": '{"infinite": 1e999}'},
        {"metadata": '{"nan": NaN}'},
        {"metadata": '{"nul": "\\u0000"}'},
        {"metadata": '{"half": "\\ud800"}'},
        {"metadata": '{"large": "' + "x" * 20_000 + '"}'},
        {"tags": '"no list"'},
        {"tags": '["", "x"]'},
        {"tags": '["\\ud800"]'},
        {"external_id": ""},
        {"external_id": "x\0y"},
        {"surprise": "?"},
    ],
    ids=str,
)
def test_bad_facts_are_refused(owner: Person, documents: str, fields: dict[str, str]) -> None:
    owner.problem(422, "validation_failed", "POST", documents, files={"file": ("a.txt", b"text")}, data=fields)


PART = b'--cut\r\ncontent-disposition: form-data; name="%s"\r\n\r\nwords\r\n'
FILE = PART % b'file"; filename="a.txt'
END = b"--cut--\r\n"
FORM, JSON = MULTIPART["content-type"], "application/json"


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        ("multipart/form-data", b"words", "malformed_form"),
        (FORM, b"nothing of the kind", "malformed_form"),
        (FORM, FILE, "file_missing"),
        (FORM, FILE + FILE + END, "malformed_form"),
        (FORM, END, "file_missing"),
        (FORM, PART % b"name" + END, "file_missing"),
        (FORM, PART % b"file" + END, "file_missing"),
        (JSON, b"{", "validation_failed"),
        (JSON, b"\xff\xfe", "validation_failed"),
        (JSON, b'{"title": "a", "text": " "}', "validation_failed"),
        ("text/plain", b"words", "unsupported_content_type"),
    ],
)
def test_a_malformed_request_is_refused(
    owner: Person, documents: str, content_type: str, body: bytes, code: str
) -> None:
    owner.problem(422, code, "POST", documents, content=body, headers={"content-type": content_type})


def test_an_unknown_or_foreign_knowledge_base_is_not_found(owner: Person, stranger: Person) -> None:
    for kb_id in (str(uuid4()), stranger.knowledge_base()):
        files = {"file": ("a.txt", b"text")}
        path = f"/v1/knowledge-bases/{kb_id}/documents"
        owner.problem(404, "knowledge_base_not_found", "POST", path, files=files)
        assert owner.http.get(path).status_code == 404
    owner.problem(422, "validation_failed", "POST", "/v1/knowledge-bases/7/documents", files=files)


def test_a_reused_idempotency_key_is_refused(owner: Person, documents: str) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    sent = owner.ok("POST", documents, json={"title": "one", "text": "The first text."}, headers=key)
    body = {"title": "one", "text": "Another text."}
    owner.problem(409, "idempotency_key_reused", "POST", documents, json=body, headers=key)
    owner.ready(sent)
    owner.forget(sent)


def test_an_address_that_is_not_there(owner: Person) -> None:
    owner.problem(404, "route_not_found", "GET", "/v1/nothing")
    owner.problem(405, "method_not_allowed", "PUT", "/v1/knowledge-bases")


def test_a_caller_that_leaves_in_the_middle_leaves_nothing(owner: Person, documents: str) -> None:
    def half() -> Iterator[bytes]:
        yield from too_much(4 * 1024**2)
        raise ConnectionAbortedError

    with pytest.raises((ConnectionAbortedError, httpx.HTTPError)):
        owner.http.post(documents, headers=MULTIPART, content=half())
