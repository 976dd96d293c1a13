"""How fast documents become searchable, as a ratio to what the embedder alone could do with the same chunks.

    python -m tests.bench.ingestion [--documents 8] [--words 12000] [--file PATH ...] [--pdf auto]

Ingestion and the baseline take turns in one process; a ratio of 1 would mean that everything else is free. With
`--file` these files are uploaded (text PDFs, say) instead of made texts, and pages are read as `--pdf` says.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from app.chunking.registry import chunk
from app.chunking.settings import ChunkingSettings
from app.core.settings import Settings
from app.main import create_app
from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.parse import parse_document
from app.parsing.settings import ParsingSettings
from app.parsing.source import Source
from app.ports.parts import Parts
from app.ports.vector_index import Vectors

WORDS = [
    f"{head}{tail}" for head in ("har", "lig", "mor", "sta", "vel", "ton") for tail in ("bour", "ht", "ning", "ge")
]


def text(words: int, random_: random.Random) -> str:
    """Prose of no meaning in paragraphs of about a hundred words."""
    paragraphs = []
    for _ in range(max(1, words // 100)):
        sentences = [" ".join(random_.choices(WORDS, k=12)).capitalize() + "." for _ in range(8)]
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs)


def parsed(content: str | Path, settings: ParsingSettings) -> ParsedDocument:
    """A made text, or a file, as its parser gives it."""
    if isinstance(content, Path):
        return parse_document(Source(content, content.name, media_type="", settings=settings))
    elements = [Element(kind=ElementKind.PARAGRAPH, text=paragraph) for paragraph in content.split("\n\n")]
    return ParsedDocument(media_type="text/plain", parser="bench", elements=elements)


def chunk_texts(document: ParsedDocument, parts: Parts) -> list[str]:
    """What the embedder is given of a document."""
    drafts = chunk(document, ChunkingSettings(), parts.embedder.tokens, embed=_never)
    return [draft.embedded_text(document.title) for draft in drafts]


def _never(_texts: Sequence[str]) -> Vectors:
    raise AssertionError("the default strategy embeds nothing")


async def embed_alone(parts: Parts, contents: Sequence[str | Path], settings: ParsingSettings) -> tuple[int, float]:
    """Chunks, and seconds that the embedder takes for them."""
    texts = [chunk_text for content in contents for chunk_text in chunk_texts(parsed(content, settings), parts)]
    began = time.perf_counter()
    await parts.embedder.embed_passages(texts)
    return len(texts), time.perf_counter() - began


async def log_in(http: httpx.AsyncClient, number: int) -> None:
    """As the owner of a new tenant: vectors that another one has cached are not used again."""
    body = {"email": f"bench{number}@example.com", "password": "a long password", "tenant": f"Bench {number}"}
    tokens = (await http.post("/v1/auth/register", json=body)).json()
    http.headers["authorization"] = f"Bearer {tokens['access_token']}"


async def ingest(
    http: httpx.AsyncClient, contents: Sequence[str | Path], settings: ParsingSettings, alone: float
) -> float:
    """Seconds from the first upload until all documents are ready.

    Nobody asks before the embedder alone could be through: answers take time from the work.
    """
    body = {"name": f"bench {time.monotonic_ns()}", "settings": {"parsing": settings.model_dump(mode="json")}}
    kb = (await http.post("/v1/knowledge-bases", json=body)).json()["id"]
    began = time.perf_counter()
    for content in contents:
        url = f"/v1/knowledge-bases/{kb}/documents"
        if isinstance(content, Path):
            data = await asyncio.to_thread(content.read_bytes)
            answer = await http.post(url, files={"file": (content.name, data)})
        else:
            answer = await http.post(url, json={"text": content})
        answer.raise_for_status()
    await asyncio.sleep(alone - (time.perf_counter() - began))
    while (await http.get(f"/v1/knowledge-bases/{kb}")).json()["ready_count"] < len(contents):  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    return time.perf_counter() - began


async def main(documents: int, words: int, rounds: int, files: Sequence[Path], settings: ParsingSettings) -> None:
    random_ = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="bg-") as folder:
        app = create_app(Settings(_env_file=None, data_dir=Path(folder), log_level="WARNING"))
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://bench", timeout=600) as http:
                ratios = []
                for number in range(1, rounds + 1):
                    await log_in(http, number)
                    contents: Sequence[str | Path] = files or [text(words, random_) for _ in range(documents)]
                    count, alone = await embed_alone(app.state.parts, contents, settings)
                    whole = await ingest(http, contents, settings, alone)
                    ratios.append(alone / whole)
                    print(
                        f"round {number}: {len(contents)} documents, {count} chunks: embedder alone "
                        f"{count / alone:.1f} chunks/s, ingestion {count / whole:.1f} chunks/s, "
                        f"ratio {alone / whole:.2f}"
                    )
                print(f"ingestion / embedder alone: {statistics.median(ratios):.2f} (median of {rounds})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.ingestion",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--words", type=int, default=12_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", action="append", type=Path, default=[])
    parser.add_argument("--pdf", default="auto", help="how pages are read: auto, fast, layout or ocr")
    given = parser.parse_args()
    asyncio.run(
        main(
            given.documents,
            given.words,
            given.rounds,
            [path.resolve() for path in given.file],
            ParsingSettings(pdf=given.pdf),
        )
    )
