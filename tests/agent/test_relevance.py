"""The grades at the chosen thresholds, and the order of passages; the choosing is told in `app.agent.relevance`."""

from app.agent.language import Language, language_of
from app.agent.relevance import Relevance, in_reading_order, relevance_of
from tests.agent.passages import passage

QUESTION = "How many days of annual leave?"


def grade(text: str, neutral: float | None, *, question: str = QUESTION) -> Relevance:
    return relevance_of(question, [passage(1, text, question=question, neutral=neutral)])


def test_near_is_strong_and_far_is_nothing() -> None:
    assert grade("Annual leave is 25 days.", 0.2) is Relevance.STRONG
    assert grade("Sick leave is paid.", 0.1) is Relevance.WEAK
    assert grade("The train departs at nine.", 0.02) is Relevance.NONE


def test_another_language_may_be_further_away() -> None:
    assert grade("每年有二十五天年假。", 0.1) is Relevance.STRONG
    assert grade("病假另算。", 0.06) is Relevance.WEAK
    assert grade("火车九点出发。", 0.02) is Relevance.NONE


def test_without_vectors_terms_decide() -> None:
    assert grade("Annual leave is 25 days.", None) is Relevance.STRONG
    assert grade("The train departs at nine.", None) is Relevance.NONE


def test_nothing_found_is_nothing() -> None:
    assert relevance_of(QUESTION, []) is Relevance.NONE
    assert grade("anything", 0.9, question="???") is Relevance.NONE


def test_passages_of_another_language_come_where_they_belong() -> None:
    """Retrieval puts the question's own language first, whatever the texts are about."""
    found = [
        passage(1, "The train departs at nine.", neutral=0.03),
        passage(2, "Sick leave is unlimited.", neutral=0.11),
        passage(3, "火车九点出发。", neutral=-0.02),
        passage(4, "每年有二十五天年假。", neutral=0.15),
    ]
    assert [one.number for one in in_reading_order(QUESTION, found)] == [4, 1, 2, 3]


def test_one_language_keeps_the_order_of_retrieval() -> None:
    found = [passage(number, "Leave.", neutral=neutral) for number, neutral in ((1, 0.1), (2, 0.3), (3, None))]
    assert in_reading_order(QUESTION, found) == found


def test_without_vectors_the_order_stays() -> None:
    found = [passage(1, "The train."), passage(2, "年假。")]
    assert in_reading_order(QUESTION, found) == found


def test_a_reranker_has_the_last_word_on_what_it_has_read() -> None:
    found = [
        passage(1, "The train departs at nine.", neutral=0.03, is_reranked=True),
        passage(2, "每年有二十五天年假。", neutral=0.15, is_reranked=True),
        passage(3, "Sick leave is unlimited.", neutral=0.11),
        passage(4, "火车九点出发。", neutral=-0.02),
    ]
    assert [one.number for one in in_reading_order(QUESTION, found)] == [1, 2, 3, 4]


def test_languages() -> None:
    assert language_of("ZC-2024 的密码是什么？") is Language.CHINESE
    assert language_of("What does 密码 mean in this handbook?") is Language.ENGLISH
    assert language_of("パスワードは何ですか") is Language.ENGLISH
