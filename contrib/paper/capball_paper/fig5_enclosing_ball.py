"""The minimum enclosing ball by caps: how fast the SVM iteration gets there, beside the core-set iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

import capball

from .plots import plotter
from .section import Section, Table
from .steps import Step

NAME = "fig5_enclosing_ball"
TITLE = "Minimum enclosing ball by caps"
ABOUT = """Separate the embedded rows from −e with the widest margin (libsvm, hard margin), take the ball of the plane, move the rows to its centre,
repeat. With the plane through the support vectors and s the present radius the fixpoint is the smallest enclosing ball; with the middle plane of
the paper's text the iteration does not settle. Beside it Bădoiu and Clarkson's core-set iteration. The error is that of the radius that encloses
all rows from the present centre, relative to the exact one."""


def rows_of(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    return {"Gaussian, d = 3": lambda: rng.normal(size=(n, 3)), "Gaussian, d = 10": lambda: rng.normal(size=(n, 10)),
            "three blobs, d = 10": lambda: rng.normal(size=(n, 10)) + rng.uniform(-4, 4, (3, 10))[rng.integers(3, size=n)]}[kind]()


def reach(x: np.ndarray, centre: np.ndarray) -> float:
    return float(np.linalg.norm(x - centre, axis=1).max())


def by_caps(x: np.ndarray, plane: float, scale: str, steps: int) -> list[float]:
    """Radii that enclose all rows, step by step."""
    from sklearn.svm import SVC

    centre, radii = x.mean(0), []
    first = reach(x, centre)
    for _ in range(steps):
        radii.append(reach(x, centre))
        moved = x - centre
        m = capball.SphereMap(x.shape[1], {"radius": radii[-1], "mean": float(np.linalg.norm(moved, axis=1).mean()), "first": 2 * first}[scale])
        y = m.embed(moved)
        rows = np.vstack([y, -np.eye(y.shape[1])[-1:]])
        machine = SVC(kernel="linear", C=1e10, tol=1e-12).fit(rows, np.append(np.ones(len(y)), -1))
        size = np.linalg.norm(machine.coef_[0])
        ball = m.ball(capball.Cap(machine.coef_[0] / size, (plane - machine.intercept_[0]) / size))
        if not isinstance(ball, capball.Ball):
            break
        centre = centre + ball.c
    return radii


def by_core_set(x: np.ndarray, steps: int) -> list[float]:
    centre, radii = x.mean(0), []
    for i in range(1, steps + 1):
        distances = np.linalg.norm(x - centre, axis=1)
        radii.append(float(distances.max()))
        centre = centre + (x[distances.argmax()] - centre) / (i + 1)
    return radii


WAYS = {"caps, s = present radius": (1.0, "radius"), "caps, s = twice the first radius": (1.0, "first"), "caps, s = mean norm": (1.0, "mean"),
        "caps, middle plane, s = mean norm": (0.0, "mean")}


def iterate(kind: str, n: int, way: str) -> dict[str, Any]:
    x = rows_of(kind, n)
    best = capball.enclosing_ball(x, gap=1e-14).radius
    radii = by_core_set(x, 1000) if way == "core set" else by_caps(x, *WAYS[way], 12)
    return {"errors": [max(r / best - 1, 1e-16) for r in radii]}


def plan(job: Any) -> list[Step]:
    kinds = ("Gaussian, d = 3", "Gaussian, d = 10", "three blobs, d = 10")[: 1 if job.level == "short" else 3]
    return [Step(iterate, {"kind": kind, "n": 300, "way": way}, needs=() if way == "core set" else ("scikit-learn",),
                 uses=(rows_of, reach, by_caps, by_core_set), seconds=2) for kind in kinds for way in (*WAYS, "core set")]


def steps_to(errors: list[float], limit: float) -> float:
    return next((float(i) for i, e in enumerate(errors) if e <= limit), float("nan"))


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    rows = []
    for step, told in zip(steps, given):
        if "missing" in told:
            rows.append([step.settings["kind"], step.settings["way"], told["missing"], "", ""])
            continue
        key = f"{step.settings['kind']}.{step.settings['way']}".replace(" = ", "").replace(",", "").replace(" ", "-")
        counts = [section.put(f"{key}.{limit:g}", steps_to(told["errors"], limit), "steps", 0, [11]) for limit in (1e-3, 1e-8)]
        rows.append([step.settings["kind"], step.settings["way"], *counts, section.put(f"{key}.best", min(told["errors"]), "", None, [11])])
    section.tables.append(Table("Steps until the radius is within 1e-3 and 1e-8", ["rows", "iteration", "1e-3", "1e-8", "best error"], rows,
                                "A dash: not within the run (12 steps of the cap iteration, 1000 of the core set)."))
    plt = plotter(NAME)
    if plt is None:
        return
    kinds = list(dict.fromkeys(s.settings["kind"] for s in steps))
    figure, all_axes = plt.subplots(1, len(kinds), figsize=(3.7 * len(kinds), 3.4), squeeze=False, sharey=True)
    for axes, kind in zip(all_axes[0], kinds):
        for step, told in zip(steps, given):
            if step.settings["kind"] == kind and "errors" in told:
                axes.loglog(np.arange(1, len(told["errors"]) + 1), told["errors"], "o-" if len(told["errors"]) < 20 else "-", ms=3, label=step.settings["way"])
        axes.set(title=kind, xlabel="step", ylim=(1e-16, 10))
    all_axes[0][0].set_ylabel("relative error of the radius")
    all_axes[0][0].legend(fontsize=6.5, loc="lower right")
    figure.tight_layout()
    section.draw(figure, "Convergence to the smallest enclosing ball", "Relative error of the radius over steps: the cap iteration with the present radius as scale falls to rounding within a few steps, the core-set iteration like one over the number of steps.")
