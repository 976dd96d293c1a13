"""What a parser is given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.parsing.converter import Converter, converter_is_missing
from app.parsing.limits import ParseLimits
from app.parsing.settings import ParsingSettings

Progress = Callable[[int, int], None]
"""Called with pages (sheets, rows) done and how many there are in all."""


def nothing_to_tell() -> None:
    """For callers that give no more time."""


def no_progress(done: int, total: int) -> None:
    """For callers that don't look."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file whose type is known.

    `path` may be a decrypted copy; `file_name` is what the uploader called it and is never used as a path.
    """

    path: Path
    file_name: str
    media_type: str
    limits: ParseLimits = field(default_factory=ParseLimits)
    password: str | None = field(default=None, repr=False)
    progress: Progress = no_progress
    settings: ParsingSettings = field(default_factory=ParsingSettings)
    recognising: Callable[[], None] = nothing_to_tell
    """Called before text in pictures is recognised, which takes longer than reading: `ParseLimits.ocr_seconds`."""
    convert: Converter = converter_is_missing
    cells: Path | None = None
    """A folder for the cells of large tables (`app.parsing.cells`). Without one all cells are kept in memory."""

    @property
    def stem(self) -> str:
        """The file's name without folders and extension: a title of last resort."""
        name = self.file_name.replace("\\", "/").rsplit("/", 1)[-1]
        return name.rsplit(".", 1)[0] if "." in name[1:] else name
