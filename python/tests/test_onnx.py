"""The graph of a model in onnxruntime: scores to rounding, the same verdicts and p-values."""

import numpy as np
import pytest

import capball

onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")


def run(model, x):
    onnx.checker.check_model(model)
    session = runtime.InferenceSession(model.SerializeToString())
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, {"x": x})))


@pytest.mark.parametrize("options", [
    dict(nu=0.1), dict(nu=0.9, robust=True, calibrate=True, contamination=0.1), dict(nu=0.5, standardize=True, contamination=0.2),
    dict(nu=0.9, robust=True, calibrate=True, balls=3, contamination=0.1)], ids=["ball", "robust", "standardized", "three balls"])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_a_graph_has_the_verdicts_of_the_model(options, real):
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(size=(300, 4)) * [1, 10, 100, 1], rng.integers(0, 3, size=(300, 4))]).astype(real)  # some tie
    model = capball.svdd(rows, columns=["a", "b", "c", "d"], **options)
    found, scores = run(model.to_onnx(real), rows), model.scores(rows)
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
    with pytest.raises(ValueError, match="no ball"):
        capball.dual.HalfSpace([1.0, 0.0], 2.0).model().to_onnx()
