"""The grades at the measured values; the measuring itself is told in `app.agent.relevance`."""

import pytest

from app.agent.language import Language, language_of
from app.agent.nodes.retrieve import searched_for
from app.agent.relevance import Relevance, relevance_of
from tests.agent.passages import passage

BACKGROUND = {Language.ENGLISH: 0.72, Language.CHINESE: 0.70}
QUESTION = "How many days of annual leave?"


def grade(text: str, dense: float | None, *, question: str = QUESTION, background: bool = True) -> Relevance:
    passages = [passage(1, text, question=question, dense=dense)]
    return relevance_of(question, passages, BACKGROUND if background else None)


def test_near_and_sharing_terms_is_strong() -> None:
    assert grade("Annual leave is 25 days.", 0.86) is Relevance.STRONG


def test_as_near_as_unrelated_texts_are_is_nothing() -> None:
    assert grade("The train departs at nine.", 0.76) is Relevance.NONE


def test_another_language_needs_no_shared_terms() -> None:
    assert grade("每年有二十五天年假。", 0.78) is Relevance.STRONG
    assert grade("火车九点出发。", 0.72) is Relevance.NONE


def test_without_vectors_terms_decide() -> None:
    assert grade("Annual leave is 25 days.", None) is Relevance.STRONG
    assert grade("Annual leave is 25 days.", 0.9, background=False) is Relevance.STRONG
    assert grade("The train departs at nine.", None) is Relevance.NONE


def test_nothing_found_is_nothing() -> None:
    assert relevance_of(QUESTION, [], BACKGROUND) is Relevance.NONE
    assert grade("anything", 0.9, question="???") is Relevance.NONE


@pytest.mark.parametrize("question", ["and why?", "为什么呢？", "那是什么？"])
def test_a_question_that_names_nothing_is_searched_with_the_one_before(question: str) -> None:
    assert searched_for(question, "How long is leave?") == f"How long is leave?\n{question}"
    assert searched_for(question, None) == question


def test_a_question_that_names_something_stands_alone() -> None:
    assert searched_for("And sick leave?", "How long is annual leave?") == "And sick leave?"


def test_languages() -> None:
    assert language_of("ZC-2024 的密码是什么？") is Language.CHINESE
    assert language_of("What does 密码 mean in this handbook?") is Language.ENGLISH
    assert language_of("パスワードは何ですか") is Language.ENGLISH
