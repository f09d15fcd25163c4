"""Hyperplanes behind a sphere embedding, read back as regions of the data space.

A linear method on embedded rows decides by <w,S(x)> + w0 >= 0, which is a cap of the sphere: a ball of the data, or the
complement of one, or a half-space; an ellipsoid where columns were rescaled or whitened before the embedding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._map import SphereMap
from .dual import Cap, Everywhere, Region


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
    scale = _vector(step.scale_)
    return Affine(1 / scale, np.zeros(len(scale)))


def _pca(step: Any) -> Affine:
    A = _vector(step.components_)
    if step.whiten:
        A = A / np.sqrt(_vector(step.explained_variance_))[:, None]
    return Affine(A, -A @ _vector(step.mean_))


_AFFINE = {"StandardScaler": _standard, "RobustScaler": _robust, "MinMaxScaler": _min_max, "MaxAbsScaler": _max_abs,
           "PCA": _pca}


def _affine(step: Any) -> Affine:
    name = type(step).__name__
    if name not in _AFFINE:
        raise TypeError(f"ball_of reads {', '.join(_AFFINE)} and a SphereEmbedding before the estimator, not {name}")
    return _AFFINE[name](step)


def _before(map: SphereMap, step: Affine) -> SphereMap:
    """The map of x for a map of A x + t."""
    A = step.matrix
    if map.toward is not None:
        raise ValueError("a map of rows that are directions takes them as they are: nothing may stand before it")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{A.shape[1]} columns become {A.shape[0]} before the embedding: the region is no ball of the data")
    center = np.zeros(map.d) if map.center is None else map.center
    W = A if map.whiten is None else map.whiten @ A
    return SphereMap(map.d, map.s, center=np.linalg.solve(A, center - step.t), pole=map.pole, whiten=W)


def _behind(planes: Planes, step: Affine) -> Planes:
    """The planes of y for planes of A y + t."""
    return Planes(planes.w @ step.matrix, planes.w0 + planes.w @ step.t, planes.labels)


# ---- estimators


def _numbers(tensor: Any) -> np.ndarray:
    return _vector(tensor.detach().double().cpu().numpy() if hasattr(tensor, "detach") else tensor)


def _labels(estimator: Any) -> list[Any]:
    return np.asarray(estimator.classes_).tolist()


def _of_coefficients(estimator: Any) -> Planes:
    w = np.atleast_2d(_numbers(estimator.coef_))
    bias = -_numbers(estimator.offset_) if hasattr(estimator, "offset_") else _numbers(estimator.intercept_)
    labels = _labels(estimator) if hasattr(estimator, "classes_") else None
    if labels is not None and len(w) != (1 if len(labels) == 2 else len(labels)) or _one_against_one(estimator):
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


def _steps(model: Any) -> list[Any]:
    """What rows go through one after the other."""
    model = getattr(model, "best_estimator_", model)
    model = getattr(model, "pipeline_", model)
    if hasattr(model, "named_steps"):
        return [step for _, step in model.steps if step not in (None, "passthrough")]
    if hasattr(model, "children") and not hasattr(model, "weight"):
        return list(model.children())
    return [model]


def planes_and_map(model: Any, map: Any = None) -> tuple[Planes, SphereMap]:
    """The hyperplanes of a fitted model on the sphere, and the map from the data to it."""
    *steps, last = _steps(model)
    planes = _planes(last)
    sphere = _map_of(map, planes.w.shape[1] - 1) if map is not None else None
    if map is not None and sphere is None:
        raise TypeError(f"map must be a SphereMap or a fitted SphereEmbedding, got {type(map).__name__}")
    for step in reversed(steps):
        found = _map_of(step, planes.w.shape[1] - 1) if sphere is None else None
        if found is not None:
            sphere = found
        elif sphere is None:
            planes = _behind(planes, _affine(step))
        else:
            sphere = _before(sphere, _affine(step))
    if sphere is None:
        raise ValueError("there is no SphereEmbedding before the estimator: without one its boundary is a plane; give a "
                         "pipeline with one, or map= where rows were embedded before")
    return planes, sphere


def _region(map: SphereMap, w: np.ndarray, w0: float) -> Region:
    if len(w) != map.d + 1:
        raise ValueError(f"the estimator takes {len(w)} columns, and the sphere of {map.d} columns has {map.d + 1}")
    if not w.any():
        return Everywhere(map.d, nothing=bool(w0 < 0))
    return map.ball(Cap(w, -w0))


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

    model      a fitted pipeline that ends in a linear estimator behind a SphereEmbedding (scalers may stand before and
               between), a search over one, a BallClassifier, a torch Sequential of Sphere and a linear layer; or the
               estimator alone, with map=
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
    planes, sphere = planes_and_map(model, map)
    if between is not None:
        return _region(sphere, *_between(planes, *between))
    regions = [_region(sphere, w, w0 - threshold) for w, w0 in zip(planes.w, planes.w0)]
    if len(regions) == 1:
        return regions[0]
    return regions if planes.labels is None else dict(zip(planes.labels, regions))
