"""The theorems and corollaries as the paper prints them, beside the library, on random caps and balls."""

from __future__ import annotations

from typing import Any

import numpy as np

import capball

from .section import Section, Table
from .steps import Step

NAME = "theorems"
TITLE = "The formulas, as printed"
ABOUT = """Each formula of the paper is evaluated as printed and compared with the library, whose laws are tested in hundreds of bits.
Differences are relative, the largest over 2000 random cases with d = 3."""


def random_unit(rng: Any, d: int) -> np.ndarray:
    p = rng.normal(size=d)
    return p / np.linalg.norm(p)


def paper_ball(p: np.ndarray, b: float, s: float) -> tuple[np.ndarray, float]:
    """Theorem 1, as printed."""
    alpha = (1 - b * b) / (2 * (b + p[-1]))
    hat = p - alpha * np.eye(len(p))[-1]
    hat = hat / np.linalg.norm(hat)
    return s * hat[:-1] / (1 + hat[-1]), s * np.sqrt(2 * alpha / (b + p[-1]))


def paper_cap(c: np.ndarray, r: float, s: float) -> tuple[np.ndarray, float]:
    """Theorem 2, as printed: the last coordinate is never negative."""
    n = c @ c
    beta = 2 * s / np.sqrt((n + r * r + s * s) ** 2 - 4 * n * r * r)
    last = np.sqrt(max(0.0, 1 - beta * beta * n))
    return np.append(beta * c, last), (s * np.sqrt(s * s + beta * beta * n * r * r) - r * r * last) / (r * r + s * s)


def theorem_1(cases: int) -> dict[str, float]:
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(cases):
        p, b, s = random_unit(rng, 4), rng.uniform(-0.95, 0.95), np.exp(rng.normal())
        if b + p[-1] > 0.05:
            ball = capball.SphereMap(3, s).ball(capball.Cap(p, b))
            c, r = paper_ball(p, b, s)
            worst = max(worst, abs(r - ball.r) / ball.r, np.linalg.norm(c - ball.c) / ball.r)
    return {"worst": worst}


def theorem_2(cases: int) -> dict[str, float]:
    rng, worst, wrong, foretold = np.random.default_rng(1), 0.0, 0, 0
    for _ in range(cases):
        c, r, s = rng.normal(size=3), np.exp(rng.normal() - 0.5), np.exp(rng.normal() - 0.5)
        cap = capball.SphereMap(3, s).cap(capball.Ball(c, r))
        p, b = paper_cap(c, r, s)
        off = max(np.abs(p - cap.p).max(), abs(b - cap.b))
        beyond = c @ c > s * s + r * r
        wrong += off > 1e-6
        foretold += (off > 1e-6) == beyond
        worst = worst if beyond else max(worst, off)
    return {"worst": worst, "wrong": 100 * wrong / cases, "foretold": 100 * foretold / cases}


def theorem_3(cases: int) -> dict[str, float]:
    """Cap to ellipsoid for a general pole: r1 = |v0| r2; and C(v,b) has the same centre for every b (the Hypothesis in d = 2)."""
    rng, ratio, centre = np.random.default_rng(2), 0.0, 0.0
    for _ in range(cases):
        v, s = random_unit(rng, 4), np.exp(rng.normal())
        if abs(v[-1]) < 0.1:
            continue
        m = capball.SphereMap(3, s, pole=v)
        shape = m.ball(capball.Cap(v, rng.uniform(-0.5, 0.9)))
        ratio = max(ratio, abs(shape.along / shape.r - abs(v[-1])))
        centre = max(centre, float(np.abs(shape.c - s * v[:-1]).max() / s))
    return {"ratio": ratio, "centre": centre}


def hemisphere(cases: int) -> dict[str, float]:
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(cases // 20):
        x = rng.normal(size=(50, 3)) * np.exp(rng.normal())
        s = np.linalg.norm(x, axis=1).max()
        wrong += not (capball.SphereMap(3, s * (1 + 1e-9)).embed(x)[:, -1] > 0).all()
        wrong += (capball.SphereMap(3, s * (1 - 1e-9)).embed(x)[:, -1] > 0).all()
    return {"wrong": float(wrong)}


def products(cases: int) -> dict[str, float]:
    """The corollary's inner product and distance, both ways."""
    rng, worst = np.random.default_rng(4), 0.0
    x, y = rng.normal(size=(2, cases, 3))
    for s in (0.3, 1.0, 3.0):
        m = capball.SphereMap(3, s)
        a, b = m.embed(x), m.embed(y)
        n, k = (x * x).sum(1) + s * s, (y * y).sum(1) + s * s
        gap = ((x - y) ** 2).sum(1)
        worst = max(worst, np.abs((a * b).sum(1) - (1 - 2 * s * s * gap / (n * k))).max())
        back = s * s / ((1 + a[:, -1]) * (1 + b[:, -1])) * ((a - b) ** 2).sum(1)
        worst = max(worst, float((np.abs(back - gap) / gap).max()))
    return {"worst": worst}


def simple_inverse(cases: int) -> dict[str, float]:
    """The simplified inverse far from the centre, against the library's."""
    x = np.random.default_rng(5).normal(size=(cases, 3))
    x *= 1e7 / np.linalg.norm(x, axis=1, keepdims=True)
    m = capball.SphereMap(3, 1.0)
    y = m.embed(x)
    size = np.linalg.norm(x, axis=1)
    printed = y[:, :-1] / (1 + y[:, -1:])
    return {"printed": float(np.median(np.linalg.norm(printed - x, axis=1) / size)),
            "library": float((np.linalg.norm(m.unembed(y) - x, axis=1) / size).max())}


CHECKS = {"theorem 1": theorem_1, "theorem 2": theorem_2, "theorem 3": theorem_3, "hemisphere": hemisphere, "products": products,
          "simplified inverse": simple_inverse}
UNITS = {"wrong": "%", "foretold": "%"}
MEANING = {
    "theorem 1.worst": "centre and radius as printed", "theorem 2.worst": "cap as printed, |c|² ≤ s² + r²",
    "theorem 2.wrong": "share of random balls whose printed cap is wrong, %", "theorem 2.foretold": "share where |c|² > s² + r² foretells it, %",
    "theorem 3.ratio": "r₁/r₂ − |v₀|", "theorem 3.centre": "distance of the centre of C(v,b) from s·u, over s: every b has the same centre",
    "hemisphere.wrong": "cases where max |x| does not decide", "products.worst": "inner products and distances both ways",
    "simplified inverse.printed": "relative error at |x| = 1e7 s, printed form", "simplified inverse.library": "the same, two branches",
}


def plan(job: Any) -> list[Step]:
    cases = 200 if job.level == "short" else 2000
    return [Step(check, {"cases": cases}, uses=(paper_ball, paper_cap, random_unit)) for check in CHECKS.values()]


def report(job: Any, section: Section, steps: list[Step], given: list[Any]) -> None:
    rows = []
    for name, result in zip(CHECKS, given):
        for what, value in result.items():
            key = f"{name}.{what}"
            digits = 1 if what in UNITS and name == "theorem 2" else 0 if name == "hemisphere" else None
            rows.append([name, MEANING[key], section.put(key.replace(" ", "-"), value, "" if name == "hemisphere" else UNITS.get(what, ""), digits, [0])])
    section.tables.append(Table("Printed formulas beside the library", ["formula", "what is compared", "largest"], rows))
