import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot

import capball
from capball.plots import plot_abid, plot_ball, plot_cosines, plot_regions, plot_sphere
from capball.sklearn import BallClassifier, BallDetector


def test_pictures(rng, tmp_path):
    x = rng.normal(size=(300, 2))
    m = capball.fit(x)
    region = capball.Ball([0.0, 0.0], 1.0)
    made = [plot_abid(x), plot_cosines(x), plot_ball(capball.svdd(x, 0.2), x), plot_ball(BallDetector().fit(x), x),
            plot_ball(capball.svdd(x, 0.2, whiten=True), x), plot_ball(capball.svdd(x, 0.2, kernel="rbf"), x),
            plot_ball(region, x), plot_ball(region), plot_ball(capball.enclosing_ball(rng.normal(size=(50, 5))), rng.normal(size=(50, 5))),
            plot_sphere(m, x, caps=[m.cap(region)])]
    for number, axes in enumerate(made):
        axes.figure.savefig(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 2000
        pyplot.close(axes.figure)


def test_columns_in_different_units(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng.normal(size=(200, 2)) * [10, 1e4] + [170, 3e4], columns=["height", "income"])
    axes = plot_ball(BallDetector().fit(frame), frame)
    assert axes.get_aspect() == "auto" and (axes.get_xlabel(), axes.get_ylabel()) == ("height", "income")
    plain = plot_ball(capball.svdd(frame, 0.1))
    assert plain.get_aspect() == 1.0 and plain.get_ylabel() == "income"
    alone = plot_ball(capball.svdd(frame, 0.1, standardize=True).region)
    low, high = alone.get_xlim()
    assert low < frame.height.quantile(0.1) and frame.height.quantile(0.9) < high < 400
    pyplot.close("all")


def test_regions_of_classes(rng):
    x = rng.normal(size=(300, 2))
    for y in (np.linalg.norm(x, axis=1) < 1, np.digitize(x[:, 0], [-0.5, 0.5])):
        model = BallClassifier(standardize=False).fit(x, y)
        axes = plot_regions(model, x, y)
        assert axes.get_aspect() == 1.0 and len(axes.get_legend().get_texts()) == len(np.unique(y))
        plot_regions(capball.ball_of(model), x)
    assert plot_regions(BallClassifier().fit(x, y), x).get_aspect() == "auto"
    with pytest.raises(ValueError, match="two are wanted"):
        plot_regions(BallClassifier().fit(rng.normal(size=(300, 3)), y), rng.normal(size=(300, 3)))
    pyplot.close("all")


def test_axes_that_are_given(rng):
    figure, axes = pyplot.subplots()
    assert plot_abid(rng.normal(size=(50, 3)), ax=axes) is axes
    peak = axes.lines[-1].get_xdata()[0]
    assert peak in axes.lines[0].get_xdata()
    pyplot.close(figure)


def test_what_has_no_picture(rng):
    with pytest.raises(ValueError):
        plot_sphere(capball.SphereMap(3, 1.0), rng.normal(size=(5, 3)))
    with pytest.raises(ValueError):
        plot_ball(capball.enclosing_ball(rng.normal(size=(50, 5))))


def test_edges_of_caps_are_where_the_score_is_0():
    from capball.plots import _circle

    cap = capball.SphereMap(2, 1.0).cap(capball.Ball([0.3, -2.0], 0.7))
    np.testing.assert_allclose(cap.scores(np.ascontiguousarray(_circle(cap).T)), 0, atol=1e-12)


def test_slices(rng):
    x = rng.normal(size=(300, 3)) * [1, 2, 3]
    y = np.linalg.norm(x / [1, 2, 3], axis=1) < 1.5
    region = BallClassifier().fit(x, y).regions_[True]
    assert region.plot(x, y).get_xlabel() in ("x0", "x1", "x2")
    three = region.plot(columns=[0, 1, 2])
    assert len(three) == 3 and three[2].get_ylabel() == "x2"
    for region in (capball.HalfSpace([0.6, 0.8], 0.1), capball.Ball([0, 1], 2, columns=["a", "b"]), capball.Ellipsoid([0, 0], 1, W=np.diag([1.0, 0]))):
        assert region.plot() is not None
    assert capball.Ball([0, 1], 2, columns=["a", "b"]).plot(columns=["b", "a"]).get_xlabel() == "b"
    with pytest.raises(ValueError, match="no column 'c'"):
        capball.Ball([0, 1], 2, columns=["a", "b"]).plot(columns=["a", "c"])
    three_classes = BallClassifier(balls_per_class=2, random_state=0).fit(x, y + 2 * (x[:, 0] > 1))
    assert three_classes.regions_[2].plot(x) is not None
