"""What can be done with one document."""

from pathlib import Path

import openpyxl
import pytest
from sqlalchemy import text

from app.ports.parts import Parts
from tests.cli.conftest import Terminal
from tests.conftest import Person
from tests.parsing.drawing import pdf, scanned, texts


@pytest.fixture
async def documents(logged_in: Terminal, knowledge_base: str, tmp_path: Path) -> str:
    """A knowledge base with two texts of one name, and another text."""
    for name, content in (("a/twin.txt", "One."), ("b/twin.txt", "Two."), ("[only].txt", "The only lamp.")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
        assert (await logged_in.run("upload", str(tmp_path / name), "--kb", knowledge_base)).code == 0
    return knowledge_base


async def test_deletes_the_one_that_is_named(logged_in: Terminal, documents: str) -> None:
    to = ("--kb", documents)
    for name, code in (("only", "document_not_found"), ("twin.txt", "ambiguous_name")):
        said = await logged_in.run("document", "delete", name, *to, "--yes")
        assert (said.code, said.error.partition(":")[0]) == (1, code)
    one, other = said.error.partition("Give the id: ")[2].rstrip(".").split(", ")
    assert "Deleted “twin.txt”." in (await logged_in.run("document", "delete", one, *to, "--yes")).out
    assert "Deleted “[only].txt”." in (await logged_in.run("document", "delete", "[only].txt", *to, "--yes")).out
    left = (await logged_in.run("status", *to)).out
    assert ("twin.txt" in left, "[only].txt" in left) == (True, False)
    assert other in (await logged_in.run("document", "show", "twin.txt", *to)).out


async def test_warnings_are_told_at_once_and_whenever_they_are_asked_for(
    logged_in: Terminal, knowledge_base: str, tmp_path: Path
) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("Plan").append(["Plan", "Harbour"])
    hidden = book.create_sheet("Secret")
    hidden.append(["Depth", 12])
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "plan.xlsx")
    (tmp_path / "scan.pdf").write_bytes(pdf(scanned(texts((60, 100, "Only a picture of words"), size=16))))
    uploaded = await logged_in.run(
        "upload", str(tmp_path / "plan.xlsx"), str(tmp_path / "scan.pdf"), "--kb", knowledge_base
    )
    assert uploaded.code == 0, uploaded
    listed = await logged_in.run("status", "--kb", knowledge_base)
    shown = await logged_in.run("document", "show", "plan.xlsx", "--kb", knowledge_base)
    for said in (uploaded, listed, shown):
        assert "Sheet “Secret” is hidden; it was read as well." in said.out, said
    scan = (await logged_in.run("document", "show", "scan.pdf", "--kb", knowledge_base)).out
    assert "1 (1 by ocr)" in scan
    assert "confidence of OCR" in scan


async def test_a_cancelled_document_is_not_called_failed(
    logged_in: Terminal, documents: str, parts: Parts, owner: Person
) -> None:
    """Reprocessed, it is there again."""
    named = ("[only].txt", "--kb", documents)
    listed = (await owner.client.get("/v1/knowledge-bases", params={"limit": 200})).json()["items"]
    kb_id = next(item["id"] for item in listed if item["name"] == documents)
    [found] = (await owner.client.get(f"/v1/knowledge-bases/{kb_id}/documents", params={"name": "only"})).json()[
        "items"
    ]
    waits = "update operations set state = 'queued', due_at = now() + interval '1 hour' where document_id = :id"
    async with parts.database.system() as session:
        await session.execute(text(waits), {"id": found["id"]})
    said = await logged_in.run("document", "cancel", *named)
    assert (said.code, "Cancelled “[only].txt”." in said.out) == (0, True), said
    for command in (("status", *named[1:]), ("document", "show", *named)):
        told = (await logged_in.run(*command)).out
        assert ("cancelled" in told, "failed" in told) == (True, False), told
    assert (await logged_in.run("document", "cancel", *named)).error.startswith("operation_finished")
    again = await logged_in.run("document", "reprocess", *named)
    assert "“[only].txt”: New version: 1 of 1 chunks reused." in again.out, again
    assert "cancelled" not in (await logged_in.run("status", *named[1:])).out
