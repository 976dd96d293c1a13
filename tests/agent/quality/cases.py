"""Questions with what a quote must hold to answer them, over documents that are sampled to be small.

Of our own writing are the demo's documents and those beside this file, together in one knowledge base of two
languages: each question is asked in both. Of the labelled collections beside the repository (where they are) a part is
taken. Questions without an answer are of three kinds: of our own writing, close to what the documents tell; those of a
collection whose document was left out of the sample, so that its neighbours are there; and those of other collections.
"""

import csv
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.agent.language import language_of
from app.demo.load import FILES as DEMO
from tests.quality import labelled

OWN = Path(__file__).parent
COLLECTIONS = {"xquad_en2zh": "zh", "drcd_zht": "zh", "codebase_en": "en", "scifact": "en"}
"""By name: the language of the texts."""
ANSWERED, TAKEN_OUT, FOREIGN, OTHER_DOCUMENTS = 48, 24, 24, 60
"""Of one collection: questions with an answer, with their answer left out, of others; documents beside the answers."""


@dataclass(frozen=True, slots=True)
class Case:
    question: str
    pair: str
    """Languages of the question and of the texts: `zh-en`."""
    number: int
    """Cases of one fact share it; whether it is even says which half they belong to."""
    holds: str = ""
    """Words that only a right quote has; empty where the documents in `among` are all that is known."""
    among: frozenset[str] = frozenset()
    """External ids of the documents with the answer; empty where there is none."""
    before: str = ""
    """What was asked before in the same session."""

    @property
    def answerable(self) -> bool:
        return bool(self.among)


@dataclass(frozen=True, slots=True)
class Base:
    """A knowledge base to be made, and what is asked of it."""

    name: str
    cases: list[Case]
    files: Sequence[Path] = ()
    texts: Sequence[labelled.Document] = ()


def bases() -> list[Base]:
    return [own(), *collections()]


def own() -> Base:
    cases: list[Case] = []
    with (OWN / "questions.tsv").open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)):
            among = frozenset({row["document"]} - {""})
            written = language_of(row["holds"]) if among else "*"
            for language in ("english", "chinese"):
                pair = f"{language_of(row[language])}-{written}"
                cases.append(Case(row[language], pair, number, row["holds"], among))
    cases += follow_ups()
    files = sorted(path for folder in (DEMO, OWN / "documents") for path in folder.iterdir() if path.is_file())
    return Base("own", cases, files=files)


def follow_ups() -> Iterator[Case]:
    """Questions that mean little without the one before, or nothing that has to do with it."""
    with (OWN / "followups.tsv").open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)):
            among = frozenset({row["document"]} - {""})
            pair = f"{language_of(row['question'])} then"
            yield Case(row["question"], pair, number, row["holds"], among, row["before"])


def collections() -> Iterator[Base]:
    """Those that are there. The same part of them in every run."""
    if not labelled.FOLDER.is_dir():
        return
    found = {name: labelled.load(name) for name in COLLECTIONS}
    draw = random.Random(20)
    asked = {name: draw.sample(one.queries, ANSWERED + TAKEN_OUT) for name, one in found.items()}
    for name, written in COLLECTIONS.items():
        kept, left_out = asked[name][:ANSWERED], asked[name][ANSWERED:]
        missing = {document for query in left_out for document in query.judgements}
        kept = [query for query in kept if missing.isdisjoint(query.judgements)]
        wanted = {document for query in kept for document in query.judgements}
        others = [one for one in found[name].documents if one.id not in wanted | missing]
        texts = [one for one in found[name].documents if one.id in wanted] + draw.sample(others, OTHER_DOCUMENTS)
        foreign = [query for other in COLLECTIONS if other != name for query in asked[other]]
        cases = [_answered(query, written, number) for number, query in enumerate(kept)]
        cases += [
            Case(query.text, f"{language_of(query.text)}-{written}", number)
            for number, query in enumerate([*left_out, *draw.sample(foreign, FOREIGN)])
        ]
        yield Base(name, cases, texts=texts)


def _answered(query: labelled.Query, written: str, number: int) -> Case:
    """The right sentence holds an answer in the language of the texts, and a number in any; others are rephrased."""
    pair = f"{language_of(query.text)}-{written}"
    holds = query.answer if query.answer.isdecimal() or pair == "zh-zh" else ""
    return Case(query.text, pair, number, holds, frozenset(query.judgements))
