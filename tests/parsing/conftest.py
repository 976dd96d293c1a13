"""Small files made in the tests, and a parser without the sandbox around it."""

import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.parsing.document import Element, ElementKind, ParsedDocument
from app.parsing.limits import ParseLimits
from app.parsing.parse import parse_document
from app.parsing.sandbox import start_sandbox, stop_sandbox
from app.parsing.settings import ParsingSettings
from app.parsing.source import Source

Parse = Callable[..., ParsedDocument]


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[None]:
    """Parser processes for the tests of one module, and none after them."""
    await start_sandbox()
    yield
    await stop_sandbox()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch folders are made: empty again after each test, which `names_in` looks at."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """Parses content under a name, in this process."""

    def parse_content(
        content: bytes | str,
        name: str,
        *,
        limits: ParseLimits | None = None,
        password: str | None = None,
        settings: ParsingSettings | None = None,
    ) -> ParsedDocument:
        path = tmp_path / "content"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        source = Source(path, name, "", limits or ParseLimits(), password, settings=settings or ParsingSettings())
        return parse_document(source)

    return parse_content


def of_kind(document: ParsedDocument, kind: ElementKind) -> list[Element]:
    return [element for element in document.elements if element.kind is kind]


def table_rows(document: ParsedDocument) -> list[list[list[str]]]:
    """The cells of every table."""
    return [element.table.rows for element in of_kind(document, ElementKind.TABLE) if element.table is not None]


def outline(document: ParsedDocument) -> list[tuple[str, int, str]]:
    """Kind, level and text of every element."""
    return [(element.kind.value, element.level, element.text) for element in document.elements]
