import numpy as np
import pytest

pytest.importorskip("pyod")
from sklearn.metrics import roc_auc_score

from capball.pyod import Ball


def test_conventions(rng):
    x = np.vstack([rng.normal(size=(190, 3)), rng.normal(size=(10, 3)) + 8])
    truth = np.r_[np.zeros(190), np.ones(10)]
    detector = Ball(contamination=0.05).fit(x)
    assert detector.decision_scores_.shape == (200,) and set(detector.labels_) == {0, 1}
    assert roc_auc_score(truth, detector.decision_scores_) > 0.99 and (detector.labels_ == truth).mean() >= 0.98
    chance = detector.predict_proba(x)
    assert chance.shape == (200, 2) and ((0 <= chance) & (chance <= 1)).all()
    np.testing.assert_array_equal(detector.predict(x), detector.labels_)
    np.testing.assert_array_equal(detector.model_.verdicts(detector.model_.scores(x)) == -1, detector.labels_ == 1)
    assert detector.labels_.sum() == 10
    assert detector.get_params()["contamination"] == 0.05


def test_scores_and_reasons_are_those_of_the_other_detector(rng):
    from capball.sklearn import BallDetector

    x = rng.normal(size=(200, 3)) * [1, 100, 1e-4]
    ours, theirs = Ball(balls=2).fit(x), BallDetector(balls=2).fit(x)
    np.testing.assert_array_equal(ours.decision_scores_, -theirs.score_samples(x))
    assert ours.why(x[:5], top=2) == theirs.why(x[:5], top=2)


def test_tables_with_text(rng):
    pandas = pytest.importorskip("pandas")
    numbers = pandas.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    table = numbers.assign(name="x")
    with pytest.warns(UserWarning, match="left out: name"):
        detector = Ball().fit(table)
    np.testing.assert_array_equal(detector.decision_function(table), detector.decision_function(numbers))
    assert detector.why(table.iloc[0]) == detector.why(numbers[:1]) and detector.model_.columns == ["a", "b"]
    with pytest.raises(ValueError, match="column b: the cell of row 1 is empty or NaN"):
        detector.decision_function(pandas.DataFrame({"a": [1.0, 2], "b": [0, np.nan]}))
