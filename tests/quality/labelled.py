"""The labelled collections beside the repository, and what is expected of them."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "collections"


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    id: str
    text: str
    judgements: dict[str, int]
    answer: str = ""
    """The answer's words, where the collection tells them."""


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    documents: list[Document]
    queries: list[Query]
    """Those that have judgements."""
    reach: dict[str, float]
    """nDCG@10 that was reached, by method."""


def names(folder: Path = FOLDER) -> list[str]:
    """Smallest first, so that the first figures come soon."""
    found = [path.parent for path in folder.glob("*/corpus.jsonl")]
    return [path.name for path in sorted(found, key=lambda path: (path / "corpus.jsonl").stat().st_size)]


def load(name: str, folder: Path = FOLDER, *, limit_queries: int | None = None) -> Collection:
    documents = [
        Document(row["_id"], row.get("title", ""), row["text"]) for row in _rows(folder / name / "corpus.jsonl")
    ]
    judgements: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / name / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query_id, document_id, grade = line.split("\t")
        judgements[query_id][document_id] = int(grade)
    queries = [
        Query(row["_id"], row["text"], judgements[row["_id"]], row.get("metadata", {}).get("answer", ""))
        for row in _rows(folder / name / "queries.jsonl")
        if row["_id"] in judgements
    ]
    baselines = json.loads((folder / "baselines.json").read_text(encoding="utf-8"))
    reach = {method: figures["ndcg10"] for method, figures in baselines[name]["reach"].items()}
    return Collection(name, documents, queries[:limit_queries], reach)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
