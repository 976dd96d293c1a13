"""Texts that ask questions themselves, and passages in another language than the question."""

import numpy as np

from app.agent.extractive import candidate_sentences, choose
from tests.agent.passages import passage


def test_a_question_in_the_text_is_no_answer_but_speaks_for_what_follows() -> None:
    text = (
        "How long is a charge?\n\n95 minutes.\n\nWhat does error E-17 mean?\n\nThe compass is disturbed.\n\nMove away."
    )
    chosen = choose(candidate_sentences("What does error E-17 mean?", [passage(1, text)]))
    assert [one.text for one in chosen] == ["The compass is disturbed.", "Move away."]


def test_an_answer_may_end_in_a_question() -> None:
    text = "目前生物特征、信任物体、信息秘密为身份认证技术的三种执行方式，简而言之，即为你是谁？天气很好。"
    (only,) = choose(candidate_sentences("身份认证技术有哪三种执行方式？", [passage(1, text)]))
    assert only.text.startswith("目前生物特征")


def test_questions_are_cited_where_there_is_nothing_else() -> None:
    (only,) = choose(candidate_sentences("What is asked of the Tern?", [passage(1, "Does the Tern fly in rain?")]))
    assert only.text == "Does the Tern fly in rain?"


def test_the_language_of_a_sentence_does_not_decide() -> None:
    """All cosines of Chinese sentences with a Chinese question are higher than any of an English one."""
    cosines = {"Leave is 28 days.": 0.85, "Trains are preferred.": 0.75, "周一闭馆。": 0.88, "灯塔很高。": 0.87}
    passages = [passage(1, "Leave is 28 days. Trains are preferred."), passage(2, "周一闭馆。灯塔很高。")]
    sentences = candidate_sentences("年假有多少天？", passages)
    vectors = np.array([[cosines[one.text]] for one in sentences], dtype=np.float32)
    chosen = choose(sentences, np.array([1.0], dtype=np.float32), vectors)
    assert [one.text for one in chosen] == ["Leave is 28 days."]
