"""`python -m tests.files [--pdf MODE] [--engine ENGINE] [word ...]`: each real document (those whose name holds a word)
through the sandbox, protected ones with their passwords.

Seconds are wall time of the whole call, the sandbox's share in them; peak memory is of the parser process.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import get_args

from rich.console import Console
from rich.table import Table

from app.core.errors import ParseFailed
from app.parsing.document import ParsedDocument
from app.parsing.registry import PDF_ENGINES
from app.parsing.sandbox import ParseUsage, parse_file, start_sandbox, stop_sandbox
from app.parsing.settings import ParsingSettings, PdfMode
from tests.files.manifest import ExpectedFile, Matches, manifest, match


@dataclass(slots=True)
class Outcome:
    file: ExpectedFile
    seconds: float
    peak_memory_kib: int
    document: ParsedDocument | None = None
    reason: str = ""
    matches: Matches = field(default_factory=lambda: Matches((), ()))

    @property
    def found(self) -> int:
        return len(self.file.strings) - len(self.matches.missing) if self.document else 0


async def parse(file: ExpectedFile, settings: ParsingSettings) -> Outcome:
    usage: list[ParseUsage] = []
    started = time.perf_counter()
    document, reason = None, ""
    try:
        document = await parse_file(
            file.path, file_name=file.name, password=file.password or None, settings=settings, usage=usage
        )
    except ParseFailed as failed:
        reason = failed.error_code
    seconds = time.perf_counter() - started
    outcome = Outcome(file, seconds, usage[0].peak_memory_kib if usage else 0, document, reason)
    if document is not None:
        outcome.matches = match(document.text, file.strings)
    elif file.is_text:
        outcome.matches = Matches(file.strings, ())
    return outcome


def report(outcomes: Iterable[Outcome]) -> Table:
    table = Table("file", "parser", "pages", "seconds", "pages/s", "peak MiB", "found", "order", "result")
    for outcome in outcomes:
        document, strings = outcome.document, len(outcome.file.strings)
        pages = document.page_count if document and document.page_count else 0
        table.add_row(
            outcome.file.name,
            document.parser if document else "",
            document.metadata.get("page_modes", str(pages or "")) if document else "",
            f"{outcome.seconds:.2f}",
            f"{pages / outcome.seconds:.0f}" if pages else "",
            f"{outcome.peak_memory_kib / 1024:.0f}",
            f"{outcome.found}/{strings}" if document else "",
            ("kept" if not outcome.matches.out_of_order else "broken") if document and strings else "",
            outcome.reason or "text",
        )
    return table


def totals(outcomes: list[Outcome]) -> str:
    wanted = [outcome for outcome in outcomes if outcome.file.is_text and outcome.reason != "unsupported_type"]
    strings = sum(len(outcome.file.strings) for outcome in wanted)
    found = sum(outcome.found for outcome in wanted)
    displaced = sum(len(outcome.matches.out_of_order) for outcome in wanted)
    pages = sum(outcome.document.page_count or 0 for outcome in wanted if outcome.document)
    paged = sum(outcome.seconds for outcome in wanted if outcome.document and outcome.document.page_count)
    return (
        f"{len(outcomes)} files, {sum(outcome.seconds for outcome in outcomes):.1f} s; "
        f"{pages} pages at {pages / paged if paged else 0:.0f} a second; "
        f"peak {max((outcome.peak_memory_kib for outcome in outcomes), default=0) / 1024:.0f} MiB; "
        f"strings found {found} of {strings} ({100 * found / strings if strings else 0:.1f}%), "
        f"out of order {displaced}"
    )


async def main(arguments: argparse.Namespace) -> int:
    console = Console(width=170, soft_wrap=True)
    words: list[str] = arguments.words
    files = [file for file in manifest() if not words or any(word in file.name for word in words)]
    if not files:
        console.print("No such documents. They are expected beside the repository, in ../shared/files.")
        return 1
    await start_sandbox(arguments.engine)
    outcomes = [await parse(file, ParsingSettings(pdf=arguments.pdf)) for file in files]
    await stop_sandbox()
    console.print(report(outcomes))
    for outcome in outcomes:
        for kind, strings in (("missing", outcome.matches.missing), ("out of order", outcome.matches.out_of_order)):
            for string in strings:
                console.print(f"{outcome.file.name}: {kind}: {string!r}", markup=False, highlight=False)
    console.print(totals(outcomes))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.files")
    parser.add_argument("--pdf", choices=get_args(PdfMode), default="auto")
    parser.add_argument("--engine", choices=sorted(PDF_ENGINES), default="pymupdf")
    parser.add_argument("words", nargs="*")
    sys.exit(asyncio.run(main(parser.parse_args())))
