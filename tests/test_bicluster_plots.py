"""The figure of a two-sided clustering shows phi, in order, with the right names."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from isotherm import AspectModel, Counts, IsothermError, TwoSidedClustering, cluster_pairs
from isotherm.plots.biclusters import MOST_FIGURES, association, order_of

ROWS = [f"a{i}" for i in range(12)]
COLUMNS = [f"b{j}" for j in range(14)] + ["c$d"]


@pytest.fixture(scope="module")
def model() -> TwoSidedClustering:
    rng = np.random.default_rng(0)
    strong = np.array([[6, 1, 1], [1, 7, 2], [1, 1, 9]])
    counts = rng.poisson(strong[np.arange(12) % 3][:, np.arange(15) % 3])
    return TwoSidedClustering(3, random_state=0).fit(Counts(counts, ROWS, COLUMNS))


def shown(figure: Any) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def test_cells_are_the_association_in_order(model: TwoSidedClustering) -> None:
    figure = association(model)
    rows, columns = order_of(model.joint_, model.association_)
    phi = model.association_[np.ix_(rows, columns)]
    assert_allclose(shown(figure), np.log2(np.clip(phi, 0.5, 16)))
    # Partners stand on the diagonal.
    assert_array_equal(shown(figure).argmax(axis=1), np.arange(3))


def test_clusters_have_the_names_of_their_members(model: TwoSidedClustering) -> None:
    ax = association(model, 2).axes[0]
    rows, columns = order_of(model.joint_, model.association_)
    lines = [label.get_text() for label in ax.get_yticklabels()]
    assert lines == [f"{', '.join(model.top_rows(2)[c])}  {c}" for c in rows]
    names = [label.get_text().replace(r"\$", "$") for label in ax.get_xticklabels()]
    assert names == [f"{', '.join(model.top_columns(2)[d])}  {d}" for d in columns]


def test_small_tables_have_figures_in_their_cells(model: TwoSidedClustering) -> None:
    ax = association(model).axes[0]
    rows, columns = order_of(model.joint_, model.association_)
    phi = model.association_[np.ix_(rows, columns)]
    assert [text.get_text() for text in ax.texts] == [f"{value:.1f}" for value in phi.ravel()]
    light = {text.get_color() for text in ax.texts if text.get_position()[0] == 0}
    assert "white" in light
    assert len(light) == 2
    K = int(MOST_FIGURES**0.5) + 1
    counts = np.random.default_rng(0).poisson(3.0, (20, 20))
    large = TwoSidedClustering(K, random_state=0).fit(counts)
    assert len(association(large).axes[0].texts) == 0


def test_scale_is_in_multiples_of_chance(model: TwoSidedClustering) -> None:
    bar = association(model).axes[1]
    assert bar.get_ylabel() == "times as often as by chance"
    ticks = dict(zip(bar.get_yticks(), (t.get_text() for t in bar.get_yticklabels()), strict=True))
    assert ticks[-1.0] == "0.5"
    assert ticks[0.0] == "1"
    assert ticks[1.0] == "2"


def test_rows_are_ordered_by_size_and_columns_by_partner() -> None:
    joint = np.array([[0.02, 0.1, 0.01, 0.02], [0.4, 0.02, 0.03, 0.02], [0.03, 0.01, 0.3, 0.04]])
    phi = joint / np.outer(joint.sum(axis=1), joint.sum(axis=0))
    rows, columns = order_of(joint, phi)
    assert rows.tolist() == [1, 2, 0]
    assert columns.tolist() == [0, 2, 1, 3]


def test_empty_clusters_are_called_so() -> None:
    table = np.kron(np.eye(2, dtype=int), np.full((3, 3), 9))
    model = TwoSidedClustering(5, random_state=0).fit(table)
    empty = sorted(set(range(5)) - set(model.row_labels_.tolist()))
    lines = [label.get_text() for label in association(model).axes[0].get_yticklabels()]
    assert empty
    assert all(f"(empty)  {c}" in lines for c in empty)


def test_pairs_draw_the_same_figure() -> None:
    pairs = [("a", "x", 9), ("b", "x", 9), ("c", "y", 9), ("d", "y", 9)]
    found = cluster_pairs(pairs, 2, random_state=0)
    assert_array_equal(shown(found.plot(1)), shown(association(found.model, 1)))


def test_figures_can_be_written_into_a_given_one(model: TwoSidedClustering) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 4))
    assert association(model, figure=figure) is figure
    assert len(figure.axes) == 2


def test_what_cannot_be_drawn_is_refused(model: TwoSidedClustering) -> None:
    with pytest.raises(IsothermError, match="got AspectModel; give a fitted TwoSidedClustering"):
        association(AspectModel())
    with pytest.raises(IsothermError, match="this TwoSidedClustering is not fitted yet"):
        association(TwoSidedClustering())
    with pytest.raises(IsothermError, match="n_words=0; it must be 1 or more"):
        association(model, 0)
