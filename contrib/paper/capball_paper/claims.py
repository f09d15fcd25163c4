"""What the paper claims, claim by claim, judged by the numbers of the run."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

HOLDS, LIMIT, FAILS, OPEN = "holds", "holds with a limit", "does not hold", "not measured here"


class Unknown(Exception):
    """A number that this run has not."""


class Numbers:
    """The numbers of all sections; a call shows one and remembers who made it."""

    def __init__(self, numbers: dict[str, dict[str, Any]]) -> None:
        self.numbers, self.used = numbers, []

    def value(self, key: str) -> float:
        if key not in self.numbers:
            raise Unknown(key)
        return self.numbers[key]["value"]

    def __call__(self, key: str) -> str:
        self.value(key)
        self.used.append(key)
        return self.numbers[key]["shown"]

    def count(self, key: str, value: int, like: str) -> str:
        """A count over numbers, which becomes a number too; its command is theirs."""
        self.numbers[key] = {"value": float(value), "shown": str(value), "unit": "", "command": self.numbers[like]["command"], "seeds": [], "spread": None}
        return self(key)

    def over(self, begin: str, end: str) -> list[str]:
        return [k for k in self.numbers if k.startswith(begin) and k.endswith(end)]


class Claim(NamedTuple):
    where: str
    text: str
    judge: Callable[[Numbers], tuple[str, str]]


TABLE = "table_scann_annoy"
FASHION = "fashion-mnist-784-euclidean"


def theorem_1(n: Numbers) -> tuple[str, str]:
    good = n.value("theorems.theorem-1.worst") < 1e-9
    return (HOLDS if good else FAILS), f"printed and exact differ by {n('theorems.theorem-1.worst')} at most"


def theorem_2(n: Numbers) -> tuple[str, str]:
    verdict = HOLDS if n.value("theorems.theorem-2.wrong") == 0 else LIMIT if n.value("theorems.theorem-2.foretold") > 99.9 else FAILS
    return verdict, (f"right ({n('theorems.theorem-2.worst')}) where |c|² ≤ s² + r², wrong beyond: the last coordinate has the wrong sign, for "
                     f"{n('theorems.theorem-2.wrong')} % of random balls")


def theorem_3(n: Numbers) -> tuple[str, str]:
    good = n.value("theorems.theorem-3.ratio") < 1e-9 and n.value("fig2_ellipsoid.off") < 1e-9
    return (HOLDS if good else FAILS), f"ratio of the axes is |v₀| to {n('theorems.theorem-3.ratio')}; a drawn rim is on its ellipse to {n('fig2_ellipsoid.off')}"


def hypothesis(n: Numbers) -> tuple[str, str]:
    same = n.value("theorems.theorem-3.centre") < 1e-9
    return (FAILS if same else OPEN), f"the image of C(v,b) has its centre at s·u for every b (to {n('theorems.theorem-3.centre')}): in the plane no other centre is reached"


def hemisphere(n: Numbers) -> tuple[str, str]:
    return (HOLDS if n.value("theorems.hemisphere.wrong") == 0 else FAILS), f"{n('theorems.hemisphere.wrong')} cases where the largest norm does not decide"


def products(n: Numbers) -> tuple[str, str]:
    return (HOLDS if n.value("theorems.products.worst") < 1e-9 else FAILS), f"largest difference {n('theorems.products.worst')}"


def inverse(n: Numbers) -> tuple[str, str]:
    bad = n.value("theorems.simplified-inverse.printed") > 1e-9
    return (LIMIT if bad else HOLDS), (f"exact in theory; in double precision at |x| = 1e7 s its error is {n('theorems.simplified-inverse.printed')}, "
                                       f"that of the two-branch form {n('theorems.simplified-inverse.library')}")


def cosines(n: Numbers) -> tuple[str, str]:
    least = n.value("fig3_cosines.correlation.least")
    return (HOLDS if least > 0.99 else LIMIT if least > 0.8 else FAILS), (f"correlation at least {n('fig3_cosines.correlation.least')}; single cosines move by up to "
            f"{n('fig3_cosines.normal.moved')} (normal rows), {n('fig3_cosines.moved.beyond-bound')} sets beyond the bound 2 max y₀²")


def abid_bound(n: Numbers) -> tuple[str, str]:
    over = n.value("fig4_abid.over-bound")
    return (HOLDS if over == 0 else FAILS), f"exceeded on {n('fig4_abid.over-bound')} of {n('fig4_abid.sets')} sets; the rigorous bound is d + 1"


def abid_range(n: Numbers) -> tuple[str, str]:
    return (HOLDS if n.value("fig4_abid.farthest") < 10 else FAILS), f"the largest ABID is never farther than a factor {n('fig4_abid.farthest')} from the mean norm"


def abid_grid(n: Numbers) -> tuple[str, str]:
    return (HOLDS if n.value("fig4_abid.grid-loss") < 5 else LIMIT), f"the best of 20 values is at most {n('fig4_abid.grid-loss')} % below the best of 401"


def abid_mean(n: Numbers) -> tuple[str, str]:
    dip = n.value("fig4_abid.two-maxima") > 0
    return (LIMIT if dip else HOLDS), (f"at the mean norm ABID has at least {n('fig4_abid.mean-share.least')} % of its maximum, but {n('fig4_abid.two-maxima')} of "
            f"{n('fig4_abid.sets')} curves have two maxima and the mean norm lies in the dip between them")


def svm_order(n: Numbers) -> tuple[str, str]:
    one, three = "fig5_svm_svdd.1-Gaussian.", "fig5_svm_svdd.3-Gaussians."
    paper = min(n.value(one + "cap-svm-paper.spearman"), n.value(three + "cap-svm-paper.spearman"))
    return (HOLDS if paper > 0.99 else LIMIT if paper > 0.8 else FAILS), (
        f"Spearman with SVDD {n(one + 'cap-svm-paper.spearman')} (one Gaussian) and {n(three + 'cap-svm-paper.spearman')} (three): with one C it is the enclosing ball; "
        f"with a hard negative {n(one + 'cap-svm.spearman')} and {n(three + 'cap-svm.spearman')}")


def svm_speed(n: Numbers) -> tuple[str, str]:
    growth = "fig5_svm_svdd.growth."
    sizes = [int(k.rsplit(".", 1)[1]) for k in n.over(growth + "cvxopt-QP.", "")]
    if not sizes:
        raise Unknown("cvxopt")
    size = max(sizes)
    faster = n.value(f"{growth}cvxopt-QP.{size}") / n.value(f"{growth}paper-support-plane.{size}")
    return (HOLDS if faster > 10 else LIMIT if faster > 1 else FAILS), (
        f"{size} rows: QP {n(f'{growth}cvxopt-QP.{size}')} s, SVM scheme {n(f'{growth}paper-support-plane.{size}')} s, libsvm's one-class SVM "
        f"{n(f'{growth}libsvm-rbf.{size}')} s, exact SVDD {n(f'{growth}exact.{size}')} s: the QP is a weak rival")


def enclosing(n: Numbers) -> tuple[str, str]:
    key = "fig5_enclosing_ball.Gaussian-d3."
    good = n.value(key + "caps-spresent-radius.best") < 1e-8
    middle = n.value(key + "caps-middle-plane-smean-norm.best") > 1e-3
    return (LIMIT if good and middle else HOLDS if good else FAILS), (
        f"with the plane of the support vectors and s the present radius {n(key + 'caps-spresent-radius.1e-08')} steps to 1e-8; with the middle plane never better than "
        f"{n(key + 'caps-middle-plane-smean-norm.best')}; the core-set iteration needs {n(key + 'core-set.0.001')} steps to 1e-3")


def cell(engine: str, name: str, way: str, form: str = "point", figure: str = "recall") -> str:
    return f"{TABLE}.{engine}.{name}.{way}.{form}.{figure}"


def paper_cell(engine: str, name: str, column: str) -> str:
    return f"{TABLE}.paper.{engine}.{name}.{column}"


def repeated(engine: str) -> Callable[[Numbers], tuple[str, str]]:
    def judge(n: Numbers) -> tuple[str, str]:
        pairs = [(cell(engine, FASHION, "own-L2"), paper_cell(engine, "Fashion-MNIST", "direct")), (cell(engine, FASHION, "S"), paper_cell(engine, "Fashion-MNIST", "embedded")),
                 (cell(engine, FASHION, "unembedded"), paper_cell(engine, "Fashion-MNIST", "unembedded"))]
        off = [abs(n.value(a) - n.value(b)) for a, b in pairs]
        errors = [f"{TABLE}.error.{engine}.{FASHION}.{way}" for way in ("own-L2", "S")]
        close = [gap <= max(1, 2 * n.value(error)) for gap, error in zip(off, errors)]
        verdict = HOLDS if all(close) else LIMIT if any(close) or max(off[:2]) <= 5 else FAILS
        found = "; ".join(f"{word} {n(a)} % (paper {n(b)})" for word, (a, b) in zip(("direct", "embedded", "unembedded"), pairs))
        return verdict, f"{found}; standard error by the 1000 queries here {n(errors[0])} (direct) and {n(errors[1])} (embedded) points"

    return judge


def headline(n: Numbers) -> tuple[str, str]:
    gain = n.value(cell("scann", FASHION, "S", "ball", "rescored")) - n.value(cell("scann", FASHION, "S"))
    other = cell("scann", FASHION, "S-recall")
    scale = f"; at the scale for recall S(q) finds {n(other)} %" if other in n.numbers else ""
    return (FAILS if gain > 10 else HOLDS), (
        f"it is a matter of the query, not of the sphere: on the same index S(q) finds {n(cell('scann', FASHION, 'S'))} % (paper {n(paper_cell('scann', 'Fashion-MNIST', 'embedded'))}), "
        f"a ball query {n(cell('scann', FASHION, 'S', 'ball'))} %, with 100 candidates rescored {n(cell('scann', FASHION, 'S', 'ball', 'rescored'))} %{scale}")


def scann_improves(n: Numbers) -> tuple[str, str]:
    sets = [k.split(".")[2] for k in n.over(f"{TABLE}.scann.", ".own-L2.point.recall") if "angular" not in k and "normalised" not in k]
    sets = [s for s in sets if cell("scann", s, "S") in n.numbers]
    if not sets:
        raise Unknown("scann")
    better = [s for s in sets if n.value(cell("scann", s, "S")) > n.value(cell("scann", s, "own-L2")) + 1]
    shown = "blobs-50" if "blobs-50" in sets else sets[0]
    verdict = HOLDS if len(better) == len(sets) else LIMIT if better else FAILS
    return verdict, (f"S(q) finds more than ScaNN's own L2 index on {n.count('claims.scann-better', len(better), cell('scann', shown, 'S'))} of "
                     f"{n.count('claims.scann-sets', len(sets), cell('scann', shown, 'S'))} Euclidean sets; on {shown} {n(cell('scann', shown, 'S'))} % against "
                     f"{n(cell('scann', shown, 'own-L2'))} %")


def annoy_unembedded(n: Numbers) -> tuple[str, str]:
    sets = [k.split(".")[2] for k in n.over(f"{TABLE}.annoy.", ".unembedded.point.recall") if "angular" in k or "normalised" in k]
    sets = [s for s in sets if cell("annoy", s, "own-L2") in n.numbers]
    if not sets:
        raise Unknown("annoy")
    gains = {s: n.value(cell("annoy", s, "unembedded")) - n.value(cell("annoy", s, "own-L2")) for s in sets}
    best, worst = max(gains, key=gains.get), min(gains, key=gains.get)
    verdict = HOLDS if min(gains.values()) > 0 else LIMIT if max(gains.values()) > 0 else FAILS
    return verdict, (f"more on {n.count('claims.annoy-better', sum(g > 0 for g in gains.values()), cell('annoy', best, 'own-L2'))} of "
                     f"{n.count('claims.annoy-sets', len(sets), cell('annoy', best, 'own-L2'))} spherical sets: {best} {n(cell('annoy', best, 'own-L2'))} to {n(cell('annoy', best, 'unembedded'))} %, "
                     f"{worst} {n(cell('annoy', worst, 'own-L2'))} to {n(cell('annoy', worst, 'unembedded'))} %")


def spherical_stays(n: Numbers) -> tuple[str, str]:
    keys = [k for k in n.over(f"{TABLE}.scan.", ".S.point.recall") if "angular" in k or "normalised" in k]
    if not keys:
        raise Unknown("scan")
    worst = min(keys, key=n.value)
    return (HOLDS if n.value(worst) > 99 else LIMIT), f"all rows compared, S(q) keeps {n(worst)} % of the neighbours at worst ({worst.split('.')[2]})"


def ball_queries(n: Numbers) -> tuple[str, str]:
    lost, asked = n.over(f"{TABLE}.loss.", ""), n.over(f"{TABLE}.", ".ball.recall")
    if not asked:
        raise Unknown("ball")
    indexes = n.count("claims.ball-indexes", len(asked), asked[0])
    if not lost:
        return HOLDS, f"the worst change over {indexes} indexes (sets, engines, scales) is {n(f'{TABLE}.ball.worst')} points"
    sets = sorted({k.split(".")[3] for k in lost})
    return LIMIT, f"worst {n(f'{TABLE}.ball.worst')} points, on {', '.join(sets)}: one radius for all queries does not fit where their distances differ by orders of magnitude"


def ceiling(n: Numbers) -> tuple[str, str]:
    return (HOLDS if n.value(f"{TABLE}.rescored.ceiling-gap") < 1e-9 else FAILS), f"recall after rescoring and the share of true rows among the candidates differ by {n(f'{TABLE}.rescored.ceiling-gap')} points"


def sketches(n: Numbers) -> tuple[str, str]:
    least, sphere = n.value("hiob_sketches.gain.least"), n.value("hiob_sketches.sphere-gain.least")
    return (HOLDS if least > 0 and sphere > 0 else LIMIT), (
        f"trained bits on embedded rows beside random hyperplanes: {n('hiob_sketches.gain.least')} to {n('hiob_sketches.gain.most')} points; beside the same training on centred "
        f"directions {n('hiob_sketches.sphere-gain.least')} to {n('hiob_sketches.sphere-gain.most')}")


def steps_of(n: Numbers, key: str) -> str:
    return n(key + ".steps") if key + ".steps" in n.numbers else "not within the run"


def faster(n: Numbers) -> tuple[str, str]:
    adam, sgd = "fig6_activation.moons.Adam.", "fig6_activation.moons.SGD."
    better = n.value(adam + "S.loss") < n.value(adam + "ReLU.loss")
    fair = n.value(adam + "S.loss") < n.value(adam + "ReLU-identity-start.loss") and n.value(adam + "ReLU-identity-start.p") < 0.05
    with_sgd = n.value(sgd + "S.loss") < n.value(sgd + "ReLU.loss")
    verdict = HOLDS if better and fair and with_sgd else LIMIT if better else FAILS
    return verdict, (f"Adam, loss 0.1: S {steps_of(n, adam + 'S')} steps, ReLU {steps_of(n, adam + 'ReLU')}, tanh {steps_of(n, adam + 'tanh')}; but ReLU from the same identity start "
                     f"{steps_of(n, adam + 'ReLU-identity-start')} and S from a random start {steps_of(n, adam + 'S-random-start')}; last loss with SGD: S {n(sgd + 'S.loss')}, ReLU {n(sgd + 'ReLU.loss')}, "
                     f"tanh {n(sgd + 'tanh.loss')}")


def softer(n: Numbers) -> tuple[str, str]:
    key = "fig6_activation.moons.Adam."
    good = n.value(key + "S.undecided") > n.value(key + "ReLU-identity-start.undecided")
    return (HOLDS if good else FAILS), f"undecided share S {n(key + 'S.undecided')}, ReLU {n(key + 'ReLU.undecided')}, ReLU from the same start {n(key + 'ReLU-identity-start.undecided')}, tanh {n(key + 'tanh.undecided')}"


def real_images(n: Numbers) -> tuple[str, str]:
    key = "fig6_activation.images."
    s, relu = n.value(key + "S.accuracy"), n.value(key + "ReLU.accuracy")
    spread = max(n.numbers[key + "S.accuracy"]["spread"] or 0, n.numbers[key + "ReLU.accuracy"]["spread"] or 0)
    verdict = HOLDS if s > relu + spread else LIMIT if s > relu - spread else FAILS
    return verdict, f"test accuracy S {n(key + 'S.accuracy')} %, ReLU {n(key + 'ReLU.accuracy')} %, tanh {n(key + 'tanh.accuracy')} %"


CLAIMS = [
    Claim("Theorem 1", "Every cap with b + p₀ > 0 is a ball, with this centre and radius", theorem_1),
    Claim("Theorem 2", "Every ball is a cap, with this direction and bias", theorem_2),
    Claim("Theorem 3", "For a general pole caps are ellipsoids with one axis shorter by |v₀|", theorem_3),
    Claim("Hypothesis", "Chained embeddings reach every ellipsoid", hypothesis),
    Claim("Corollary 1", "s ≥ max |x| puts all rows on one hemisphere", hemisphere),
    Claim("Corollary 2", "Inner products and distances of one space from the other", products),
    Claim("Section 3", "For the pole e the inverse simplifies to s y'/(1 + y₀)", inverse),
    Claim("Figure 3", "At s = mean norm cosines before and after are nearly the same", cosines),
    Claim("Section 5", "ABID(embedded) ≤ ABID(original) + 1", abid_bound),
    Claim("Section 5", "The best s is within a factor 10 of the mean norm", abid_range),
    Claim("Section 5", "A grid of 20 values suffices", abid_grid),
    Claim("Section 5", "The mean norm is close to the best s for spread", abid_mean),
    Claim("Figure 5", "The SVM scheme keeps the order of SVDD's scores", svm_order),
    Claim("Figure 5", "The SVM scheme is much faster than SVDD (half a second against 1.5 minutes)", svm_speed),
    Claim("Section 6", "The minimal bounding sphere can be found with hyperplanes", enclosing),
    Claim("Table", "ScaNN on Fashion-MNIST: the figures themselves, same data", repeated("scann")),
    Claim("Table", "Annoy on Fashion-MNIST: the figures themselves, same data", repeated("annoy")),
    Claim("Table", "On Fashion-MNIST the embedding costs ScaNN 24 points", headline),
    Claim("Table", "Embedding Euclidean rows improves ScaNN", scann_improves),
    Claim("Table", "Unembedding spherical rows improves Annoy", annoy_unembedded),
    Claim("Table", "Embedding spherical rows changes little", spherical_stays),
    Claim("beside it", "Ball queries are not worse than point queries by more than a point", ball_queries),
    Claim("beside it", "Exact rescoring reaches the ceiling of the engine's candidates", ceiling),
    Claim("Section 1", "HIOB, made for spherical data, extends to Euclidean rows", sketches),
    Claim("Figure 6", "S as first activation converges faster", faster),
    Claim("Figure 6", "S gives softer decision boundaries", softer),
    Claim("beside it", "S as activation helps on Fashion-MNIST", real_images),
]


def judged(numbers: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Every claim with its verdict, what was found, the numbers in it and the command that makes them."""
    made = []
    for claim in CLAIMS:
        shown = Numbers(numbers)
        try:
            verdict, found = claim.judge(shown)
        except Unknown as why:
            verdict, found = OPEN, f"{why} is not in this run"
        commands = sorted({numbers[key]["command"] for key in shown.used})
        made.append({"where": claim.where, "claim": claim.text, "verdict": verdict, "found": found, "numbers": shown.used, "commands": commands})
    return made
