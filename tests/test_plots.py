import math
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from isotherm import GTM, AspectModel, Counts, Engine, Exponential, Fixed, IsothermError, plots
from isotherm.anneal.trace import Fit, Record, State
from isotherm.maps.corpus import Cooling
from isotherm.plots import annealing

WORDS = ["a$b", "c$d", "cat", "dog", "sun", "moon", "bread", "wine"]


def counts() -> Counts:
    rng = np.random.default_rng(0)
    matrix = np.kron(np.eye(4, dtype=int), rng.integers(4, 9, (6, 2))) + rng.integers(0, 2, (24, 8))
    return Counts(matrix, column_names=WORDS)


@pytest.fixture(scope="module")
def model() -> AspectModel:
    slow = Exponential(rate=0.9, margin=1.05)
    return AspectModel(4, schedule=slow, engine=Engine(patience=5), random_state=0).fit(counts())


def record(
    temperature: float,
    n_effective: int = 1,
    heldout: float = math.nan,
    critical: tuple[float, ...] = (),
) -> Record:
    return Record(
        temperature, -1.0, -2.0 * temperature, heldout, n_effective, 8, critical, 3, 0.1, True
    )


def lines(ax: object) -> dict[str, object]:
    return {line.get_label(): line for line in ax.get_lines()}  # type: ignore[attr-defined]


def test_lines_of_the_path_are_the_trace(model: AspectModel) -> None:
    scores, sizes, likelihood = plots.annealing_path(model).axes
    temperature = [r.temperature for r in model.trace_]
    for ax, name, values in (
        (scores, "held-out perplexity", [r.heldout for r in model.trace_]),
        (sizes, "distinct components", [r.n_effective for r in model.trace_]),
        (likelihood, "training log-likelihood", [r.log_likelihood for r in model.trace_]),
    ):
        line = lines(ax)[name]
        assert_array_equal(line.get_xdata(), temperature)
        assert_array_equal(line.get_ydata(), values)


def test_path_marks_critical_and_chosen_temperature(model: AspectModel) -> None:
    for ax in plots.annealing_path(model).axes:
        upright = [x[0] for x in (line.get_xdata() for line in ax.get_lines()) if len(set(x)) == 1]
        assert {model.first_critical_, model.temperature_} <= set(upright)
    texts = [text.get_text() for text in plots.annealing_path(model).axes[0].texts]
    assert [text.split(" T ")[0] for text in texts] == ["first critical", "chosen"]


def test_axis_runs_from_hot_to_cold(model: AspectModel) -> None:
    ax = plots.annealing_path(model).axes[-1]
    left, right = ax.get_xlim()
    assert left > max(model.first_critical_, model.trace_[0].temperature)
    assert right < min(r.temperature for r in model.trace_)
    assert ax.get_xscale() == "log"


def test_transitions_are_where_components_come_apart() -> None:
    trace = [record(2.0, 1), record(1.8, 1), record(1.6, 3), record(1.4, 2), record(1.2, 4)]
    figure = plots.annealing_path(trace)
    diamonds = lines(figure.axes[0])["transitions"]
    assert_array_equal(diamonds.get_xdata(), [1.6, 1.2])
    assert_array_equal(diamonds.get_ydata(), [3, 4])


def test_nothing_held_out_leaves_two_panels() -> None:
    model = AspectModel(2, validation_fraction=0, random_state=0).fit(counts())
    figure = plots.annealing_path(model)
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "distinct components",
        "training log-likelihood",
    ]
    assert len(figure.axes[-1].texts) == 2


def test_heating_is_drawn_from_hot_to_cold() -> None:
    figure = plots.annealing_path([record(1.0, heldout=5), record(1.1, heldout=4)])
    assert_array_equal(lines(figure.axes[0])["held-out perplexity"].get_xdata(), [1.1, 1.0])


def test_fit_and_its_trace_give_the_same_lines() -> None:
    trace = (record(2.0, 1, 9.0), record(1.5, 2, 8.0))
    fit = Fit(None, State((), (), 0.0), 1.5, trace, first_critical=1.9)
    both = [plots.annealing_path(source).axes[0] for source in (fit, trace)]
    values = [lines(ax)["held-out perplexity"].get_ydata() for ax in both]
    assert_array_equal(*values)
    assert [len(ax.texts) for ax in both] == [2, 0]


def test_path_of_a_map() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3)) * [3, 2, 0.2]
    settings = {"n_nodes": 4, "n_basis": 3, "random_state": 0}
    settings |= {"start": "sheet", "n_init": 1, "basis_width": 2.0}
    gtm = GTM(
        2,
        **settings,
        schedule=Exponential(rate=0.8, margin=1.05),
        engine=Engine(record_critical=True),
    ).fit(X)
    sizes, critical, likelihood = plots.annealing_path(gtm).axes
    temperature = np.array([r.temperature for r in gtm.trace_])
    assert sizes.get_title(loc="left") == "nodes told apart"
    line = lines(sizes)["nodes told apart"]
    assert_array_equal(line.get_ydata(), [r.n_effective for r in gtm.trace_])
    title = critical.get_title(loc="left")
    assert_array_equal(
        lines(critical)[title].get_ydata(),
        np.array([max(r.critical) for r in gtm.trace_]) / temperature,
    )
    (predicted,) = lines(critical)["predicted"].get_xdata()[:1]
    assert predicted == pytest.approx(gtm.first_critical_, rel=0.01)
    assert likelihood.get_title(loc="left") == "training log-likelihood"
    upright = [line.get_xdata()[0] for line in sizes.get_lines() if len(set(line.get_xdata())) == 1]
    assert {gtm.first_critical_, 1.0} <= set(upright)
    cooling = Cooling(gtm.trace_, gtm.first_critical_, gtm.temperature_, "nodes")
    assert annealing.path_of(cooling) == annealing.path_of(gtm)


def test_nodes_that_drift_apart_are_no_transition() -> None:
    trace = [record(2.0, 1), record(1.8, 6), record(1.6, 7), record(1.4, 8), record(1.2, 12)]
    for parts, found in (("nodes", [1, 4]), ("components", [1, 2, 3, 4])):
        path = annealing.path_of(Cooling(tuple(trace), math.nan, 1.2, parts))
        assert path.transitions == found


def test_predicted_transitions_are_where_critical_and_own_temperature_meet() -> None:
    # Ratios 0.5, 0.8, 1.2, 1.5, 0.9, 1.1; between temperatures in equal ratios.
    ratio = (0.5, 0.8, 1.2, 1.5, 0.9, 1.1)
    trace = [record(2.0**-i, critical=(0.0, value * 2.0**-i)) for i, value in enumerate(ratio)]
    path = annealing.path_of(trace)
    assert path.predicted == pytest.approx([2.0**-1.5, 2.0**-4.5])
    ax = plots.annealing_path(trace).axes[1]
    marks = lines(ax)["predicted"]
    assert_array_equal(marks.get_xdata(), path.predicted)
    assert_array_equal(marks.get_ydata(), [1.0, 1.0])
    dots = ax.get_lines()[0]
    assert len(dots.get_xdata()) == 12


def test_critical_temperatures_of_topics_are_drawn_too() -> None:
    model = AspectModel(3, engine=Engine(record_critical=True), random_state=0).fit(counts())
    titles = [ax.get_title(loc="left") for ax in plots.annealing_path(model).axes]
    assert titles == [
        "held-out perplexity",
        "distinct components",
        "critical temperatures / temperature (above 1: unstable)",
        "training log-likelihood",
    ]


def test_hard_limit_has_no_ratio() -> None:
    trace = [record(1.0, critical=(0.5,)), record(0.0, critical=(0.2,))]
    figure = plots.annealing_path(trace)
    figure.draw_without_rendering()
    assert_array_equal(figure.axes[1].get_lines()[1].get_xdata(), [1.0])


@pytest.mark.parametrize("temperatures", [(1.0,), (2.0, 0.5, 0.0), (0.0,), (300.0, 2.0, 1.0)])
def test_any_temperatures_can_be_drawn(temperatures: tuple[float, ...]) -> None:
    figure = plots.annealing_path([record(t) for t in temperatures])
    figure.draw_without_rendering()
    left, right = figure.axes[-1].get_xlim()
    assert left > max(temperatures)
    assert right < min(temperatures)


def test_words_of_the_largest_topics(model: AspectModel) -> None:
    figure = plots.topic_words(model, 3, 2)
    largest = np.argsort(-model.weights_, kind="stable")[:3]
    assert len(figure.axes) == 3
    for ax, k in zip(figure.axes, largest, strict=True):
        figure.draw_without_rendering()  # a "$" in a word must not be read as mathematics
        assert [label.get_text() for label in ax.get_yticklabels()] == model.top_words(2)[k]
        widths = [bar.get_width() for bar in ax.patches]
        columns = model.top_words(2, names=range(model.n_features_in_))[k]
        assert_array_equal(widths, model.components_[k][[int(j) for j in columns]])
        assert ax.get_title(loc="left").startswith(f"{k}: {model.names_[k][:20]}")


def test_more_topics_and_words_than_there_are(model: AspectModel) -> None:
    figure = plots.topic_words(model, 100, 100)
    assert len(figure.axes) == 4
    assert all(len(ax.patches) == len(WORDS) for ax in figure.axes)


def test_draws_into_a_given_figure(model: AspectModel) -> None:
    from matplotlib.figure import Figure

    for draw in (plots.annealing_path, plots.topic_words):
        figure = Figure()
        assert draw(model, figure=figure) is figure
        assert figure.axes


@pytest.mark.parametrize("source", [[], [1, 2], 3, None, "trace"])
def test_path_of_something_else_is_refused(source: object) -> None:
    with pytest.raises(IsothermError, match="give a fitted estimator"):
        plots.annealing_path(source)  # type: ignore[arg-type]


def test_unfitted_model_is_refused() -> None:
    for draw in (plots.annealing_path, plots.topic_words):
        with pytest.raises(IsothermError, match="call fit first"):
            draw(AspectModel(2))
    with pytest.raises(IsothermError, match="GTM is not fitted yet; call fit first"):
        plots.annealing_path(GTM())
    with pytest.raises(IsothermError, match="got GTM"):
        plots.topic_words(GTM())  # type: ignore[arg-type]


@pytest.mark.parametrize(("n_topics", "n_words"), [(0, 5), (5, 0)])
def test_no_topics_or_words_are_refused(model: AspectModel, n_topics: int, n_words: int) -> None:
    with pytest.raises(IsothermError, match="1 or more"):
        plots.topic_words(model, n_topics, n_words)


def test_missing_matplotlib_says_how_to_install(
    model: AspectModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(IsothermError, match=r"pip install isotherm\[plot\]"):
        plots.annealing_path(model)


def test_pyplot_is_never_loaded() -> None:
    code = """
import sys
import numpy as np
from isotherm import AspectModel, plots
assert not any(name.startswith("matplotlib") for name in sys.modules)
model = AspectModel(2, random_state=0).fit([[5, 1], [1, 5], [4, 1]])
plots.annealing_path(model).draw_without_rendering()
plots.topic_words(model)
for n_axes in (2, 3):
    plots.map_points(np.eye(n_axes), range(n_axes)).draw_without_rendering()
print("matplotlib.figure" in sys.modules, "matplotlib.pyplot" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False"]


def test_fixed_temperature_is_a_single_point() -> None:
    model = AspectModel(2, schedule=Fixed(1.0), validation_fraction=0, random_state=0)
    figure = plots.annealing_path(model.fit(counts()))
    assert len(lines(figure.axes[0])["distinct components"].get_xdata()) == 1
    assert [text.get_text() for text in figure.axes[-1].texts] == ["chosen T 1"]
