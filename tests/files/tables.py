"""`python -m tests.files.tables [--python PATH] [word ...]`: the tables of real documents, cell by cell.

`tables.tsv` holds every table of some pages (of the whole file where it has no pages), each written down from a picture
of the page or from the file's own markup. Precision counts all that was found on these pages as a table; see `cells.py`
for when a cell is right. PDF is read as by default (`auto`) and by rules alone (`fast`).

With `--python` the libraries of `peers.py` are measured as well, in the tables of their Markdown. That does not tell
pages, so of theirs only tables that match an expected one count, which is in their favour.
"""

import argparse
import asyncio
import csv
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.parsing.sandbox import parse_file, start_sandbox, stop_sandbox
from app.parsing.settings import ParsingSettings, PdfMode
from tests.files import markdown
from tests.files.cells import CellCounts, Grid, compare
from tests.files.manifest import FOLDER, ExpectedFile, manifest

_EXPECTED = Path(__file__).with_name("tables.tsv")
_PEERS = ("pymupdf4llm", "pymupdf4llm no layout", "markitdown")
"""Of `peer_child.LIBRARIES`: those that give tables and need no models from the network."""
_LIMIT = 300


@dataclass(slots=True)
class ExpectedTables:
    """All tables on some pages of a file."""

    pages: set[int] = field(default_factory=set)
    """Empty where the format has none: then all tables of the file are there."""
    grids: list[Grid] = field(default_factory=list)


def expected_tables() -> dict[str, ExpectedTables]:
    """By name of the file, as in the manifest."""
    rows: dict[tuple[str, str, str], list[list[str]]] = defaultdict(list)
    with _EXPECTED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            cells = [cell.strip() for cell in row["cells"].split("¦")]
            rows[row["file"], row["page"], row["table"]].append(cells)
    tables: dict[str, ExpectedTables] = defaultdict(ExpectedTables)
    for (name, page, _), grid in rows.items():
        tables[name].grids.append(grid)
        tables[name].pages |= {int(page)} if page else set()
    return dict(tables)


async def ours(file: ExpectedFile, expected: ExpectedTables, mode: PdfMode) -> CellCounts:
    document = await parse_file(file.path, file_name=file.name, settings=ParsingSettings(pdf=mode))
    found = [
        element.table.rows
        for element in document.elements
        if element.table is not None and (not expected.pages or element.page in expected.pages)
    ]
    return compare(expected.grids, found)


def theirs(library: str, interpreter: str, file: ExpectedFile, expected: ExpectedTables) -> CellCounts | None:
    """None where the library does not read the file."""
    # Here, since it imports more than our own figures need.
    from tests.files.peers import text_of

    text = text_of(library, interpreter, file, file.path, _LIMIT)
    return None if text is None else compare(expected.grids, markdown.tables(text), only_matched=True)


def report(name: str, counts: Mapping[str, CellCounts | None]) -> Table:
    table = Table("file", "expected", "found", "right", "precision", "recall", "F1", title=name)
    read = {file: counted for file, counted in counts.items() if counted is not None}
    for file, counted in {**read, "all": sum(read.values(), CellCounts())}.items():
        table.add_row(
            file,
            str(counted.expected),
            str(counted.found),
            str(counted.right),
            f"{counted.precision:.3f}",
            f"{counted.recall:.3f}",
            f"{counted.f1:.3f}",
        )
    for file in counts.keys() - read.keys():
        table.add_row(file, *["not read"], *[""] * 5)
    return table


async def main(arguments: argparse.Namespace) -> int:
    console = Console(width=120, soft_wrap=True, highlight=False)
    words: list[str] = arguments.words
    known = {file.name: file for file in manifest()}
    wanted = {
        known[name]: tables
        for name, tables in expected_tables().items()
        if name in known and (not words or any(word in name for word in words))
    }
    if not wanted:
        console.print(f"No such documents. They are expected in {FOLDER.name}, beside the repository.")
        return 1
    await start_sandbox()
    counted = {file.name: await ours(file, tables, "auto") for file, tables in wanted.items()}
    fast = {file.name: await ours(file, tables, "fast") for file, tables in wanted.items() if file.folder == "pdf"}
    await stop_sandbox()
    console.print(report("biggraph", counted))
    console.print(report("biggraph, PDF read fast", fast))
    for library in _PEERS if arguments.python else ():
        found = {file.name: theirs(library, arguments.python, file, tables) for file, tables in wanted.items()}
        console.print(report(library, found))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.files.tables", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", help="interpreter of the environment that has the other libraries")
    parser.add_argument("words", nargs="*")
    sys.exit(asyncio.run(main(parser.parse_args())))
