"""Scores by words, spectrum and topics together."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from isotherm import AspectModel, Counts, SearchIndex
from isotherm.errors import IsothermError
from isotherm.retrieval import formulas, spectrum
from isotherm.retrieval.balance import balanced
from isotherm.retrieval.combined import Balance, deviation, standardized
from isotherm.retrieval.scoring import SearchSettings
from isotherm.retrieval.spectrum import Spectrum
from retrieval.corpus import WORDS, cosine, documents, fitted, grown, queries, stories


def test_spectrum_is_that_of_sublinear_tf_idf() -> None:
    matrix = documents().matrix
    found = Spectrum.of(matrix)
    dense = np.log1p(matrix.toarray().astype(float)) * found.weights
    rows = dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-12)
    left, values, right = np.linalg.svd(rows)
    size = found.directions.shape[1]
    assert size == 60 // spectrum.DOCUMENTS_EACH
    assert found.sizes == [size]
    best = (left[:, :size] * values[:size]) @ right[:size]
    np.testing.assert_allclose(found.places @ found.directions.T, best, atol=1e-10)
    expected = cosine(best, rows[:5] @ right[:size].T @ right[:size])
    full = np.arange(60) != 7  # an empty document is nowhere
    alike = found.alike(found.placed(matrix[:5]))
    np.testing.assert_allclose(alike[:, full], expected[:, full], atol=1e-10)


def test_large_and_small_tables_have_the_same_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = documents().matrix
    whole = Spectrum.of(matrix)
    monkeypatch.setattr(spectrum, "DENSE", 0)
    part = Spectrum.of(matrix)
    np.testing.assert_allclose(
        part.places @ part.directions.T, whole.places @ whole.directions.T, atol=1e-8
    )


def test_cosines_are_averaged_over_dimensions() -> None:
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(5, 7)), rng.normal(size=(3, 7))
    expected = np.mean([cosine(A[:, :k], B[:, :k]) for k in (2, 4, 7)], axis=0)
    np.testing.assert_allclose(spectrum.mean_cosines(B, A, [2, 4, 7]), expected, atol=1e-12)
    assert spectrum.mean_cosines(np.zeros((1, 7)), A, [2, 7]).tolist() == [[0.0] * 5]


def test_score_is_the_weighted_mean_of_its_parts() -> None:
    index = SearchIndex.of([fitted(4), fitted(6, 1.2, 1)], documents(), feedback=0)
    learnt = index.learnt
    assert learnt is not None
    Q, counts = queries()[:3], documents()
    inner = np.bincount(counts.matrix.indices, minlength=40)
    lengths = counts.row_totals
    damping = formulas.Saturation.of(lengths, 1.2, 0.75)
    damped = damping(counts.matrix.toarray(), damping.half[:, None])
    words = Q.toarray() @ (damped * formulas.bm25_idf(inner, 60)).T
    lsi = standardized(learnt.spectrum.alike(learnt.spectrum.placed(Q)))
    weights, expected = learnt.spectrum.weights, []
    for table, theta in zip(learnt.tables, learnt.thetas, strict=True):
        from isotherm.retrieval.topics import fold

        mine = fold(table, Counts(Q)) @ table.word_topic.T * weights
        expected.append(cosine(theta @ table.word_topic.T * weights, mine))
    by_topics = standardized(np.mean(expected, axis=0))
    a, b = learnt.balance
    total = words / deviation(words)[:, None] + a * lsi + b * by_topics
    full = np.arange(60) != 7
    np.testing.assert_allclose(index.rank(Q)[:, full], (total / 3)[:, full], atol=1e-8)
    assert a + b == pytest.approx(2)


def test_documents_without_the_words_of_a_query_are_found() -> None:
    docs = stories()
    for model in (grown(), None):
        found = SearchIndex.of(model, docs).query("harbour", 40)
        assert all(hit.name.startswith("sea") for hit in found)
        has = docs.matrix[:, list(docs.column_names).index("harbour")].toarray().ravel() > 0
        assert any(not has[hit.document] and hit.words == () for hit in found)
        assert any(hit.through_feedback != 0 for hit in found)


def test_topics_that_find_documents_again_get_more_weight() -> None:
    docs = stories()
    useful = SearchIndex.of(grown(), docs).learnt
    useless = SearchIndex.of(AspectModel(1, random_state=0).fit(docs), docs).learnt
    assert useful is not None
    assert useless is not None
    assert useful.balance.topics > useless.balance.topics + 0.2 > 0.2
    none = SearchIndex.of(None, docs)
    assert none.learnt is not None
    assert none.learnt.balance == Balance(2.0, 0.0)
    assert balanced(none._combined) == Balance(2.0, 0.0)


def test_topics_count_less_where_all_are_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    from isotherm.retrieval import balance

    before = SearchIndex.of([fitted(4), fitted(6, 1.2, 1)], documents()).learnt
    monkeypatch.setattr(balance, "COARSE", 2)
    after = SearchIndex.of([fitted(4), fitted(6, 1.2, 1)], documents()).learnt
    assert before is not None
    assert after is not None
    assert after.balance.topics == pytest.approx(before.balance.topics / 2)
    assert sum(after.balance) == pytest.approx(2)


def test_all_levels_of_a_model_count_and_its_own_topics_are_shown() -> None:
    model = AspectModel("auto", random_state=0).fit(stories())
    index = SearchIndex.of(model, stories())
    assert index.learnt is not None
    sizes = [len(table.weight) for table in index.learnt.tables]
    assert sizes == [level.n_components for level in model.levels_]
    assert len(index.query("ship").topics) == model.n_components_
    renamed = SearchIndex.of(model.rename({0: "first"}), stories())
    assert len(renamed.query("ship")) == len(index.query("ship"))


def test_forms_of_a_word_are_one_word() -> None:
    docs = Counts.from_pairs(*zip(*[
        ("a", "price"), ("a", "oil"), ("b", "prices"), ("b", "tax"), ("c", "ship"), ("c", "sea"),
    ], strict=True))  # fmt: skip
    index = SearchIndex.of(None, docs)
    for asked in ("price", "Prices", "pricing", ["priced"]):
        found = index.query(asked)
        assert {hit.name for hit in found} == {"a", "b"}
        assert found.unknown == ()
        assert len(found.words) == 1
    assert found[0].words[0].amount > 0
    apart = SearchIndex.of(None, docs, stem=False).query("prices")
    assert apart[0].name == "b"
    assert apart[0].words[0].word == "prices"
    assert SearchIndex.of(None, docs, stem=False).query("pricing").unknown == ("pricing",)


def test_phrases_and_words_that_must_not_be_there() -> None:
    docs = stories()
    names = list(docs.column_names)
    dense = docs.matrix.toarray() > 0
    ship, wave = (dense[:, names.index(word)] for word in ("ship", "wave"))
    index = SearchIndex.of(grown(), docs)
    both = index.query('"ships wave"', 200).documents
    assert set(both) <= set(np.flatnonzero(ship & wave))
    assert len(both) > 3
    without = index.query("ship -waves", 200).documents
    assert not set(without) & set(np.flatnonzero(wave))
    assert set(np.flatnonzero(ship & ~wave)) <= set(without)
    assert index.query('ship -"wave ship"', 200).documents == [
        i for i in index.query("ship", 200).documents if not (ship & wave)[i]
    ]
    assert len(index.query('"ship zeppelin"')) == 0
    assert index.query("ship -zeppelin").documents == index.query("ship").documents
    assert index.query("-ship").hits == ()
    assert index.query('ship "" - "').documents == index.query("ship").documents
    order = np.flatnonzero(ship & wave)
    texts = ["the ship and wave"] * len(docs)
    texts[order[0]] = "Ships wave, at last"
    assert index.query('"ship wave"', texts=texts).documents == [order[0]]
    with pytest.raises(IsothermError, match="1 texts of 120 documents"):
        index.query('"ship wave"', texts=texts[:1])


def test_stop_words_are_named() -> None:
    index = SearchIndex.of(grown(), stories())
    found = index.query("the price of the zeppelin")
    assert (found.words, found.stopped, found.unknown) == (("price",), ("the", "of"), ("zeppelin",))
    only = index.query("to be or not to be")
    assert (len(only), only.unknown) == (0, ())
    assert only.stopped == ("to", "be", "or", "not")
    assert "stop words: to be or not" in str(only)


@pytest.mark.parametrize("matrix", [[[1, 2, 0]], [[0, 0, 1]], np.ones((4, 3)), np.eye(3)])
def test_odd_collections(matrix: object) -> None:
    docs = Counts(np.array(matrix, float), column_names=["ship", "wave", "Größe"])
    model = AspectModel(1, random_state=0).fit(docs)
    for index in (SearchIndex.of(None, docs), SearchIndex.of(model, docs)):
        scores = index.rank(np.eye(3))
        assert np.isfinite(scores).all()
        for word, column in (("ship", 0), ("größe", 2)):
            has = set(np.flatnonzero(docs.matrix.toarray()[:, column]))
            assert has <= set(index.query([word] if column == 0 else ["Größe"]).documents)
        assert index.query("").hits == index.query("nobody knows").hits == ()
        assert len(index.add(docs)) == 2 * len(docs)


def test_duplicates_have_the_same_score() -> None:
    docs = stories(20)
    twice = Counts(sparse.vstack([docs.matrix, docs.matrix]), column_names=docs.column_names)
    index = SearchIndex.of(AspectModel(3, random_state=0).fit(twice), twice)
    first, second = np.split(index.rank(twice.matrix[:5]), 2, axis=1)
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_words_of_another_language() -> None:
    docs = Counts.from_pairs(["a", "a", "b", "b"], ["нефть", "цена", "船", "海"])
    index = SearchIndex.of(None, docs)
    assert index.query("Цена").hits[0].name == "a"
    assert index.query("Цена").words == ("цена",)
    assert index.query(["船"]).documents == [1]


def test_file_holds_spectrum_and_topics_of_all_levels(tmp_path: Path) -> None:
    index = SearchIndex.of([fitted(4), fitted(6, 1.2, 1)], documents())
    loaded = SearchIndex.load(index.save(tmp_path / "index.iso"))
    assert loaded.learnt is not None
    assert index.learnt is not None
    assert loaded.learnt.balance == index.learnt.balance
    np.testing.assert_array_equal(loaded.rank(queries()), index.rank(queries()))
    assert loaded.query("w0 w1") == index.query("w0 w1")
    with pytest.raises(IsothermError, match="do not fit"):
        SearchIndex(
            index.counts, index.tables, index.theta, index.settings, index.add(documents()).learnt
        )


def test_a_file_from_before_scores_as_it_did() -> None:
    written = Path(__file__).parents[1] / "io" / "written"
    for path in sorted(written.rglob("*index*.iso")):
        index = SearchIndex.load(path)
        assert index.settings.method in ("words", "topics")
        assert index.learnt is None
        together = index.with_settings(index.settings._replace(method="combined", weights="bm25"))
        assert together.rank(index.counts.matrix[:2]).shape == (2, len(index))


def test_new_documents_are_found() -> None:
    index = SearchIndex.of([fitted(4), fitted(6, 1.2, 1)], documents())
    more = index.add(Counts(documents().matrix[:3].toarray() * 2, ["x", "y", "z"], WORDS))
    found = more.query(documents().matrix[[1]].toarray(), n=2)
    assert {hit.name for hit in found} == {"d1", "y"}
    assert more.learnt is not None
    assert more.learnt.spectrum.places.shape[0] == 63


def test_settings_of_other_methods_choose_them() -> None:
    docs = stories()
    model = grown()
    assert SearchIndex.of(model, docs).settings == SearchSettings(
        "combined", "bm25", 0.5, "smooth", 1.2, 0.75, 10, 0.5, True
    )
    for given in ({"weights": "tf"}, {"interpolation": 0.2}, {"query": "raw"}):
        assert SearchIndex.of(model, docs, **given).settings == SearchSettings(**given)
    with pytest.raises(IsothermError, match="leave them out"):
        SearchIndex.of(model, docs, method="combined", weights="tf")
    with pytest.raises(IsothermError, match="no models"):
        SearchIndex.of(None, docs, method="words")
    with pytest.raises(IsothermError, match="stem=3"):
        SearchIndex.of(model, docs, stem=3)
