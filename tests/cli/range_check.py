"""Every command over 1e-300 .. 1e300: the same rows times 10^k give the same answers times 10^k, and rows of mixed
sizes give what 60 digits give; else there is an exit code and one sentence that holds. Prints TAP."""
import json
import math
import os
import random
import subprocess
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 80
getcontext().Emax, getcontext().Emin = 10**6, -(10**6)
POWERS = [-300, -230, -160, -154, -100, -20, 20, 100, 153, 160, 230, 300]
MIXED = [(-300, 300), (-160, 0), (0, 154), (0, 160), (-300, -290), (290, 300), (-20, 20)]
N, D = 60, 3


def rows_of(seed, n, powers):
    """Gaussian rows, each times a power of ten out of `powers`."""
    rng = random.Random(seed)
    return [[rng.gauss(0, 1) * 10.0 ** (p := rng.choice(powers)) if j == 0 else rng.gauss(0, 1) * 10.0**p
             for j in range(D)] for _ in range(n)]


def write(path, rows):
    with open(path, "w") as to:
        to.writelines(",".join(map(repr, row)) + "\n" for row in rows)


def read(path):
    with open(path) as lines:
        return [[float(x) for x in line.split(",")] for line in lines]


class Refused(Exception):
    pass


def run(*words, text=None):
    done = subprocess.run(["capball", *map(str, words)], input=text, capture_output=True, text=True)
    sentences = [line for line in done.stderr.splitlines() if line.startswith("capball")]
    if done.returncode == 1 and len(sentences) == 1 and len(done.stderr.splitlines()) == 1:
        raise Refused(sentences[0])
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def table(*words):
    run(*words, "-q") if words[0] in QUIET else run(*words)
    return read("out.csv")


QUIET = {"fit", "merge", "ball", "score", "knn", "range", "rescore", "query", "recommend"}


def fitted(*options):
    run("fit", "base.csv", "-o", "map.json", "-q", *options)
    with open("map.json") as file:
        return json.load(file)


def model(*options):
    run("ball", "base.csv", "-o", "model.json", "-q", *options)
    with open("model.json") as file:
        return json.load(file)


def find(value, key):
    """The first member of that name, however deep."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            found = find(inner, key)
            if found is not None:
                return found
    return None


# ---- each job gives (power of the unit, number) pairs ----


def flat(value):
    if isinstance(value, list):
        return [x for inner in value for x in flat(inner)]
    return [float(value)]


def as_unit(power, value):
    return [(power, x) for x in flat(value)]


def info(unit):
    return as_unit(1, list(find(json.loads(run("info", "base.csv", "--json")), "norms").values())[:4])


def fit_mean(unit):
    made = fitted()
    return as_unit(1, find(made, "scale")) + as_unit(1, find(made, "center") or find(made, "centre"))


def fit_median(unit):
    return as_unit(1, find(fitted("--goal", "median"), "scale"))


def fit_whitened(unit):
    fitted("--whiten")
    return as_unit(0, table("embed", "-m", "map.json", "base.csv", "-o", "out.csv"))


def fit_spread(unit):
    return as_unit(1, find(fitted("--goal", "spread"), "scale"))


def fit_recall(unit):
    return as_unit(1, find(fitted("--goal", "recall", "-k", "3"), "scale"))


def merge(unit):
    run("fit", "base.csv", "--state", "a.state", "-q")
    run("fit", "queries.csv", "--state", "b.state", "--first-row", N, "-q")
    run("merge", "a.state", "b.state", "-o", "all.state", "-q")
    for piece, first in (("base", 0), ("queries", N)):
        run("fit", piece + ".csv", "--about", "all.state", "--state", piece + ".state", "--first-row", first, "-q")
    run("merge", "base.state", "queries.state", "-o", "map.json", "-q")
    with open("map.json") as file:
        return as_unit(1, find(json.load(file), "scale"))


def abid(unit):
    return as_unit(0, find(json.loads(run("abid", "base.csv", "--json")), "abid"))


def cosines(unit):
    report = json.loads(run("cosines", "base.csv", "--json"))
    return as_unit(1, report["scale"]) + as_unit(0, [report["correlation"], report["slope"], report["rms"]])


def embed(unit):
    fitted()
    return as_unit(0, table("embed", "-m", "map.json", "base.csv", "-o", "out.csv"))


def lift(unit):
    return as_unit(0, table("embed", "--transform", "lift-cosine", "base.csv", "-o", "out.csv"))


def unembed(unit):
    fitted()
    run("embed", "-m", "map.json", "base.csv", "-o", "sphere.csv")
    return as_unit(1, table("unembed", "-m", "map.json", "sphere.csv", "-o", "out.csv"))


def dual(unit):
    fitted()
    line = json.dumps({"ball": {"c": [x * unit for x in (0.3, -0.2, 0.7)], "r": 1.3 * unit}}) + "\n"
    cap = run("dual", "-m", "map.json", text=line)
    ball = json.loads(run("dual", "-m", "map.json", text=cap))["ball"]
    return as_unit(0, [json.loads(cap)["cap"][key] for key in ("p", "b", "sigma", "a")]) + as_unit(1, [ball["c"], ball["r"]])


def knn(unit):
    ids = table("knn", "base.csv", "queries.csv", "-k", "5", "-o", "out.csv", "--distances", "far.csv")
    return as_unit(0, ids) + as_unit(1, read("far.csv"))


def within(unit):
    lines = run("range", "base.csv", "queries.csv", "--radius", repr(1.4 * unit), "-o", "-", "-q").splitlines()
    hits = [json.loads(line) for line in lines]
    return as_unit(0, [hit["ids"] for hit in hits]) + as_unit(1, [hit["distances"] for hit in hits])


def recommend(unit):
    report = json.loads(run("recommend", "base.csv", "-k", "3", "--json", "-q"))
    return as_unit(0, [report["pick"]["recall"], report["pick"]["candidates_for_99"]]) + as_unit(0, len(report["pick"]["transform"]))


def query(unit):
    fitted()
    rows = table("query", "-m", "map.json", "queries.csv", "--radius", repr(1.4 * unit), "-o", "out.csv", "--thresholds", "b.csv")
    return as_unit(0, rows) + as_unit(0, read("b.csv"))


def rescore(unit):
    fitted()
    run("embed", "-m", "map.json", "base.csv", "-o", "sphere.csv")
    write("ids.csv", [list(range(N))] * 8)
    ids = table("rescore", "-m", "map.json", "queries.csv", "ids.csv", "--embedded", "sphere.csv", "-k", "3", "-o", "out.csv",
                "--distances", "far.csv")
    return as_unit(0, ids) + as_unit(1, read("far.csv"))


def ball(unit):
    made = model()
    return as_unit(1, [find(made, "center"), find(made, "radius")])


def ball_soft(unit):
    made = model("--nu", "0.3")
    return as_unit(1, [find(made, "center"), find(made, "radius")])


def ball_cap_svm(unit):
    return as_unit(1, find(model("--nu", "0.3", "--method", "cap-svm"), "radius"))


def ball_rbf(unit):
    gamma = 1 / unit / unit if 1e-150 < unit < 1e150 else 0.5
    radius = find(model("--nu", "0.3", "--kernel", "rbf", "--gamma", repr(gamma)), "radius")
    if unit < 1e150:
        return as_unit(0, radius)
    assert abs(radius - math.sqrt(1 - 1 / N)) < 1e-6, radius  # no two rows are alike: the images are orthonormal
    return None


def score(unit):
    model()
    rows = table("score", "-m", "model.json", "queries.csv", "-o", "out.csv")
    assert all(math.isfinite(x) for x in flat(rows))
    return as_unit(0, [x[0] > 0 for x in rows])


def sketch(unit):
    run("sketch", "train", "base.csv", "-o", "sketch.json", "--bits", "16", "-q")
    run("sketch", "encode", "-m", "sketch.json", "base.csv", "-o", "codes.u8bin")
    ids = table("sketch", "search", "-m", "sketch.json", "codes.u8bin", "queries.csv", "-k", "2", "--candidates", N, "--base", "base.csv",
                "-o", "out.csv", "--distances", "far.csv")
    return as_unit(0, ids) + as_unit(1, read("far.csv"))


def convert(unit):
    run("convert", "base.csv", "base.npy")
    return as_unit(1, table("convert", "base.npy", "out.csv"))


JOBS = [info, fit_mean, fit_median, fit_whitened, fit_spread, fit_recall, merge, abid, cosines, embed, lift, unembed, dual, knn, within,
        recommend, query, rescore, ball, ball_soft, ball_cap_svm, ball_rbf, score, sketch, convert]
LOOSE = {"info": 1e-6, "fit_median": 1e-3, "ball_cap_svm": 1e-6, "fit_spread": 1e-6, "fit_whitened": 1e-9, "ball_rbf": 1e-5, "unembed": 1e-11}


def compare(name, got, want, unit):
    if got is None:  # judged by the job itself
        return
    if len(got) != len(want):
        raise AssertionError(f"{len(got)} numbers, wanted {len(want)}")
    size = {p: max([abs(x) for q, x in want if q == p] + [1e-300]) for p in (0, 1)}
    for (power, x), (_, y) in zip(got, want):
        x = float(Fraction(x) / Fraction(unit) ** power) if math.isfinite(x) else x
        if not abs(x - y) <= LOOSE.get(name, 1e-12) * size[power]:
            raise AssertionError(f"{x!r} instead of {y!r}")


# ---- rows of mixed sizes, against many digits ----


def exact(x):
    return Decimal(x)


def distance(x, y):
    return sum((exact(a) - exact(b)) ** 2 for a, b in zip(x, y)).sqrt()


def near(x, y, share):
    return abs(exact(x) - y) <= exact(share) * abs(y) + Decimal(5e-324) * 4


def mixed_knn(base, queries):
    ids = table("knn", "base.csv", "queries.csv", "-k", "5", "-o", "out.csv", "--distances", "far.csv")
    for q, found, far in zip(queries, ids, read("far.csv")):
        true = sorted(distance(q, x) for x in base)
        for k, (i, r) in enumerate(zip(found, far)):
            assert near(r, true[k], 1e-14) and near(float(distance(q, base[int(i)])), true[k], 1e-14), (k, i, r, true[k])


def mixed_embed(base, queries):
    s = exact(find(fitted("--center", "none"), "scale"))
    for x, y in zip(base, table("embed", "-m", "map.json", "base.csv", "-o", "out.csv")):
        n = sum(exact(a) ** 2 for a in x)
        true = [2 * s * exact(a) / (n + s * s) for a in x] + [(s * s - n) / (n + s * s)]
        assert all(abs(exact(a) - b) <= Decimal(1e-15) for a, b in zip(y, true)), (x, y)


def mixed_ball(base, queries):
    made = model()
    c, r = find(made, "center"), find(made, "radius")
    assert all(distance(x, c) <= exact(r) * (1 + Decimal(1e-13)) for x in base)
    assert find(made, "lower_bound") is None or find(made, "lower_bound") <= r


def mixed_soft(base, queries):
    made = model("--nu", "0.3")
    c, r = find(made, "center"), find(made, "radius")
    outside = sum(distance(x, c) > exact(r) * (1 + Decimal(1e-9)) for x in base)
    assert outside <= 0.3 * len(base), outside


def mixed_any(*words):
    def job(base, queries):
        if any("map.json" in str(word) for word in words):
            fitted()
        text = run(*words)
        assert not any(word in text.lower() for word in (":nan", ":-nan", ":inf", ":-inf")), text[:200]
    job.__name__ = "mixed_" + words[0]
    return job


MIXED_JOBS = [mixed_knn, mixed_embed, mixed_ball, mixed_soft, mixed_any("info", "base.csv", "--json"), mixed_any("cosines", "base.csv", "--json"),
              mixed_any("abid", "base.csv", "--json"), mixed_any("fit", "base.csv", "-o", "out.json", "-q"),
              mixed_any("fit", "base.csv", "-o", "out.json", "-q", "--goal", "spread"),
              mixed_any("fit", "base.csv", "-o", "out.json", "-q", "--whiten"),
              mixed_any("recommend", "base.csv", "-k", "3", "--json", "-q"),
              mixed_any("query", "-m", "map.json", "queries.csv", "--knn", "2", "--base", "base.csv", "-o", "out.csv"),
              mixed_any("sketch", "train", "base.csv", "-o", "sketch.json", "--bits", "16", "-q")]


# ---- rows that are all the same, and the ends of the range ----

EQUAL = [("fit", "base.csv", "-o", "out.json", "-q"), ("fit", "base.csv", "-o", "out.json", "-q", "--goal", "median"),
         ("fit", "base.csv", "-o", "out.json", "-q", "--goal", "spread"), ("fit", "base.csv", "-o", "out.json", "-q", "--whiten"),
         ("cosines", "base.csv", "--json"), ("abid", "base.csv", "--json"), ("ball", "base.csv", "-o", "out.json", "-q"),
         ("ball", "base.csv", "-o", "out.json", "-q", "--nu", "1"), ("recommend", "base.csv", "-k", "1", "--json", "-q"),
         ("sketch", "train", "base.csv", "-o", "out.json", "-q")]


def equal_rows(row, n):
    write("base.csv", [row] * n)
    for words in EQUAL:
        try:
            run(*words)
        except Refused:
            continue
        raise AssertionError(f"{' '.join(words)} takes {n} equal rows")


def there_and_back(size, s):
    rows = [[size * 0.6, 0.0, size * 0.8], [-size, size * 1e-3, 0.0]]
    write("base.csv", rows)
    run("fit", "base.csv", "-o", "map.json", "-q", "--center", "none", "--scale", repr(s))
    run("embed", "-m", "map.json", "base.csv", "-o", "sphere.csv")
    for x, y in zip(rows, table("unembed", "-m", "map.json", "sphere.csv", "-o", "out.csv")):
        assert all(abs(a - b) <= 1e-13 * size for a, b in zip(x, y)), (x, y)


class Tap:
    count = 0

    def say(self, good, text, why=""):
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {text}{' # ' + why if good and why else ''}")
        if not good:
            print("#", why)
        return good


def attempt(tap, text, job):
    try:
        job()
        return tap.say(True, text)
    except Refused as refusal:
        return tap.say(True, text, "refused: " + str(refusal))
    except Exception as error:  # a test that fails says why
        return tap.say(False, text, f"{type(error).__name__}: {error}")


def main():
    tap = Tap()
    form = sys.argv[1] if len(sys.argv) > 1 else "short"
    step = {"long": 1, "short": 4, "brief": 12}[form]
    base, queries = rows_of(1, N, [0]), rows_of(2, 8, [0])
    for turn, job in enumerate(JOBS):
        write("base.csv", base)
        write("queries.csv", queries)
        want = job(1.0)
        powers = POWERS[turn % step :: step] + ([(-300, 300)[turn % 2]] if form == "short" else [])
        for k in powers:
            unit = 10.0**k
            write("base.csv", [[x * unit for x in row] for row in base])
            write("queries.csv", [[x * unit for x in row] for row in queries])
            attempt(tap, f"{job.__name__} at 1e{k}", lambda: compare(job.__name__, job(unit), want, unit))
    for turn, job in enumerate(MIXED_JOBS):
        for k, powers in enumerate(MIXED):
            if (k + turn) % (step - 1 or 1):
                continue
            rows, asked = rows_of(3 + k, N, powers), rows_of(30 + k, 8, powers)
            write("base.csv", rows)
            write("queries.csv", asked)
            attempt(tap, f"{job.__name__} of sizes 1e{powers[0]} and 1e{powers[1]}", lambda: job(rows, asked))
    for row in ([0.1, 0.7, 0.3], [1e300, 1e-300, 3.0], [1 / 3, 1e16, 7.0]):
        for n in (1, 2, 3, 4, 7, 10) if form == "long" else (1, 3, 7):
            attempt(tap, f"{n} rows {row}", lambda: equal_rows(row, n))
    for size, s in ((1e308, 1e300), (1e308, 1e308), (1e-300, 1e-292), (1e-292, 1e-300), (1e300, 1e292), (1.0, 1e-8)):
        attempt(tap, f"unembed |x| = {size} at s = {s}", lambda: there_and_back(size, s))
    print(f"1..{tap.count}")


main()
