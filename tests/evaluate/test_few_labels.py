"""The protocol of few labels: what is drawn, what is hidden, what is scored."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from isotherm.errors import IsothermError
from isotherm.evaluate import Draw, accuracies, draw

LABELS = np.repeat([3, 0, 7], [12, 9, 15])


def test_rows_and_labels_are_drawn_evenly():
    drawn = draw(LABELS, 8, 2, 5)
    assert len(np.unique(drawn.rows)) == 24
    np.testing.assert_array_equal(drawn.labels, LABELS[drawn.rows])
    np.testing.assert_array_equal(np.unique(drawn.labels, return_counts=True)[1], [8, 8, 8])
    shown = drawn.known >= 0
    np.testing.assert_array_equal(drawn.known[shown], drawn.labels[shown])
    np.testing.assert_array_equal(np.unique(drawn.known[shown], return_counts=True)[1], [2, 2, 2])


def test_fewer_labels_are_among_more_of_the_same_rows():
    few, many = draw(LABELS, 8, 1, 5), draw(LABELS, 8, 4, 5)
    np.testing.assert_array_equal(few.rows, many.rows)
    assert set(few.rows[few.known >= 0]) < set(many.rows[many.known >= 0])
    assert not np.array_equal(draw(LABELS, 8, 1, 6).rows, few.rows)


def test_all_rows_may_be_drawn_of_classes_that_differ_in_size():
    drawn = draw(LABELS, None, 4, 0)
    np.testing.assert_array_equal(drawn.rows, np.arange(len(LABELS)))
    np.testing.assert_array_equal(drawn.labels, LABELS)
    shown = drawn.known >= 0
    np.testing.assert_array_equal(np.unique(drawn.known[shown], return_counts=True)[1], [4, 4, 4])
    with pytest.raises(IsothermError, match="n_labels is 9 and n_rows None"):
        draw(LABELS, None, 9)


@pytest.mark.parametrize("dense", [True, False])
def test_only_shown_labels_teach_and_only_hidden_ones_are_scored(dense):
    drawn = draw(LABELS, 8, 2, 0)
    features = (drawn.labels[:, None] == np.unique(LABELS)).astype(float)
    given = features if dense else sparse.csr_array(features)
    np.testing.assert_array_equal(accuracies(given, drawn), [1.0, 1.0, 1.0])
    # Labels that teach the wrong thing are found nowhere among the hidden ones.
    turned = {3: 0, 0: 7, 7: 3}
    wrong = np.array([turned[k] if k >= 0 else -1 for k in drawn.known])
    np.testing.assert_array_equal(accuracies(given, drawn._replace(known=wrong)), [0.0, 0.0, 0.0])


class AlwaysC(BaseEstimator):
    """Says that every row is of class C."""

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.C)


def test_strengths_are_tried_in_turn():
    drawn = draw(LABELS, 8, 3, 0)
    found = accuracies(np.zeros((24, 1)), drawn, classifier=AlwaysC(), strengths=(3, 5))
    np.testing.assert_allclose(found, [1 / 3, 0.0])


@pytest.mark.parametrize(("rows", "shown"), [(8, 0), (8, 8), (10, 2)])
def test_impossible_draws_are_refused(rows, shown):
    with pytest.raises(IsothermError, match="1 <= n_labels < n_rows <= 9"):
        draw(LABELS, rows, shown)


@pytest.mark.parametrize("labels", [LABELS[:, None], LABELS.astype(float), ["a", "b"]])
def test_labels_that_are_no_integers_are_refused(labels):
    with pytest.raises(IsothermError, match="one integer for each row"):
        draw(labels, 2, 1)


def test_a_class_called_unknown_is_refused():
    with pytest.raises(IsothermError, match="no class may be called -1"):
        draw(LABELS - 3 * (LABELS == 3) - (LABELS == 3), 5, 1)


def test_features_of_other_rows_are_refused():
    drawn = Draw(np.arange(4), np.array([0, 1, 0, 1]), np.array([0, 1, -1, -1]))
    with pytest.raises(IsothermError, match="features have 3 rows, the draw 4"):
        accuracies(np.zeros((3, 2)), drawn)
