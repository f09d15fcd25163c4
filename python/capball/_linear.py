"""Hyperplanes behind a sphere embedding, read back as regions of the data space.

A linear method on embedded rows decides by <w,S(x)> + w0 >= 0, which is a cap of the sphere: a ball of the data, or the
complement of one, or a half-space; an ellipsoid where columns were rescaled or whitened before the embedding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ._classes import region_of_plane
from ._map import SphereMap
from .dual import Ellipsoid, Everywhere, HalfSpace, Region


class Planes(NamedTuple):
    """<w_i,y> + w0_i of a linear estimator, and the labels it gives to them (None: it has none)."""

    w: np.ndarray
    w0: np.ndarray
    labels: list[Any] | None


class Affine(NamedTuple):
    """x -> A x + t, as columns are rescaled; A is a vector where it is diagonal."""

    A: np.ndarray
    t: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        return np.diag(self.A) if self.A.ndim == 1 else self.A


class Step(NamedTuple):
    """One of the steps that rows go through, and what it is called there."""

    name: str
    step: Any


def _vector(values: Any) -> np.ndarray:
    return np.array(values, np.float64)


# ---- affine steps


def _standard(step: Any) -> Affine:
    d = step.n_features_in_
    scale = np.ones(d) if step.scale_ is None else _vector(step.scale_)
    mean = np.zeros(d) if getattr(step, "mean_", None) is None or not step.with_mean else _vector(step.mean_)
    return Affine(1 / scale, -mean / scale)


def _robust(step: Any) -> Affine:
    d = step.n_features_in_
    scale = np.ones(d) if step.scale_ is None else _vector(step.scale_)
    center = np.zeros(d) if step.center_ is None else _vector(step.center_)
    return Affine(1 / scale, -center / scale)


def _min_max(step: Any) -> Affine:
    if step.clip:
        raise ValueError("MinMaxScaler(clip=True) is not affine: its regions are no balls")
    return Affine(_vector(step.scale_), _vector(step.min_))


def _max_abs(step: Any) -> Affine:
    if getattr(step, "clip", False):
        raise ValueError("MaxAbsScaler(clip=True) is not affine: its regions are no balls")
    scale = _vector(step.scale_)
    return Affine(1 / scale, np.zeros(len(scale)))


def _pca(step: Any) -> Affine:
    A = _vector(step.components_)
    if step.whiten:
        A = A / np.sqrt(_vector(step.explained_variance_))[:, None]
    return Affine(A, -A @ _vector(step.mean_))


def _batch_norm(step: Any) -> Affine:
    if step.running_mean is None:
        raise ValueError("BatchNorm1d without running statistics is not affine: it depends on the other rows")
    factor = 1 / np.sqrt(_numbers(step.running_var) + step.eps)
    if step.weight is not None:
        factor = factor * _numbers(step.weight)
    return Affine(factor, (0 if step.bias is None else _numbers(step.bias)) - _numbers(step.running_mean) * factor)


def _linear(step: Any) -> Affine:
    A = np.atleast_2d(_numbers(step.weight))
    return Affine(A, np.zeros(len(A)) if step.bias is None else _numbers(step.bias))


_AFFINE = {"StandardScaler": _standard, "RobustScaler": _robust, "MinMaxScaler": _min_max, "MaxAbsScaler": _max_abs,
           "PCA": _pca, "BatchNorm1d": _batch_norm, "Linear": _linear}
_NOTHING = ("Identity", "Dropout")  # of torch, where a network is used and not trained
_PREPARES = ("SimpleImputer", "OneHotEncoder", "ColumnTransformer")


def _is_nothing(step: Any) -> bool:
    name = type(step).__name__
    return step is None or step == "passthrough" or name in _NOTHING or (name == "FunctionTransformer" and step.func is None)


def _named(step: Step) -> str:
    return f"step {step.name!r} ({type(step.step).__name__})" if step.name else type(step.step).__name__


def _affine(step: Step) -> Affine:
    name = type(step.step).__name__
    if name not in _AFFINE:
        raise TypeError(f"ball_of reads {', '.join(_AFFINE)}, {', '.join(_PREPARES)} and a SphereEmbedding before the estimator, "
                        f"not {_named(step)}")
    try:
        return _AFFINE[name](step.step)
    except ValueError as error:
        raise ValueError(f"{_named(step)}: {error}") from None


def _after(first: Affine | None, then: Affine) -> Affine:
    """x -> then(first(x))."""
    if first is None:
        return then
    if then.A.ndim == 1:
        return Affine(then.A * first.A if first.A.ndim == 1 else then.A[:, None] * first.A, then.A * first.t + then.t)
    return Affine(then.A * first.A if first.A.ndim == 1 else then.A @ first.A, then.A @ first.t + then.t)


def _behind(planes: Planes, step: Affine) -> Planes:
    """The planes of y for planes of A y + t."""
    w = planes.w * step.A if step.A.ndim == 1 else planes.w @ step.A
    return Planes(w, planes.w0 + planes.w @ step.t, planes.labels)


# ---- steps that prepare rows: they are applied, and the region is one of their results


class Prepared(NamedTuple):
    """What rows go through before a region: branches of columns, each with its steps. affine: what follows them, or None."""

    branches: list[tuple[Any, list[Any]]]  # columns (None: all), and the steps
    affine: Affine | None

    def rows(self, x: Any) -> np.ndarray:
        """The rows in whose columns the region is."""
        return np.concatenate([_through(steps, _columns_of(x, columns)) for columns, steps in self.branches], axis=1)

    def names(self, given: Any) -> list[str] | None:
        """The names of those columns, for the names of the table's columns; None where there are none."""
        found: list[str] = []
        for columns, steps in self.branches:
            names = None if given is None else list(np.asarray(given, object)[slice(None) if columns is None else columns])
            for step in steps:
                names = None if names is None else list(step.get_feature_names_out(names))
            if names is None:
                return None
            found += [str(name) for name in names]
        return found


def _columns_of(x: Any, columns: Any) -> Any:
    if columns is None:
        return x
    return x.iloc[:, columns] if hasattr(x, "iloc") else np.asarray(x)[:, columns]


def _through(steps: list[Any], x: Any) -> np.ndarray:
    for step in steps:
        x = step.transform(x)
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x, np.float64)


def _split(steps: list[Step]) -> tuple[list[Any], Affine | None]:
    """Steps of one branch: those up to the last that is not affine, and what the others do together."""
    last = max((i for i, step in enumerate(steps) if type(step.step).__name__ in _PREPARES), default=-1)
    affine = None
    for step in steps[: last + 1]:  # only what is known may stand there
        if type(step.step).__name__ == "ColumnTransformer":
            _branches(step)
        elif type(step.step).__name__ not in _PREPARES:
            _affine(step)
    for step in steps[last + 1 :]:
        affine = _after(affine, _affine(step))
    return [step.step for step in steps[: last + 1]], affine


def _flat(name: str, model: Any) -> list[Step]:
    """The steps of a part of a pipeline."""
    if _is_nothing(model):
        return []
    if hasattr(model, "named_steps"):
        return [step for inner, part in model.steps for step in _flat(f"{name}.{inner}" if name else inner, part)]
    return [Step(name, model)]


def _one_column_transformer(step: Any) -> list[tuple[str, Any, np.ndarray]]:
    """name, transformer and input columns of each branch that has a result, in the order of the results."""
    found = []
    for name, part, columns in step.transformers_:
        indices = step._transformer_to_input_indices.get(name, columns)
        if not (isinstance(part, str) and part == "drop") and len(indices) > 0:
            found.append((name, part, np.asarray(indices)))
    return sorted(found, key=lambda branch: step.output_indices_[branch[0]].start)


def _branches(step: Step) -> list[tuple[np.ndarray, list[Any], Affine | None]]:
    """Of a ColumnTransformer: columns, steps that prepare, and what is affine behind them."""
    if step.step.transformer_weights:
        raise ValueError(f"{_named(step)}: transformer_weights are not read")
    found = []
    for name, part, columns in _one_column_transformer(step.step):
        steps = _flat(f"{step.name}.{name}" if step.name else name, part)
        inner = next((s for s in steps if type(s.step).__name__ == "ColumnTransformer"), None)
        if inner is not None:
            raise TypeError(f"{_named(inner)}: a ColumnTransformer within another is not read")
        found.append((columns, *_split(steps)))
    return found


def _side_by_side(parts: list[Affine]) -> Affine:
    """One map of all columns from maps of some each."""
    t = np.concatenate([part.t for part in parts])
    if all(part.A.ndim == 1 for part in parts):
        return Affine(np.concatenate([part.A for part in parts]), t)
    A = np.zeros((len(t), sum(part.A.shape[-1] for part in parts)))
    row = column = 0
    for part in parts:
        A[row : row + len(part.t), column : column + part.A.shape[-1]] = part.matrix
        row, column = row + len(part.t), column + part.A.shape[-1]
    return Affine(A, t)


def _of_branches(step: Step) -> tuple[Prepared | None, Affine]:
    """A ColumnTransformer as what prepares its columns and what is affine; None: it is affine as a whole."""
    branches = _branches(step)
    d = step.step.n_features_in_
    parts, prepared = [], any(steps for _, steps, _ in branches)
    for columns, steps, affine in branches:
        width = len(steps[-1].get_feature_names_out()) if steps else len(columns)
        parts.append(Affine(np.ones(width), np.zeros(width)) if affine is None else affine)
    if prepared:
        return Prepared([(columns, steps) for columns, steps, _ in branches], None), _side_by_side(parts)
    chosen = np.concatenate([columns for columns, _, _ in branches])
    pick = np.zeros((len(chosen), d))
    pick[np.arange(len(chosen)), chosen] = 1
    return None, _after(Affine(pick, np.zeros(len(chosen))), _side_by_side(parts))


def _front(steps: list[Step]) -> Prepared:
    """All that stands before the embedding."""
    if not steps:
        return Prepared([], None)
    first = steps[0]
    if type(first.step).__name__ == "ColumnTransformer":
        prepared, columns = _of_branches(first)
        rest, then = _split(steps[1:])
        if not rest:
            return Prepared([] if prepared is None else prepared.branches, columns if then is None else _after(columns, then))
    prepares, affine = _split(steps)
    return Prepared([(None, prepares)] if prepares else [], affine)


# ---- regions through affine maps


def _pulled(region: Region, step: Affine) -> Region:
    """The region of x for a region of A x + t."""
    d = step.A.shape[-1]
    if isinstance(region, Everywhere):
        return Everywhere(d, region.nothing)
    if isinstance(region, HalfSpace):
        n = region.n * step.A if step.A.ndim == 1 else region.n @ step.A
        length, h = float(np.linalg.norm(n)), region.h - float(region.n @ step.t)
        return HalfSpace(n / length, h / length) if length > 0 else Everywhere(d, nothing=bool(h > 0))
    return _bounded_pulled(region, step)


def _bounded_pulled(region: Any, step: Affine) -> Region:
    W: Any = getattr(region, "W", None)
    if getattr(region, "axis", None) is not None:  # r across the axis, `along` in its direction
        W = np.eye(region.d) + (region.r / region.along - 1) * np.outer(region.axis, region.axis)
    if W is None and step.A.ndim == 1:
        return Ellipsoid((region.c - step.t) / step.A, region.r, np.diag(step.A), outside=region.outside)
    B = step.matrix if W is None else W * step.A if step.A.ndim == 1 else W @ step.A
    return _pulled_through(region, B, region.c - step.t if W is None else W @ (region.c - step.t))


def _pulled_through(region: Any, B: np.ndarray, e: np.ndarray) -> Region:
    """|B x - e| <= r as |W(x-c)| <= r', where B may have fewer rows than columns (a cylinder), or more."""
    rows, d = B.shape
    c, r2, W = _center(B, e), region.r**2, B
    if rows > d:
        r2 -= float(np.sum((B @ c - e) ** 2))
        W = np.asarray(np.linalg.qr(B, mode="r"))
    elif rows < d:
        W = np.vstack([B, np.zeros((d - rows, d))])
    if r2 <= 0:
        return Everywhere(d, nothing=not region.outside)
    return Ellipsoid(c, region.r if rows <= d else float(np.sqrt(r2)), W, outside=region.outside)


def _center(B: np.ndarray, e: np.ndarray) -> np.ndarray:
    if B.shape[0] == B.shape[1]:
        try:
            return np.linalg.solve(B, e)
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.lstsq(B, e, rcond=None)[0])


def _fill(step: Any) -> np.ndarray | None:
    """What an imputer puts into empty cells, where that is all it does."""
    if type(step).__name__ != "SimpleImputer" or step.add_indicator or not (step.missing_values is np.nan or step.missing_values != step.missing_values):
        return None
    fill = np.asarray(step.statistics_)
    return fill.astype(float) if fill.dtype.kind in "fiu" and np.isfinite(fill.astype(float)).all() else None


@dataclass(repr=False, eq=False)
class PreparedRegion(Region):
    """A region of rows that imputers and encoders have prepared: scores takes the rows as they are before that.

    All else that the region says, and its files, are about the prepared columns.
    """

    region: Region = field(default=None)  # type: ignore[assignment]
    prepared: Prepared = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.columns, self.usual = self.region.columns, self.region.usual

    def prepare(self, x: Any) -> np.ndarray:
        """The prepared rows, in whose columns the region is."""
        return self.prepared.rows(x)

    def scores(self, x: Any, out: Any = None) -> np.ndarray:
        """score >= 0 is inside, one for each row of x, which imputers and encoders have not seen yet."""
        return self.region.scores(self.prepare(x), out)

    def _numbers(self) -> tuple[Any, ...]:
        return self.region._numbers()

    def _metric(self) -> np.ndarray:
        return self.region._metric()

    def _law(self) -> str:
        return self.region._law()

    def _facts(self) -> dict[str, str]:
        steps = [type(step).__name__ for _, branch in self.prepared.branches for step in branch]
        return {"region": repr(self.region), "after": ", ".join(dict.fromkeys(steps))}

    def model(self) -> Any:
        """The region as a BallModel, whose files fill empty cells as the imputer does; an error after other steps."""
        steps = [step for _, branch in self.prepared.branches for step in branch]
        fill = _fill(steps[0]) if len(steps) == len(self.prepared.branches) == 1 else None
        if fill is None:
            raise ValueError(f"files cannot prepare rows as {', '.join(type(step).__name__ for step in steps)} do: prepare them first, "
                             "by prepare(), and take region")
        return self.region.model().with_fill(fill)

    def to_onnx(self) -> Any:
        """The region of the prepared rows as an ONNX model."""
        return self.region.to_onnx()


# ---- estimators


def _numbers(tensor: Any) -> np.ndarray:
    return _vector(tensor.detach().double().cpu().numpy() if hasattr(tensor, "detach") else tensor)


def _labels(estimator: Any) -> list[Any]:
    return np.asarray(estimator.classes_).tolist()


def _of_coefficients(estimator: Any) -> Planes:
    w = np.atleast_2d(_numbers(estimator.coef_))
    bias = -_numbers(estimator.offset_) if hasattr(estimator, "offset_") else _numbers(estimator.intercept_)
    labels = _labels(estimator) if hasattr(estimator, "classes_") else None
    several = hasattr(estimator, "owners_")
    if labels is not None and not several and len(w) != (1 if len(labels) == 2 else len(labels)) or _one_against_one(estimator):
        raise ValueError(f"{type(estimator).__name__} has {len(w)} planes for {len(labels or ())} classes, one for each "
                         "pair of them: wrap it in OneVsRestClassifier")
    return Planes(w, np.broadcast_to(bias.ravel(), len(w)), labels)


def _one_against_one(estimator: Any) -> bool:
    return hasattr(estimator, "dual_coef_") and len(getattr(estimator, "classes_", ())) > 2


def _of_each_class(estimator: Any) -> Planes:
    parts = [_planes(one) for one in estimator.estimators_]
    return Planes(np.concatenate([p.w for p in parts]), np.concatenate([p.w0 for p in parts]), _labels(estimator))


def _of_layer(layer: Any) -> Planes:
    w = np.atleast_2d(_numbers(layer.weight))
    return Planes(w, np.zeros(len(w)) if layer.bias is None else _numbers(layer.bias), None)


def _planes(estimator: Any) -> Planes:
    if hasattr(estimator, "coef_"):
        return _of_coefficients(estimator)
    if hasattr(estimator, "estimators_") and hasattr(estimator, "classes_") and hasattr(estimator, "label_binarizer_"):
        return _of_each_class(estimator)
    if hasattr(estimator, "weight") and hasattr(estimator, "bias"):
        return _of_layer(estimator)
    raise TypeError(f"{type(estimator).__name__} has no hyperplanes that ball_of can read: it needs coef_ and intercept_ (and to "
                    "be fitted), or weight and bias")


# ---- steps


def _map_of(step: Any, d: int) -> SphereMap | None:
    """The map of an embedding, sklearn's or torch's; None where a step is no embedding."""
    if isinstance(step, SphereMap):
        return step
    if hasattr(step, "map_"):
        return step.map_
    if type(step).__module__ == "capball.torch" and type(step).__name__ == "Sphere":
        return step.map(d)
    return None


def _layers(name: str, model: Any) -> list[Step]:
    """The layers of a network of torch, one after the other."""
    if hasattr(model, "children") and not hasattr(model, "weight") and list(model.children()):
        return [layer for inner, part in model.named_children() for layer in _layers(f"{name}.{inner}" if name else inner, part)]
    return [] if _is_nothing(model) else [Step(name, model)]


def _steps(model: Any) -> list[Step]:
    """What rows go through one after the other."""
    model = getattr(model, "best_estimator_", model)
    model = getattr(model, "pipeline_", model)
    return _flat("", model) if hasattr(model, "named_steps") else _layers("", model)


class Read(NamedTuple):
    """A linear method on the sphere: what stands before the map, the map, and the planes behind it."""

    planes: Planes
    sphere: SphereMap
    front: Prepared


def read(model: Any, map: Any = None) -> Read:
    """The hyperplanes of a fitted model on the sphere, and what is between the data and it."""
    *steps, last = _steps(model)
    planes = _planes(last.step)
    sphere = _map_of(map, planes.w.shape[1] - 1) if map is not None else None
    if map is not None and sphere is None:
        raise TypeError(f"map must be a SphereMap or a fitted SphereEmbedding, got {type(map).__name__}")
    if sphere is not None:  # the model takes embedded rows
        for step in reversed(steps):
            planes = _behind(planes, _affine(step))
        return Read(planes, sphere, Prepared([], None))
    while steps:
        step = steps.pop()
        sphere = _map_of(step.step, planes.w.shape[1] - 1)
        if sphere is not None:
            break
        planes = _behind(planes, _affine(step))
    if sphere is None:
        raise ValueError("there is no SphereEmbedding before the estimator: without one its boundary is a plane; give a "
                         "pipeline with one, or map= where rows were embedded before")
    if sphere.toward is not None and steps:
        raise ValueError("a map of rows that are directions takes them as they are: nothing may stand before it")
    return Read(planes, sphere, _front(steps))


def _usual(steps: list[Step]) -> tuple[np.ndarray, np.ndarray] | None:
    """Means and standard deviations of the columns, where a scaler that has seen them stands first."""
    step: Any = steps[0].step if steps else None
    if type(step).__name__ == "StandardScaler" and step.scale_ is not None and step.mean_ is not None:
        return _vector(step.mean_), _vector(step.scale_)
    if type(step).__name__ == "RobustScaler" and step.scale_ is not None and step.center_ is not None:
        return _vector(step.center_), _vector(step.scale_)
    return None


def _region(found: Read, w: np.ndarray, w0: float, names: Any, usual: Any) -> Region:
    region = region_of_plane(found.sphere, w, w0)
    if found.front.affine is not None:
        region = _pulled(region, found.front.affine)
    prepared = found.front if found.front.branches else None
    if prepared is not None:
        names = prepared.names(names)
    region.columns = [str(name) for name in names] if names is not None and len(names) == region.d else None
    region.usual = usual if prepared is None and usual is not None and len(usual[0]) == region.d else None
    return region if prepared is None else PreparedRegion(region=region, prepared=prepared)


def _place(labels: list[Any], label: Any) -> int:
    if label not in labels:
        raise ValueError(f"{label!r} is none of the classes {labels}")
    return labels.index(label)


def _between(planes: Planes, a: Any, b: Any) -> tuple[np.ndarray, float]:
    labels = list(range(len(planes.w))) if planes.labels is None else planes.labels
    i, j = _place(labels, a), _place(labels, b)
    if len(planes.w) == 1:
        sign = i - j
        return sign * planes.w[0], sign * planes.w0[0]
    return planes.w[i] - planes.w[j], planes.w0[i] - planes.w0[j]


def ball_of(model: Any, map: Any = None, *, threshold: float = 0.0, between: tuple[Any, Any] | None = None) -> Any:
    """The region of the data space that a linear method on embedded rows calls positive, in the units of the data.

    model      a fitted pipeline that ends in a linear estimator behind a SphereEmbedding, a search over one, a
               BallClassifier, a torch Sequential of Sphere and a linear layer; or the estimator alone, with map=. Scalers
               and PCA, in torch BatchNorm1d and Linear, may stand before the embedding and behind it; before it also
               SimpleImputer and a ColumnTransformer with OneHotEncoder: scores then takes the rows as the pipeline does.
               Any other step is an error that names it
    map        the SphereMap or SphereEmbedding by which rows were embedded before
    threshold  the decision function's least value inside; of a regressor the predicted value
    between    (a, b): the region where class a has a larger decision value than class b

    A Region: a Ball, or with outside=True its complement, a HalfSpace, an Ellipsoid where columns were rescaled; its
    scores >= 0 are the rows with decision_function >= threshold. Two classes: the region of classes_[1]. More: a dict of
    regions by class, each where that class's own decision value is >= threshold. A layer of several units: a list.

    >>> import numpy as np, capball
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from capball.sklearn import SphereEmbedding
    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> inside = np.linalg.norm(x - [1, 0], axis=1) < 1
    >>> model = make_pipeline(SphereEmbedding(), LogisticRegression(C=1e4)).fit(x, inside)
    >>> ball = capball.ball_of(model)
    >>> [round(float(c), 1) for c in ball.c], round(ball.r, 1)
    ([1.0, 0.0], 1.0)
    >>> bool(((ball.scores(x) >= 0) == model.predict(x)).all())
    True
    """
    if between is None and threshold == 0 and hasattr(model, "model_") and hasattr(model, "regions_") and len(model.model_.w) > len(
            model.classes_) > 1:
        return model.regions_
    found = read(model, map)
    planes = found.planes
    names = getattr(getattr(model, "best_estimator_", model), "feature_names_in_", None)
    usual = _usual(_steps(model)) if map is None else None
    if between is not None:
        return _region(found, *_between(planes, *between), names, usual)
    regions = [_region(found, w, w0 - threshold, names, usual) for w, w0 in zip(planes.w, planes.w0)]
    if len(regions) == 1:
        return regions[0]
    return regions if planes.labels is None else dict(zip(planes.labels, regions))
