from dataclasses import replace

import numpy as np

from app.agent.extractive import candidate_sentences, choose, choose_by_terms
from app.agent.language import language_of
from tests.agent.passages import passage


def test_the_sentences_that_share_the_question_s_terms_are_chosen_in_reading_order() -> None:
    question = "How many days of annual leave do employees get, and can it be carried over?"
    passages = [
        passage(
            1,
            "The office opens at nine. Annual leave can be carried over until March. Lunch is free. "
            "Employees get 25 days of annual leave.",
        ),
        passage(2, "The canteen serves lunch. Parking costs five euros."),
    ]
    chosen = choose_by_terms(candidate_sentences(question, passages))
    assert [one.text for one in chosen] == [
        "Annual leave can be carried over until March.",
        "Employees get 25 days of annual leave.",
    ]
    first = chosen[0]
    assert first.passage.text[first.start : first.end] == first.text


def test_chinese() -> None:
    passages = [passage(1, "本公司成立于1998年。员工每年享有二十五天年假。食堂免费。")]
    assert [one.text for one in choose_by_terms(candidate_sentences("员工年假有多少天？", passages))] == [
        "员工每年享有二十五天年假。"
    ]


def test_a_heading_speaks_for_the_sentences_under_it() -> None:
    passages = [
        passage(1, "Bring the receipt. Within 30 days of purchase.", heading="Shipping"),
        passage(2, "Within 14 days you get your money back.", heading="Refund policy"),
    ]
    assert choose_by_terms(candidate_sentences("refund policy", passages))[0].passage.number == 2


def test_a_sentence_is_not_said_twice() -> None:
    passages = [passage(1, "Leave is 25 days."), passage(2, "Leave is 25 days!")]
    assert len(choose_by_terms(candidate_sentences("How long is leave?", passages))) == 1


def chosen_by_vectors(question: str, text: str, likenesses: dict[str, float]) -> list[str]:
    sentences = candidate_sentences(question, [passage(1, text)])
    asked_in = language_of(question)
    return [one.text for one in choose(sentences, asked_in, np.array([likenesses[one.text] for one in sentences]))]


def test_vectors_decide_where_no_term_is_shared() -> None:
    likenesses = {"塔高三百米。": 0.45, "它位于城市中心。": 0.25, "门票很贵。": 0.2}
    assert chosen_by_vectors("How high is it?", "它位于城市中心。塔高三百米。门票很贵。", likenesses) == [
        "塔高三百米。"
    ]


def test_what_is_far_from_the_question_is_no_answer() -> None:
    assert chosen_by_vectors("How high is it?", "它位于城市中心。", {"它位于城市中心。": 0.25}) == []
    assert chosen_by_vectors("How high is it?", "Lunch is free.", {"Lunch is free.": 0.35}) == []


def test_a_sentence_in_the_question_s_language_has_to_be_nearer() -> None:
    """What is far for an English sentence is near for a Chinese one."""
    likenesses = {"Leave is long.": 0.35, "年假二十天。": 0.35}
    assert chosen_by_vectors("How many vacation days?", "Leave is long. 年假二十天。", likenesses) == ["年假二十天。"]


def test_every_passage_has_a_share_of_the_candidates() -> None:
    """One with many sentences that share a term leaves room for another that shares none."""
    long = " ".join(f"The price of leave number {number} is low." for number in range(40))
    sentences = candidate_sentences("What is the price of leave?", [passage(1, long), passage(2, "年假。二十天。")])
    assert len(sentences) == 24
    assert {"年假。", "二十天。"} <= {one.text for one in sentences}


def test_nothing_comes_of_nothing() -> None:
    assert choose_by_terms(candidate_sentences("question", [])) == []
    assert choose_by_terms(candidate_sentences("question", [passage(1, "— —")])) == []


def test_a_description_of_a_table_is_quoted_only_where_nothing_else_was_found() -> None:
    question = "航程是多少公里？"
    described = replace(
        passage(1, "Columns: 航程（公里）, number from 30 to 55.", question=question), is_verbatim=False
    )
    row = passage(2, "型号: 海鸥; 航程（公里）: 42.", question=question)
    assert {one.passage.number for one in candidate_sentences(question, [described, row])} == {2}
    assert {one.passage.number for one in candidate_sentences(question, [described])} == {1}
