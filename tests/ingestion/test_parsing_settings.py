"""How a knowledge base wants its files read reaches the parser."""

from tests.conftest import Person
from tests.ingestion.test_passwords import sent
from tests.parsing.drawing import pdf, scanned, texts

SCAN = pdf(scanned(texts((60, 100, "Only a picture of words"), size=16)))


async def test_a_knowledge_base_says_how_pages_are_read(owner: Person) -> None:
    body = {"name": "text layers only", "settings": {"parsing": {"pdf": "fast"}}}
    made = (await owner.client.post("/v1/knowledge-bases", json=body)).json()
    assert made["settings"]["parsing"] == {"pdf": "fast", "html_content": "everything"}
    path = f"/v1/knowledge-bases/{made['id']}"
    _, document = await sent(owner, f"{path}/documents", SCAN)
    assert (document["status"], document["error"]["code"]) == ("failed", "no_text_layer")
    await owner.client.patch(path, json={"settings": {"parsing": {"pdf": "ocr"}}})
    outcome, document = await sent(owner, f"{path}/documents", SCAN)
    assert (outcome, document["status"], document["error"]) == ("replaced", "ready", None)
    assert document["parser"].startswith("pymupdf")
    assert (document["page_modes"], document["warnings"]) == ({"ocr": 1}, [])
    assert 0.6 < document["confidence"] <= 1
    chunks = (await owner.client.get(f"/v1/documents/{document['id']}/chunks")).json()["items"]
    assert "Only a picture of words" in chunks[0]["text"]


async def test_an_unknown_way_is_refused(owner: Person) -> None:
    body = {"name": "unknown ways", "settings": {"parsing": {"pdf": "magic"}}}
    assert (await owner.client.post("/v1/knowledge-bases", json=body)).status_code == 422
