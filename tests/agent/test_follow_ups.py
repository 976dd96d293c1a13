import pytest

from app.agent.nodes.retrieve import searched_for

BEFORE = "How long is annual leave?"


@pytest.mark.parametrize(
    "question",
    [
        "and why?",
        "为什么呢？",
        "那是什么？",
        "And on Sundays?",
        "What about children?",
        "How about the second one?",
        "Why not vinegar?",
        "那周末呢？",
        "学生呢？",
    ],
)
def test_a_question_that_goes_on_is_searched_with_the_one_before(question: str) -> None:
    assert searched_for(question, BEFORE) == f"{BEFORE}\n{question}"
    assert searched_for(question, None) == question


@pytest.mark.parametrize(
    "question",
    [
        "Who was the first emperor of Rome?",
        "And how many days of sick leave do employees in the Bergen office get?",
        "Android phones: which are supported?",
        "火星上有水吗？",
        "那么公司在卑尔根的工程师一共有多少人呢？",
        "What about the fee for tours of 青屿 today?",
    ],
)
def test_a_question_that_names_its_subject_stands_alone(question: str) -> None:
    assert searched_for(question, BEFORE) == question
