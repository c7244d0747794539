"""Everything that can be kept, written and read again."""

import copy
import pickle
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import isotherm
from isotherm import (
    GTM,
    AspectModel,
    CorpusMap,
    Counts,
    Engine,
    IsothermError,
    IsothermWarning,
    MappedCorpus,
    StoredCounts,
    TimeLimit,
    TwoSidedClustering,
    map_corpus,
)
from isotherm.estimators.base import Annealed
from isotherm.format import archive, codec
from isotherm.io import registry
from support.estimators import ESTIMATORS, X, assert_same, data_of


@cache
def fitted(name: str) -> Any:
    estimator = copy.deepcopy(ESTIMATORS[name]).set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsothermWarning)
        return estimator.fit(data_of(estimator))


# The file format: new names come, and these stay. Do not edit them when a class is renamed.
NAMES = """
    Adaptive AspectModel AspectParams AspectRows AspectStats Branches ClusterParams
    ClusterRows ClusterStats ClustersAndTopics Compressed Cooling CorpusMap CountedAspects
    CountedClusters Counts Curve DTM DocumentMixture Engine Exponential FactorizedRows
    FactorizedStats Fit Fixed Folds GTM Grid Growth GtmParams GtmStats Heating
    HierarchicalClustering HierarchyParams HierarchyRows LTM LapPLSI LatentGrid LdaParams
    LdaRows LdaStats Linear LinkedParams LinkedRows LinkedStats MappedCorpus Neighbors
    NoRows NodeStats Noisy OneSidedClustering OneSidedFits OwnClusters OwnWordsParams
    OwnWordsStats PCP PairRows
    PcpParams RandomRows Record Rows SearchIndex SearchSettings Spectral Splitting Stage
    Stages State Step Stepwise StructuredFit TTMM Tempered Tokens TopicTable Tree TtmmParams
    TwoSidedClustering TwoSidedParams WordCounts model.Aspect model.AspectLeaveOneOut
    model.AspectOwnWords model.Cluster model.ClusterLeaveOneOut model.DTM model.Document
    model.FactorizedPcp
    model.Gtm model.Hierarchy model.LTM model.LapPLSI model.Lda model.Pcp model.Segments
    model.Tied model.Ttmm model.TwoSided
""".split()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_tables_say_twice_is_written_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fitted(name)
    monkeypatch.setattr(codec, "SMALL", 0)
    found = isotherm.load(model.save(tmp_path / "model.iso"))
    assert_same(found, model)
    for key, value in vars(model).items():
        if isinstance(value, np.ndarray):
            assert vars(found)[key].strides == value.strides
    assert_same(found.transform(data_of(model)), model.transform(data_of(model)))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_file_holds_topics_once(precision: str, tmp_path: Path) -> None:
    counts = np.random.default_rng(0).poisson(1.0, (20, 4000))
    model = AspectModel(5, engine=Engine(precision=precision), random_state=0, max_iter=3)
    path = model.fit(counts).save(tmp_path / "model.iso")
    table = np.dtype(precision).itemsize * 5 * 4000
    prominent = 4 * 6 * 4000
    # Besides the topics and how prominent words are, three rows over the columns and the trace.
    assert table < path.stat().st_size < table + prominent + 3 * 8 * 4000 + 30_000


def test_names_in_files_stay() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert [name for name in NAMES if name not in registry.known().by_name] == []


def test_every_estimator_is_tried() -> None:
    public = {getattr(isotherm, name) for name in isotherm.__all__}
    there = {kind for kind in public if isinstance(kind, type) and issubclass(kind, Annealed)}
    assert there == {type(one) for one in ESTIMATORS.values()}
    assert there == set(registry.ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_is_the_one_that_was_saved(name: str, tmp_path: Path) -> None:
    model, path = fitted(name), tmp_path / "model.iso"
    assert isotherm.save(model, path) == path
    again = type(model).load(path)
    assert_same(again, model)
    assert repr(again) == repr(model)
    assert vars(again).keys() == vars(model).keys()
    new = data_of(model)[::3]
    assert np.array_equal(again.transform(new), model.transform(new))
    assert again.score(new) == model.score(new)
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    if hasattr(model, "perplexity"):
        assert again.perplexity(new) == model.perplexity(new)
        assert again.describe() == model.describe()
    if hasattr(model, "predict"):
        assert np.array_equal(again.predict(new), model.predict(new))


@pytest.mark.parametrize("name", ["aspect", "map", "ltm"])
def test_a_loaded_estimator_can_be_fitted_again(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    again = isotherm.load(model.save(tmp_path / "model.iso")).fit(data_of(model))
    assert np.array_equal(again.transform(data_of(model)), model.transform(data_of(model)))


@pytest.mark.parametrize("name", ["clusters that grew", "lap", "map"])
def test_copies_and_pickles_keep_working(name: str) -> None:
    model = fitted(name)
    new = data_of(model)[::3]
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_same(again, model)
        assert np.array_equal(again.transform(new), model.transform(new))


def test_an_estimator_without_a_fit_is_kept_too(tmp_path: Path) -> None:
    model = AspectModel(7, tol=np.float32(0.5), random_state=np.random.default_rng(3))
    again = AspectModel.load(model.save(tmp_path / "model.iso"))
    assert repr(again.set_params(random_state=None)) == repr(model.set_params(random_state=None))
    assert not hasattr(again, "components_")


@pytest.mark.parametrize(
    "state", [np.random.default_rng(3), np.random.RandomState(4)], ids=["generator", "legacy"]
)
def test_random_numbers_go_on_where_they_were(state: Any, tmp_path: Path) -> None:
    state.normal(size=3)
    model = AspectModel(random_state=state)
    again = AspectModel.load(model.save(tmp_path / "model.iso")).random_state
    assert type(again) is type(state)
    assert again.normal() == state.normal()


def test_feature_names_are_kept(tmp_path: Path) -> None:
    names = [f"wörd {j}" for j in range(14)] + ["half \ud800 pair"]
    model = AspectModel(2, random_state=0).fit(Counts(X, column_names=names))
    again = AspectModel.load(model.save(tmp_path / "model.iso"))
    assert list(again.feature_names_in_) == names
    assert again.feature_names_in_.dtype == object
    assert again.top_words(3) == model.top_words(3)


def test_callbacks_are_left_out_with_a_warning(tmp_path: Path) -> None:
    model = AspectModel(engine=Engine(callbacks=[TimeLimit(3.0)]))
    with pytest.warns(IsothermWarning, match="callbacks of AspectModel are not saved"):
        path = model.save(tmp_path / "model.iso")
    assert AspectModel.load(path).engine.callbacks == ()
    assert len(model.engine.callbacks) == 1


class Own:
    """A schedule that the library does not know."""

    restarts = False

    def next(self, trace: Any, critical: Any, zero: float) -> float | None:
        return None


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"schedule": Own()}, r"AspectModel\.params\.schedule is .*\.Own, which files"),
        ({"tol": 1j}, r"AspectModel\.params\.tol is builtins\.complex"),
        ({"tol": [{1: 2}]}, r"a key of AspectModel\.params\.tol\[0\]"),
        ({"tol": np.ones(1, complex)}, r"tol is numpy\.ndarray of complex128"),
    ],
)
def test_what_cannot_be_kept_is_named(settings: dict[str, Any], where: str, tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match=where):
        AspectModel(**settings).save(tmp_path / "model.iso")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("thing", [3, "text", np.ones(3), object(), AspectModel, None])
def test_other_things_are_refused(thing: Any, tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="what can be saved are Counts, estimators"):
        isotherm.save(thing, tmp_path / "thing.iso")
    assert list(tmp_path.iterdir()) == []


def test_the_wrong_class_is_refused(tmp_path: Path) -> None:
    path = AspectModel().save(tmp_path / "model.iso")
    with pytest.raises(IsothermError, match="holds AspectModel, and GTM was asked for"):
        GTM.load(path)
    with pytest.raises(IsothermError, match="holds 'fit', and 'counts' was asked for"):
        Counts.load(path)
    assert isinstance(Annealed.load(path), AspectModel)


@pytest.mark.parametrize(
    "counts",
    [
        Counts([[1, 0], [0, 2.5]]),
        Counts([[1, 0], [0, 1 / 3]], ["a", "b"], ["ä", ""]),
        Counts(sparse.csr_array(([1.0, 2.0], ([0, 2], [1, 3])), (4, 5)), [1, "b", 2.5, None]),
        Counts(np.eye(3), ["x", "x", "x"], [10**30, -1, 0]),
        Counts(np.eye(3)).take_rows([0]).take_columns([1]),
    ],
    ids=str,
)
def test_counts_are_kept(counts: Counts, tmp_path: Path) -> None:
    again = Counts.load(counts.save(tmp_path / "counts.iso"))
    assert_same(again, counts)
    assert repr(again) == repr(counts)
    assert_same(isotherm.load(isotherm.save(counts, tmp_path / "other.iso")), counts)


def test_names_of_rows_are_called_in_files_as_ever(tmp_path: Path) -> None:
    """What files of earlier versions hold is read, and such versions read what is written."""
    counts = Counts(np.eye(2), ["a", "b"], ["c", "d"])
    content = archive.read(counts.save(tmp_path / "counts.iso")).content
    assert set(content["fields"]) == {"matrix", "row_ids", "column_names"}
    stored = StoredCounts.write(tmp_path / "folder", tmp_path / "counts.iso")
    assert (tmp_path / "folder" / "row_ids.json").read_text() == '["a", "b"]'
    assert stored.load().row_names.tolist() == ["a", "b"]


def test_an_estimator_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    model = fitted("two-sided")
    writer = codec.Writer(registry.known())
    content = writer.encode(model, "it")
    items = content["fields"]["fitted"]["items"]
    items["row_ids_"] = items.pop("row_names_")
    path = archive.write(tmp_path / "old.iso", archive.Archive("fit", content, writer.arrays))
    assert_same(isotherm.load(path), model)


@pytest.mark.parametrize("change", ["negative", "nan", "column", "twice"])
def test_counts_that_are_none_are_refused(change: str, tmp_path: Path) -> None:
    """What a file claims to be counts is checked as any other input is."""
    counts = Counts([[1, 2], [0, 3]], column_names=["a", "b"])
    if change == "column":
        counts.matrix.indices[0] = 7
    elif change == "twice":
        counts.column_names[:] = "a"  # type: ignore[index]
    else:
        counts.matrix.data[0] = -1.0 if change == "negative" else np.nan
    path = counts.save(tmp_path / "counts.iso")
    with pytest.raises(IsothermError, match=r"counts\.iso is no file of isotherm"):
        Counts.load(path)


def test_a_mapped_corpus_is_kept_with_its_estimators(tmp_path: Path) -> None:
    gtm = GTM(n_nodes=5, n_basis=3, n_init=1, random_state=0)
    found = map_corpus(X, topics=AspectModel(3, random_state=0), gtm=gtm, labels=["a"] * 40)
    again = isotherm.load(isotherm.save(found, tmp_path / "mapped.iso"))
    assert isinstance(again, MappedCorpus)
    assert_same(again, found)
    assert np.array_equal(again.place(X[:5]), found.place(X[:5]))
    alone = isotherm.load(found.map.save(tmp_path / "map.iso"))
    assert isinstance(alone, CorpusMap)
    assert_same(alone, found.map)


@pytest.mark.parametrize(
    "name", ["__class__", "_private_", "transform", "fit", "__dict__", "with space_", "tol"]
)
def test_only_what_a_fit_sets_is_set(name: str, tmp_path: Path) -> None:
    writer = codec.Writer(registry.known())
    content = writer.encode(AspectModel(), "it")
    content["fields"]["fitted"]["items"][name] = 3
    path = archive.write(tmp_path / "model.iso", archive.Archive("fit", content, {}))
    with pytest.raises(IsothermError, match="nothing that a fit sets"):
        isotherm.load(path)


def test_trees_of_older_files_have_no_similarities() -> None:
    tree = isotherm.Tree((-1, 0, 0), temperatures=(2.0, np.nan, np.nan))
    content = codec.Writer(registry.known()).encode(tree, "it")
    del content["fields"]["similarities"]
    again = codec.Reader(registry.known(), {}).decode(content)
    assert again == tree
    assert again.similarities == ()


def test_types_of_ones_own_can_be_added() -> None:
    own = codec.Registry()
    own.add("Own", codec.Entry(Own, lambda value: {}, lambda values: Own()))
    writer = codec.Writer(own)
    assert isinstance(codec.Reader(own, {}).decode(writer.encode(Own(), "it")), Own)
    with pytest.raises(IsothermError, match="registered already"):
        own.add("Own", codec.Entry(int, dict, dict))


@pytest.mark.parametrize("first", ["r", 5])
def test_rows_that_the_index_of_a_frame_names_keep_their_names(first: Any, tmp_path: Path) -> None:
    index = [first * (i + 1) for i in range(len(X))]
    model = TwoSidedClustering(2, random_state=0).fit(pd.DataFrame(X, index=index))
    again = isotherm.load(model.save(tmp_path / "model.iso"))
    assert again.row_names_ == model.row_names_ == index
    assert again.top_rows(3) == model.top_rows(3)
