"""What a notebook shows of every value that users see, by IPython's own display formatter."""

import copy
import html.parser
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import isotherm
from isotherm import (
    PCP,
    AspectModel,
    Counts,
    SearchIndex,
    Segmentation,
    Tree,
    TwoSidedClustering,
    cluster_pairs,
    count_words,
    plots,
)
from isotherm._markup import MOST_ROWS, Description, Part, page
from isotherm.evaluate import evaluate_topics

EVIL = "<script>alert('x')</script>"
WORDS = ["lift", "wing", EVIL, "moon", "star", "orbit"]


@pytest.fixture(scope="module")
def counts() -> Counts:
    rng = np.random.default_rng(0)
    rows = np.kron(np.eye(2), np.full((20, 3), 4)).astype(int) + rng.integers(0, 2, (40, 6))
    return Counts(rows, row_names=[f"{EVIL}{i}" for i in range(40)], column_names=WORDS)


@pytest.fixture(scope="module")
def model(counts: Counts) -> AspectModel:
    return AspectModel("auto", max_components=3, random_state=0).fit(counts)


class Checked(html.parser.HTMLParser):
    """A page whose elements are closed in order, and the text in its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.cells: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.names.add(tag)
        assert [name for name, _ in attrs if name.startswith("on")] == []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] in ("td", "th"):
            self.cells.append(data)


def values(counts: Counts, model: AspectModel) -> dict[str, Any]:
    found = SearchIndex.of(model, counts).query("moon wing", 3)
    labels = np.kron([[0, 1]], np.ones((4, 2), int))
    segments = Segmentation(labels, labels, np.eye(2)[labels], labels, counts, 1, None, ())
    return {
        "counts": counts,
        "describe": model.describe(),
        "tree": model.tree_,
        "trace": model.trace_,
        "results": found,
        "hit": found[0],
        "report": evaluate_topics(model, counts, labels=[0, 1] * 20, n_words=3),
        "pairs": cluster_pairs(counts, 2, random_state=0),
        "two-sided": TwoSidedClustering(2, random_state=0).fit(counts).describe(),
        "projection": PCP(2, 2, random_state=0).fit(counts).describe(),
        "ingestion": count_words([f"moon {EVIL}", 7, "sun"]),
        "segmentation": segments,
        "map": isotherm.map_corpus(counts, n_topics=2, gtm=isotherm.GTM(n_nodes=4, n_basis=2)),
    }


@pytest.mark.filterwarnings("ignore")
def test_everything_is_shown_as_escaped_tables(counts: Counts, model: AspectModel) -> None:
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    for name, value in values(counts, model).items():
        shown = formatter.format(value)[0]
        assert "<script" not in shown["text/html"], name
        assert Checked(shown["text/html"]).names <= {
            *("div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td")
        }, name
        assert len(shown["text/html"]) < 50_000, name


def test_a_description_is_text_that_a_notebook_shows_as_a_table(model: AspectModel) -> None:
    text = model.describe(2)
    assert isinstance(text, str)
    assert f"{text}".splitlines()[1:] == [
        f"{k:4d}  {100 * model.weights_[k]:5.1f} %  {model.reproducibility_[k]:.2f}  "
        f"{model.names_[k]}  "
        f"{' '.join(model.top_words(2)[k])}"
        for k in np.argsort(-model.weights_, kind="stable")
    ]
    cells = Checked(text._repr_html_()).cells
    assert cells[:4] == ["component", "share", "reproducible", "name"]
    assert len(cells) == 5 * (1 + len(model.weights_))
    for again in (pickle.loads(pickle.dumps(text)), copy.deepcopy(text)):
        assert again == text
        assert again._repr_html_() == text._repr_html_()
    formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    assert formatter.format(text)[0]["text/plain"] == str(text)


def test_counts_show_their_most_frequent_columns() -> None:
    table = np.ones((20, 30), int)
    table[:, 25] = 1234
    cells = Checked(Counts(table)._repr_html_()).cells
    assert "25" in cells
    assert cells.count("1234") == 8
    small = Checked(Counts([[1, 0.5]], ["a"], ["x", "y"])._repr_html_()).cells
    assert small == ["x", "y", "a", "1", "0.5"]
    empty = Counts(np.eye(2)).take_rows([0]).take_columns([1])
    assert Checked(empty._repr_html_()).cells == ["0", "0", "0"]


def test_a_tree_shows_every_node_below_its_parent() -> None:
    tree = Tree.from_nested([[0, 1], 2])
    cells = Checked(tree._repr_html_()).cells
    assert [cell for cell in cells if cell.startswith("node ")] == [f"node {i}" for i in range(5)]
    assert tree._repr_html_().count("padding-left:3.5em") == 2
    deep = Tree.chain(3000)._repr_html_()
    assert "… and 2,900 more rows" in deep


def test_a_trace_is_a_tuple_with_a_row_for_every_temperature(
    model: AspectModel, tmp_path: Any
) -> None:
    assert isinstance(model.trace_, tuple)
    cells = Checked(model.trace_._repr_html_()).cells
    assert cells[7] == f"{model.trace_[0].temperature:.4g}"
    for again in (
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        isotherm.load(model.save(tmp_path / "model.iso")),
    ):
        assert again.trace_ == model.trace_
        assert type(again.trace_) is type(model.trace_)


def test_long_tables_say_how_much_is_left_out() -> None:
    rows = [(i, "x & y") for i in range(MOST_ROWS + 5)]
    shown = page("a < b", Part(("n", "s"), rows, "t"))
    assert "<p>a &lt; b</p>" in shown
    assert shown.count("x &amp; y") == MOST_ROWS
    assert "… and 5 more rows" in shown
    assert Description("plain")._repr_html_() == "<div></div>"


SESSION = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from isotherm import AspectModel, plots
shell = InteractiveShell.instance()
shell.display_formatter.active_types = shell.display_formatter.format_types  # as in a notebook
shell.run_cell("from isotherm import AspectModel, plots")
shell.run_cell("import numpy as np; X = np.kron(np.eye(2), np.full((9, 3), 4))")
shell.run_cell("model = AspectModel(2, random_state=0).fit(X)")
LINES = ["plots.topic_words(model)", "model.describe()"]
PYPLOT = "import matplotlib.pyplot; select_figure_formats(shell, {'png'})"  # as its backend does
for line in [*LINES, PYPLOT, *LINES[:1]]:
    if line == PYPLOT:
        from IPython.core.pylabtools import select_figure_formats
        exec(PYPLOT)
        continue
    found = shell.run_cell(line)
    found.raise_error()
    shown, about = shell.display_formatter.format(found.result)
    print("SHOWN", sorted(shown), "pyplot" if "matplotlib.pyplot" in sys.modules else "")
"""


def test_a_session_shows_figures_and_tables() -> None:
    """Figures before pyplot is loaded and after, once each."""
    pytest.importorskip("IPython")
    run = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True)
    figure, table = "['image/png', 'text/plain'] ", "['text/html', 'text/plain'] "
    expected = [figure, table, f"{figure}pyplot"]
    found = [line[6:] for line in run.stdout.splitlines() if line.startswith("SHOWN ")]
    assert found == expected, run.stderr


def test_a_figure_is_a_sharp_picture_of_its_size(model: AspectModel) -> None:
    figure = plots.topic_words(model, 2)
    picture, size = figure._repr_png_()
    assert picture.startswith(b"\x89PNG")
    width = int.from_bytes(picture[16:20], "big")
    assert width == pytest.approx(2 * size["width"], abs=2)
    again = pickle.loads(pickle.dumps(figure))
    assert again._repr_png_()[1] == size
