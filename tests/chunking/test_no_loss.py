"""Whatever a document is made of: nothing is lost, nothing is too long, and the same comes out every time."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.chunking.options import HierarchicalOptions, ParentChildOptions, SemanticOptions
from app.chunking.registry import chunk
from app.chunking.settings import ChunkingSettings
from app.chunking.strategies import STRATEGIES
from app.parsing.document import Element, ElementKind
from app.ports.vector_index import Vectors
from tests.chunking.documents import WordsAndIdeographs, code, document, heading, table

TOKENS = WordsAndIdeographs()
SMALL = ChunkingSettings(
    target_tokens=40,
    max_tokens=60,
    max_embedded_tokens=64,
    min_tokens=8,
    overlap_tokens=12,
    semantic=SemanticOptions(amount=60),
    parent_child=ParentChildOptions(child_tokens=32, parent_tokens=64),
    hierarchical=HierarchicalOptions(leaf_tokens=32, middle_tokens=64, top_tokens=128),
)

words = st.sampled_from(
    ["a", "fox", "e.g.", "end.", "End!", "3.5", "，", "。", "条款", "违约责任", "\n", "\n\n", "x" * 200, "漢" * 90]
)
prose = st.lists(words, min_size=1, max_size=60).flatmap(
    lambda parts: st.sampled_from([" ".join(parts), "".join(parts)])
)
free = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200)
cells = st.one_of(
    st.just(""), st.sampled_from(["1", "id", "甲方", "a|b"]), prose.map(lambda text: " ".join(text.split()))
)
tables = st.integers(1, 5).flatmap(
    lambda width: st.builds(
        table,
        st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=8),
        header_rows=st.integers(0, 1),
    )
)
elements = st.one_of(
    st.builds(heading, st.sampled_from(["H", "第一章 总则", "long " * 50]), st.integers(0, 12)),
    st.builds(
        Element,
        kind=st.sampled_from([ElementKind.PARAGRAPH, ElementKind.LIST_ITEM, ElementKind.CAPTION, ElementKind.FOOTNOTE]),
        text=st.one_of(prose, free),
        page=st.none(),
    ),
    st.builds(code, prose),
    tables,
)


def squeezed(text: str) -> str:
    return "".join(text.split())


def lengths(texts: Sequence[str]) -> Vectors:
    """Vectors that tell texts apart by their lengths."""
    angles = np.asarray([len(text) % 7 for text in texts], dtype=np.float32)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=25, deadline=None)
@example(
    parts=[
        table([["", "", "", "a", "a a a"], ["", "", "", "", "a a a a a a e.g. e.g. e.g. end. end."]], header_rows=0)
    ],
    title="",
)
@given(parts=st.lists(elements, max_size=8), title=st.sampled_from(["", "Title"]))
def test_no_loss(strategy: str, parts: list[Element], title: str) -> None:
    parsed, chosen = document(*parts), SMALL.model_copy(update={"strategy": strategy})
    every = list(chunk(parsed, chosen, TOKENS, title, embed=lengths))
    assert every == list(chunk(parsed, chosen, TOKENS, title, embed=lengths))
    made = [one for one in every if one.level == 0]
    assert made == every[: len(made)], "what is searched comes first"
    for parent in every[len(made) :]:
        assert parent.text == parsed.text[parent.start : parent.end]
        children = [one for one in every if one.parent is not None and every[one.parent] is parent]
        assert len(children) > 1
        assert all(parent.start <= one.start < one.end <= parent.end for one in children)
    assert [one.section for one in made] == sorted(one.section for one in made)

    covered = bytearray(len(parsed.text))
    for one in made:
        assert one.text.strip()
        assert one.token_count == TOKENS.count(one.embedded_text(title)) <= SMALL.max_embedded_tokens
        assert 0 <= one.start < one.end <= len(parsed.text)
        after = one.start
        for block in one.text.split("\n\n"):  # not all in one piece: of two headings of one name one is told
            at = parsed.text.find(block, after, one.end)
            if at >= 0:
                after = at + len(block)
                covered[at:after] = b"x" * len(block)

    together = squeezed("".join(one.text for one in made))
    wanted: Counter[str] = Counter()
    position = 0
    for element in parsed.elements:
        if not element.text:
            continue
        start, position = position, position + len(element.text) + len("\n\n")
        if element.table is not None:
            # A cell may be split over chunks that repeat other cells between its parts: characters are counted.
            wanted.update("".join(squeezed(cell) for row in element.table.rows for cell in row))
        elif element.kind is not ElementKind.HEADING:
            wanted.update(squeezed(element.text))
            is_whole = squeezed(element.text) in together  # text that stands beside a table in its chunk
            assert is_whole or all(
                covered[start + place] for place, sign in enumerate(element.text) if not sign.isspace()
            )
    assert wanted <= Counter(together)
