from collections.abc import Sequence

import numpy as np
import pytest

from app.chunking.chunk import DraftChunk
from app.chunking.options import Breakpoint, SemanticOptions
from app.chunking.registry import chunk
from app.chunking.semantic import threshold
from app.chunking.settings import ChunkingSettings
from app.parsing.document import ParsedDocument
from app.ports.vector_index import Vectors
from tests.chunking.documents import COUNTER, document, heading, paragraph, table

CATS = " ".join(f"Cats purr {number} times." for number in range(12))
TAXES = " ".join(f"Taxes rise {number} times." for number in range(12))


class Topics:
    """Two directions, one a word: a text's vector says how much of each it holds."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        raw = [[text.count("Cats") + 0.01, text.count("Taxes") + 0.01] for text in texts]
        vectors = np.asarray(raw, dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1)[:, None]
        return vectors


def chunks(parsed: ParsedDocument, options: SemanticOptions, embed: Topics | None = None) -> list[DraftChunk]:
    settings = ChunkingSettings(strategy="semantic", semantic=options, overlap_tokens=0)
    return list(chunk(parsed, settings, COUNTER, embed=embed or Topics()))


@pytest.mark.parametrize("breakpoint_", Breakpoint)
@pytest.mark.parametrize("buffer", [0, 1])
def test_a_section_is_cut_where_its_topic_changes(breakpoint_: Breakpoint, buffer: int) -> None:
    amount = 90.0 if breakpoint_ is Breakpoint.PERCENTILE else 2.0
    parsed = document(heading("Both"), paragraph(f"{CATS} {TAXES}"))
    first, second = chunks(parsed, SemanticOptions(breakpoint=breakpoint_, amount=amount, buffer_sentences=0))
    assert (first.text, second.text) == (CATS, TAXES)
    assert {first.heading_path, second.heading_path} == {("Both",)}
    smooth = chunks(parsed, SemanticOptions(breakpoint=breakpoint_, amount=amount, buffer_sentences=buffer))
    assert " ".join(one.text for one in smooth) == f"{CATS} {TAXES}"
    for one in (*smooth, first, second):
        assert one.text == parsed.text[one.start : one.end]


def test_text_of_one_topic_stays_together() -> None:
    (only,) = chunks(document(paragraph(CATS)), SemanticOptions())
    assert only.text == CATS


def test_sections_are_parted_whatever_they_mean() -> None:
    parsed = document(heading("A"), paragraph(CATS), heading("B"), paragraph(CATS))
    assert [one.heading_path for one in chunks(parsed, SemanticOptions())] == [("A",), ("B",)]


def test_all_sentences_are_embedded_once_in_batches_that_overlap_by_nothing() -> None:
    embed = Topics()
    text = " ".join(f"Cats purr {number} times." for number in range(600))
    chunks(document(paragraph(text)), SemanticOptions(buffer_sentences=0), embed)
    assert [len(batch) for batch in embed.asked] == [256, 256, 88]
    assert len({one for batch in embed.asked for one in batch}) == 600


def test_tables_are_not_embedded_by_the_sentence() -> None:
    embed = Topics()
    rows = [["name", "value"], *([f"cat {number}", "1"] for number in range(200))]
    made = chunks(document(paragraph(CATS), table(rows), paragraph(TAXES)), SemanticOptions(), embed)
    assert not any("value" in one for batch in embed.asked for one in batch)
    assert "name: cat 199; value: 1." in "".join(one.text for one in made)


def test_thresholds_are_what_their_names_say() -> None:
    distances = np.array([0.1, 0.2, 0.3, 0.4, 1.0])
    assert threshold(distances, SemanticOptions(amount=50)) == pytest.approx(0.3)
    deviation = SemanticOptions(breakpoint=Breakpoint.STANDARD_DEVIATION, amount=1)
    assert threshold(distances, deviation) == pytest.approx(0.4 + distances.std())
    quartiles = SemanticOptions(breakpoint=Breakpoint.INTERQUARTILE, amount=2)
    assert threshold(distances, quartiles) == pytest.approx(0.4 + 2 * 0.2)
    assert threshold(distances[:1], SemanticOptions()) == float("inf")
    assert SemanticOptions(breakpoint=Breakpoint.INTERQUARTILE).chosen_amount == 1.5
