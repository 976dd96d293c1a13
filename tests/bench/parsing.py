"""How fast text PDFs are parsed (`fast`), as a ratio to what PyMuPDF alone takes to read the same pages.

    python -m tests.bench.parsing [--rounds 5] [--cpu-time] [--file PATH ...]

Alone, PyMuPDF opens the file and reads every page: its text by `get_text("dict")` (characters with type, size and
place, by the flags that our parser uses) and its drawings by `get_cdrawings`, which is what a parse with tables has to
see and the baseline; the text only, so and as "text" (plain); and the text with `find_tables` (what it has itself for a
parse with tables; in the first round only, since it takes minutes). It manages colours, as it does unless told not to.

BigGraph opens the file and makes the whole document of it: reading order, paragraphs, headings, lists, and tables
unless told not to look for them; and then the same through the sandbox, with a process for each file and the result as
JSON, as a worker calls it.

Without `--file` it takes the text PDFs of the shared documents, or, where they are not at hand, one that it makes. The
sides take turns, and medians of the rounds are told. `--cpu-time` counts processor time, which other work on the
machine disturbs little; it leaves out the sandbox, whose work is done by other processes.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pymupdf

from app.parsing.fork_server import collect_seldom
from app.parsing.limits import ParseLimits
from app.parsing.parse import parse_document
from app.parsing.parsers.pdf_text import TEXT_FLAGS
from app.parsing.sandbox import parse_file, start_sandbox, stop_sandbox
from app.parsing.settings import ParsingSettings
from app.parsing.source import Source
from tests.bench.ingestion import text
from tests.files.manifest import manifest

FAST = ParsingSettings(pdf="fast")
WITHOUT_TABLES = ParseLimits(table_seconds=0)
BASELINE, TABLES, SANDBOX = "PyMuPDF, dict and drawings", "PyMuPDF, dict and tables", "BigGraph, sandbox"
Read = Callable[[Path], None]


def shared_files() -> list[Path]:
    """Text PDFs that need no password."""
    return [file.path for file in manifest() if file.folder == "pdf" and file.is_text and not file.password]


def made_file(folder: Path, pages: int = 120) -> Path:
    """A document of prose without tables, as LibreOffice would export it."""
    random_ = random.Random(11)
    document = pymupdf.open()
    for number in range(pages):
        page = document.new_page()
        page.insert_textbox((60, 50, 535, 80), f"{number + 1}. Heading", fontsize=16, fontname="hebo")
        page.insert_textbox((60, 90, 535, 790), text(600, random_), fontsize=10)
    path = folder / "made.pdf"
    document.save(path)
    document.close()
    return path


def alone(kind: str, *, drawings: bool = False) -> Read:
    def read(path: Path) -> None:
        with pymupdf.open(path) as document:
            for page in document:
                page.get_text(kind, flags=TEXT_FLAGS)
                if drawings:
                    page.get_cdrawings()

    return read


def with_tables(path: Path) -> None:
    with pymupdf.open(path) as document:
        for page in document:
            page.get_text("dict", flags=TEXT_FLAGS)
            for table in page.find_tables().tables:
                table.extract()


def ours(limits: ParseLimits) -> Read:
    def read(path: Path) -> None:
        parse_document(Source(path, path.name, media_type="", limits=limits, settings=FAST))

    return read


def in_sandbox(runner: asyncio.Runner) -> Read:
    def read(path: Path) -> None:
        runner.run(parse_file(path, file_name=path.name, settings=FAST))

    return read


def page_count(path: Path) -> int:
    with pymupdf.open(path) as document:
        return int(document.page_count)


def seconds(name: str, read: Read, files: list[Path], clock: Callable[[], float]) -> float:
    pymupdf.TOOLS.set_icc(name.startswith("PyMuPDF"))
    pymupdf.TOOLS.store_shrink(100)  # fonts and images that the side before has left
    began = clock()
    for path in files:
        read(path)
    return clock() - began


def main(files: list[Path], rounds: int, *, cpu_time: bool) -> None:
    sides = {
        BASELINE: alone("dict", drawings=True),
        "PyMuPDF, dict": alone("dict"),
        "PyMuPDF, text": alone("text"),
        TABLES: with_tables,
        "BigGraph, no tables": ours(WITHOUT_TABLES),
        "BigGraph": ours(ParseLimits()),
    }
    clock = time.process_time if cpu_time else time.perf_counter
    with asyncio.Runner() as runner:
        if not cpu_time:
            runner.run(start_sandbox())
            sides[SANDBOX] = in_sandbox(runner)
        for read in sides.values():
            read(files[0])
        collect_seldom()  # as the sandbox does
        taken = [
            {name: seconds(name, read, files, clock) for name, read in sides.items() if turn == 0 or name != TABLES}
            for turn in range(rounds)
        ]
        runner.run(stop_sandbox())
    pages = sum(page_count(path) for path in files)
    print(f"{len(files)} files, {pages} pages, {rounds} rounds ({clock.__name__})")
    for name in sides:
        rate = median(pages / one[name] for one in taken if name in one)
        ratio = median(one[BASELINE] / one[name] for one in taken if name in one)
        print(f"{name:28}{rate:8.1f} pages/s   {ratio:6.3f} of {BASELINE}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.parsing", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu-time", action="store_true", help="processor time; leaves out the sandbox")
    parser.add_argument("--file", action="append", type=Path, default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        named: list[Path] = [path.resolve() for path in given.file]
        main(named or shared_files() or [made_file(Path(scratch))], given.rounds, cpu_time=given.cpu_time)
