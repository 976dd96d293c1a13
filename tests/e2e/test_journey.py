"""What a newcomer does first, in both shapes: upload documents, wait until they are ready, ask, chat."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.demo.load import FILES as DEMO
from tests.e2e.people import Event, Person

pytestmark = pytest.mark.timeout(900)  # real files take a minute, and a busy machine longer


@dataclass(frozen=True)
class Asked:
    """A question, and where a reader finds the answer: the file, its page, some words of the passage."""

    question: str
    file: str
    words: str
    page: int | None = None


@dataclass(frozen=True)
class Shelf:
    """A knowledge base and its documents by file name."""

    kb_id: str
    documents: dict[str, dict[str, Any]]


def shelf_of(person: Person, files: list[Path]) -> Shelf:
    kb_id = person.knowledge_base()
    sent = {file.name: person.upload(kb_id, file) for file in files}
    return Shelf(kb_id, {name: person.ready(upload, seconds=800) for name, upload in sent.items()})


PAPER = "unstructured__layout-parser-paper-with-empty-pages.pdf"
SECURITY = "BCEmbedding__Comp_zh_0.pdf"
CONTRACT = "MinerU__docx_01.docx"
ISSUES = "Langchain-Chatchat__langchain-ChatGLM_closed.xlsx"
PROMPTS = "derived__chatchat_test_gbk.txt"
REAL = (f"pdf/{PAPER}", f"pdf/{SECURITY}", f"docx/{CONTRACT}", f"xlsx/{ISSUES}", f"txt/{PROMPTS}")

# Pages were looked up in the files by eye; sheets of workbooks count as pages.
# Pages 2 and 3 of the paper are empty: what follows them is on page 4.
ABOUT_REAL = [
    Asked("Which open-source library is for streamlining the usage of DL in DIA research?", PAPER, "LayoutParser", 1),
    Asked("Why are deep learning models notoriously convoluted for reuse and extension?", PAPER, "convoluted", 4),
    Asked("LayoutParser 提供哪些功能？", PAPER, "unified toolkit", 4),
    Asked("身份认证技术有哪三种执行方式？", SECURITY, "生物特征", 2),
    Asked("为什么要对杀毒软件进行定期更新？", SECURITY, "定期更新", 3),
    Asked("What are the dangers of hacker attacks and viruses to computer networks?", SECURITY, "病毒", 2),
    Asked("本合同一式几份？", CONTRACT, "一式四份"),
    Asked("How many calories does a portion of leaves have?", CONTRACT, "Calories"),
    Asked("运行 ChatGLM-6B 需要多大的 GPU 显存？", ISSUES, "13GB", 1),
    Asked("How much GPU memory does ChatGLM-6B need?", ISSUES, "13GB", 1),
    Asked("什么是种子词提示？", PROMPTS, "种子词"),
    Asked("What is the seed word technique?", PROMPTS, "Seed-word"),
]
ABOUT_DEMO = [
    Asked("How many days of paid leave do employees get after three years?", "employee-handbook.docx", "28 days"),
    Asked("员工工作满三年后有多少天带薪年假？", "employee-handbook.docx", "28 days"),
    Asked("月光灯塔的灯光可以照到多远？", "月光灯塔参观指南.pdf", "22海里", 1),
    Asked("How much is a student's ticket for the lighthouse?", "月光灯塔参观指南.pdf", "30", 2),
    Asked("ZC-2024-001 的航程是多少公里？", "products.xlsx", "42", 1),
    Asked("Which product has the code ZC-2024-007?", "products.xlsx", "Gull charging dock", 1),
    Asked("无人机可以在雨中飞行吗？", "tern-drone-faq.md", "小雨"),
    Asked("What does error E-17 mean?", "tern-drone-faq.md", "calibrate"),
    Asked("哪一天大雾，渡轮停航？", "青屿岛值班日志.txt", "三月九日"),
    Asked("What happened to buoy ZC-2025-003?", "青屿岛值班日志.txt", "二号浮标"),
]


@pytest.fixture(scope="module")
def real(owner: Person, shared_files: Path) -> Shelf:
    return shelf_of(owner, [shared_files / file for file in REAL])


@pytest.fixture(scope="module")
def demo(owner: Person) -> Shelf:
    return shelf_of(owner, sorted(DEMO.iterdir()))


@pytest.mark.parametrize("asked", ABOUT_DEMO, ids=lambda asked: asked.question)
def test_demo_is_answered_from_the_right_document(owner: Person, demo: Shelf, asked: Asked) -> None:
    assert_cites(owner.ask(asked.question, demo.kb_id), asked, demo)


@pytest.mark.parametrize("asked", ABOUT_REAL, ids=lambda asked: asked.question)
def test_real_files_are_answered_from_the_right_page(owner: Person, real: Shelf, asked: Asked) -> None:
    assert_cites(owner.ask(asked.question, real.kb_id), asked, real)


def assert_cites(answer: dict[str, Any], asked: Asked, shelf: Shelf) -> None:
    """A citation of the right document and page holds the words; markers name citations."""
    citations = answer["citations"]
    found = [
        (one["document_name"], one["document_id"], one["page"]) for one in citations if asked.words in one["quote"]
    ]
    assert (asked.file, shelf.documents[asked.file]["id"], asked.page) in found, answer
    assert all(f"[{one['number']}]" in answer["answer"] for one in citations)
    assert answer["notice"] == "no_model"


def test_documents_tell_what_they_are(demo: Shelf) -> None:
    kinds = {name: (document["media_type"], document["page_count"]) for name, document in demo.documents.items()}
    assert kinds == {
        "employee-handbook.docx": (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            None,
        ),
        "products.xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", 2),
        "tern-drone-faq.md": ("text/markdown", None),
        "月光灯塔参观指南.pdf": ("application/pdf", 2),
        "青屿岛值班日志.txt": ("text/plain", None),
    }


@pytest.mark.parametrize("asked", [ABOUT_DEMO[0], ABOUT_DEMO[2]], ids=["english", "chinese"])
def test_session_streams_what_it_stores(owner: Person, demo: Shelf, asked: Asked) -> None:
    session = owner.ok("POST", "/v1/sessions", json={"knowledge_base_ids": [demo.kb_id]})
    path = f"/v1/sessions/{session['id']}/messages"
    events = owner.events("POST", path, {"question": asked.question})
    assert_in_order(events)
    told = {kind: [event.data for event in events if event.type == kind] for kind in {event.type for event in events}}
    stored = owner.ok("GET", path)["items"]
    assert [message["role"] for message in stored] == ["user", "assistant"]
    question, answer = stored
    assert question["content"] == asked.question
    assert answer["content"] == "".join(delta["text"] for delta in told["delta"])
    assert answer["id"] == told["done"][0]["id"]
    assert answer["status"] == told["done"][0]["status"] == "complete"
    numbers = {citation["number"]: citation["chunk_id"] for citation in answer["citations"]}
    assert numbers == {told_one["number"]: told_one["chunk_id"] for told_one in told["citation"]}
    assert_cites({**answer, "answer": answer["content"]}, asked, demo)


def assert_in_order(events: list[Event]) -> None:
    """Ids count from 1; steps come before words, words before the citations, and one `done` is the last."""
    assert [event.id for event in events] == [str(number) for number in range(1, len(events) + 1)]
    kinds = [event.type for event in events]
    assert kinds[0] == "step"
    assert kinds.index("step") < kinds.index("delta") < kinds.index("citation")
    assert kinds.index("done") == len(kinds) - 1
    assert "usage" not in kinds, "no model was used"
