"""Uploading, and what is told of documents."""

import threading
from pathlib import Path

import httpx
import pymupdf
import pytest
from sqlalchemy import text

from app.cli.client import Api
from app.cli.credentials import save_tokens
from app.cli.documents import _Upload, _upload_all
from app.ports.parts import Parts
from tests.cli.conftest import Terminal
from tests.conftest import Person


async def test_tells_what_was_there_already(logged_in: Terminal, knowledge_base: str, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "[one].txt").write_text("The first paper.")
    (folder / ".hidden").write_text("Not this.")
    first = await logged_in.run("upload", str(folder), "--kb", knowledge_base)
    assert (first.code, "1 ready, 0 failed." in first.out) == (0, True), first
    (folder / "二.txt").write_text("第二篇文章。")
    (folder / "three.bin").write_bytes(b"\x7fELF" + bytes(range(256)) * 9)
    second = await logged_in.run("upload", str(folder), "--kb", knowledge_base)
    assert second.code == 1
    assert "1 ready, 1 there already, 1 failed." in second.out
    assert "three.bin: This type of file is not supported" in second.out
    told = await logged_in.run("status", "--kb", knowledge_base)
    assert all(name in told.out for name in ("[one].txt", "二.txt", "ready"))


async def test_an_edited_file_is_a_new_version_where_it_shall_be(
    logged_in: Terminal, knowledge_base: str, tmp_path: Path
) -> None:
    """Else both are searched, which is told; a name that means two is refused before anything is sent."""
    file, to = tmp_path / "policy.txt", ("--kb", knowledge_base)
    file.write_text("Employees of Zorbax have 25 days of leave.")
    await logged_in.run("upload", str(file), *to)
    file.write_text("Employees of Zorbax have 30 days of leave.")
    said = await logged_in.run("upload", str(file), *to, "--replace")
    assert (said.code, "New version: 0 of 1 chunks reused." in said.out) == (0, True), said
    found = await logged_in.run("search", "leave of Zorbax", *to)
    assert ("30 days" in found.out, "25 days" in found.out) == (True, False)
    again = await logged_in.run("upload", str(file), *to, "--replace")
    assert "0 ready, 1 there already, 0 failed." in again.out

    file.write_text("Employees of Zorbax have 35 days of leave.")
    beside = await logged_in.run("upload", str(file), *to)
    assert "Another document of this name is there" in beside.out
    assert "2 documents have this name." in (await logged_in.run("upload", str(file), *to, "--replace")).out
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "policy.txt").write_text("Another policy.")
    refused = await logged_in.run("upload", str(tmp_path), *to, "--replace")
    assert (refused.code, refused.error.startswith("ambiguous_names: 2 of the files")) == (1, True), refused


async def test_it_tells_which_changed_chunks_a_new_version_keeps(
    logged_in: Terminal, knowledge_base: str, tmp_path: Path, owner: Person
) -> None:
    file, sections = tmp_path / "rules.md", [f"# Rule {n}\n\n" + f"Rule {n} binds all. " * 90 for n in range(3)]
    file.write_text("\n\n".join(sections))
    await logged_in.run("upload", str(file), "--kb", knowledge_base)
    kbs = (await owner.client.get("/v1/knowledge-bases", params={"limit": 200})).json()["items"]
    (kb_id,) = [kb["id"] for kb in kbs if kb["name"] == knowledge_base]
    (document,) = (await owner.client.get(f"/v1/knowledge-bases/{kb_id}/documents")).json()["items"]
    chunks = (await owner.client.get(f"/v1/documents/{document['id']}/chunks")).json()["items"]
    for chunk in (chunks[0], chunks[-1]):
        await owner.client.patch(f"/v1/chunks/{chunk['id']}", json={"enabled": False})
    file.write_text("\n\n".join([*sections[:2], "# Rule 2\n\nRepealed."]))
    said = await logged_in.run("upload", str(file), "--kb", knowledge_base, "--replace")
    assert "1 that people had changed are changed as before." in said.out
    assert "The text of 1 others is gone: `lost_edits` of /v1/operations/" in said.out


async def test_a_folder_without_files_is_an_error(logged_in: Terminal, knowledge_base: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    said = await logged_in.run("upload", str(tmp_path / "empty"), "--kb", knowledge_base)
    assert said.code == 1
    assert said.error.startswith("nothing_to_upload: There is no file in")


@pytest.mark.parametrize(("given", "code"), [([], 1), (["--password", "wrong"], 1), (["--password", "开门 1"], 0)])
async def test_a_password_opens_what_is_protected(
    logged_in: Terminal, knowledge_base: str, tmp_path: Path, given: list[str], code: int
) -> None:
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), "A secret page.")
        method = pymupdf.PDF_ENCRYPT_AES_256  # type: ignore[attr-defined]  # a constant without a type
        document.save(tmp_path / "secret.pdf", encryption=method, owner_pw="owner", user_pw="开门 1")
    (tmp_path / "plain.txt").write_text("No password needed.")
    files = [str(tmp_path / name) for name in ("secret.pdf", "plain.txt")]
    said = await logged_in.run("upload", *files, "--kb", knowledge_base, *given)
    assert said.code == code, said
    assert f"{2 - code} ready, {code} failed." in said.out


def test_files_are_counted_as_they_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    save_tokens("http://test", {"access_token": "a", "refresh_token": "r"})
    files = [tmp_path / name for name in ("slow.txt", "quick.txt")]
    for file in files:
        file.write_text(file.name)
    quick_is_known = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        if b"slow.txt" in request.read():
            quick_is_known.wait(10)
        if request.method == "GET":
            return httpx.Response(200, json={"items": [], "next_cursor": None})
        return httpx.Response(202, json={"operation": None, "outcome": "created"})

    api = Api("http://test", transport=httpx.MockTransport(answer))
    order = []
    for outcome in _upload_all(_Upload(api, "kb"), files, 2):
        order.append(outcome.path.name)
        quick_is_known.set()
    api.close()
    assert order == ["quick.txt", "slow.txt"]


async def test_status_tells_the_stage_of_what_runs(
    logged_in: Terminal, knowledge_base: str, tmp_path: Path, parts: Parts, owner: Person
) -> None:
    (tmp_path / "long.txt").write_text("A long story.")
    assert (await logged_in.run("upload", str(tmp_path / "long.txt"), "--kb", knowledge_base)).code == 0
    listed = (await owner.client.get("/v1/knowledge-bases", params={"limit": 200})).json()["items"]
    kb_id = next(item["id"] for item in listed if item["name"] == knowledge_base)
    change = text("update operations set state = :state, stage = 'embed', percent = 40 where knowledge_base_id = :id")
    lease = text("update operations set due_at = now() + interval '1 hour' where knowledge_base_id = :id")
    async with parts.database.system() as session:
        await session.execute(lease, {"id": kb_id})
        await session.execute(change, {"id": kb_id, "state": "running"})
    told = await logged_in.run("status", "--kb", knowledge_base)
    async with parts.database.system() as session:  # nobody would ever end it
        await session.execute(change, {"id": kb_id, "state": "succeeded"})
    assert "embed, 40 %" in told.out


async def test_without_documents_says_so(logged_in: Terminal, knowledge_base: str) -> None:
    for command in (["status"], ["ask", "How high is the lighthouse?"]):
        said = await logged_in.run(*command, "--kb", knowledge_base)
        assert said.code == 0, said
        assert f"“{knowledge_base}” holds no documents yet. `biggraph upload PATH --kb '{knowledge_base}'`" in said.out


async def test_a_long_name_is_told_whole(logged_in: Terminal, knowledge_base: str, tmp_path: Path) -> None:
    """It is wider than the terminal."""
    name = f"{'0123456789' * 24}.txt"
    (tmp_path / name).write_text("A long name.")
    await logged_in.run("upload", str(tmp_path / name), "--kb", knowledge_base)
    told = (await logged_in.run("status", "--kb", knowledge_base)).out
    assert ("01234567" in told, "…" in told) == (True, False), told
