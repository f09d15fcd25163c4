import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot

import capball
from capball.plots import plot_abid, plot_ball, plot_cosines, plot_sphere
from capball.sklearn import BallDetector


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
