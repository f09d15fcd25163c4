"""ball_of through random pipelines: the region has the verdict of predict on every row. More: CPB_PIPELINES=200 CPB_PIPELINE_ROWS=1000000."""

import os
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC

import capball
from capball.sklearn import SphereEmbedding

PIPELINES = int(os.environ.get("CPB_PIPELINES", 60))
ROWS = int(os.environ.get("CPB_PIPELINE_ROWS", 2000))
BLOCK = 100000
WORDS = np.array(["red", "green", "blue", "grey"], object)
SCALERS = [StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, lambda: StandardScaler(with_mean=False),
           lambda: RobustScaler(with_scaling=False), lambda: "passthrough", FunctionTransformer]


def choice(rng, options):
    return options[rng.integers(len(options))]


def affine(rng, columns, count):
    """Some steps, and how many columns come out of them."""
    steps = []
    for _ in range(count):
        if columns > 1 and rng.random() < 0.3:
            kept = columns if rng.random() < 0.5 else int(rng.integers(1, columns))
            steps.append(PCA(kept, whiten=bool(rng.random() < 0.5), random_state=0))
            columns = kept
        else:
            steps.append(choice(rng, SCALERS)())
    return steps, columns


def of_steps(steps):
    return Pipeline([(f"s{i}", step) for i, step in enumerate(steps)]) if steps else "passthrough"


def numbers(rng, columns, holes):
    """A branch of numeric columns."""
    imputer = [SimpleImputer(strategy=choice(rng, ["mean", "median", "most_frequent"]))] if holes or rng.random() < 0.3 else []
    before = [choice(rng, SCALERS)()] if rng.random() < 0.2 else []
    return of_steps([*before, *imputer, *affine(rng, columns, rng.integers(0, 3))[0]])


def words(rng):
    """A branch of columns of text."""
    encoder = OneHotEncoder(sparse_output=bool(rng.random() < 0.3), handle_unknown="ignore", drop="first" if rng.random() < 0.3 else None)
    imputer = [SimpleImputer(strategy="most_frequent")] if rng.random() < 0.5 else []
    dense = [FunctionTransformer()] if encoder.sparse_output else [StandardScaler()]
    return of_steps([*imputer, encoder, *(dense if rng.random() < 0.3 else [])])


def a_pipeline(rng, mixed, holes, columns):
    sphere = SphereEmbedding(whiten=bool(rng.random() < 0.3), ridge=0.01)
    last = choice(rng, [LogisticRegression(C=10, max_iter=300), SGDClassifier(random_state=0), LinearSVC(), RidgeClassifier()])
    behind = [StandardScaler()] if rng.random() < 0.3 else []
    if mixed:
        first = ColumnTransformer([("words", words(rng), [columns, columns + 1]), ("numbers", numbers(rng, columns, holes), list(range(columns)))],
                                  sparse_threshold=0)
    elif rng.random() < 0.4:
        half = columns // 2
        remainder = SimpleImputer() if holes else choice(rng, ["passthrough", "drop", StandardScaler()])
        first = ColumnTransformer([("one", numbers(rng, half, holes), list(range(half)))], remainder=remainder)
    else:
        first = numbers(rng, columns, holes)
    return make_pipeline(first, *affine(rng, 1, rng.integers(0, 2))[0], sphere, *behind, last)


def data(rng, rows, columns, mixed, holes):
    x = rng.normal(size=(rows, columns)) * np.linspace(0.5, 20, columns) + np.linspace(-5, 5, columns)
    if holes:
        x[rng.random(x.shape) < 0.1] = np.nan
    if not mixed:
        return x
    text = WORDS[rng.integers(len(WORDS), size=(rows, 2))]
    return np.concatenate([x.astype(object), text], axis=1)


def classes_of(x, columns):
    z = np.nan_to_num(x[:, :columns].astype(float))
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    return (np.sum(z**2, axis=1) + z[:, 0] < columns).astype(int)


@pytest.mark.parametrize("seed", range(PIPELINES))
def test_regions_of_random_pipelines(seed):
    rng = np.random.default_rng(seed)
    mixed, holes, columns = bool(rng.random() < 0.4), bool(rng.random() < 0.4), int(rng.integers(2, 7))
    x = data(rng, 400, columns, mixed, holes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = a_pipeline(rng, mixed, holes, columns).fit(x, classes_of(x, columns))
    region = capball.ball_of(model)
    for first in range(0, ROWS, BLOCK):
        x = data(rng, min(BLOCK, ROWS - first), columns, mixed, holes)
        decided = model.decision_function(x)
        wrong = (region.scores(x) >= 0) != (decided >= 0)
        assert np.abs(decided[wrong]).max(initial=0) <= 1e-12 * np.abs(decided).max(), (seed, model)
    assert region.describe()


@pytest.mark.parametrize("step, named", [(PolynomialFeatures(2), "step 'odd' (PolynomialFeatures)"), (Normalizer(), "step 'odd' (Normalizer)"),
                                         (KNNImputer(), "step 'odd' (KNNImputer)"), (MinMaxScaler(clip=True), "step 'odd' (MinMaxScaler)"),
                                         (FunctionTransformer(np.abs), "step 'odd' (FunctionTransformer)")], ids=str)
@pytest.mark.parametrize("inside", [False, True])
def test_other_steps_are_named(step, named, inside):
    x, y = make_classification(200, 5, random_state=0)
    first = ColumnTransformer([("odd", step, [0, 1]), ("rest", StandardScaler(), [2, 3, 4])]) if inside else step
    model = Pipeline([("columns" if inside else "odd", first), ("sphere", SphereEmbedding()), ("last", LogisticRegression())]).fit(x, y)
    wanted = named.replace("'odd'", "'columns.odd'") if inside else named
    with pytest.raises((TypeError, ValueError)) as found:
        capball.ball_of(model)
    assert wanted in str(found.value)


def test_tables_with_names_and_words():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"height": rng.normal(170, 10, 500), "weight": rng.normal(70, 9, 500), "colour": WORDS[rng.integers(4, size=500)]})
    table.loc[::9, "weight"] = np.nan
    y = np.hypot((table["height"] - 170) / 10, (table["weight"].fillna(70) - 70) / 9) + 0.3 * (table["colour"] == "red") < 1.3
    columns = ColumnTransformer([("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["height", "weight"]),
                                 ("words", OneHotEncoder(), ["colour"])])
    model = make_pipeline(columns, SphereEmbedding(), LogisticRegression(C=100)).fit(table, y)
    region = capball.ball_of(model)
    np.testing.assert_array_equal(region.scores(table) >= 0, model.predict(table))
    assert region.names == ["height", "weight", "colour_blue", "colour_green", "colour_grey", "colour_red"]
    assert 165 < region.region.c[0] < 175 and "height" in region.describe(None)  # in centimetres
    with pytest.raises(ValueError, match="prepare"):
        region.save("somewhere.json")


def test_an_imputer_goes_into_the_file(tmp_path):
    rng = np.random.default_rng(0)
    x = data(rng, 400, 3, False, True)
    model = make_pipeline(SimpleImputer(), StandardScaler(), SphereEmbedding(), LogisticRegression()).fit(x, classes_of(x, 3))
    region = capball.ball_of(model)
    region.save(tmp_path / "r.json")
    np.save(tmp_path / "x.npy", x)
    command = shutil.which("capball") or str(Path(os.environ.get("BUILD", "build")).resolve() / "capball")
    if not Path(command).exists():
        pytest.skip("the command is not built")
    done = subprocess.run([command, "score", "-m", "r.json", "x.npy", "--predict", "-o", "-", "--to", "csv", "-q"], cwd=tmp_path,
                          check=True, capture_output=True, text=True)
    np.testing.assert_array_equal(np.array(done.stdout.split(), float) == 1, model.predict(x) == 1)


def test_spheroids_behind_scalers():
    """Under another pole regions are spheroids; a scaler before them makes general ellipsoids."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2)) * [1, 3] + [2, -1]
    scaler = StandardScaler().fit(x)
    sphere = capball.SphereMap(2, 1.5, pole=[0.6, 0.0, 0.8])
    y = np.linalg.norm(scaler.transform(x) - 0.3, axis=1) < 1
    last = LogisticRegression(C=100).fit(sphere.embed(scaler.transform(x)), y)
    model = Pipeline([("scaler", scaler), ("sphere", sphere), ("last", last)])
    decided = last.decision_function(sphere.embed(scaler.transform(x)))
    np.testing.assert_array_equal(capball.ball_of(model).scores(x) >= 0, decided >= 0)


def test_networks_of_torch():
    torch = pytest.importorskip("torch")
    from capball.torch import Sphere

    torch.manual_seed(0)
    for layers in ([torch.nn.BatchNorm1d(4)], [torch.nn.Linear(4, 4)], [torch.nn.Linear(4, 2)], [torch.nn.Linear(4, 7), torch.nn.BatchNorm1d(7)],
                   [torch.nn.BatchNorm1d(4, affine=False), torch.nn.Dropout(), torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Identity())]):
        d = next((m.out_features for m in reversed(list(torch.nn.Sequential(*layers).modules())) if isinstance(m, torch.nn.Linear)), 4)
        net = torch.nn.Sequential(*layers, Sphere(s=1.5), torch.nn.Linear(d + 1, 3)).double()
        net(torch.randn(200, 4, dtype=torch.float64) * 3 + 1)  # running means
        net.eval()
        x = torch.randn(ROWS, 4, dtype=torch.float64) * 2
        decided = net(x).detach().numpy()
        for region, column in zip(capball.ball_of(net), decided.T):
            wrong = (region.scores(x.numpy()) >= 0) != (column >= 0)
            assert np.abs(column[wrong]).max(initial=0) < 1e-12
    with pytest.raises(TypeError, match=r"step '1' \(ReLU\)"):
        capball.ball_of(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), Sphere(s=1.0), torch.nn.Linear(5, 2)))
