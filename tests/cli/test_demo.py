import base64
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from isotherm import AspectModel, CorpusMap, cli
from isotherm.cli.verbs import demo
from isotherm.datasets.docstrings import Docstrings, load_docstrings
from isotherm.viewer.container import unpack


@pytest.fixture(scope="module")
def corpus() -> Docstrings:
    whole = load_docstrings(["numpy"])
    chosen = np.arange(0, whole.counts.n_rows, 4)
    return Docstrings(
        counts=whole.counts.take_rows(chosen).keep_columns(2),
        labels=whole.sublabels[chosen],
        sublabels=whole.sublabels[chosen],
        names=tuple(whole.names[i] for i in chosen),
        titles=tuple(whole.titles[i] for i in chosen),
        texts=tuple(whole.texts[i] for i in chosen),
    )


def test_demonstration_prints_topics_and_writes_a_page(
    corpus: Docstrings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("isotherm.load_docstrings", lambda: corpus)
    words = ["demo", "--out", str(tmp_path / "out"), "--topics", "4", "--seed", "1"]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    model = AspectModel("auto", max_components=4, random_state=1).fit(corpus.counts)
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    blocks = re.findall(r'data-part="(\w+)">([^<]*)<', page)
    parts = {name: unpack(base64.b64decode(body)) for name, body in blocks}
    assert [level.n_components for level in model.levels_] == [2, 4]
    assert all(name in said.out for name in model.names_)
    assert all(word in said.out for word in model.top_words(8)[0])
    assert said.out.count("->") == 1
    assert said.out.count("=>") == 1
    assert "How many topics?" in said.out
    assert "2 is the finest number whose topics are all found again" in said.out
    assert "about the most allowed" in said.out
    assert "First critical temperature" in said.out
    assert "(AMI)" in said.out
    assert (tmp_path / "out" / "index.html").as_uri() in said.out
    assert list(parts) == ["points", "documents", "words", "texts", "index"]
    meta = parts["points"].meta
    assert meta["title"] == demo.TITLE
    assert [one["name"] for one in meta["maps"]] == ["3-D", "2-D"]
    assert [one["name"] for one in meta["columns"]] == ["label", "part", "words counted"]
    assert len(meta["topics"]) == 2
    assert meta["tree"]["kind"] == "topics"
    assert meta["stages"][0]["n_topics"] == 1
    assert all(stage["moved"] == [0, 1] for stage in meta["stages"][:-1])
    assert parts["documents"].strings["titles"] == list(corpus.names)
    found = CorpusMap.load(tmp_path / "out" / "map.iso")
    assert found.coordinates.shape == (corpus.counts.n_rows, 2)
    assert found.labels == tuple(corpus.labels)


def test_command_line_reaches_the_demonstration(
    corpus: Docstrings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[object] = []
    model = SimpleNamespace(n_components_=2)

    def spy(corpus: Docstrings, most: int, seed: int, say: object, *, verbose: object) -> object:
        seen.append((corpus, most, seed))
        return model

    def page(corpus: Docstrings, model: object, out: Path, say: object) -> Path:
        seen.append((corpus, model, out))
        return out / "index.html"

    monkeypatch.setattr("isotherm.load_docstrings", lambda: corpus)
    monkeypatch.setattr(demo, "fitted", spy)
    monkeypatch.setattr(demo, "drawn", page)
    monkeypatch.setattr(demo, "agreements", lambda corpus, model: {"2 packages": 0.5})
    words = ["demo", "--out", str(tmp_path), "--topics", "5", "--seed", "3", "--json"]
    assert cli.main(words) == 0
    assert json.loads(capsys.readouterr().out) == {
        "topics": 2,
        "agreement": {"2 packages": 0.5},
        "page": str(tmp_path / "index.html"),
        "map": str(tmp_path / "map.iso"),
    }
    assert cli.main(["demo"]) == 0
    assert seen == [
        *((corpus, 5, 3), (corpus, model, tmp_path)),
        *((corpus, 40, 0), (corpus, model, Path("demo-report"))),
    ]


@pytest.mark.parametrize("topics", ["1", "-3", "many", "2.5"])
def test_wrong_number_of_topics_is_refused(topics: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["demo", f"--topics={topics}"])
    assert "at least 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("known", "again", "finest", "said"),
    [
        (True, 6, 39, "6 is the finest number .* into halves, .* 39 predict held-out words best"),
        (True, 6, 6, "6 is the finest number .* That many predict held-out words best"),
        (True, 5, 39, "Halves .* agree best on 6 topics, 5 of which are found again"),
        (False, 0, 6, "There was no time to tell which of 6 topics are found again"),
    ],
)
def test_why_there_are_so_many_topics(known: bool, again: int, finest: int, said: str) -> None:
    first = SimpleNamespace(n_components=6, n_found_again=again, is_known=known, heldout=9.0)
    last = SimpleNamespace(n_components=39, n_found_again=20, is_known=True, heldout=5.0)
    levels = (first, last)[: 1 + (finest > 6)]
    model = SimpleNamespace(levels_=levels, n_components_=6, max_components=99)
    text = demo.number_table(model)  # type: ignore[arg-type]
    assert re.search(said, text.replace("\n", " "))
    assert text.count("=>") == 1
    assert ("unknown" in text) != known


def test_label_shares_weigh_rows_by_mass() -> None:
    row_weights = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    shares = demo.label_shares(row_weights, np.array([2.0, 4.0, 6.0]), ["a", "b", "b"])
    assert shares.names == ("b", "a")  # by mass: 10 and 2
    np.testing.assert_allclose(shares.table, [[0.5, 0.5], [1.0, 0.0]])


def test_many_labels_share_the_last_colour() -> None:
    labels = [f"label {i}" for i in range(12)]
    shares = demo.label_shares(np.ones((12, 1)), np.arange(12.0, 0.0, -1.0), labels)
    assert shares.names == (*labels[:6], demo.OTHER)
    np.testing.assert_allclose(shares.table.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares.table[0, -1], 21 / 78)
