"""The graph of a model, read and run by a few lines here, and by onnxruntime where it is installed: scores to rounding, the same verdicts
and p-values."""

import numpy as np
import pytest

import capball

TYPES = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64}


def fields(data):
    """Numbers and contents of the fields of a protobuf message."""
    at, found = 0, {}

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        assert key & 7 in (0, 2)
        value = varint()
        if key & 7 == 2:
            at, value = at + value, data[at:at + value]
        found.setdefault(key >> 3, []).append(value)
    return found


def tensor(data):
    f = fields(data)
    return f[8][0].decode(), np.frombuffer(f[9][0], TYPES[f[2][0]]).reshape(f.get(1, []))


def attributes(node):
    found = [fields(attribute) for attribute in node.get(5, [])]
    return {a[1][0].decode(): a[3][0] if a[20][0] == 2 else tuple(a[8]) for a in found}


OPERATORS = {
    "Cast": lambda x, to: x.astype(TYPES[to]), "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)), "Sub": np.subtract,
    "Add": np.add, "Mul": np.multiply, "MatMul": np.matmul, "Sqrt": np.sqrt, "Not": np.logical_not, "GreaterOrEqual": np.greater_equal,
    "ReduceSum": lambda x, axes, keepdims: x.sum(tuple(axes), keepdims=bool(keepdims)),
    "ReduceMin": lambda x, axes, keepdims: x.min(axes, keepdims=bool(keepdims)), "Gather": lambda x, at: x[at],
}


def run(model, x):
    graph = fields(fields(model)[7][0])
    values = {"x": x, **dict(tensor(data) for data in graph[5])}
    for node in map(fields, graph[1]):
        inputs = [values[name.decode()] for name in node[1]]
        values[node[2][0].decode()] = OPERATORS[node[4][0].decode()](*inputs, **attributes(node))
    return {fields(output)[1][0].decode(): values[fields(output)[1][0].decode()] for output in graph[12]}


def run_by_onnxruntime(model, x):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx").checker.check_model(model)
    session = runtime.InferenceSession(model)
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, {"x": x})))


@pytest.mark.parametrize("options", [
    dict(nu=0.1), dict(nu=0.9, robust=True, calibrate=True, contamination=0.1), dict(nu=0.5, standardize=True, contamination=0.2),
    dict(nu=0.9, robust=True, calibrate=True, balls=3, contamination=0.1)], ids=["ball", "robust", "standardized", "three balls"])
@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("runner", [run, run_by_onnxruntime])
def test_a_graph_has_the_verdicts_of_the_model(options, real, runner):
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(size=(300, 4)) * [1, 10, 100, 1], rng.integers(0, 3, size=(300, 4))]).astype(real)  # some tie
    model = capball.svdd(rows, columns=["a", "b", "c", "d"], **options)
    found, scores = runner(model.to_onnx(real), rows), model.scores(rows)
    assert np.abs(found["score"] - scores).max() <= 1e-12 * np.abs(scores).max()
    assert (found["outlier"] == (model.verdicts(scores) == -1)).all()
    assert ("p" in found) == (model.calibrated > 0)
    assert model.calibrated == 0 or np.array_equal(found["p"], model.p_values(scores))
    assert not model.calibrated or len(np.unique(found["p"])) > 50


def test_what_has_no_graph():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(ValueError, match="kernel"):
        capball.svdd(rows, 0.1, kernel="rbf").to_onnx()
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        capball.svdd(rows, 0.1).to_onnx("int64")
