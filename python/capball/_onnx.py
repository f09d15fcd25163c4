"""Balls, regions and classes as ONNX models. Numbers are computed in double, so that verdicts are those of the library."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _extras
from .dual import Ellipsoid, HalfSpace, Region

_TIE = 1e-9  # of r^2: sums in another order are still those of a row that ties


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
        return self.cast("x", self.onnx.TensorProto.DOUBLE)

    def cast(self, value: str, kind: int) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node("Cast", [value], [name], to=kind))
        return name

    def sum_of_squares(self, z: str) -> str:
        return self.node("ReduceSum", self.node("Mul", z, z), self.constant([1], np.int64), keepdims=1)

    def model(self, name: str, d: int, results: dict[str, tuple[Any, list[Any]]], facts: dict[str, str], dtype: Any = np.float32) -> Any:
        helper = self.onnx.helper
        given = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ["n", d])]
        found = [helper.make_tensor_value_info(result, kind, shape) for result, (kind, shape) in results.items()]
        graph = helper.make_graph(self.nodes, name, given, found, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="capball", ir_version=9)
        helper.set_model_props(model, facts)
        self.onnx.checker.check_model(model)
        return model


def of_ball(model: Any, dtype: Any) -> Any:
    """x -> score, outlier and, of a calibrated model, p."""
    if model.center is None:
        raise ValueError("a ball of a kernel's feature space has no ONNX graph")
    if model.region_kind != 1:
        raise ValueError("the model is no ball: take to_onnx of its region")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    g = _Graph()
    types, tie = g.onnx.TensorProto, _TIE * model.radius**2
    centers = np.atleast_2d(model.center if model.centers is None else model.centers)
    z = g.node("Sub", g.node("Unsqueeze", g.rows(), g.constant([1], np.int64)), g.constant(centers[None]))
    if model.whiten is not None:
        z = g.node("MatMul", z, g.constant(np.asarray(model.whiten).T))
    squares = g.node("ReduceSum", g.node("Mul", z, z), g.constant([-1], np.int64), keepdims=0)
    rho, radius = g.node("Sqrt", g.node("ReduceMin", squares, axes=[1], keepdims=0)), g.constant(model.radius)
    g.node("Mul", g.node("Sub", radius, rho), g.node("Add", radius, rho), to="score")
    g.node("Not", g.node("GreaterOrEqual", "score", g.constant(model.threshold - tie)), to="outlier")
    results = {"score": (types.DOUBLE, ["n"]), "outlier": (types.BOOL, ["n"])}
    if model.calibrated:
        steps = np.unique(json.loads(model.to_json())["calibration"]["scores"])  # p changes at these scores
        p = model.p_values(np.concatenate([[-np.inf], steps]))
        passed = g.node("GreaterOrEqual", g.node("Unsqueeze", "score", g.constant([1], np.int64)), g.constant(steps[None] - tie))
        place = g.node("ReduceSum", g.cast(passed, types.INT64), g.constant([1], np.int64), keepdims=0)
        g.node("Gather", g.constant(p), place, to="p")
        results["p"] = (types.DOUBLE, ["n"])
    return g.model("ball", model.d, results, {"columns": "\n".join(model.columns)} if model.columns else {}, dtype)


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
