"""The explorer from end to end: what is given stands in the parts, and the file is safe."""

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isotherm
from isotherm import GTM, CorpusMap, Explorer, IsothermError
from isotherm.viewer import explorer as module
from isotherm.viewer.container import Part, unpack
from isotherm.viewer.explorer import opening
from isotherm.viewer.parts.points import around
from viewer import corpora

N = 120
HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "half \ud800 pair",
    "nul \x00 inside",
    "\u202eright to left",
    "😀 emoji",
    "",
    "{{parts}}",
]


def whole(**more: Any) -> Explorer:
    maps = [corpora.mapped(3), corpora.mapped(2)]
    columns = {"length": corpora.counts().row_totals, "odd": [bool(i % 2) for i in range(N)]}
    given = {"counts": corpora.counts(), "columns": columns, "title": "Four subjects"} | more
    return Explorer.of(maps, **given)


def unpacked(explorer: Explorer, **more: Any) -> dict[str, Part]:
    return {name: unpack(block) for name, block in explorer.parts(**more).items()}


@pytest.fixture(scope="module")
def parts() -> dict[str, Part]:
    return unpacked(whole())


def test_meta_of_points(parts: dict[str, Part]) -> None:
    meta = parts["points"].meta
    assert meta["format"] == "isotherm explorer"
    assert meta["version"] == 1
    assert meta["title"] == "Four subjects"
    assert meta["live"] is False
    assert meta["parts"] == ["points", "documents", "words", "texts", "index"] == list(parts)
    assert meta["n_documents"] == N
    assert meta["n_topics"] == len(corpora.grown().weights_) == len(meta["topics"])
    assert meta["n_words"] == 48
    assert meta["maps"] == [
        {"name": "3-D", "dimensions": 3, "grid": [5, 5, 5], "empty": 1},
        {"name": "2-D", "dimensions": 2, "grid": [5, 5], "empty": 1},
    ]
    assert [(one["name"], one["kind"]) for one in meta["columns"]] == [
        ("label", "category"),
        ("length", "number"),
        ("odd", "category"),
    ]
    assert [one["name"] for one in meta["coolings"]] == ["topics", "3-D map", "2-D map"]
    facts = dict(map(tuple, meta["facts"]))
    assert facts["documents"] == "120"
    assert facts["tokens"] == f"{corpora.counts().total:,.0f}"
    assert facts["without a place"] == "1"
    assert meta["tree"]["kind"] == "topics"
    assert meta["tree"]["splits"]
    assert len(meta["stages"]) > 2


def test_arrays_of_points(parts: dict[str, Part]) -> None:
    arrays = parts["points"].arrays
    for m, axes in enumerate((3, 2)):
        given = corpora.mapped(axes).map
        places = arrays[f"map{m}.places"]
        known = ~given.empty
        low, high = around(given.grid_shape)
        back = low + places[known] / 65534 * (high - low)
        np.testing.assert_allclose(back, given.coordinates[known], atol=2e-5)
        assert (places[~known] == 65535).all()
        for name, expected in (("topics", given.topic_coordinates), ("nodes", given.nodes)):
            inside = arrays[f"map{m}.{name}"]
            assert 0 <= inside.min() <= inside.max() <= 1
            np.testing.assert_allclose(low + inside * (high - low), expected, atol=1e-6)
        np.testing.assert_allclose(arrays[f"map{m}.magnification"], given.magnification, rtol=1e-6)
    weights = corpora.mapped(3).map.topic_weights
    assert arrays["topic"].tolist() == weights.argmax(axis=1).tolist()
    assert arrays["topic"].dtype == np.uint8
    categories = parts["points"].meta["columns"][0]["categories"]
    assert [categories[code] for code in arrays["column0"]] == corpora.labels()


def test_documents(parts: dict[str, Part]) -> None:
    part, given = parts["documents"], corpora.mapped(3).map
    assert part.strings["titles"] == list(given.names) == [f"d{i}" for i in range(N)]
    assert part.arrays["shares.topic"][:, 0].tolist() == parts["points"].arrays["topic"].tolist()
    first = part.arrays["typical"][:, 0]
    score = given.topic_weights**2 * np.sqrt(corpora.counts().row_totals)[:, None]
    assert first.tolist() == score.argmax(axis=0).tolist()
    n_stages = len(parts["points"].meta["stages"])
    for s in range(n_stages - 1):
        assert part.arrays[f"stage{s}.topic"].shape == (N,)
        assert part.arrays[f"stage{s}.map0"].shape == (N, 3)
        assert part.arrays[f"stage{s}.map1"].shape == (N, 2)


def test_texts_and_index(parts: dict[str, Part]) -> None:
    assert parts["texts"].meta == {"whole": True}
    assert parts["texts"].strings["texts"] == list(corpora.mapped(3).map.texts or ())
    lengths = parts["index"].arrays["lengths"]
    assert lengths.tolist() == corpora.counts().row_totals.tolist()


def test_live_parts_leave_texts_and_search_to_the_server() -> None:
    explorer = whole()
    found = unpacked(explorer, live=True)
    assert list(found) == ["points", "documents", "words"]
    assert found["points"].meta["live"] is True
    assert found["points"].meta["parts"] == list(found)
    entry = explorer.document(3)
    assert entry["index"] == 3
    assert entry["id"] == entry["title"] == "d3"
    assert entry["text"] == (corpora.mapped(3).map.texts or ())[3]
    assert entry["fields"] == {
        "label": "subject 0",
        "length": corpora.counts().row_totals[3],
        "odd": True,
    }
    row = corpora.mapped(3).map.topic_weights[3]
    assert entry["topics"][0][0] == row.argmax()
    assert entry["topics"][0][1] == pytest.approx(row.max(), abs=1 / 255)


@pytest.mark.parametrize("index", [-1, N])
def test_documents_that_are_not_there(index: int) -> None:
    with pytest.raises(IsothermError, match="numbered 0 to 119"):
        whole().document(index)


@pytest.mark.parametrize(
    ("texts", "search", "expected"),
    [
        ("none", True, ["index"]),
        ("none", False, []),
        ("auto", False, ["texts"]),
    ],
)
def test_what_is_left_out(texts: str, search: bool, expected: list[str]) -> None:
    found = whole().parts(texts=texts, search=search)
    assert list(found) == ["points", "documents", "words", *expected]
    assert unpack(found["points"]).meta["parts"] == list(found)


def test_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["word " * 100] * N
    explorer = whole(texts=texts)
    assert unpacked(explorer)["texts"].strings["texts"] == texts
    short = unpacked(explorer, texts="openings")["texts"]
    assert short.meta == {"whole": False}
    assert short.strings["texts"][0] == "word " * 59 + "word …"
    monkeypatch.setattr(module, "WHOLE", 500 * N - 1)
    assert unpacked(explorer)["texts"].meta == {"whole": False}
    assert unpacked(explorer, texts="whole")["texts"].meta == {"whole": True}
    monkeypatch.setattr(module, "WHOLE", 500 * N)
    assert unpacked(explorer)["texts"].meta == {"whole": True}


def test_an_opening_of_one_word_is_cut() -> None:
    assert opening("x" * 400) == "x" * 300 + " …"
    assert opening("y" * 300) == "y" * 300


# From less ---------------------------------------------------------------------------------------


def test_a_map_alone(tmp_path: Path) -> None:
    given = corpora.mapped(2).map
    found = unpacked(Explorer.of(given))
    assert list(found) == ["points", "documents", "texts"]
    meta = found["points"].meta
    assert meta["tree"] is None
    assert meta["stages"] == []
    assert meta["n_words"] == 0
    assert [one["name"] for one in meta["coolings"]] == ["topics", "map"]
    assert meta["topics"][0]["words"][0] == [given.top_words[0][0], None]
    path = given.save_html(tmp_path / "deep" / "map.html", title="Only a map")
    assert "<title>Only a map</title>" in path.read_text(encoding="utf-8")


def test_a_model_without_counts_has_no_search() -> None:
    found = unpacked(Explorer.of(corpora.mapped(2).map, model=corpora.grown()))
    assert "index" not in found
    assert "totals" not in found["words"].arrays
    assert found["points"].meta["tree"] is not None
    # A map without its estimator cannot place documents anew.
    assert all(stage["moved"] == [] for stage in found["points"].meta["stages"])


def test_clusters_a_hierarchy_and_a_fixed_number() -> None:
    counts = corpora.counts()
    clusters = unpacked(Explorer.of(corpora.mapped(2, "clusters"), counts=counts))
    assert clusters["points"].meta["stages"][0]["moved"] == [0]
    tree = unpacked(Explorer.of(corpora.mapped(2, "hierarchy"), counts=counts))
    assert tree["points"].meta["tree"]["kind"] == "hierarchy"
    assert [one["name"] for one in tree["points"].meta["coolings"]] == ["topics", "growth", "map"]
    assert "nodes.start" in tree["words"].arrays
    assert len(tree["points"].meta["stages"]) == 4
    model, kept = corpora.fixed()
    fixed = Explorer.of(corpora.mapped(2, "fixed"), counts=counts, stages=kept)
    stages = unpacked(fixed)["points"].meta["stages"]
    assert stages[0]["n_topics"] == 1
    assert stages[-1]["temperature"] == model.temperature_


def test_nouns() -> None:
    nouns = {"row": "molecule", "rows": "molecules"}
    explorer = Explorer.of(corpora.mapped(2).map, nouns=nouns)
    told = unpacked(explorer)["points"].meta
    assert told["nouns"]["row"] == "molecule"
    assert told["nouns"]["component"] == "topic"
    assert told["facts"][0] == ["molecules", "120"]
    assert "120 molecules" in repr(explorer)


# Vectors -----------------------------------------------------------------------------------------


def test_vectors_by_a_fitted_map() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    gtm = GTM(2, n_nodes=5, n_init=1, random_state=0).fit(X)
    found = unpacked(Explorer.of_vectors(gtm, X, columns={"first": X[:, 0]}))
    assert list(found) == ["points", "documents"]
    meta = found["points"].meta
    assert meta["topics"] == []
    assert meta["n_topics"] == 0
    assert meta["nouns"]["rows"] == "points"
    assert meta["coolings"][0]["parts"] == "nodes"
    assert meta["maps"] == [{"name": "2-D", "dimensions": 2, "grid": [5, 5], "empty": 0}]
    low, high = around((5, 5))
    back = low + found["points"].arrays["map0.places"] / 65534 * (high - low)
    np.testing.assert_allclose(back, gtm.transform(X), atol=2e-5)
    assert np.abs(back).max() > 1.0
    assert "topic" not in found["points"].arrays


def test_vectors_by_coordinates() -> None:
    places = np.random.default_rng(0).normal(size=(60, 3))
    explorer = Explorer.of_vectors([places, places[:, :2]], labels=list("ab") * 30)
    found = unpacked(explorer)
    assert [one["name"] for one in found["points"].meta["maps"]] == ["3-D", "2-D"]
    assert found["points"].meta["columns"][0]["name"] == "label"
    assert found["documents"].strings == {}
    assert found["points"].arrays["map0.places"].dtype == np.uint16


def test_bytes_of_a_point(tmp_path: Path) -> None:
    """What a large file takes for each point, without the page that a small one has as well."""
    rng = np.random.default_rng(0)
    sizes = []
    for n in (1_000, 21_000):
        places = rng.normal(size=(n, 3))
        path = Explorer.of_vectors(
            [places, places[:, :2]],
            names=[f"some title {i}" for i in range(n)],
            columns={"group": rng.integers(0, 24, n).astype(str), "number": rng.normal(size=n)},
        ).save_html(tmp_path / "page.html")
        sizes.append(path.stat().st_size)
    assert (sizes[1] - sizes[0]) / 20_000 < 40


# Safe --------------------------------------------------------------------------------------------


def test_hostile_text_survives_and_never_stands_in_the_page(tmp_path: Path) -> None:
    odd = (HOSTILE * N)[:N]
    explorer = whole(
        title=HOSTILE[0], subtitle=HOSTILE[1], names=odd, texts=odd, labels=odd,
        columns={HOSTILE[1]: odd},
    )  # fmt: skip
    expected = [text.replace("\ud800", "�") for text in odd]
    found = unpacked(explorer)
    assert found["documents"].strings["titles"] == expected
    assert found["texts"].strings["texts"] == expected
    columns = found["points"].meta["columns"]
    assert set(columns[0]["categories"]) == set(expected)
    assert columns[1]["name"] == HOSTILE[1]
    text = explorer.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    plain = re.sub(r'(data-part="\w+">)[A-Za-z0-9+/=]*<', r"\1<", text)
    for word in ("alert(", "onerror", "\x00", "\u202e", "😀"):
        assert word not in plain.replace("&lt;script&gt;alert(1)", "")
    assert "<title>&lt;/script&gt;&lt;script&gt;alert(1)" in text
    # A title that looks like a mark of the skeleton brings nothing in.
    assert plain.count('data-part="points"') == 1


def test_words_of_the_corpus_may_be_hostile() -> None:
    X = np.random.default_rng(0).poisson(np.kron(np.eye(3), np.full((20, 3), 6.0)) + 1)
    names = [*HOSTILE[:6], "a", "b", "c"]
    counts = isotherm.Counts(X, column_names=names)
    mapped = isotherm.map_corpus(
        counts, n_topics=3, gtm=GTM(2, n_nodes=3, n_init=1, random_state=0)
    )
    explorer = Explorer.of(mapped, counts=counts)
    assert unpacked(explorer)["words"].strings["words"][:2] == HOSTILE[:2]
    assert "onerror" not in re.sub(r"[A-Za-z0-9+/=]{200,}", "", explorer.html())


def test_file_and_text_are_the_same(tmp_path: Path) -> None:
    explorer = whole()
    path = explorer.save_html(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == explorer.html()
    blocks = re.findall(r'data-part="(\w+)">([^<]*)<', explorer.html())
    assert {name: base64.b64decode(body) for name, body in blocks} == explorer.parts()


def test_a_file_is_there_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    def failing(*parts: Any) -> bytes:
        raise OSError("disk full")

    explorer = whole()
    monkeypatch.setattr(module, "pack", failing)
    with pytest.raises(OSError, match="disk full"):
        explorer.save_html(path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


def test_notebooks_show_a_frame_that_reaches_nothing() -> None:
    explorer = Explorer.of(corpora.mapped(2).map, title='"quoted"')
    shown = explorer._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert 'title="&quot;quoted&quot;"' in shown
    tags = shown.count("<")  # counted first: a failure would show all of the page
    assert tags == 2  # the frame and its end: all else is escaped


def test_notebooks_do_not_show_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHOWN", 1000)
    shown = Explorer.of(corpora.mapped(2).map, title="<b>")._repr_html_()
    assert "too large to be shown here" in shown
    assert "<b>" not in shown


# What is refused ---------------------------------------------------------------------------------


def other_map(**changes: Any) -> CorpusMap:
    given = corpora.mapped(2).map
    return CorpusMap(**{name: getattr(given, name) for name in vars(given)} | changes)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"maps": 5}, "maps=5; give what map_corpus returns"),
    ({"maps": []}, r"maps=\[\]; give what map_corpus returns"),
    ({"maps": ["x"]}, "give what map_corpus returns"),
    (
        {"maps": [corpora.mapped(2).map, other_map(topic_weights=np.ones((119, 3)))]},
        "and 119 and 3; give maps of the same rows by the same topics",
    ),
    ({"model": "aspect"}, "model='aspect'; give the fitted topic model"),
    ({"model": isotherm.AspectModel(3)}, "give the fitted topic model"),
    (
        {"model": isotherm.AspectModel(3, max_iter=2, random_state=0).fit(corpora.counts())},
        "the model has 3 topics and the map",
    ),
    ({"counts": np.ones((3, 48))}, "counts have 3 rows and the map 120"),
    ({"counts": np.ones((120, 5))}, "counts have 5 columns and the model 48"),
    ({"names": ["a"]}, "names has 1 entries for 120 rows"),
    ({"texts": "text"}, "texts is of type str; give a sequence of 120 entries"),
    ({"labels": ["a"] * 119}, "labels has 119 entries for 120 rows"),
    ({"columns": {"label": range(120)}}, "labels and a column 'label' are both given"),
    ({"columns": {"x": [1, 2]}}, "column 'x' has 2 entries"),
    ({"nouns": {"raw": "x"}}, r"nouns has \['raw'\]; what can be named are 'row'"),
    ({"maps": corpora.mapped(2).map, "stages": []}, "stages are given without a model"),
]


@pytest.mark.parametrize(("changes", "message"), BAD, ids=[message for _, message in BAD])
def test_what_cannot_be_shown_is_refused(changes: dict[str, Any], message: str) -> None:
    given = {"maps": corpora.mapped(2), **changes}
    with pytest.raises(IsothermError, match=message):
        Explorer.of(given.pop("maps"), **given)


@pytest.mark.parametrize(
    ("maps", "vectors", "message"),
    [
        (np.zeros(3), None, r"shape \(3,\); give \(I, 2\) or \(I, 3\)"),
        (np.zeros((3, 4)), None, r"shape \(3, 4\)"),
        (np.zeros((0, 2)), None, r"shape \(0, 2\)"),
        (np.array([["a", "b"]]), None, "coordinates are of <U1; give numbers"),
        ([], None, "no maps are given"),
        ([np.zeros((3, 2)), np.zeros((4, 3))], None, "maps have 3 and 4 rows"),
        (GTM(2), np.zeros((3, 2)), "unfitted or without vectors"),
        (np.full((3, 2), np.nan), None, "no row has finite coordinates"),
    ],
)
def test_places_that_cannot_be_shown_are_refused(maps: Any, vectors: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        Explorer.of_vectors(maps, vectors)


def test_texts_must_be_one_of_four() -> None:
    with pytest.raises(IsothermError, match="texts='all'; it must be one of 'auto'"):
        whole().html(texts="all")
