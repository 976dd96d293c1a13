import pytest

from tests.agent.quality.asking import Asked, Quote
from tests.agent.quality.cases import Case, own
from tests.agent.quality.scores import is_right, scores, table

CASE = Case("How long is leave?", "en-en", 0, "28 days", frozenset({"handbook"}))
NOTHING = Case("Who is the king?", "en-en", 1)
RIGHT, WRONG = Quote("handbook", "It is 28\ndays."), Quote("handbook", "It is paid.")


def test_a_quote_is_right_in_the_right_document_with_the_right_words() -> None:
    assert is_right(CASE, RIGHT)
    assert not is_right(CASE, WRONG)
    assert not is_right(CASE, Quote("other", "28 days"))


def test_shares() -> None:
    asked = [
        Asked(CASE, [RIGHT, WRONG]),
        Asked(CASE, [WRONG]),
        Asked(CASE, []),
        Asked(NOTHING, []),
        Asked(NOTHING, [WRONG]),
    ]
    found = scores(asked)
    assert (found.answerable, found.unanswerable) == (3, 2)
    assert found.answered == pytest.approx(1 / 3)
    assert found.answered_wrong == pytest.approx(1 / 3)
    assert found.precision == pytest.approx(1 / 3)
    assert found.declined == pytest.approx(1 / 2)
    assert "en-en" in table([("own", one) for one in asked])


def test_our_own_questions_name_documents_that_are_there() -> None:
    base = own()
    assert {name for case in base.cases for name in case.among} <= {path.name for path in base.files}
    assert {case.pair for case in base.cases if case.answerable} >= {"zh-zh", "en-en", "zh-en", "en-zh"}
