"""multilingual-e5-small by OpenVINO, in bfloat16 on the matrix units of a processor that has them (Intel AMX)."""

import logging
import mmap
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openvino

from app.adapters.embedding.artifacts import cached_folder, discard
from app.adapters.embedding.e5_file import E5File, bundled_version, bundled_weights
from app.adapters.embedding.e5_tokens import ModelInput
from app.ports.vector_index import Vectors

_VERSION = 1
"""Goes up with every change of what the conversion writes."""
_COMPILED = "model.blob"
_THREADS_A_STREAM = 2
_SHORT, _STEP = 32, 64
"""Tokens. Every new shape costs 10 to 20 ms and up to a megabyte of code made for it, so there are few."""
_TOGETHER = 256
"""Tokens a run: enough to fill the matrix units, few enough for a question to wait for."""
_log = logging.getLogger(__name__)


class OpenVinoEngine:
    """An `E5Engine`. `folder` keeps the compiled model, which is mapped."""

    name = "openvino"

    def __init__(self, folder: Path, threads: int) -> None:
        """Raises `RuntimeError` where the model can't be compiled or read, `OSError` where it can't be kept."""
        name = f"e5-small-openvino-{openvino.__version__.partition('-')[0]}-{bundled_version()}-{_VERSION}"
        self.lanes = max(1, threads // _THREADS_A_STREAM)
        settings = _settings(threads, self.lanes)
        kept = cached_folder(folder, name, _convert)
        try:
            self._model = self._open(kept, settings)
        except RuntimeError as error:
            _log.warning("The model was compiled elsewhere and is compiled again: %s", error)
            discard(kept)
            self._model = self._open(cached_folder(folder, name, _convert), settings)
        self._own = threading.local()

    def _open(self, kept: Path, settings: dict[str, object]) -> openvino.CompiledModel:
        with (kept / _COMPILED).open("rb") as file:
            # OpenVINO asks for memory that can be written; what it writes would be its own copy.
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        content = openvino.Tensor(np.frombuffer(self._mapped, np.uint8), shared_memory=True)
        return openvino.Core().import_model(content, "CPU", settings)

    def padded(self, tokens: int) -> int:
        return _SHORT if tokens <= _SHORT else -(-tokens // _STEP) * _STEP

    def together(self, tokens: int) -> int:
        return max(1, _TOGETHER // tokens)

    def run(self, inputs: Sequence[ModelInput]) -> Vectors:
        rows = 1 << (len(inputs) - 1).bit_length()  # again for few shapes
        ids = np.zeros((rows, self.padded(max(len(item.ids) for item in inputs))), np.int64)
        lengths = np.ones(rows, np.int64)
        for row, item in enumerate(inputs):
            ids[row, : len(item.ids)] = item.ids
            lengths[row] = len(item.ids)
        vectors: Vectors = self._request().infer({"ids": ids, "lengths": lengths})["vectors"][: len(inputs)]
        return vectors

    run_at_once = run

    def _request(self) -> openvino.InferRequest:
        """This thread's own: one serves one call at a time."""
        if not hasattr(self._own, "request"):
            self._own.request = self._model.create_infer_request()
        request: openvino.InferRequest = self._own.request
        return request


def _settings(threads: int, streams: int) -> dict[str, object]:
    return {
        "INFERENCE_PRECISION_HINT": "bf16",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": streams,
        "ENABLE_CPU_PINNING": False,  # other processes have a right to every core
    }


def _convert(folder: Path) -> None:
    from app.adapters.embedding import e5_graph  # noqa: PLC0415 - onnx is needed this once and costs 30 MB

    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        e5_graph.write_graph(E5File(bundled_weights()), Path(scratch), padded=True)
        core = openvino.Core()
        model = core.compile_model(core.read_model(Path(scratch) / e5_graph.GRAPH), "CPU", _settings(1, 1))
        with (folder / _COMPILED).open("wb") as file:
            file.write(model.export_model().getbuffer())
    _log.info("Compiled the embedding model for OpenVINO in %.1f s.", time.monotonic() - started)
