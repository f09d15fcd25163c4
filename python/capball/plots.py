"""Pictures of what the sphere does to data, on axes that are given or made. Needs matplotlib.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> import numpy as np, capball
>>> from capball.plots import plot_ball
>>> x = np.random.default_rng(0).normal(size=(100, 2))
>>> axes = plot_ball(capball.svdd(x, 0.1), x)
>>> axes.get_aspect()
1.0
"""

from __future__ import annotations

from typing import Any, Iterable

import numpy as np

import capball

from . import _core, _extras
from ._model import names_of

_MOST = 5000  # points of a picture


def _axes(ax: Any, **settings: Any) -> Any:
    if ax is not None:
        return ax
    return _extras.module("matplotlib.pyplot").subplots(subplot_kw=settings)[1]


def _some(x: np.ndarray) -> np.ndarray:
    """Enough rows for a picture, evenly from all of them."""
    return x[:: max(1, -(-len(x) // _MOST))]


def plot_abid(x: Any, scales: Any = None, *, ax: Any = None) -> Any:
    """ABID of the images over the scale s, beside that of the rows; the scale of the largest is marked.

    scales  None: 1/16 to 16 times the mean norm about the mean
    """
    ax = _axes(ax)
    x = np.asarray(x)
    fitted = capball.fit(x)
    scales = fitted.s * 2.0 ** np.linspace(-4, 4, 65) if scales is None else np.asarray(scales, np.float64)
    values = capball.abid(x, scales, center=fitted.center)
    best = int(np.argmax(values))
    ax.semilogx(scales, values, label="on the sphere")
    ax.axhline(capball.abid(x, center=fitted.center), linestyle="--", color="gray", label="about the mean")
    ax.plot(scales[best], values[best], "o", label=f"largest, s = {scales[best]:.4g}")
    ax.set_xlabel("scale s")
    ax.set_ylabel("ABID")
    ax.legend()
    return ax


def plot_cosines(x: Any, s: float | None = None, *, sample: int = 100, ax: Any = None) -> Any:
    """Cosines of pairs on the sphere against those of the rows about their mean."""
    ax = _axes(ax)
    found = capball.cosines(x, s, sample=sample)
    ax.plot(_some(found.before), _some(found.after), ".", markersize=2)
    ax.plot([-1, 1], [-1, 1], color="gray", linewidth=1)
    ax.set_xlabel("cosine of the rows about their mean")
    ax.set_ylabel(f"cosine on the sphere, s = {found.s:.4g}")
    ax.set_title(f"correlation {found.correlation:.3f}, rms of the differences {found.rms:.3f}")
    return ax


def _label(ax: Any, names: Any) -> None:
    if names is not None:
        ax.set_xlabel(_core.printable(names[0]))
        ax.set_ylabel(_core.printable(names[1]))


def _same_units(region: Any) -> bool:
    """Whether a circle of the picture is a circle of the data."""
    whole = getattr(region, "whole", region)  # of one class of several: all of them
    return getattr(whole, "factors", None) is None and getattr(whole, "whiten", getattr(whole, "W", None)) is None


def plot_ball(ball: Any, x: Any = None, *, ax: Any = None) -> Any:
    """A ball around data: of two columns its edge and the rows, of more a histogram of the scores.

    ball  a BallModel, a Region of two columns, or a fitted EnclosingBall or BallDetector, whose contamination is then
          what is outside

    Both columns have one unit in the picture, unless the ball was standardised or whitened: then each has its own.
    Axes have the names of the columns, where the model or x has some.
    """
    ax = _axes(ax)
    offset = getattr(ball, "offset_", 0.0)
    ball = getattr(ball, "model_", ball)
    rows = None if x is None else np.asarray(x)
    d = ball.d if hasattr(ball, "d") else np.size(ball.c)
    if d != 2:
        if rows is None:
            raise ValueError("a ball of more than two columns is shown by the scores of rows: give x")
        ax.hist(ball.scores(rows) - offset, bins=50)
        ax.axvline(0, color="black", linewidth=1)
        ax.set_xlabel("score, >= 0 inside")
        return ax
    if rows is not None:
        inside = ball.scores(_some(rows)) >= offset
        for keep, label in ((inside, "inside"), (~inside, "outside")):
            ax.plot(*_some(rows)[keep].T, ".", markersize=3, label=label)
        ax.legend()
    _edge(ball, ax, rows, offset=offset)
    _label(ax, names_of(x) or getattr(ball, "columns", None) or ["x0", "x1"])
    ax.set_aspect("equal" if _same_units(ball) else "auto")
    return ax


def plot_regions(model: Any, x: Any, y: Any = None, *, ax: Any = None) -> Any:
    """The regions of a linear method on the sphere and the rows of two columns, by class where y is given.

    model  what capball.ball_of takes, or its answer: a Region, a dict or a list of them
    """
    regions = model if isinstance(model, (capball.Region, dict, list)) else getattr(model, "regions_", None)
    regions = capball.ball_of(model) if regions is None else regions
    if isinstance(regions, capball.Region):
        regions = {"inside": regions}
    rows = np.asarray(x)
    if rows.shape[1] != 2:
        raise ValueError(f"regions of {rows.shape[1]} columns have no picture; two are wanted")
    ax = _axes(ax)
    for label in [None] if y is None else np.unique(y):
        some = _some(rows if label is None else rows[np.asarray(y) == label])
        ax.plot(*some.T, ".", markersize=3, label=None if label is None else str(label))
    for number, region in enumerate(regions.values() if isinstance(regions, dict) else regions):
        _edge(region, ax, rows, f"C{number}" if len(regions) > 2 else "black")
    if y is not None:
        ax.legend()
    _label(ax, names_of(x) or ["x0", "x1"])
    one_unit = all(map(_same_units, regions.values() if isinstance(regions, dict) else regions))
    ax.set_aspect("equal" if one_unit else "auto")
    return ax


def plot_slice(region: capball.Region, x: Any = None, y: Any = None, *, columns: Any = None, ax: Any = None) -> Any:
    """A region in the plane of two of its columns, while the others are as usual; of three columns the three planes.

    region   what Region.plot is asked of
    x, y     rows to draw, of all columns, and their classes
    columns  two or three, by number or name; None: the two of the largest weight
    ax       axes; of three columns three of them
    """
    names, d = region.names, region.d
    places = list(np.argsort(-region._weights(), kind="stable")[:2]) if columns is None else [_place_of(c, names) for c in columns]
    if not 2 <= len(places) <= min(3, d):
        raise ValueError(f"a picture has two or three of the {d} columns, got {len(places)}")
    rows = None if x is None else np.asarray(x, np.float64)
    pairs = [(a, b) for i, a in enumerate(places) for b in places[i + 1 :]]
    if ax is None and len(pairs) > 1:
        ax = _extras.module("matplotlib.pyplot").subplots(1, 3, figsize=(15, 4.5))[1]
    all_axes = np.ravel(_axes(ax)) if len(pairs) == 1 else np.ravel(ax)
    for pair, one in zip(pairs, all_axes):
        _slice(region, rows, y, pair, one)
    return all_axes[0] if len(pairs) == 1 else all_axes


def _place_of(column: Any, names: list[str]) -> int:
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"there is no column {column!r} among {', '.join(names[:8])}{', ..' if len(names) > 8 else ''}")
        return names.index(column)
    return int(column)


def _usual_point(region: capball.Region, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Where the columns are held that the picture does not show, and how wide it is."""
    if region.usual is not None:
        return region.usual
    if rows is not None:
        return rows.mean(axis=0), rows.std(axis=0)
    kind, c, r = region._numbers()[:3]
    metric = region._metric()
    diagonal = metric if metric.ndim == 1 else np.diag(metric)
    return np.asarray(c), np.full(region.d, 1.0) if kind == 2 else abs(r) / np.sqrt(np.where(diagonal > 0, diagonal, 1)) / 2


def _slice(region: capball.Region, rows: np.ndarray | None, y: Any, pair: tuple[int, int], ax: Any) -> None:
    at, spread = _usual_point(region, rows)
    low, high = (at - 3 * spread, at + 3 * spread) if rows is None else (rows.min(axis=0), rows.max(axis=0))
    across, up = (np.linspace(low[j] - 0.05 * (high[j] - low[j]), high[j] + 0.05 * (high[j] - low[j]), 200) for j in pair)
    grid = np.tile(at, (200 * 200, 1))
    grid[:, pair[0]], grid[:, pair[1]] = (part.ravel() for part in np.meshgrid(across, up))
    scores = region.scores(grid).reshape(200, 200)
    if np.isfinite(scores).all():
        ax.contourf(across, up, scores >= 0, levels=[0.5, 1.5], colors=["C0"], alpha=0.15)
        ax.contour(across, up, scores, levels=[0], colors="black", linestyles="solid")
    if rows is not None:
        for label in [None] if y is None else np.unique(y):
            some = _some(rows if label is None else rows[np.asarray(y) == label])
            ax.plot(some[:, pair[0]], some[:, pair[1]], ".", markersize=3, label=None if label is None else str(label))
        if y is not None:
            ax.legend()
    _label(ax, [region.names[j] for j in pair])
    if region.d > 2:
        ax.set_title(f"the other {region.d - 2} columns as usual", fontsize="medium")


def _edge(ball: Any, ax: Any, rows: np.ndarray | None, color: str = "black", offset: float = 0.0) -> None:
    """Where the score is the offset: of any region, whitened balls and those of kernels too."""
    center, radius = getattr(ball, "center", getattr(ball, "c", None)), getattr(ball, "radius", getattr(ball, "r", None))
    ends = [] if rows is None else [rows.min(axis=0), rows.max(axis=0)]
    if center is not None and rows is None:
        reach = radius if _same_units(ball) else radius * np.sqrt(np.diag(np.linalg.inv(_metric(ball))))
        ends += [center - reach, center + reach]
    low, high = np.min(ends, axis=0), np.max(ends, axis=0)
    margin = 0.1 * (high - low)
    across, up = (np.linspace(low[i] - margin[i], high[i] + margin[i], 300) for i in (0, 1))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    ax.contour(across, up, ball.scores(grid.reshape(-1, 2)).reshape(300, 300), levels=[offset], colors=color, linestyles="solid")


def _metric(ball: Any) -> np.ndarray:
    W: Any = getattr(ball, "whiten", getattr(ball, "W", None))
    return W.T @ W


def plot_sphere(map: capball.SphereMap, x: Any, *, caps: Iterable[capball.Cap] = (), ax: Any = None) -> Any:
    """The images of rows of two columns on the unit sphere, and the edges of caps."""
    if map.d != 2:
        raise ValueError(f"the sphere of {map.d} columns has no picture; two are wanted")
    ax = _axes(ax, projection="3d")
    turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 37), np.linspace(-np.pi / 2, np.pi / 2, 19))
    ax.plot_wireframe(np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise), color="lightgray", linewidth=0.4)
    ax.plot(*map.embed(_some(np.asarray(x))).T, ".", markersize=2)
    for cap in caps:
        ax.plot(*_circle(cap), color="black")
    ax.set_box_aspect((1, 1, 1))
    ax.set_axis_off()
    return ax


def _circle(cap: capball.Cap) -> np.ndarray:
    """The points with <p,y> = b."""
    across = np.linalg.svd(cap.p[None])[2][1:]
    turn = np.linspace(0, 2 * np.pi, 200)
    edge = np.cos(turn)[:, None] * across[0] + np.sin(turn)[:, None] * across[1]
    return (cap.b * cap.p + np.sqrt(max(0.0, 1 - cap.b**2)) * edge).T


__all__ = ["plot_abid", "plot_ball", "plot_cosines", "plot_regions", "plot_slice", "plot_sphere"]
