"""Texts that ask questions themselves."""

from app.agent.extractive import candidate_sentences, choose_by_terms
from tests.agent.passages import passage


def test_a_question_in_the_text_is_no_answer_but_speaks_for_what_follows() -> None:
    text = (
        "How long is a charge?\n\n95 minutes.\n\nWhat does error E-17 mean?\n\nThe compass is disturbed.\n\nMove away."
    )
    chosen = choose_by_terms(candidate_sentences("What does error E-17 mean?", [passage(1, text)]))
    assert [one.text for one in chosen] == ["The compass is disturbed.", "Move away."]


def test_an_answer_is_compared_with_its_question_before_it() -> None:
    text = "How long is a charge?\n\n95 minutes. It stops by itself."
    sentences = candidate_sentences("充电多久？", [passage(1, text)])
    assert [one.embedded for one in sentences if one.text == "95 minutes."] == ["How long is a charge?\n95 minutes."]
    (only,) = candidate_sentences("下雨能飞吗？", [passage(1, "可以。", heading="可以在雨中飞行吗？")])
    assert (only.text, only.embedded) == ("可以。", "可以在雨中飞行吗？\n可以。")


def test_another_question_of_an_faq_is_no_answer() -> None:
    text = "How long is a charge?\n\n95 minutes.\n\nWhat does error E-17 mean?\n\nThe compass is disturbed."
    sentences = candidate_sentences("错误代码E-17是什么意思？", [passage(1, text)])
    assert {one.text for one in sentences} == {"95 minutes.", "The compass is disturbed."}


def test_an_answer_may_end_in_a_question() -> None:
    text = "目前生物特征、信任物体、信息秘密为身份认证技术的三种执行方式，简而言之，即为你是谁？天气很好。"
    (only,) = choose_by_terms(candidate_sentences("身份认证技术有哪三种执行方式？", [passage(1, text)]))
    assert only.text.startswith("目前生物特征")


def test_questions_are_cited_where_there_is_nothing_else() -> None:
    (only,) = choose_by_terms(
        candidate_sentences("What is asked of the Tern?", [passage(1, "Does the Tern fly in rain?")])
    )
    assert only.text == "Does the Tern fly in rain?"
