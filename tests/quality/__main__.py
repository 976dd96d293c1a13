"""Measures retrieval on the labelled collections against a running server.

    python -m tests.quality --url http://127.0.0.1:8000 [--collections xquad_en2zh,codebase_en] [--limit-queries 100]

Exits with 1 if a figure is more than 0.01 below the expected one, or `convex` more than 0.01 below the better channel.
"""

import argparse
import asyncio
import sys
import time

from tests.quality import labelled
from tests.quality.client import Platform, PlatformError, connected
from tests.quality.measure import METHODS, Report, measured, table


def main() -> int:
    options = _options()
    if not labelled.FOLDER.is_dir():
        print("The labelled collections are not beside the repository (../shared/collections); nothing was measured.")
        return 2
    try:
        reports = asyncio.run(_run(options))
    except PlatformError as error:
        print(error, file=sys.stderr)
        return 2
    print(table(reports))
    shortfalls = [sentence for report in reports for sentence in report.shortfalls()]
    print("\n".join(shortfalls) if shortfalls else "Everything is as good as expected.")
    return 1 if shortfalls else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", required=True, help="of a running server")
    parser.add_argument("--collections", help="names parted by commas; all by default")
    parser.add_argument("--methods", help=f"parted by commas, of {', '.join(METHODS)}; all by default")
    parser.add_argument("--limit-queries", type=int, help="only the first queries of each collection")
    parser.add_argument(
        "--account", help="EMAIL:PASSWORD to log in with, or to register; collections that it has uploaded are kept"
    )
    parser.add_argument("--top-k", type=int, default=100, help="hits a query; more candidates are fused above 100")
    return parser.parse_args()


async def _run(options: argparse.Namespace) -> list[Report]:
    chosen = options.collections.split(",") if options.collections else labelled.names()
    reports = []
    account = tuple(options.account.split(":", 1)) if options.account else None
    async with connected(options.url, account) as platform:
        for name in chosen:
            reports.append(await _one(platform, name, options))
            print(table(reports[-1:]), flush=True)
    return reports


async def _one(platform: Platform, name: str, options: argparse.Namespace) -> Report:
    collection = labelled.load(name, limit_queries=options.limit_queries)
    count = len(collection.documents)
    knowledge_base_id = await platform.find_knowledge_base(name, count)
    started = time.monotonic()
    if knowledge_base_id is None:
        knowledge_base_id = await platform.create_knowledge_base(name)
        await platform.upload(knowledge_base_id, collection.documents, Progress(name, "accepted", count))
    await platform.wait_until_ready(knowledge_base_id, count, Progress(name, "ready", count))
    print(f"{name}: {count} documents ready after {time.monotonic() - started:.0f} s", flush=True)
    methods = options.methods.split(",") if options.methods else METHODS
    return await measured(platform, knowledge_base_id, collection, methods, options.top_k)


class Progress:
    """Says how far it is, at every tenth."""

    def __init__(self, name: str, what: str, total: int) -> None:
        self._name, self._what, self._total, self._said = name, what, total, 0

    def __call__(self, done: int) -> None:
        tenth = 10 * done // max(self._total, 1)
        if tenth > self._said:
            self._said = tenth
            print(f"{self._name}: {done} of {self._total} {self._what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
