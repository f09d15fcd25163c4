<<<<<<< HEAD
"""Regions and classes as ONNX models. Rows come as float32 and are computed in double, so that verdicts are those of the library."""

from __future__ import annotations

=======
"""A ball model as an ONNX graph: scores, p-values and verdicts of rows, in double. Written as protobuf by hand, so that nothing has to be
installed.

    x (rows, d) -> rho = min_k |W(x - c_k)|, score = (r - rho)(r + rho), p, outlier
"""

from __future__ import annotations

import json
>>>>>>> wt-detector
from typing import Any

import numpy as np

<<<<<<< HEAD
from . import _extras
from .dual import Ellipsoid, HalfSpace, Region


class _Graph:
    """Nodes one after the other; each has one result, which is named."""

    def __init__(self) -> None:
        self.onnx = _extras.module("onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, kind: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        name = to or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def rows(self) -> str:
        """The rows of the input, in double."""
        self.nodes.append(self.onnx.helper.make_node("Cast", ["x"], ["wide"], to=self.onnx.TensorProto.DOUBLE))
        return "wide"

    def sum_of_squares(self, z: str) -> str:
        return self.node("ReduceSum", self.node("Mul", z, z), self.constant([1], np.int64), keepdims=1)

    def model(self, name: str, d: int, results: dict[str, tuple[Any, list[Any]]], facts: dict[str, str]) -> Any:
        helper = self.onnx.helper
        given = [helper.make_tensor_value_info("x", self.onnx.TensorProto.FLOAT, ["n", d])]
        found = [helper.make_tensor_value_info(result, kind, shape) for result, (kind, shape) in results.items()]
        graph = helper.make_graph(self.nodes, name, given, found, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="capball", ir_version=9)
        helper.set_model_props(model, facts)
        self.onnx.checker.check_model(model)
        return model


def of_region(region: Region) -> Any:
    """x -> inside, score."""
    g = _Graph()
    types = g.onnx.TensorProto
    model = region.model()  # a region that has one
    x = g.rows()
    if isinstance(region, HalfSpace):
        value, limit, order = g.node("MatMul", x, g.constant(model.center[:, None])), model.radius, (0, 1)
    else:
        z = g.node("Sub", x, g.constant(model.center))
        if isinstance(region, Ellipsoid):
            z = g.node("MatMul", z, g.constant(model.whiten.T))
        value, limit = g.sum_of_squares(z), model.radius**2
        order = (0, 1) if getattr(region, "outside", False) else (1, 0)
    pair = (value, g.constant([[limit]]))
    score = g.node("Sub", pair[order[0]], pair[order[1]])
    g.node("Squeeze", score, g.constant([1], np.int64), to="score")
    g.node("GreaterOrEqual", "score", g.constant(0.0), to="inside")
    return g.model("region", region.d, {"inside": (types.BOOL, ["n"]), "score": (types.DOUBLE, ["n"])},
                   {"columns": "\n".join(region.names)})


def of_classes(classes: Any) -> Any:
    """x -> class, label, scores."""
    g = _Graph()
    types = g.onnx.TensorProto
    d, s2 = classes.d, classes.s**2
    z = g.rows()
    if classes.center is not None:
        z = g.node("Sub", z, g.constant(classes.center))
    if classes.factors is not None:
        z = g.node("Mul", z, g.constant(classes.factors))
    if classes.whiten is not None:
        z = g.node("MatMul", z, g.constant(classes.whiten.T))
    q = g.sum_of_squares(z)
    below = g.node("Add", q, g.constant([[s2]]))
    flat = g.node("Div", g.node("Mul", z, g.constant([[2 * classes.s]])), below)
    pole = g.node("Div", g.node("Sub", g.constant([[s2]]), q), below)
    y = g.node("Concat", flat, pole, axis=1)
    f = g.node("Add", g.node("MatMul", y, g.constant(classes.w.T)), g.constant(classes.w0))
    if len(classes.w) > len(classes.labels):
        f = _joined(g, f, classes)
    g.node("Identity", f, to="scores")
    g.node("ArgMax", "scores", axis=1, keepdims=0, to="class")
    names = g.onnx.numpy_helper.from_array(np.array(classes.labels, object), "names")
    g.constants.append(names)
    g.node("Gather", "names", "class", axis=0, to="label")
    return g.model("classes", d, {"class": (types.INT64, ["n"]), "label": (types.STRING, ["n"]),
                                  "scores": (types.DOUBLE, ["n", len(classes.labels)])},
                   {"columns": "\n".join(classes.columns or [f"x{j}" for j in range(d)])})


def _joined(g: _Graph, f: str, classes: Any) -> str:
    """The scores of the classes from those of their planes: the largest, and with softmax log sum exp."""
    parts = []
    for place in range(len(classes.labels)):
        own = g.node("Gather", f, g.constant(np.flatnonzero(classes.owners == place), np.int64), axis=1)
        top = g.node("ReduceMax", own, axes=[1], keepdims=1)
        if classes.rule == "softmax":
            e = g.node("Exp", g.node("Sub", own, top))
            top = g.node("Add", top, g.node("Log", g.node("ReduceSum", e, g.constant([1], np.int64), keepdims=1)))
        parts.append(top)
    return g.node("Concat", *parts, axis=1)
=======
_FLOAT, _INT64, _BOOL, _DOUBLE = 1, 7, 9, 11  # TensorProto.DataType
_TYPES = {np.dtype(np.float32): _FLOAT, np.dtype(np.int64): _INT64, np.dtype(np.float64): _DOUBLE}
_TIE = 1e-9  # of r^2: sums in another order are still those of a row that ties


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: Any) -> bytes:
    """A field of a message: a whole number, or bytes or text."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, array: np.ndarray) -> bytes:
    array = np.ascontiguousarray(array)
    return b"".join([*(_field(1, size) for size in array.shape), _field(2, _TYPES[array.dtype]), _field(8, name),
                     _field(9, array.astype(array.dtype.newbyteorder("<")).tobytes())])


def _node(kind: str, inputs: list[str], output: str, **attributes: int | list[int]) -> bytes:
    parts = [*(_field(1, name) for name in inputs), _field(2, output), _field(4, kind)]
    for name, value in attributes.items():
        numbers = [_field(3, value), _field(20, 2)] if isinstance(value, int) else [*(_field(8, v) for v in value), _field(20, 7)]
        parts.append(_field(5, _field(1, name) + b"".join(numbers)))
    return b"".join(parts)


def _value(name: str, kind: int, columns: int | None = None) -> bytes:
    dims = _field(1, _field(2, "rows")) + (b"" if columns is None else _field(1, _field(1, columns)))
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))


def _p_values(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores at which p changes, and p below the first and from each on."""
    scores = np.unique(json.loads(model.to_json())["calibration"]["scores"])
    return scores, model.p_values(np.concatenate([[-np.inf], scores]))


def to_onnx(model: Any, dtype: Any) -> bytes:
    """The graph of a BallModel without a kernel, opset 13."""
    if model.center is None:
        raise ValueError("a ball of a kernel's feature space has no ONNX graph")
    kind = _TYPES.get(np.dtype(dtype))
    if kind not in (_FLOAT, _DOUBLE):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    d, tie = model.d, _TIE * model.radius**2
    whiten = np.eye(d) if model.whiten is None else np.asarray(model.whiten)
    tensors = {"centers": np.atleast_2d(model.center if model.centers is None else model.centers)[None], "whiten": whiten.T,
               "radius": np.array(model.radius), "threshold": np.array(model.threshold - tie), "one": np.array([1]), "last": np.array([-1])}
    nodes = [_node("Cast", ["x"], "wide", to=_DOUBLE), _node("Unsqueeze", ["wide", "one"], "row"), _node("Sub", ["row", "centers"], "away"),
             _node("MatMul", ["away", "whiten"], "z"), _node("Mul", ["z", "z"], "squares"),
             _node("ReduceSum", ["squares", "last"], "sums", keepdims=0), _node("ReduceMin", ["sums"], "least", axes=[1], keepdims=0),
             _node("Sqrt", ["least"], "rho"), _node("Sub", ["radius", "rho"], "inside"), _node("Add", ["radius", "rho"], "beyond"),
             _node("Mul", ["inside", "beyond"], "score"), _node("GreaterOrEqual", ["score", "threshold"], "ordinary"),
             _node("Not", ["ordinary"], "outlier")]
    outputs = [_value("score", _DOUBLE), _value("outlier", _BOOL)]
    if model.calibrated:
        steps, tensors["p_values"] = _p_values(model)
        tensors["steps"] = steps[None] - tie
        nodes += [_node("Unsqueeze", ["score", "one"], "scores"), _node("GreaterOrEqual", ["scores", "steps"], "passed"),
                  _node("Cast", ["passed"], "counted", to=_INT64), _node("ReduceSum", ["counted", "one"], "place", keepdims=0),
                  _node("Gather", ["p_values", "place"], "p")]
        outputs.append(_value("p", _DOUBLE))
    graph = b"".join([*(_field(1, node) for node in nodes), _field(2, "ball"), *(_field(5, _tensor(n, a)) for n, a in tensors.items()),
                      _field(11, _value("x", kind, d)), *(_field(12, output) for output in outputs)])
    columns = _field(14, _field(1, "columns") + _field(2, json.dumps(model.columns))) if model.columns else b""
    return _field(1, 8) + _field(2, "capball") + _field(7, graph) + _field(8, _field(1, "") + _field(2, 13)) + columns
>>>>>>> wt-detector
