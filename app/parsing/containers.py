"""OLE containers (MS-CFB), the old formats of Office and what encrypts the new ones: what stands at their top.

Only that tells a container's type, so only that is read: the directory is followed from its root along the siblings,
and the table of sectors as far as the directory needs it. Neither a large directory nor a chain that goes round in
circles costs anything of note.
"""

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.parsing.reasons import parse_failure

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADER_BYTES = 512
_ENTRY_BYTES = 128
_SECTOR_SHIFTS = (9, 12)
_IN_HEADER = 109  # sectors of the sector table that the header itself names
_NO_ENTRY = 0xFFFFFFFF
_MOST_AT_TOP = 10_000


def is_container(path: Path) -> bool:
    """By its first bytes."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def names_at_top(path: Path) -> frozenset[str]:
    """Names of the streams and storages that lie in no other storage, in lower case, since case tells none apart.

    Runs outside the sandbox as well. Raises `ParseFailed`: `damaged`, `too_complex`.
    """
    with path.open("rb") as file:
        try:
            return frozenset(name.lower() for name in _Container.of(file).names_at_top())
        except (struct.error, IndexError) as error:
            raise parse_failure("damaged") from error


@dataclass(slots=True)
class _Container:
    """Reads raise `struct.error` or `IndexError` where a file is cut off or names what it does not have."""

    file: io.BufferedReader
    sectors: int
    sector_bytes: int
    directory: list[int]
    """Sectors of the directory, as far as they were asked for."""
    table: list[int]
    """Sectors of the sector table, as far as they were asked for."""
    next_list: int
    """The sector that names further ones of the table, the last number of it the next such sector."""
    seen_lists: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, file: io.BufferedReader) -> "_Container":
        header = file.read(_HEADER_BYTES)
        (shift,) = struct.unpack_from("<H", header, 30)
        if shift not in _SECTOR_SHIFTS:
            raise parse_failure("damaged")
        (directory,) = struct.unpack_from("<I", header, 48)
        (next_list,) = struct.unpack_from("<I", header, 68)
        table = struct.unpack_from(f"<{_IN_HEADER}I", header, 76)
        sectors = (file.seek(0, io.SEEK_END) >> shift) + 1
        return cls(file, sectors, 1 << shift, [directory], list(table), next_list)

    def names_at_top(self) -> Iterator[str]:
        *_, first = self._entry(0)
        waiting, seen = [first], {_NO_ENTRY}
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            if len(seen) > _MOST_AT_TOP:
                raise parse_failure("too_complex", "It holds too many parts.")
            name, left, right, _ = self._entry(number)
            waiting += (left, right)
            yield name

    def _entry(self, number: int) -> tuple[str, int, int, int]:
        """Its name, the entries to its left and right, and the first one inside of it."""
        sector, offset = divmod(number * _ENTRY_BYTES, self.sector_bytes)
        if sector >= self.sectors:  # as many are not there: the directory goes round in circles
            raise IndexError(number)
        while sector >= len(self.directory):
            self.directory.append(self._after(self.directory[-1]))
        entry = self._read(self.directory[sector], offset, _ENTRY_BYTES)
        name, length, left, right, child = struct.unpack("<64sHxx3I", entry[:80])
        return name[: max(0, length - 2)].decode("utf-16-le", "replace"), left, right, child

    def _after(self, sector: int) -> int:
        """The next sector of a chain."""
        if sector >= self.sectors:  # also what marks the end of a chain
            raise IndexError(sector)
        place, offset = divmod(sector * 4, self.sector_bytes)
        while place >= len(self.table):
            if self.next_list in self.seen_lists:
                raise parse_failure("damaged")
            self.seen_lists.add(self.next_list)
            *further, self.next_list = struct.unpack(
                f"<{self.sector_bytes // 4}I", self._read(self.next_list, 0, self.sector_bytes)
            )
            self.table += further
        (following,) = struct.unpack("<I", self._read(self.table[place], offset, 4))
        return int(following)

    def _read(self, sector: int, offset: int, size: int) -> bytes:
        self.file.seek((sector + 1) * self.sector_bytes + offset)
        return self.file.read(size)
