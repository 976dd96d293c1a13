from app.agent.citations import citations_of
from app.agent.rendering import ShownChunk, place, render_answer, render_citation
from tests.agent.passages import passage

LEAVE = "The office opens at nine. Employees get 25 days of annual leave. Lunch is free."


def test_a_citation_quotes_the_sentence_that_supports_the_claim() -> None:
    passages = {1: passage(1, LEAVE), 2: passage(2, "Sick leave is unlimited.")}
    found = citations_of("You get 25 days of annual leave [1].", passages)
    assert [(one["number"], LEAVE[one["start"] : one["end"]]) for one in found] == [
        (1, "Employees get 25 days of annual leave.")
    ]
    assert found[0]["chunk_id"] == str(passages[1].chunk_id)


def test_numbers_without_a_passage_are_no_citations() -> None:
    assert citations_of("So it is [3], `x[1]`.", {1: passage(1, LEAVE)}) == []


def test_what_is_stored_holds_no_text_of_the_document() -> None:
    found = citations_of("Lunch [1].", {1: passage(1, LEAVE)})
    assert "free" not in str(found)


def test_an_answer_is_shown_with_its_quotes() -> None:
    one = passage(1, LEAVE)
    references = citations_of("Lunch is free [1]", {1: one})
    citations = [render_citation(references[0], one.shown)]
    assert citations[0].quote == "Lunch is free."
    assert render_answer(f"Here:\n\n{place(0)} [1]", references, citations, set()) == "Here:\n\nLunch is free. [1]"


def test_words_and_quotes_of_a_deleted_document_are_withheld() -> None:
    passages = {1: passage(1, "The code is ZEBRA."), 2: passage(2, "The door is blue.")}
    content = "The code is ZEBRA [1]. The door is blue [2]. Remember ZEBRA."
    references = citations_of(content, passages)
    chunks: list[ShownChunk | None] = [None, passages[2].shown]
    citations = [render_citation(found, chunk) for found, chunk in zip(references, chunks, strict=True)]
    shown = render_answer(content, references, citations, {passages[1].document_id})
    assert shown == "(removed) [1]. The door is blue [2] (removed)"
    assert citations[0].removed
    assert citations[0].quote is None
    assert citations[0].document_name is None


def test_a_replaced_document_keeps_the_answer_and_loses_the_quote() -> None:
    one = passage(1, "密码是斑马。")
    references = citations_of("密码是斑马[1]。", {1: one})
    citations = [render_citation(references[0], None, "密码.md")]
    assert render_answer("密码是斑马[1]。", references, citations, set()) == "密码是斑马[1]。"
    assert render_answer(f"原文：{place(0)}[1]", references, citations, set()) == "原文：（内容已删除）[1]"
    assert citations[0].document_name == "密码.md"
