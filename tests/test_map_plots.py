import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.testing import assert_allclose, assert_array_equal

from isotherm import GTM, CorpusMap, Fixed, IsothermError, MappedCorpus, plots
from isotherm.maps.corpus import Cooling
from isotherm.plots import maps

WORDS = ["sparse", "matrix", r"a$\x$b", "window", "file", "tree", "random", "kernel", "node"]


def corpus_map(dimensions: int = 2, n_topics: int = 9, crowded: bool = False) -> CorpusMap:
    rng = np.random.default_rng(0)
    shape = (4, 5, 3)[:dimensions]
    places = rng.uniform(-1, 1, (30, dimensions))
    places[7] = np.nan
    spread = 0.02 if crowded else 1.0
    return CorpusMap(
        coordinates=places,
        topic_weights=rng.dirichlet(np.ones(n_topics), 30),
        tokens=np.where(np.arange(30) == 7, 0.0, 9.0),
        names=tuple(map(str, range(30))),
        labels=tuple(["few"] * 5 + ["many"] * 15 + ["some"] * 9 + [None]),
        texts=None,
        top_words=tuple((WORDS[k % 9], WORDS[(k + 1) % 9], f"w{k}", "x") for k in range(n_topics)),
        topic_sizes=np.full(n_topics, 1 / n_topics),
        topic_coordinates=rng.uniform(-spread, spread, (n_topics, dimensions)),
        nodes=rng.uniform(-1, 1, (int(np.prod(shape)), dimensions)),
        magnification=rng.uniform(0.1, 10, int(np.prod(shape))),
        grid_shape=shape,
        transform="sqrt",
        topics_cooling=Cooling((), 2.0, 1.0, "components"),
        map_cooling=Cooling((), 2.0, 1.0, "nodes"),
    )


def groups(figure: Figure) -> dict[str, PathCollection]:
    found = [one for one in figure.axes[0].collections if isinstance(one, PathCollection)]
    return {str(one.get_label()): one for one in found}


def drawn(group: PathCollection) -> np.ndarray:
    return np.column_stack(getattr(group, "_offsets3d", group.get_offsets().T))


def legend_names(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def name_boxes(figure: Figure) -> dict[str, np.ndarray]:
    figure.draw_without_rendering()
    ax = figure.axes[0]
    boxes = {}
    for text in ax.texts:
        extent = Text.get_window_extent(text)  # of an annotation: with its line
        boxes[text.get_text()] = extent.get_points()
    return boxes


@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_of_each_class_are_drawn_where_they_are(dimensions: int) -> None:
    found = corpus_map(dimensions)
    figure = plots.map_points(found)
    labels = np.array([one or "no label" for one in found.labels or ()])
    assert len(groups(figure)) == 4
    for name, group in groups(figure).items():
        rows = np.flatnonzero((labels == name) & ~found.empty)
        assert_allclose(drawn(group), found.coordinates[rows])
    assert legend_names(figure) == ["many", "some", "few", "no label"]


@pytest.mark.parametrize("dimensions", [2, 3])
def test_axes_reach_as_far_as_places_and_topics_do(dimensions: int) -> None:
    places = np.zeros((4, dimensions))
    inside = plots.map_points(places).axes[0]
    assert inside.get_xlim()[1] == inside.get_ylim()[1] < 1.07
    places[2, 0], places[3] = -1.19, np.nan
    beyond = plots.map_points(places).axes[0]
    assert -1.3 < beyond.get_xlim()[0] < -1.19
    assert beyond.get_xlim() == beyond.get_ylim()
    topic = np.full((9, dimensions), 1.15)
    source = replace(corpus_map(dimensions), topic_coordinates=topic)
    assert plots.map_points(source, topic_names=False).axes[0].get_ylim()[1] > 1.15


def test_looks_differ_and_frequent_classes_come_first() -> None:
    labels = np.repeat(np.arange(40), np.arange(40, 0, -1))
    figure = plots.map_points(np.zeros((len(labels), 2)), labels)
    found = groups(figure)
    looks = {
        (to_hex(one.get_facecolor()[0]), one.get_paths()[0].vertices.tobytes())
        for one in found.values()
    }
    n_looks = len(maps.PALETTE) * len(maps.MARKERS)
    assert len(looks) == len(found) == n_looks
    assert legend_names(figure) == [*map(str, range(n_looks - 1)), "all others"]
    assert len(found["all others"].get_offsets()) == (labels >= n_looks - 1).sum()
    first = [to_hex(found[str(k)].get_facecolor()[0]) for k in range(7)]
    assert first == list(maps.PALETTE)


def test_as_many_classes_as_there_are_looks_need_no_rest() -> None:
    n_looks = len(maps.PALETTE) * len(maps.MARKERS)
    figure = plots.map_points(np.zeros((n_looks, 2)), range(n_looks))
    assert sorted(map(int, legend_names(figure))) == list(range(n_looks))


def test_places_alone_need_no_legend() -> None:
    places = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    figure = plots.map_points(places)
    (group,) = groups(figure).values()
    assert_array_equal(drawn(group), places)
    assert not figure.legends
    assert not figure.axes[0].texts


def test_given_labels_go_before_those_of_the_map() -> None:
    found = corpus_map()
    figure = plots.map_points(MappedCorpus(found, None, None), ["a", "b"] * 15)  # type: ignore[arg-type]
    assert sorted(legend_names(figure)) == ["a", "b"]


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("crowded", [False, True])
def test_names_of_topics_do_not_overlap(dimensions: int, crowded: bool) -> None:
    found = corpus_map(dimensions, 14, crowded)
    # A legend that takes much of the width: what counts is the map that is left.
    labels = [f"the rather long name of class {i % 3}" for i in range(30)]
    figure = Figure((8, 5), layout="constrained")
    plots.map_points(found, labels, figure=figure)
    boxes = name_boxes(figure)
    assert boxes.keys() <= {" ".join(words[:3]) for words in found.top_words}
    assert len(boxes) >= 12
    for one, other in itertools.combinations(boxes.values(), 2):
        assert not ((one[0] < other[1]) & (other[0] < one[1])).all()
    frame = figure.axes[0].get_window_extent().get_points()
    for box in boxes.values():
        assert (box[0] >= frame[0]).all()
        assert (box[1] <= frame[1]).all()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_names_are_tied_to_the_places_of_their_topics(dimensions: int) -> None:
    found = corpus_map(dimensions)
    figure = plots.map_points(found)
    figure.draw_without_rendering()
    ax = figure.axes[0]
    (marks,) = [line for line in ax.get_lines() if line.get_label() == "_topics"]
    where = {" ".join(words[:3]): k for k, words in enumerate(found.top_words)}
    for text in ax.texts:
        seen = np.array([marks.get_xdata(), marks.get_ydata()])[:, where[text.get_text()]]
        assert_allclose(text.xy, seen, atol=1e-6)
        assert np.hypot(*text.xyann) < 200
    if dimensions == 2:
        assert_array_equal(np.transpose(marks.get_data()), found.topic_coordinates)


@pytest.mark.parametrize("dpi", [50, 100, 300])
def test_names_are_near_their_places_at_any_resolution(dpi: int) -> None:
    figure = plots.map_points(corpus_map(2, 1, True), figure=Figure((6, 6), dpi=dpi))
    (text,) = figure.axes[0].texts
    across, up = text.xyann
    assert across == pytest.approx(0.0, abs=1e-6)
    assert 7 < up < 14  # points: half a line, and a little room


def test_names_can_be_left_out() -> None:
    figure = plots.map_points(corpus_map(), topic_names=False)
    assert not figure.axes[0].texts
    assert not figure.axes[0].get_lines()


def test_the_eye_can_be_moved() -> None:
    ax = plots.map_points(corpus_map(3), view=(10.0, 45.0)).axes[0]
    assert (ax.elev, ax.azim) == (10.0, 45.0)  # type: ignore[attr-defined]


def test_a_dollar_is_no_mathematics() -> None:
    found = corpus_map()
    figure = plots.map_points(found, [r"$\x$", "b"] * 15)
    figure.draw_without_rendering()
    assert r"$\x$" in legend_names(figure)
    assert any("$" in text.get_text() for text in figure.axes[0].texts)


def test_field_is_the_logarithm_over_the_median_by_axes_of_the_map() -> None:
    found = corpus_map()
    figure = plots.magnification(found)
    (mesh,) = [one for one in figure.axes[0].collections if isinstance(one, QuadMesh)]
    values = np.log10(found.magnification / np.median(found.magnification))
    # Nodes run along the last axis first; a picture has that axis upright.
    assert_allclose(np.asarray(mesh.get_array()).reshape(5, 4), values.reshape(4, 5).T)
    corners = mesh.get_coordinates()
    assert_allclose(corners[0, :, 0], np.linspace(-1, 1, 4))
    assert_allclose(corners[:, 0, 1], np.linspace(-1, 1, 5))
    assert_allclose(drawn(groups(figure)["few"]), found.coordinates[:5])
    assert "magnification" in figure.axes[1].get_xlabel()


def test_field_of_a_fitted_map_with_points() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [3, 2, 0.1]
    gtm = GTM(2, n_nodes=(4, 5), n_basis=3, schedule=Fixed(1.0), random_state=0).fit(X)
    places = gtm.transform(X)
    figure = plots.magnification(gtm, places, ["a"] * 40)
    assert_allclose(drawn(groups(figure)["a"]), places)
    bare = plots.magnification(gtm)
    assert not groups(bare)
    values = gtm.magnification()
    (mesh,) = bare.axes[0].collections[:1]
    expected = np.log10(values / np.median(values)).reshape(4, 5).T
    assert_allclose(np.asarray(mesh.get_array()).reshape(5, 4), expected)


def test_field_without_any_stretch_can_be_drawn() -> None:
    figure = plots.magnification(replace(corpus_map(), magnification=np.zeros(20)))
    figure.draw_without_rendering()
    assert len(figure.axes) == 2


def test_draws_into_a_given_figure() -> None:
    for draw in (plots.map_points, plots.magnification):
        figure = Figure()
        assert draw(corpus_map(), figure=figure) is figure
        assert figure.axes


@pytest.mark.parametrize(
    ("source", "labels", "message"),
    [
        (np.zeros((3, 1)), None, r"shape \(3, 1\).*two or three dimensions"),
        (np.zeros((3, 4)), None, "two or three dimensions"),
        (np.zeros(3), None, "two or three dimensions"),
        ([["a", "b"]], None, "two or three dimensions"),
        (GTM(), None, "got GTM"),
        (np.zeros((3, 2)), ["a"], "labels has 1 entries for 3 points"),
    ],
)
def test_points_of_something_else_are_refused(source: object, labels: object, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        plots.map_points(source, labels)  # type: ignore[arg-type]


def test_field_of_something_else_is_refused() -> None:
    with pytest.raises(IsothermError, match="this map has 3 dimensions"):
        plots.magnification(corpus_map(3))
    for source in (GTM(), np.zeros((3, 2))):
        with pytest.raises(IsothermError, match="give a corpus map or a fitted GTM"):
            plots.magnification(source)  # type: ignore[arg-type]
    with pytest.raises(IsothermError, match="places have 3 columns"):
        plots.magnification(corpus_map(), np.zeros((30, 3)))
    gtm = GTM(2, n_nodes=3, n_basis=2, schedule=Fixed(1.0), random_state=0)
    gtm.fit(np.random.default_rng(0).normal(size=(30, 3)))
    with pytest.raises(IsothermError, match="labels without places"):
        plots.magnification(gtm, labels=["a"] * 30)
