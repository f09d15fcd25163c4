#!/usr/bin/env python3
"""Writes dual_cases.jsonl: lines for `capball dual` and their answers to 60 digits (T3, T5, T6).

Each line of the file is {"args": [..], "in": {..}, "out": {..}, "bound": B}. Inputs are doubles, read
exactly; answers are rounded to 25 digits. Run without arguments in this directory to write it again.
"""
import json
import random
from decimal import Decimal as D, getcontext

getcontext().prec = 60
random.seed(20240)


def exact(value):
    return [exact(x) for x in value] if isinstance(value, list) else D(value)


def dot(a, b):
    return sum((x * y for x, y in zip(a, b)), D(0))


def length(a):
    return dot(a, a).sqrt()


def scaled(k, a):
    return [k * x for x in a]


def product(W, x):
    return [dot(row, x) for row in W]


def hypot(a, b):
    return (a * a + b * b).sqrt()


def ball_to_cap(c, r, s, sign=1):
    n = length(c)
    h1, h2 = hypot(n + r, s), hypot(n - r, s)
    N = h1 * h2
    p = scaled(2 * s / N, c) + [(s * s - (n + r) * (n - r)) / N]
    b = (s * s + (n + r) * (n - r)) / N
    return {"p": scaled(sign, p), "b": sign * b, "sigma": 2 * s * r / N, "a": sign * 2 * s * s / N}


def halfspace_to_cap(n, h, s):
    size = length(n)
    n, h = scaled(1 / size, n), h / size
    R = hypot(h, s)
    return {"p": scaled(s / R, n) + [-h / R], "b": h / R, "sigma": s / R, "a": D(0)}


def cap_to_region(p, b, s):
    size, a = length(p), b + p[-1]
    head = p[:-1]
    d = len(head)
    if b >= size:
        return {"empty": {"d": d}}
    if b < -size or (b == -size and length(head) == 0 and p[-1] > 0):
        return {"everything": {"d": d}}
    if b == -size:
        return {"punctured": {"c": scaled(s / a, head)}}
    if a == 0:
        n = length(head)
        return {"halfspace": {"n": scaled(1 / n, head), "h": s * b / n}}
    r = s * ((size - b) * (size + b)).sqrt() / abs(a)
    return {"ball" if a > 0 else "complement": {"c": scaled(s / a, head), "r": r}}


def pole_of(c, axis, r1, r2):
    w = r1 / r2
    a1 = scaled(1 / length(axis), axis)
    sign = 1 if dot(c, a1) >= 0 else -1
    return scaled(sign * ((r2 - r1) * (r2 + r1)).sqrt() / r2, a1) + [w]


def spheroid_to_cap(c, v, r2, s, sign=1):
    u, w = v[:-1], v[-1]
    z = [x - s * y for x, y in zip(c, u)]
    t = z + [-dot(z, u) / w]
    T = length(t)
    N = hypot(T + r2, s) * hypot(T - r2, s)
    k = s * s + (r2 - T) * (r2 + T)
    p = [(2 * s * x + k * y) / N for x, y in zip(t, v)]
    b = (s * s + (T - r2) * (T + r2)) / N
    return {"p": scaled(sign, p), "b": sign * b, "sigma": 2 * s * r2 / N, "a": sign * 2 * s * s / N}


def cap_to_spheroid(p, b, v, s):
    size = length(p)
    p, b = scaled(1 / size, p), b / size
    u, w = v[:-1], v[-1]
    a = b + dot(p, v)
    c = [s * (x + b * y) / a for x, y in zip(p, u)]
    r2 = s * (1 - b * b).sqrt() / abs(a)
    n = length(u)
    return {"ellipsoid" if a > 0 else "complement":
            {"c": c, "axis": scaled(1 / n, u), "r1": abs(w) * r2, "r2": r2}}


def cholesky(G):
    d = len(G)
    U = [[D(0)] * d for _ in G]
    for i in range(d):
        for j in range(i, d):
            rest = G[i][j] - sum((U[k][i] * U[k][j] for k in range(i)), D(0))
            U[i][j] = rest.sqrt() if i == j else rest / U[i][i]
    return U


cases = []


def add(scale, line, answer, bound):
    cases.append({"args": ["--scale", repr(scale)], "in": line, "out": answer, "bound": bound})


def gauss(d, size):
    return [random.gauss(0, 1) * size for _ in range(d)]


def add_round():
    sizes = [(1.0, [2.0], 1.0), (1.0, [0.0], 1.0), (1.0, [0.6], 1e-8), (1.0, [3.0, 4.0], 5.0), (1.0, [3.0, 4.0], 4.999999),
             (0.37, [1e-6, 2e-6], 1e-7), (1e6, [1.0, -2.0, 3.0], 0.5), (1e-6, [1.0, -2.0, 3.0], 0.5),
             (1.0, [1e-8], 1e8), (1.0, [1e8], 1e-8), (2.5, [0.0, 0.0], 1e-3)]
    for d in (1, 2, 5, 17):
        for _ in range(8):
            sizes.append((10 ** random.uniform(-3, 3), gauss(d, 10 ** random.uniform(-3, 3)), 10 ** random.uniform(-4, 3)))
    for s, c, r in sizes:
        S, C, R = exact(s), exact(c), exact(r)
        add(s, {"ball": {"c": c, "r": r}}, {"cap": ball_to_cap(C, R, S)}, 1e-14)
        add(s, {"complement": {"c": c, "r": r}}, {"cap": ball_to_cap(C, R, S, -1)}, 1e-14)


def add_halfspaces():
    for s, n, h in [(1.0, [1.0], 0.0), (1.0, [-2.0], 3.0), (0.5, [3.0, 4.0], -7.0), (1e4, [1e-3, 2e-3, -5e-3], 1e-2),
                    (3.0, gauss(7, 1), 1e9), (3.0, gauss(7, 1), 1e-9)]:
        add(s, {"halfspace": {"n": n, "h": h}}, {"cap": halfspace_to_cap(exact(n), exact(h), exact(s))}, 1e-14)


def add_caps():
    table = [([0.6, 0.8], 1.5), ([3.0, 4.0], 5.0), ([3.0, 4.0], 2.0), ([3.0, 4.0], -4.0), ([3.0, -4.0], 4.0), ([3.0, 4.0], -4.5),
             ([3.0, 4.0], -5.0), ([3.0, 4.0], -5.5), ([0.0, 1.0], -1.0), ([0.0, -1.0], -1.0), ([0.0, 1.0], 0.25),
             ([0.0, -1.0], 0.25), ([0.0, 2.0], 0.0), ([1.0, 0.0], 0.5), ([1.0, 2.0, -3.0, 0.5], 1.25), ([1.0, 2.0, -3.0, 0.5], -1.25)]
    for p, b in table:
        for s in (1.0, 0.3):
            add(s, {"cap": {"p": p, "b": b}}, cap_to_region(exact(p), exact(b), exact(s)), 1e-14)


def add_spheroids():
    for s, c, axis, r1, r2 in [(1.0, [0.5, 0.25], [1.0, 0.0], 0.5, 1.0), (1.0, [2.0, 1.0], [3.0, 4.0], 0.2, 3.0),
                               (0.1, [0.3, -0.2, 0.9], [1.0, 2.0, 2.0], 1.0, 1.25), (7.0, gauss(6, 3), gauss(6, 1), 0.6, 4.0),
                               (2.0, [1.0], [1.0], 0.75, 1.0)]:
        S, C, R1, R2 = exact(s), exact(c), exact(r1), exact(r2)
        v = pole_of(C, exact(axis), R1, R2)
        shape = {"c": c, "axis": axis, "r1": r1, "r2": r2}
        add(s, {"ellipsoid": shape}, {"cap": spheroid_to_cap(C, v, R2, S), "pole": v}, 1e-12)
        add(s, {"complement": shape}, {"cap": spheroid_to_cap(C, v, R2, S, -1), "pole": v}, 1e-12)
    for s, v, p, b in [(1.0, [0.6, 0.8], [1.0, 2.0], 0.3), (2.0, [0.0, 0.28, 0.96], [1.0, 2.0, -0.5], 0.4),
                       (1.0, [0.6, -0.8], [1.0, -2.0], -0.3)]:
        V = scaled(1 / length(exact(v)), exact(v))
        add(s, {"cap": {"p": p, "b": b}, "pole": v}, cap_to_spheroid(exact(p), exact(b), V, exact(s)), 1e-12)


def add_ellipsoids():
    for s, d in [(1.0, 1), (1.0, 2), (0.4, 3), (5.0, 5)]:
        W = [[random.gauss(0, 0.4) + (2.0 if i == j else 0.0) for j in range(d)] for i in range(d)]
        c, m = gauss(d, 1), gauss(d, 0.5)
        S, C, M, WW = exact(s), exact(c), exact(m), exact(W)
        add(s, {"ellipsoid": {"c": c, "W": W}}, {"cap": ball_to_cap(product(WW, C), D(1), S)}, 1e-12)
        add(s, {"complement": {"c": c, "W": W}}, {"cap": ball_to_cap(product(WW, C), D(1), S, -1)}, 1e-12)
        moved = product(WW, [x - y for x, y in zip(C, M)])
        add(s, {"ellipsoid": {"c": c, "W": W, "r": 0.75}, "m": m}, {"cap": ball_to_cap(moved, D("0.75"), S)}, 1e-12)
        G = [[float(dot([WW[k][i] for k in range(d)], [WW[k][j] for k in range(d)])) for j in range(d)] for i in range(d)]
        U = cholesky(exact(G))
        add(s, {"ellipsoid": {"c": c, "G": G}}, {"cap": ball_to_cap(product(U, C), D(1), S), "W": U}, 1e-12)


def digits(value):
    if isinstance(value, dict):
        return {key: digits(x) for key, x in value.items()}
    if isinstance(value, list):
        return [digits(x) for x in value]
    return f"{value:.25g}" if isinstance(value, D) else value


if __name__ == "__main__":
    for build in (add_round, add_halfspaces, add_caps, add_spheroids, add_ellipsoids):
        build()
    with open("dual_cases.jsonl", "w") as file:
        for case in cases:
            case["out"] = digits(case["out"])
            file.write(json.dumps(case, separators=(",", ":")) + "\n")
    print(len(cases), "cases")
