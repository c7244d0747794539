import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from isotherm import (
    GTM,
    TTMM,
    AspectModel,
    Counts,
    DocumentMixture,
    IsothermError,
    OneSidedClustering,
    map_corpus,
)
from isotherm.report import OTHER, label_shares, typical_rows, write_report

NASTY = "<script>alert(1)</script>"
QUOTED = "\"'><img src=x onerror=alert(1)>"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails where tags do not nest."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def counts() -> Counts:
    matrix = np.kron(np.eye(3, dtype=int), np.full((5, 2), 6)) + 1
    names = [NASTY, QUOTED, "cat", "dog", "sun & moon", "moon"]
    return Counts(matrix, [f"doc <{i}>" for i in range(15)], names)


@pytest.fixture(scope="module")
def model() -> AspectModel:
    return AspectModel(3, random_state=0).fit(counts())


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_rows_of_clusters_are_refused(tmp_path: Path) -> None:
    fitted = TTMM(2, 2, random_state=0).fit(counts())
    with pytest.raises(IsothermError, match="TTMM gives rows to clusters and only those to topics"):
        write_report(fitted, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_nasty_texts_stay_texts(model: AspectModel, tmp_path: Path) -> None:
    path = write_report(
        model,
        tmp_path / "index.html",
        title=NASTY,
        labels=[NASTY, QUOTED, "plain"] * 5,
        texts=[NASTY + QUOTED] * 15,
        names=[QUOTED] * 15,
    )
    page = read(path)
    assert page.open == []
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert page.text.count("<script>alert(1)</script>") > 3  # title, words, labels, documents


def test_page_loads_nothing(model: AspectModel, tmp_path: Path) -> None:
    path = write_report(model, tmp_path / "page.html", counts=counts())
    page = read(path)
    linked = [
        (tag, name, value)
        for tag, name, value in page.attributes
        if name in ("src", "href", "xlink:href", "srcset", "data", "action", "poster")
    ]
    assert linked  # the glyphs of the figure
    assert all(value.startswith("#") for _, _, value in linked)
    source = path.read_text(encoding="utf-8")
    assert not re.search(r"@import|url\(\s*['\"]?(?!#)", source)
    assert "default-src 'none'" in source
    assert not {"link", "script", "iframe", "object", "embed"} & set(page.tags)


def test_map_of_the_documents_is_shown(model: AspectModel, tmp_path: Path) -> None:
    given = {"labels": [NASTY, QUOTED, "plain"] * 5}
    quick = GTM(n_nodes=4, n_basis=2, n_init=1, noise=0.05, random_state=0)
    found = map_corpus(counts(), topics=model, gtm=quick, **given).map
    plain = read(write_report(model, tmp_path / "plain.html", **given))
    path = write_report(model, tmp_path / "map.html", corpus_map=found, **given)
    page = read(path)
    assert "The map" in page.text
    assert "The map" not in plain.text
    assert page.tags.count("svg") == plain.tags.count("svg") + 1
    # A point for each document, and nothing that a text could smuggle in.
    assert page.tags.count("use") >= plain.tags.count("use") + 15
    assert page.open == []
    assert "script" not in page.tags
    short = dataclasses.replace(found, names=found.names[1:])
    with pytest.raises(IsothermError, match="corpus_map has 14 entries"):
        write_report(model, tmp_path / "no.html", corpus_map=short)


def test_page_shows_topics_and_figures(model: AspectModel, tmp_path: Path) -> None:
    labels = ["left"] * 5 + ["middle"] * 5 + ["right"] * 5
    texts = [f"text of {i}" for i in range(15)]
    page = read(
        write_report(
            model, tmp_path / "page.html", title="My topics", labels=labels, texts=texts,
            counts=counts(),
        )
    )  # fmt: skip
    rows = [value for tag, name, value in page.attributes if (tag, name) == ("tr", "id")]
    assert sorted(rows) == ["topic-0", "topic-1", "topic-2"]
    assert rows == [f"topic-{k}" for k in np.argsort(-model.weights_, kind="stable")]
    for words in model.top_words(2):
        assert all(word in page.text for word in words)
    assert "svg" in page.tags
    assert page.text.startswith("My topics")
    for shown in ("15 documents", "6 words", f"{counts().total:.0f} tokens", "3 topics"):
        assert shown in page.text
    assert "doc <" in page.text
    assert "text of" in page.text
    assert all(label in page.text for label in labels)


@pytest.mark.parametrize(
    "estimator",
    [
        OneSidedClustering(3, random_state=0),
        DocumentMixture(3, random_state=0, validation_fraction=0),
        AspectModel(1, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_can_be_reported(estimator: AspectModel, tmp_path: Path) -> None:
    X = counts().matrix.toarray()  # no names of rows or columns
    page = read(write_report(estimator.fit(X), tmp_path / "page.html"))
    assert type(estimator).__name__ in page.text
    assert re.search(r"\brow \d+\b", page.text)
    assert page.open == []


def test_old_page_is_replaced_and_nothing_is_left_behind(
    model: AspectModel, tmp_path: Path
) -> None:
    path = tmp_path / "deep" / "folder" / "index.html"
    write_report(model, path, title="first")
    returned = write_report(model, str(path), title="second")
    assert returned == path
    assert "second" in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["index.html"]


def test_failed_write_keeps_the_old_page(
    model: AspectModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_report(model, tmp_path / "index.html", title="first")

    def fail(self: Path, target: Path) -> None:
        raise OSError("no room")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no room"):
        write_report(model, path, title="second")
    assert "first" in path.read_text(encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["index.html"]


def test_half_a_surrogate_is_written(model: AspectModel, tmp_path: Path) -> None:
    path = write_report(model, tmp_path / "index.html", title="a\ud800b")
    assert "a&#55296;b" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("what", ["labels", "texts", "names"])
def test_wrong_length_is_refused(model: AspectModel, tmp_path: Path, what: str) -> None:
    with pytest.raises(IsothermError, match=f"{what} has 14 entries"):
        write_report(model, tmp_path / "index.html", **{what: ["x"] * 14})
    assert not list(tmp_path.iterdir())


def test_counts_of_other_rows_are_refused(model: AspectModel, tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="counts has 3 entries"):
        write_report(model, tmp_path / "index.html", counts=counts().take_rows(slice(3)))


def test_unfitted_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="call fit first"):
        write_report(AspectModel(2), tmp_path / "index.html")


def test_label_shares_weigh_rows_by_mass() -> None:
    row_weights = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    shares = label_shares(row_weights, np.array([2.0, 4.0, 6.0]), ["a", "b", "b"])
    assert shares.names == ("b", "a")  # by mass: 10 and 2
    np.testing.assert_allclose(shares.table, [[0.5, 0.5], [1.0, 0.0]])


def test_many_labels_share_the_last_colour() -> None:
    labels = [f"label {i}" for i in range(12)]
    shares = label_shares(np.ones((12, 1)), np.arange(12.0, 0.0, -1.0), labels)
    assert shares.names == (*labels[:6], OTHER)
    np.testing.assert_allclose(shares.table.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares.table[0, -1], 21 / 78)


def test_typical_rows_are_pure_and_not_tiny() -> None:
    row_weights = np.array([[1.0, 0.0], [0.9, 0.1], [0.5, 0.5], [0.0, 1.0]])
    mass = np.array([1.0, 100.0, 200.0, 10.0])
    assert typical_rows(row_weights, mass, 2).tolist() == [[1, 2], [2, 3]]
