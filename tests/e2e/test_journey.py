"""What a newcomer does first, in both shapes: upload real files, ask about them, replace, delete."""

from pathlib import Path

import pytest

from tests.e2e.people import Person
from tests.e2e.shapes import SHARED

DEMO = Path(__file__).parents[2] / "app" / "demo" / "files"


@pytest.fixture(scope="module")
def shared_files() -> Path:
    folder = SHARED / "files"
    if not folder.exists():
        pytest.skip("the folder shared/files with real documents is not beside the repository")
    return folder


@pytest.mark.parametrize(
    ("file", "question", "phrase", "page"),
    [
        ("pdf/KG-RAG-datasets__2023_Q3_AAPL.pdf", "What is the maximum remaining term of hedged foreign currency transactions?", "19 years", None),
        ("pdf/BCEmbedding__Comp_zh_0.pdf", "计算机网络会受到哪些黑客和病毒攻击？", "黑客", None),
        ("docx/MinerU__docx_01.docx", "", "", None),
        ("xlsx/Langchain-Chatchat__langchain-ChatGLM_closed.xlsx", "", "", 1),
        ("txt/derived__chatchat_test_gbk.txt", "", "", None),
    ],
)  # fmt: skip
def test_real_files_become_ready_and_are_cited(
    owner: Person, shared_files: Path, file: str, question: str, phrase: str, page: int | None
) -> None:
    kb_id = owner.knowledge_base()
    document = owner.ready(owner.upload(kb_id, shared_files / file))
    assert document["chunk_count"] > 0
    chunks = owner.ok("GET", f"/v1/documents/{document['id']}/chunks")["items"]
    question = question or chunks[len(chunks) // 2]["text"][:60]
    answer = owner.ask(question, kb_id)
    assert answer["citations"], answer
    assert {citation["document_id"] for citation in answer["citations"]} == {document["id"]}
    if file.startswith("pdf/"):
        assert all(citation["page"] for citation in answer["citations"])
    assert phrase in answer["answer"] or any(phrase in hit["text"] for hit in owner.retrieve(question, kb_id)["hits"])
