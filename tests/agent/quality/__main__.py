"""Measures extractive answers on a running server without a chat model.

    python -m tests.agent.quality --url http://127.0.0.1:8000 [--half tune|report] [--bases own,drcd_zht] [--misses]

Thresholds in `app.agent.relevance` were chosen on the half `tune`; figures to tell are those of `report`, the default.
For each pair of languages (of the question, of the texts):

  asked     questions that the documents answer      none      questions that they don't
  right     share with a quote that holds the answer declined  share of these that were declined
  wrong     share with other quotes only             quotes    share of the quotes of `asked` that hold the answer

Start a busy machine's server with a long BIGGRAPH_RETRIEVAL_TIMEOUT_SECONDS: vectors that are late are done without.
"""

import argparse
import asyncio
import sys

from tests.agent.quality.asking import Answers, Asked, connected
from tests.agent.quality.cases import Base, bases
from tests.agent.quality.scores import is_right, table
from tests.quality.client import PlatformError

AT_ONCE = 2


def main() -> int:
    options = _options()
    try:
        asked = asyncio.run(_run(options))
    except PlatformError as error:
        print(error, file=sys.stderr)
        return 2
    print(table(asked))
    if options.misses:
        print("\n".join(told for base, one in asked for told in _missed(base, one)))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.agent.quality", description="Extractive answers, measured.")
    parser.add_argument("--url", required=True, help="of a running server without a chat model")
    parser.add_argument("--half", choices=["tune", "report", "both"], default="report")
    parser.add_argument("--bases", help="names parted by commas; all by default")
    parser.add_argument("--misses", action="store_true", help="tells each question that was not answered well")
    return parser.parse_args()


async def _run(options: argparse.Namespace) -> list[tuple[str, Asked]]:
    chosen = [one for one in bases() if not options.bases or one.name in options.bases.split(",")]
    asked: list[tuple[str, Asked]] = []
    async with connected(options.url) as platform:
        for base in chosen:
            asked += [(base.name, one) for one in await _one(platform, base, options.half)]
    return asked


async def _one(platform: Answers, base: Base, half: str) -> list[Asked]:
    kb_id = await platform.prepared(base)
    external_ids = await platform.external_ids(kb_id)
    turns = asyncio.Semaphore(AT_ONCE)
    cases = [one for one in base.cases if half == "both" or one.number % 2 == (half == "report")]

    async def ask(index: int) -> Asked:
        async with turns:
            return await platform.asked(kb_id, cases[index], external_ids)

    return await asyncio.gather(*(ask(index) for index in range(len(cases))))


def _missed(base: str, one: Asked) -> list[str]:
    good = any(is_right(one.case, quote) for quote in one.quotes) if one.case.answerable else not one.quotes
    if good:
        return []
    wanted = one.case.holds or ", ".join(sorted(one.case.among)) or "nothing"
    said = "".join(f"\n    {quote.document}: {quote.text}" for quote in one.quotes) or "\n    declined"
    return [f"{base} {one.case.pair}: {one.case.question} ({wanted}){said}"]


if __name__ == "__main__":
    sys.exit(main())
