"""Similarity without languages, with the bundled model."""

import numpy as np
import pytest

from app.agent.language import Language, language_of
from app.agent.neutral import LanguageMeans, NeutralQuestion
from app.ports.parts import Parts

LEAVE = {
    Language.ENGLISH: "Every employee has 25 days of paid leave.",
    Language.CHINESE: "员工每年享有二十五天带薪年假。",
}
CLOSED = {Language.ENGLISH: "The tower is closed on Mondays.", Language.CHINESE: "灯塔每周一闭馆检修。"}


@pytest.mark.parametrize("question", ["How many days of leave do I get?", "我有多少天年假？"])
@pytest.mark.parametrize("written", list(Language))
async def test_the_answer_in_one_language_is_nearer_than_another_matter_in_the_other(
    parts: Parts, question: str, written: Language
) -> None:
    other = next(language for language in Language if language is not written)
    vector = await parts.embedder.embed_query(question)
    asked = await LanguageMeans().neutral(parts.embedder, vector, language_of(question))
    vectors = await parts.embedder.embed_passages([LEAVE[written], CLOSED[other]])
    answer, another = asked.similarities(vectors, [written, other])
    assert answer > another + 0.1


def test_the_mean_of_the_language_counts_for_nothing() -> None:
    means = {
        Language.ENGLISH: np.array([0.0, 0.0, 0.8], np.float32),
        Language.CHINESE: np.array([0.0, 0.8, 0.0], np.float32),
    }
    question = NeutralQuestion(Language.ENGLISH, np.array([1.0, 0.0, 0.0], np.float32), means)
    passages = np.array([[0.6, 0.0, 0.8], [0.6, 0.8, 0.0]], np.float32)
    assert question.similarities(passages, [Language.ENGLISH, Language.CHINESE]) == pytest.approx([1, 1])
    assert question.above_mean(0.6, Language.CHINESE) == pytest.approx(0.6)
