"""The manifest of the real documents, and when an expected string counts as found."""

import csv
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "files"
_IGNORED = re.compile("[\\s\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    name: str
    """With its folder, which is the format."""
    expect: str
    password: str
    strings: tuple[str, ...]
    about: str

    @property
    def path(self) -> Path:
        return FOLDER / self.name

    @property
    def folder(self) -> str:
        return self.name.split("/", 1)[0]

    @property
    def is_text(self) -> bool:
        """Whether the file must parse (with its password where it has one)."""
        return self.expect == "text" or "text_with_password" in self.expect


@dataclass(frozen=True, slots=True)
class Matches:
    missing: tuple[str, ...]
    """Strings that are nowhere."""
    out_of_order: tuple[str, ...]
    """Strings that are there, but before one that should come first."""


def manifest() -> list[ExpectedFile]:
    """Empty where the documents are not at hand."""
    if not (FOLDER / "manifest.tsv").exists():
        return []
    with (FOLDER / "manifest.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        ExpectedFile(
            name=row["file"],
            expect=row["expect"],
            password=row["password"] or "",
            strings=tuple(part for part in (row["must_contain_in_order"] or "").split(" ¦ ") if part),
            about=row["tests"],
        )
        for row in rows
    ]


def folded(text: str) -> str:
    """NFKC without white space and bidi marks: what strings are compared in."""
    return _IGNORED.sub("", unicodedata.normalize("NFKC", text))


def match(text: str, strings: tuple[str, ...]) -> Matches:
    haystack = folded(text)
    position = 0
    missing: list[str] = []
    out_of_order: list[str] = []
    for string in strings:
        needle = folded(string)
        found = haystack.find(needle, position)
        if found >= 0:
            position = found + len(needle)
        elif needle in haystack:
            out_of_order.append(string)
        else:
            missing.append(string)
    return Matches(tuple(missing), tuple(out_of_order))
