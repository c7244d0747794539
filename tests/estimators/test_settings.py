"""The engine as one value of every estimator, and what is held out as a value of the engine."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import isotherm
from isotherm import (
    GTM,
    PCP,
    AspectModel,
    DocumentMixture,
    Engine,
    Fixed,
    Folds,
    HierarchicalClustering,
    IsothermError,
    OneSidedClustering,
    Rows,
    TimeLimit,
    Tokens,
    TwoSidedClustering,
)
from isotherm.anneal.callbacks import GenerationRule, HeldoutRule
from isotherm.estimators.engine import MOVED, SETTINGS
from isotherm.estimators.hierarchy import SHARES
from isotherm.estimators.plan import Table
from isotherm.estimators.recipe import planned, steered
from isotherm.io.registry import ESTIMATORS

RNG = np.random.default_rng(0)
X = RNG.poisson(3 * np.kron(np.eye(3), np.ones((12, 8))) + 0.3)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_few_parameters_are_left_and_each_engine_works(kind: Any) -> None:
    names = inspect.signature(kind).parameters
    assert "engine" in names
    assert not names.keys() & MOVED.keys()
    assert kind._takes <= set(SETTINGS)
    model = kind(engine=Engine(precision="float64"))
    assert model.get_params()["engine__precision"] == "float64"
    assert kind(**kind().get_params()).get_params() == kind().get_params()


def test_an_aspect_model_has_fifteen_parameters() -> None:
    assert len(inspect.signature(AspectModel).parameters) == 15


@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("kind", [AspectModel, DocumentMixture, GTM])
def test_old_names_say_where_they_went(kind: Any, name: str) -> None:
    with pytest.raises(IsothermError, match=rf"{name}=2; .*engine=Engine\(.*2"):
        kind(**{name: 2})
    with pytest.raises(IsothermError, match=rf"{name}=2; .*engine=Engine\(.*2"):
        kind().set_params(**{name: 2})


def test_what_the_message_says_works() -> None:
    with pytest.raises(IsothermError) as caught:
        DocumentMixture(3, cv=4)
    written = str(caught.value).split("write ")[1].replace("...", "3")
    assert eval(written).engine == Engine(holdout=Folds(4))


def test_names_that_never_were_are_type_errors() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'patient'"):
        AspectModel(patient=2)


def test_set_params_replaces_the_value_and_leaves_that_of_others() -> None:
    shared = Engine(patience=4)
    one, other = AspectModel(2, engine=shared), AspectModel(3, engine=shared)
    one.set_params(engine__over_relax=False, n_components=5)
    assert one.engine == Engine(patience=4, over_relax=False)
    assert one.n_components == 5
    assert other.engine is shared
    assert shared == Engine(patience=4)
    assert AspectModel().set_params(engine__patience=3).engine == Engine(patience=3)
    both = AspectModel().set_params(engine=shared, engine__over_relax=True).engine
    assert both == Engine(patience=4, over_relax=True)


def test_set_params_sets_all_or_nothing() -> None:
    model = AspectModel(2, engine=Engine(patience=4))
    with pytest.raises(IsothermError, match="over_relax=3"):
        model.set_params(n_components=5, engine__over_relax=3)
    with pytest.raises(IsothermError, match="patience=2; patience is a setting"):
        model.set_params(n_components=5, patience=2)
    assert model.n_components == 2
    assert model.engine == Engine(patience=4)


def test_clones_have_an_equal_engine() -> None:
    model = OneSidedClustering(3, engine=Engine(patience=4, callbacks=[TimeLimit(60)]))
    copy = clone(model)
    assert copy.engine.patience == 4
    assert isinstance(copy.engine.callbacks[0], TimeLimit)


def test_a_search_over_settings() -> None:
    grid = {"engine__over_relax": [True, False]}
    search = GridSearchCV(AspectModel(2, random_state=0, max_iter=5), grid, cv=2).fit(X)
    assert search.best_params_.keys() == {"engine__over_relax"}


@pytest.mark.parametrize(
    ("kind", "engine", "name"),
    [
        (PCP, Engine(over_relax=False), "over_relax"),
        (PCP, Engine(patience=2), "patience"),
        (GTM, Engine(holdout=Tokens()), "holdout"),
        (TwoSidedClustering, Engine(batches=isotherm.Stepwise(10)), "batches"),
        (isotherm.DTM, Engine(record_critical=True), "record_critical"),
    ],
)
def test_settings_without_use_are_refused(kind: Any, engine: Engine, name: str) -> None:
    with pytest.raises(IsothermError, match=f"has no use for {name}; leave it out"):
        kind(engine=engine).fit(X)
    with pytest.raises(IsothermError, match=f"engine__{name}=.*takes"):
        kind().set_params(**{f"engine__{name}": getattr(engine, name)})


def test_an_engine_is_saved_without_callbacks(tmp_path: Path) -> None:
    engine = Engine(holdout=Folds(3, Rows("best")), patience=4, callbacks=[TimeLimit(60)])
    model = DocumentMixture(2, engine=engine, random_state=0, max_iter=5)
    with pytest.warns(UserWarning, match="callbacks of DocumentMixture are not saved"):
        path = model.save(tmp_path / "model.iso")
    assert isotherm.load(path).engine == Engine(holdout=Folds(3, Rows("best")), patience=4)


def test_the_text_of_an_engine_is_what_was_changed() -> None:
    assert repr(Engine()) == "Engine()"
    assert repr(Engine(patience=3, holdout=Tokens())) == "Engine(holdout=Tokens(), patience=3)"
    assert "engine=Engine(patience=3)" in repr(AspectModel(engine=Engine(patience=3)))
    limited = Engine(callbacks=[TimeLimit(60)])
    assert repr(limited) == "Engine(callbacks=[TimeLimit(seconds=60)])"


# What is held out -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        AspectModel(3),
        OneSidedClustering(3),
        OneSidedClustering(3, weighting="rows", temper_prior=False),
        DocumentMixture(3),
        TwoSidedClustering(3, 3),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("of", [Tokens, Rows])
def test_every_model_of_counts_can_be_cross_validated(model: Any, of: Any) -> None:
    model = clone(model).set_params(random_state=0, engine__holdout=Folds(3, of()))
    if of not in model._holds_out:
        with pytest.raises(IsothermError, match=r"scored by Tokens\(\) alone"):
            model.fit(X)
        return
    model.fit(X)
    curve = model.cv_curve_
    assert len(curve.relative) == len(curve.score) > 1
    assert np.isfinite(curve.score).all()
    lowest = 1.0 if isinstance(model, TwoSidedClustering) else model.model_.zero_temperature
    assert lowest <= model.temperature_
    if isinstance(model, AspectModel):
        assert model.temperature_ >= 1.0  # where its schedule ends
    assert np.isnan(model.trace_[-1].heldout)  # nothing is held out of the fit itself
    hot = max(record.temperature for record in model.trace_)
    if isinstance(model, TwoSidedClustering):
        assert model.temperature_ == pytest.approx(min(curve.best, hot))
    # The same folds for every seed.
    again = clone(model).set_params(random_state=1).fit(X)
    np.testing.assert_array_equal(again.cv_curve_.relative.shape, curve.relative.shape)


@pytest.mark.parametrize("weights", ["uniform", "cluster", "full"])
@pytest.mark.parametrize("tree", [None, [0, [1, 2]]])
def test_hierarchies_can_be_cross_validated(weights: str, tree: Any) -> None:
    engine = Engine(holdout=Folds(3))
    model = HierarchicalClustering(tree=tree, weights=weights, engine=engine, random_state=0).fit(X)
    curve = model.cv_curve_
    assert curve.relative.tolist() == list(SHARES)
    assert np.isfinite(curve.score).all()
    plain = clone(model).set_params(engine=None).fit(X)
    # The same tree; of its temperatures the one that is best over the folds.
    assert model.tree_ == plain.tree_
    assert [record.temperature for record in model.trace_] == [model.temperature_]
    assert model.temperature_ == pytest.approx(plain.trace_[0].temperature * curve.best)
    with pytest.raises(IsothermError, match="a share of the temperature at which"):
        clone(model).set_params(schedule=Fixed(1.0)).fit(X)


@pytest.mark.parametrize("kind", [AspectModel, HierarchicalClustering])
def test_folds_need_counts_in_memory(kind: Any, tmp_path: Path) -> None:
    stored = isotherm.StoredCounts.write(tmp_path / "counts", X, memory=64)
    with pytest.raises(IsothermError, match="folds need them in memory"):
        kind(3, engine=Engine(holdout=Folds(2)), random_state=0).fit(stored)


def test_folds_of_tokens_hold_out_every_token_once() -> None:
    from isotherm.data.counts import as_counts
    from isotherm.estimators.plan import Table

    class Data:
        def __init__(self, counts: Any) -> None:
            self.summary = type("Summary", (), {"total": counts.total})
            self.counts = counts

        def beside(self, held: Any) -> Any:
            return Data(held)

    counts = as_counts(X)
    table = Table(counts, None, lambda rows, weight, new=False: Data(rows))
    folds = table.folds(Tokens(), 4)
    assert len(folds) == 4
    total = sum(fold.heldout.held.counts.matrix.toarray() for fold in folds)
    np.testing.assert_array_equal(total, X)
    for fold in folds:
        parts = fold.data.counts.matrix + fold.heldout.held.counts.matrix
        np.testing.assert_array_equal(parts.toarray(), X)
        assert fold.heldout.held.counts.total == pytest.approx(counts.total / 4, rel=0.15)


def test_rows_may_steer_clusters_too() -> None:
    rows = Engine(holdout=Rows())
    model = OneSidedClustering(3, temper_prior=True, engine=rows, random_state=0).fit(X)
    tokens = OneSidedClustering(3, temper_prior=True, random_state=0).fit(X)
    assert model.trace_[0].heldout != tokens.trace_[0].heldout
    assert np.isfinite([record.heldout for record in model.trace_]).all()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Rows(density="flat"), "density=.*'prior', 'fold-in', 'best'"),
        (lambda: Rows(train_weight=-1.0), "train_weight=.*at least 0"),
        (lambda: Rows(test_weight=np.nan), "test_weight=.*at least 0"),
        (lambda: Rows(test_weight=0.0), "are both 0"),
        (lambda: Rows(per_token=1), "per_token=.*True or False"),
        (lambda: Folds(1), "cv=1; .*at least 2"),
        (lambda: Folds([([0], [1])], Tokens()), "give a number of at least 2"),
        (lambda: Folds(2, 0.1), "of=0.1"),
    ],
)
def test_hold_outs_that_make_no_sense_are_refused(made: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        made()


# How a run is steered ---------------------------------------------------------------------------


def test_folds_end_no_colder_than_the_schedule() -> None:
    noise = np.random.default_rng(0).poisson(1, (200, 100))
    model = AspectModel(3, engine=Engine(holdout=Folds(3)), random_state=0).fit(noise)
    # The best relative temperature of the folds is below T = 1 here.
    assert model.cv_curve_.best * model.first_critical_ < 1.0
    assert model.temperature_ == 1.0


@pytest.mark.parametrize(("n", "rule"), [("auto", GenerationRule), (3, HeldoutRule)])
def test_the_rule_is_that_of_growing_or_of_cooling(n: Any, rule: Any) -> None:
    model = AspectModel(n, engine=Engine(patience=7))
    model.precision_ = "float64"
    table = Table(isotherm.Counts(X), None, model._data)
    recipe = model._full_recipe(table)
    engine = model._engine(recipe.schedule)
    plan, _ = planned(recipe, table, engine)
    rules = [one for one in steered(engine, recipe, plan).callbacks if isinstance(one, rule)]
    assert [one.patience for one in rules] == [7]
    nothing = plan._replace(heldout=None)
    assert not any(isinstance(one, rule) for one in steered(engine, recipe, nothing).callbacks)
