from typing import SupportsIndex

import pytest

from app.chunking.chunk import ChunkKind
from app.chunking.pieces import Piece, joined
from app.chunking.sentences import sentence_ends
from app.chunking.settings import ChunkingSettings
from app.chunking.splitting import CODE_LEVELS, fits, split
from app.parsing.document import Element, ElementKind
from tests.chunking.documents import WordsAndIdeographs, document, drafts

TOKENS = WordsAndIdeographs()


def parts(text: str) -> list[str]:
    ends = [*sentence_ends(text), len(text)]
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False) if text[start:end].strip()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("他说：“好。”然后走了。真的？！是的；对", ["他说：“好。”", "然后走了。", "真的？！", "是的；", "对"]),
        (
            "Dr. Smith and J. Doe paid 3.5 dollars, e.g. here. Fine.",
            ["Dr. Smith and J. Doe paid 3.5 dollars, e.g. here.", "Fine."],
        ),
        ("See example.com for more. It ends vs. there.", ["See example.com for more.", "It ends vs. there."]),
        ('He said "no." She left.', ['He said "no."', "She left."]),
        ("First line\nof one\n\nsecond", ["First line\nof one", "second"]),
        ("Wait... What?", ["Wait...", "What?"]),
        ("No one would let you!... She left.", ["No one would let you!...", "She left."]),
        ('"Really?", he asked. Yes.', ['"Really?", he asked.', "Yes."]),
        ("“真的？”，他问。是的。", ["“真的？”，他问。", "是的。"]),
        ("That is the example's. Make your own.", ["That is the example's.", "Make your own."]),
        ("1. Open it.\n2. In 1998 of 25. The end.", ["1. Open it.", "2. In 1998 of 25.", "The end."]),
        ("One line\n- an item\n* another", ["One line", "- an item", "* another"]),
        ("A link ![a](b?c=d) and a != both. 好吗?A：好", ["A link ![a](b?c=d) and a != both.", "好吗?", "A：好"]),
        ("كيف حالك؟ بخير.", ["كيف حالك؟", "بخير."]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
    ],
)
def test_sentence_ends(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


def test_a_long_sentence_is_split_at_clauses() -> None:
    text = "，".join("当事人应当遵守约定" for _ in range(8))
    spans = split(text, 20, TOKENS)
    assert [text[span.start : span.end] for span in spans] == ["当事人应当遵守约定，"] * 7 + ["当事人应当遵守约定"]
    assert [span.tokens for span in spans] == [10] * 7 + [9]


def test_cuts_between_tokens_prefer_white_space() -> None:
    text = "letters " * 100
    spans = split(text, 32, TOKENS)
    assert all(
        text[span.start : span.end].split() == ["letters"] * len(text[span.start : span.end].split()) for span in spans
    )
    assert sum(span.tokens for span in spans) == TOKENS.count(text)


def test_code_keeps_indentation() -> None:
    text = "if a:\n    b = 1\n\n    c = 2\n" * 10
    spans = split(text, 8, TOKENS, CODE_LEVELS)
    assert {text[span.start : span.end] for span in spans} >= {"    c = 2"}


def test_much_too_long_text_is_not_counted() -> None:
    class Refusing(WordsAndIdeographs):
        def count(self, text: str) -> int:
            raise AssertionError("counted")

    assert fits("x" * 1000, 10, Refusing()) is None


@pytest.mark.parametrize(
    "text",
    [
        "." * 50_000,
        "\n" * 50_000,
        "。" * 50_000,
        '."' * 25_000,
        ("\n" + " " * 500) * 400,
        "," * 50_000,
        "1. " * 50_000,
        "。" * 50_000 + ",",
    ],
    ids=lambda text: repr(text[:3]),
)
def test_runs_of_marks_are_no_trouble(text: str) -> None:
    """A pattern that backtracked would take hours here."""
    for levels in (CODE_LEVELS, None):
        spans = split(text, 50, TOKENS) if levels is None else split(text, 50, TOKENS, levels)
        assert sum(span.tokens for span in spans) == TOKENS.count(text)


class Copied(str):
    """Knows how many characters of it were copied; whole where it is put into another."""

    characters: int

    def __new__(cls, text: str) -> "Copied":
        made = super().__new__(cls, text)
        made.characters = 0
        return made

    def __getitem__(self, wanted: SupportsIndex | slice) -> str:
        found = super().__getitem__(wanted)
        self.characters += len(found)
        return found

    def __format__(self, spec: str) -> str:
        self.characters += len(self)
        return super().__format__(spec)


def test_an_element_of_many_chunks_is_copied_a_few_times_only() -> None:
    text = Copied("字" * 100_000)
    parsed = document(Element.model_construct(kind=ElementKind.PARAGRAPH, text=text))
    assert len(drafts(parsed, ChunkingSettings())) > 200
    assert text.characters < 20 * len(text)


class Slices:
    """A text that counts the slices that are taken of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.taken = 0

    def __getitem__(self, wanted: slice) -> str:
        found = self.text[wanted]
        self.taken += len(found)
        return found


def test_pieces_of_one_run_are_copied_together() -> None:
    pieces = [Piece(ChunkKind.TEXT, start, start + 1, 1) for start in range(0, 2000, 2)]
    text = Slices("a " * 1000)
    assert joined(pieces, text) == (("a " * 1000).strip(), list(range(0, 2000, 2)))
    assert text.taken < 2 * len(text.text)
