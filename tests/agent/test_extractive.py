from dataclasses import replace

import numpy as np

from app.agent.extractive import candidate_sentences, choose
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
    chosen = choose(candidate_sentences(question, passages))
    assert [one.text for one in chosen] == [
        "Annual leave can be carried over until March.",
        "Employees get 25 days of annual leave.",
    ]
    first = chosen[0]
    assert first.passage.text[first.start : first.end] == first.text


def test_chinese() -> None:
    passages = [passage(1, "本公司成立于1998年。员工每年享有二十五天年假。食堂免费。")]
    assert [one.text for one in choose(candidate_sentences("员工年假有多少天？", passages))] == [
        "员工每年享有二十五天年假。"
    ]


def test_a_heading_speaks_for_the_sentences_under_it() -> None:
    passages = [
        passage(1, "Bring the receipt. Within 30 days of purchase.", heading="Shipping"),
        passage(2, "Within 14 days you get your money back.", heading="Refund policy"),
    ]
    assert choose(candidate_sentences("refund policy", passages))[0].passage.number == 2


def test_a_sentence_is_not_said_twice() -> None:
    passages = [passage(1, "Leave is 25 days."), passage(2, "Leave is 25 days!")]
    assert len(choose(candidate_sentences("How long is leave?", passages))) == 1


def test_vectors_decide_where_no_term_is_shared() -> None:
    sentences = candidate_sentences("How high is it?", [passage(1, "它位于城市中心。塔高三百米。门票很贵。")])
    by_text = {"塔高三百米。": 0.85, "它位于城市中心。": 0.75, "门票很贵。": 0.74}
    vectors = np.array([[by_text[one.text]] for one in sentences], dtype=np.float32)
    chosen = choose(sentences, np.array([1.0], dtype=np.float32), vectors)
    assert [one.text for one in chosen] == ["塔高三百米。"]


def test_nothing_comes_of_nothing() -> None:
    assert choose(candidate_sentences("question", [])) == []
    assert choose(candidate_sentences("question", [passage(1, "— —")])) == []


def test_a_description_of_a_table_is_quoted_only_where_nothing_else_was_found() -> None:
    question = "航程是多少公里？"
    described = replace(
        passage(1, "Columns: 航程（公里）, number from 30 to 55.", question=question), is_verbatim=False
    )
    row = passage(2, "型号: 海鸥; 航程（公里）: 42.", question=question)
    assert {one.passage.number for one in candidate_sentences(question, [described, row])} == {2}
    assert {one.passage.number for one in candidate_sentences(question, [described])} == {1}
