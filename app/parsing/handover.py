"""What a parser process hands over, taken with care: the process may have been taken over by what it read.

Only plain files of bearable size are read, only what is of the right shape is kept, and names are made of numbers.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter, ValidationError

from app.parsing.cells import page_name
from app.parsing.document import ParsedDocument, StoredCells
from app.parsing.limits import ParseLimits
from app.parsing.reasons import parse_failure

_ROWS = TypeAdapter(list[list[str]])


def load_document(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Raises `ParseFailed`: `parser_crashed`, `too_complex`."""
    with _plain_file(path, limits.result_bytes) as file:
        try:
            return ParsedDocument.read(file)
        except ValidationError as error:
            raise parse_failure("parser_crashed") from error


def stored_pages(document: ParsedDocument) -> list[tuple[StoredCells, int]]:
    """The pages, from 1, of all tables whose cells are stored."""
    tables = [element.table.stored for element in document.elements if element.table and element.table.stored]
    return [(table, page) for table in tables for page in range(1, len(table.starts) + 1)]


def take_page(folder: Path, target: Path, table: StoredCells, page: int, most_bytes: int) -> int:
    """Copies a page of cells, if it holds the rows that it should. Returns its size in bytes.

    Raises `ParseFailed`: `parser_crashed`, `too_complex`.
    """
    name = page_name(table.number, page)
    with _plain_file(folder / name, most_bytes) as file:
        content = file.read()
    ends = [*table.starts[1:], table.rows]
    try:
        rows = _ROWS.validate_json(content)
    except ValidationError as error:
        raise parse_failure("parser_crashed") from error
    if len(rows) != ends[page - 1] - table.starts[page - 1]:
        raise parse_failure("parser_crashed")
    (target / name).write_bytes(content)
    return len(content)


@contextmanager
def _plain_file(path: Path, most_bytes: int) -> Iterator[BinaryIO]:
    try:
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size > most_bytes:
                raise parse_failure("too_complex")
            yield file
    except OSError as error:
        raise parse_failure("parser_crashed") from error


def open_plain(path: Path) -> BinaryIO:
    """Follows no link and waits for no pipe. Raises `OSError` where there is no plain file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "This is no plain file", str(path))
    return os.fdopen(descriptor, "rb")
