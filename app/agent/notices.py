"""The few sentences that the platform says in its own words, in the language of the question."""

from enum import StrEnum

from app.agent.language import Language


class Notice(StrEnum):
    NO_MODEL = "no_model"
    MODELS_FAILED = "models_failed"
    NOT_FOUND = "not_found"
    UNCITED = "uncited"
    """A model answered and named no source: nothing in the answer is proven."""
    CUT_SHORT = "cut_short"
    """The model broke off in the middle of the answer."""


_ENGLISH = {
    Notice.NO_MODEL: "No language model is configured, so here are the sentences of your documents that fit best:",
    Notice.MODELS_FAILED: "No language model could answer, so here are the sentences of your documents that fit best:",
    Notice.NOT_FOUND: "I could not find an answer to this in your documents.",
}
_CHINESE = {
    Notice.NO_MODEL: "未配置语言模型，以下是文档中最相关的原文：",
    Notice.MODELS_FAILED: "语言模型暂时无法使用，以下是文档中最相关的原文：",
    Notice.NOT_FOUND: "在您的文档中没有找到这个问题的答案。",
}
_NO_MODEL_BESIDE_NOT_FOUND = {
    Language.ENGLISH: " (No language model is configured.)",
    Language.CHINESE: "（未配置语言模型。）",
}


def sentence(notice: Notice, language: Language) -> str:
    return (_CHINESE if language is Language.CHINESE else _ENGLISH)[notice]


def not_found_sentence(language: Language, *, model_configured: bool) -> str:
    text = sentence(Notice.NOT_FOUND, language)
    return text if model_configured else text + _NO_MODEL_BESIDE_NOT_FOUND[language]
