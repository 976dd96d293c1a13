"""Similarity of a question and a text whatever languages they are in.

Multilingual models keep the language in a vector as well as the meaning: texts of one language lie around a mean of
their own, so that any Chinese sentence comes before the English one that answers a Chinese question (Roy et al.,
"LAReQA", 2020, https://arxiv.org/abs/2004.05484). Without the mean of its language a vector holds little but what is
said (Libovický, Rosa and Fraser, "On the language neutrality of pre-trained multilingual representations", 2020,
https://arxiv.org/abs/2004.05160). Questions have means of their own, as e5 embeds them in another way:

    s(q, p) = cos(q - mean of questions in q's language, p - mean of passages in p's language)

The means are of sentences that say the same in both languages, so that nothing but the language differs. More than
eight of them change nothing. Over documents of two languages the passage that answers is among the first four for
95 to 100 % of our questions in another language (`tests/agent/quality`); by the plain cosine for 15 to 27 %.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.agent.language import Language
from app.ports.embedder import Embedder
from app.ports.vector_index import Vectors

_STATEMENTS = {
    Language.ENGLISH: (
        "The train to the coast leaves at nine and takes about two hours.",
        "Sales grew by twelve percent last year, mostly in foreign markets.",
        "Beat the eggs, add a pinch of salt and fry them until golden.",
        "Employees must report accidents to the safety officer within a day.",
        "Restart the computer after the installation and check the network.",
        "She was born in a small town and later became a famous painter.",
        "The law came into force on the first of January.",
        "The river is four hundred kilometres long and flows into the lake.",
    ),
    Language.CHINESE: (
        "开往海边的火车九点出发，大约需要两个小时。",
        "去年销售额增长了百分之十二，主要来自海外市场。",
        "把鸡蛋打散，加少许盐，煎至两面金黄。",
        "员工须在一天之内向安全员报告事故。",
        "安装完成后请重新启动计算机并检查网络。",
        "她出生在一个小镇，后来成为著名的画家。",
        "该法自一月一日起施行。",
        "这条河长四百公里，流入湖中。",
    ),
}
_QUESTIONS = {
    Language.ENGLISH: (
        "When does the train to the coast leave?",
        "How much did sales grow last year?",
        "How do I fry eggs?",
        "Who has to be told about an accident?",
        "What should be done after the installation?",
        "Where was the painter born?",
        "Since when has the law been in force?",
        "How long is the river?",
    ),
    Language.CHINESE: (
        "去海边的火车几点开？",
        "去年的销售额增长了多少？",
        "鸡蛋怎么煎？",
        "发生事故要向谁报告？",
        "安装完成后要做什么？",
        "这位画家出生在哪里？",
        "这部法律是什么时候生效的？",
        "这条河有多长？",
    ),
}


@dataclass(frozen=True, slots=True)
class NeutralQuestion:
    """A question's vector without its language, and what it takes to compare texts with it."""

    language: Language
    vector: Vectors
    """Shape (dimensions,), length 1."""
    passage_means: Mapping[Language, Vectors]

    def similarities(self, passages: Vectors, languages: Sequence[Language]) -> Vectors:
        """s of each row of `passages`, shape (n, dimensions): shape (n,), in [-1, 1]."""
        neutral = passages - np.stack([self.passage_means[language] for language in languages])
        lengths = np.maximum(np.linalg.norm(neutral, axis=1), 1e-9)
        found: Vectors = (neutral @ self.vector) / lengths
        return found

    def above_mean(self, cosine: float, language: Language) -> float:
        """s without the passage's length, where no more is known than the index's cosine of `vector` with it."""
        return cosine - float(self.passage_means[language] @ self.vector)


class LanguageMeans:
    """The means, made once for a process and an embedding model: 32 short texts, about 500 tokens."""

    def __init__(self) -> None:
        self._making: dict[str, asyncio.Task[_Means]] = {}

    async def neutral(self, embedder: Embedder, vector: Vectors, language: Language) -> NeutralQuestion:
        """Of a question whose vector `embedder` made: shape (dimensions,), length 1.

        Raises `EngineUnavailable` and `EngineRejected` where the means can't be made, which the next question tries
        again.
        """
        making = self._making.get(embedder.space.name)
        if making is None or (making.done() and (making.cancelled() or making.exception())):
            making = self._making[embedder.space.name] = asyncio.create_task(_embed(embedder))
        # Shielded: whoever waits may give up, the means are still there for the next question.
        means = await asyncio.shield(making)
        neutral = vector - means.questions[language]
        return NeutralQuestion(language, neutral / max(float(np.linalg.norm(neutral)), 1e-9), means.passages)


@dataclass(frozen=True, slots=True)
class _Means:
    questions: Mapping[Language, Vectors]
    passages: Mapping[Language, Vectors]


async def _embed(embedder: Embedder) -> _Means:
    questions: dict[Language, Vectors] = {}
    passages: dict[Language, Vectors] = {}
    for language in Language:
        asked = [await embedder.embed_query(text) for text in _QUESTIONS[language]]
        questions[language] = np.mean(asked, axis=0)
        passages[language] = np.mean(await embedder.embed_passages(_STATEMENTS[language]), axis=0)
    return _Means(questions, passages)
