"""How many cells of an expected table stand at their place in a found one.

A grid is compared with a grid as GriTS does in its factored form (Smock, Pesala, Abraham 2023): columns are aligned
first and rows by them, in order, so that a missing or an extra row or column costs its own cells and not all that
follow. An aligned cell is right where both texts agree after NFKC and without white space; a merged cell counts once
for every place that it covers. Empty cells are neither expected nor held against anyone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.files.manifest import folded

T = TypeVar("T")
Grid = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class CellCounts:
    right: int = 0
    expected: int = 0
    found: int = 0

    def __add__(self, other: "CellCounts") -> "CellCounts":
        return CellCounts(self.right + other.right, self.expected + other.expected, self.found + other.found)

    @property
    def precision(self) -> float:
        """1 where nothing was found."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        both = self.expected + self.found
        return 2 * self.right / both if both else 1.0


def right_cells(expected: Grid, found: Grid) -> int:
    """Cells with the same text at the same place once the grids are aligned."""
    wanted, given = _folded(expected), _folded(found)
    columns = _aligned(list(zip(*wanted, strict=True)), list(zip(*given, strict=True)), _common_in_order)
    rows = _aligned(
        [[row[left] for left, _ in columns] for row in wanted],
        [[row[right] for _, right in columns] for row in given],
        _same,
    )
    return sum(bool(wanted[a][left]) and wanted[a][left] == given[b][right] for a, b in rows for left, right in columns)


def compare(expected: Sequence[Grid], found: Sequence[Grid], *, only_matched: bool = False) -> CellCounts:
    """Each expected table against one found table at most, the best pairs first.

    Found tables that match none count as wrong, unless `only_matched`.
    """
    pairs = sorted(
        ((right_cells(one, other), a, b) for a, one in enumerate(expected) for b, other in enumerate(found)),
        reverse=True,
    )
    left, free, right = set(range(len(expected))), set(range(len(found))), 0
    for cells, a, b in pairs:
        if cells and a in left and b in free:
            left.remove(a)
            free.remove(b)
            right += cells
    counted = [grid for number, grid in enumerate(found) if not only_matched or number not in free]
    return CellCounts(right, sum(map(_filled, expected)), sum(map(_filled, counted)))


def _folded(grid: Grid) -> list[list[str]]:
    return [[folded(cell) for cell in row] for row in grid]


def _filled(grid: Grid) -> int:
    return sum(bool(cell.strip()) for row in grid for cell in row)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(bool(a) and a == b for a, b in zip(one, other, strict=True))


def _common_in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence of filled cells."""
    return len(_aligned([cell for cell in one if cell], [cell for cell in other if cell], lambda a, b: int(a == b)))


def _aligned(one: Sequence[T], other: Sequence[T], weight: Callable[[T, T], int]) -> list[tuple[int, int]]:
    """Pairs of positions, rising in both, of the greatest total weight; pairs without weight are left out."""
    weights = [[weight(a, b) for b in other] for a in one]
    best = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + weights[i][j])
    pairs, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        if weights[i][j] and best[i][j] == best[i + 1][j + 1] + weights[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
