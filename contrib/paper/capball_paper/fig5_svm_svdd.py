"""Figure 5: a linear SVM on the sphere as SVDD: scores, objective and time, beside exact SVDD, a QP solver and libsvm."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import capball

from .plots import COLOURS, plotter
from .section import Section, Table
from .steps import Step

NAME = "fig5_svm_svdd"
TITLE = "SVM as SVDD"
ABOUT = """SVDD: min R² + C Σ max(0, |x−c|² − R²) with C = 1/(νn), ν = 0.1, on one Gaussian and on three blobs in 10 dimensions. The paper separates
the embedded rows from −v by a linear SVM with one C, moves the rows to the centre of the ball it gives, and repeats. Its reference is a QP solver
on SVDD's dual (SVDD-Python uses the same cvxopt); libsvm's one-class SVM has an rbf kernel. The scheme is run as the paper has it (libsvm, middle
plane, C = 1000), with the plane through the support vectors, and as the library has it (one hard negative, cap-svm). Seconds are of the processor."""

NU = 0.1
METHODS = {"paper": ("scikit-learn",), "paper, support plane": ("scikit-learn",), "cap-svm-paper": (), "cap-svm": (), "exact": (),
           "cvxopt QP": ("cvxopt",), "libsvm rbf": ("scikit-learn",)}


def rows_of(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(n, 10))
    return x if kind == "1 Gaussian" else x + rng.uniform(-4, 4, (3, 10))[rng.integers(3, size=n)]


def scheme(x: np.ndarray, plane: float) -> tuple[np.ndarray, float]:
    """The paper's: linear SVM against -v, to the centre of its ball, again; plane 0 is the middle one, 1 that of the support vectors."""
    from sklearn.svm import SVC

    centre = x.mean(0)
    radius = float("nan")
    for _ in range(20):
        moved = x - centre
        m = capball.fit(moved, center=False, goal="hemisphere" if plane else "mean")
        y = m.embed(moved)
        rows = np.vstack([y, -np.eye(y.shape[1])[-1:]])
        machine = SVC(kernel="linear", C=1000.0).fit(rows, np.append(np.ones(len(y)), -1))
        w, offset = machine.coef_[0], machine.intercept_[0]
        size = np.linalg.norm(w)
        ball = m.ball(capball.Cap(w / size, (plane - offset) / size))
        if not isinstance(ball, capball.Ball) or ball.outside:
            break
        centre, radius = centre + ball.c, ball.r
        if np.linalg.norm(ball.c) < 1e-3 * radius:
            break
    return centre, radius


def quadratic(x: np.ndarray) -> tuple[np.ndarray, float]:
    """SVDD's dual by cvxopt."""
    from cvxopt import matrix, solvers

    n, limit = len(x), 1 / (NU * len(x))
    solvers.options.update(show_progress=False)
    sides = matrix(np.vstack([-np.eye(n), np.eye(n)]))
    bounds = matrix(np.concatenate([np.zeros(n), np.full(n, limit)]))
    a = np.ravel(solvers.qp(matrix(2 * x @ x.T), matrix(-(x * x).sum(1)), sides, bounds, matrix(np.ones((1, n))), matrix(1.0))["x"])
    centre = a @ x
    edge = (a > 1e-3 * limit) & (a < (1 - 1e-3) * limit)
    distances = np.linalg.norm(x - centre, axis=1)
    return centre, float(np.median(distances[edge])) if edge.any() else float(np.quantile(distances, 1 - NU))


def objective(x: np.ndarray, centre: np.ndarray, radius: float) -> float:
    over = ((x - centre) ** 2).sum(1) - radius**2
    return radius**2 + np.maximum(over, 0).sum() / (NU * len(x))


def solve(kind: str, n: int, method: str) -> dict[str, Any]:
    x = rows_of(kind, n)
    began = time.process_time()
    centre, radius, scores = None, float("nan"), None
    if method.startswith("paper"):
        centre, radius = scheme(x, 1.0 if "support" in method else 0.0)
    elif method == "cvxopt QP":
        centre, radius = quadratic(x)
    elif method == "libsvm rbf":
        from sklearn.svm import OneClassSVM

        machine = OneClassSVM(nu=NU, gamma="scale").fit(x)
    else:
        model = capball.svdd(x, NU, method=method, threads=1)
        centre, radius = model.center, model.radius
    seconds = time.process_time() - began
    scores = machine.decision_function(x) if centre is None else -((x - centre) ** 2).sum(1)
    told = {"seconds": seconds, "radius": radius, "scores": scores[:600].tolist(), "order": np.argsort(np.argsort(scores)).tolist()}
    if centre is not None:
        told["objective"], told["centre"] = objective(x, centre, radius), np.asarray(centre).tolist()
    return told


def plan(job: Any) -> list[Step]:
    sizes = {"short": (300,), "quick": (300, 1000), "full": (500, 1000, 2000, 5000)}[job.level]
    steps = []
    for kind in ("1 Gaussian", "3 Gaussians"):
        for n in sizes:
            for method, needs in METHODS.items():
                cost = (n / 5000) ** 2.8 * 130 if method == "cvxopt QP" else 0.5
                steps.append(Step(solve, {"kind": kind, "n": n, "method": method}, needs=needs, uses=(rows_of, scheme, quadratic, objective),
                                  times_library=method in ("exact", "cap-svm", "cap-svm-paper"), seconds=cost))
    for n in (20000, 100000) if job.level == "full" else ():
        steps += [Step(solve, {"kind": "1 Gaussian", "n": n, "method": method}, uses=(rows_of, objective), times_library=True) for method in ("exact", "cap-svm")]
    return steps


def spearman(a: list[int], b: list[int]) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    told = {(s.settings["kind"], s.settings["n"], s.settings["method"]): g for s, g in zip(steps, given)}
    section.notes += sorted({f"{s.settings['method']}: {g['missing']}" for s, g in zip(steps, given) if "missing" in g})
    largest = max(s.settings["n"] for s in steps if s.settings["kind"] == "3 Gaussians")
    for kind in ("1 Gaussian", "3 Gaussians"):
        rows = []
        exact = told[(kind, largest, "exact")]
        if "missing" in exact:
            continue  # nothing to compare with
        for method in METHODS:
            own = told[(kind, largest, method)]
            key = f"{kind}.{method}".replace(" ", "-").replace(",", "")
            if "missing" in own:
                rows.append([method, own["missing"], "", "", ""])
                continue
            agreement = section.put(f"{key}.spearman", spearman(own["order"], exact["order"]), "", 4, [7])
            value = section.put(f"{key}.objective", own["objective"] / exact["objective"], "times", 4, [7]) if "objective" in own and own["objective"] == own["objective"] else "-"
            seconds = section.put(f"{key}.seconds", own["seconds"], "s", None, [7])
            rows.append([method, agreement, value, seconds, section.put(f"{key}.times", own["seconds"] / exact["seconds"], "times", None, [7])])
        section.tables.append(Table(f"{kind}, {largest} x 10", ["method", "Spearman with exact SVDD", "objective / exact", "seconds", "seconds / exact"], rows))
    sizes = sorted({s.settings["n"] for s in steps})
    rows = [[method, *[growth_cell(section, told, n, method) for n in sizes]] for method in METHODS]
    section.tables.append(Table("Growth with n, 1 Gaussian, seconds", ["method", *map(str, sizes)], rows))
    draw(section, told, largest, sizes)


def growth_cell(section: Section, told: Any, n: int, method: str) -> Any:
    own = told.get(("1 Gaussian", n, method), {})
    return section.put(f"growth.{method}.{n}".replace(" ", "-").replace(",", ""), own["seconds"], "s", None, [7]) if "seconds" in own else "-"


def draw(section: Section, told: Any, largest: int, sizes: list[int]) -> None:
    plt = plotter(NAME)
    if plt is None:
        return
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6))
    for axes, kind in ((left, "1 Gaussian"), (middle, "3 Gaussians")):
        exact = told[(kind, largest, "exact")].get("scores", [])
        for method, colour in (("paper", COLOURS[1]), ("cap-svm", COLOURS[0])):
            if exact and "scores" in told[(kind, largest, method)]:
                axes.plot(exact, told[(kind, largest, method)]["scores"], ".", ms=3, alpha=0.5, color=colour, rasterized=True, label=method)
        axes.set(title=kind, xlabel="−|x−c|² of exact SVDD (square of the rows' unit)", ylabel="−|x−c|² of the SVM scheme (same unit)")
        axes.legend(fontsize=7)
    for method in METHODS:
        points = [(n, told[("1 Gaussian", n, method)]["seconds"]) for n in sizes if "seconds" in told.get(("1 Gaussian", n, method), {})]
        if points:
            right.loglog(*zip(*points), "o-", ms=3, label=method)
    right.set(title="growth with n", xlabel="n (rows)", ylabel="processor time (s)")
    right.legend(fontsize=6.5)
    figure.tight_layout()
    section.draw(figure, "Scores of SVM and SVDD, and time", "Left and middle: scores of the paper's SVM scheme and of the library's over exact SVDD's scores. Right: seconds over the number of rows for every method.")
    levels(section, plt)


def levels(section: Section, plt: Any) -> None:
    """Level sets in the plane: the ball of each method."""
    rng = np.random.default_rng(3)
    x = np.vstack([rng.normal(size=(150, 2)) * 0.6, rng.normal(size=(100, 2)) * 0.5 + [2.5, 1.0], rng.normal(size=(50, 2)) * 0.4 + [0.5, 2.6]])
    figure, axes = plt.subplots(figsize=(5, 4.3))
    axes.plot(*x.T, ".", ms=3, color="#888888", label="rows")
    angle = np.linspace(0, 2 * np.pi, 200)
    for (label, model), colour in zip((("exact SVDD, ν = 0.1", capball.svdd(x, NU)), ("cap-svm, ν = 0.1", capball.svdd(x, NU, method="cap-svm")),
                                       ("cap-svm-paper: one C", capball.svdd(x, NU, method="cap-svm-paper"))), COLOURS):
        for share, style in ((1.0, "-"), (0.75, ":"), (0.5, ":")):
            axes.plot(*(model.center[:, None] + share * model.radius * np.stack([np.cos(angle), np.sin(angle)])), style, color=colour, lw=1.2, label=label if share == 1 else None)
    axes.set(title="level sets in the plane", xlabel="x₁ (unit of the rows)", ylabel="x₂ (unit of the rows)", aspect="equal")
    axes.legend(fontsize=7)
    section.draw(figure, "Level sets", "Rows of three clusters in the plane with the balls of exact SVDD, of the SVM against one hard negative, and of the SVM with one C, which encloses all rows.")
