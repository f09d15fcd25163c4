"""Runs `capball dual` on dual_cases.jsonl and prints TAP: each answer, and `dual | dual` of each region."""
import json
import math
import subprocess
import sys
from decimal import Decimal as D


def ask(arguments, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run(["capball", "dual", *arguments], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        print("#", done.stderr.strip())
    return [json.loads(line) for line in done.stdout.splitlines()]


def flat(value):
    return [x for row in value for x in flat(row)] if isinstance(value, list) else [D(value)]


def error(key, got, want):
    """Relative, of vectors in the norm; p and b lie on a unit sphere and are judged on its scale."""
    a, b = flat(got), flat(want)
    if len(a) != len(b):
        return math.inf
    difference = sum((x - y) ** 2 for x, y in zip(a, b)).sqrt()
    size = sum(y * y for y in b).sqrt()
    if key in ("p", "b") or (key == "h" and size < 1):
        size = D(1)
    return float(difference if size == 0 else difference / size)


def worst(got, want):
    answer = 0.0
    for key, value in want.items():
        if key not in got:
            return math.inf
        inner = worst(got[key], value) if isinstance(value, dict) else error(key, got[key], value)
        answer = max(answer, inner)
    return answer


def unit(line):
    """The region as dual prints it back: normals and axes of unit length."""
    line = json.loads(json.dumps(line))
    for shape in line.values():
        if not isinstance(shape, dict):
            continue
        shape.pop("G", None)
        for key in ("n", "axis"):
            if key in shape:
                size = math.sqrt(math.fsum(x * x for x in shape[key]))
                shape[key] = [x / size for x in shape[key]]
                if key == "n":
                    shape["h"] /= size
    return line


def main(path):
    cases = [json.loads(line) for line in open(path)]
    number, bad = 0, 0
    overall = {1e-14: 0.0, 1e-12: 0.0}
    for arguments in sorted({tuple(case["args"]) for case in cases}):
        chosen = [case for case in cases if tuple(case["args"]) == arguments]
        lines = [{**case["in"], "id": i} for i, case in enumerate(chosen)]
        answers = ask(arguments, lines)
        back = ask(arguments, answers)
        for i, case in enumerate(chosen):
            judged = [("answer", worst(answers[i], case["out"]) if i < len(answers) else math.inf)]
            if "cap" not in case["in"]:
                judged.append(("dual | dual", worst(back[i], unit(case["in"])) if i < len(back) else math.inf))
            for what, wrong in judged:
                number += 1
                good = wrong <= case["bound"] and answers[i].get("id") == i if i < len(answers) else False
                overall[case["bound"]] = max(overall[case["bound"]], wrong)
                print("ok" if good else "not ok", number, "-", what, json.dumps(case["in"])[:100], "%.1e" % wrong)
    print("# worst relative error", {bound: "%.1e" % value for bound, value in overall.items()})
    print("1..%d" % number)


main(sys.argv[1])
