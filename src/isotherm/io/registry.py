"""All types that files may hold, by the names that they have there.

A name here is part of the file format: once released it stays, whatever the class is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from isotherm._types import Fields
from isotherm.anneal import crossval, schedule, stages, start, stepwise, trace
from isotherm.anneal.growth import branches, grow
from isotherm.data import _file
from isotherm.estimators import edits, holdout, levels
from isotherm.estimators import engine as engines
from isotherm.estimators.base import Annealed
from isotherm.estimators.starts import linked as linked_start
from isotherm.estimators.starts import projection
from isotherm.estimators.starts import two_sided as two_sided_starts
from isotherm.format.codec import Entry, Registry, plain
from isotherm.graph.neighbors import Neighbors
from isotherm.io import fitted, parts
from isotherm.io.estimators import MODELS, REGISTERED, TABLES
from isotherm.maps import corpus, workflow
from isotherm.retrieval import combined, index, scoring, spectrum, topics
from isotherm.text import word_counts
from isotherm.tree import Tree

ESTIMATORS: tuple[type[Annealed], ...] = tuple(one.estimator for one in REGISTERED)

# Frozen dataclasses and named tuples, whose fields are what their constructors take.
PLAIN: dict[str, type[object]] = {
    # runs
    "Branches": branches.Branches,
    "Curve": crossval.Curve,
    "Fit": trace.Fit,
    "Growth": grow.Growth,
    "Record": trace.Record,
    "Stage": stages.Stage,
    "Stages": stages.Stages,
    "State": trace.State,
    "Step": trace.Step,
    # schedules
    "Adaptive": schedule.Adaptive,
    "Exponential": schedule.Exponential,
    "Fixed": schedule.Fixed,
    "Grid": schedule.Grid,
    "Heating": two_sided_starts.Heating,
    "Linear": schedule.Linear,
    "Splitting": schedule.Splitting,
    "Tempered": schedule.Tempered,
    # how a fit is steered
    "Folds": holdout.Folds,
    "Rows": holdout.Rows,
    "Tokens": holdout.Tokens,
    # starts
    "ClustersAndTopics": projection.ClustersAndTopics,
    "Noisy": start.Noisy,
    "OneSidedFits": two_sided_starts.OneSidedFits,
    "OwnClusters": projection.OwnClusters,
    "RandomRows": linked_start.RandomRows,
    "Spectral": start.Spectral,
    "StructuredFit": projection.StructuredFit,
    "Stepwise": stepwise.Stepwise,
    # models, and their parameters, rows and statistics
    **{f"model.{name}": one.model for name, one in MODELS.items()},
    **{name: kind for name, (kind, _) in TABLES.items()},
    # what estimators keep, and maps
    "BeforeEdit": edits.Before,
    "Cooling": corpus.Cooling,
    "Edit": edits.Edit,
    "MappedCorpus": workflow.MappedCorpus,
    "Neighbors": Neighbors,
    "Pieces": edits.Pieces,
    "SearchBalance": combined.Balance,
    "SearchIndex": index.SearchIndex,
    "SearchLearnt": combined.Learnt,
    "SearchSettings": scoring.SearchSettings,
    "SearchSpectrum": spectrum.Spectrum,
    "TopicTable": topics.TopicTable,
}


# What a fit set in earlier versions -> what it is called now.
RENAMED = {"row_ids_": "row_names_", "row_total_": "row_scale_"}
# Fields that files of earlier versions do not have.
LATER: dict[str, tuple[str, ...]] = {
    "Record": ("entropy", "phase"),
    "SearchIndex": ("learnt",),
    "SearchSettings": ("stem",),
    "model.FactorizedPcp": ("hold",),
    "model.Pcp": ("hold",),
    "model.Ttmm": ("hold",),
}


def estimator(kind: type[Any]) -> Entry:
    """Entry of an estimator: its parameters, and what a fit has set."""

    def fields(value: Any) -> Fields:
        params = value.get_params(deep=False)
        fitted = {name: _plain(one) for name, one in vars(value).items() if _is_fitted(name)}
        return {"params": params, "fitted": fitted}

    return Entry(kind, fields, partial(_made, kind))


def engine_entry() -> Entry:
    """Entry of the settings of the engine: without callbacks, which are code."""

    def fields(value: engines.Engine) -> dict[str, object]:
        return {name: getattr(value, name) for name in engines.SETTINGS if name != "callbacks"}

    return Entry(engines.Engine, fields, lambda values: engines.Engine(**values))


def level_entry() -> Entry:
    """Entry of a level: what its fit has set is written as that of an estimator is."""
    known = plain(levels.Level)

    def fields(value: levels.Level) -> Fields:
        values = {name: _plain(one) for name, one in value.values.items()}
        return known.fields(value) | {"values": values}

    def build(given: Fields) -> object:
        return known.build({**given, "values": _traced(given["values"])})

    return Entry(levels.Level, fields, build)


def _traced(values: Fields) -> Fields:
    """What a fit has set, with traces as estimators have them."""
    return {
        name: trace.Records(one) if name.endswith("trace_") and isinstance(one, tuple) else one
        for name, one in values.items()
    }


def _plain(value: object) -> Any:
    """What a file holds of a value: a trace is a tuple there."""
    return tuple(value) if isinstance(value, trace.Records) else value


def checked(entry: Entry, *checks: Callable[[Any], None]) -> Entry:
    """The entry with checks of what is built; each raises a ValueError."""

    def build(values: dict[str, object]) -> Any:
        value = entry.build(values)
        for check in checks:
            check(value)
        return value

    return entry._replace(build=build)


def _check_mapped(value: workflow.MappedCorpus) -> None:
    """Refuse a map whose estimators do not belong together."""
    n_topics = getattr(value.topics, "n_components_", None)
    if value.map.transform not in workflow.TRANSFORMS:
        raise ValueError(f"transform={value.map.transform[:40]!r}")
    if getattr(value.gtm, "n_features_in_", None) != n_topics or n_topics is None:
        raise ValueError(f"a map of {n_topics} topics that is not fitted to as many")


def _check_before(value: edits.Before) -> None:
    """Refuse what is taken back under names that no fit sets."""
    names = [*value.new, *(name for name in value.values if not name.startswith(edits.PARAMS))]
    if not all(_is_fitted(name) and name.isidentifier() for name in names):
        raise ValueError("attributes that are nothing that a fit sets")


def _check_level(value: levels.Level) -> None:
    """Refuse a level with what is no part of one."""
    names = list(value.values)
    if not all(_is_fitted(name) and name.isidentifier() for name in names):
        raise ValueError("attributes of a level that are nothing that a fit sets")
    if levels.OF_ALL.intersection(names):
        raise ValueError("a level with what is the same at all levels")


def _check_topics(value: topics.TopicTable) -> None:
    """Refuse topics at a temperature at which no row is folded in."""
    if not 0 < value.temperature < float("inf"):
        raise ValueError(f"topics at a temperature of {value.temperature}")


# Checks of types whose fields must fit together.
CHECKS: dict[str, Callable[[Any], None]] = {
    **dict.fromkeys(("Fit", "Stage", "Step"), parts.check_grown),
    "MappedCorpus": _check_mapped,
    "TopicTable": _check_topics,
    "BeforeEdit": _check_before,
    "Neighbors": fitted.check_neighbors,
}


def _is_fitted(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _made(kind: type[object], values: Fields) -> Any:
    params, fitted = values["params"], values["fitted"]
    made = kind(**_of_this_version(kind, params))
    for name, value in _traced(fitted).items():
        if not (_is_fitted(name) and name.isidentifier()):
            raise ValueError(f"{name[:40]!r} is nothing that a fit sets")
        setattr(made, RENAMED.get(name, name), value)
    return made


def _of_this_version(kind: type[Any], params: Fields) -> Fields:
    """Parameters by their names of today, those in `engine` that earlier versions had beside it."""
    own = inspect.signature(kind).parameters
    for former, (name, values) in engines.RENAMED.items():
        if former in params and name in own:
            renamed = {name: values[bool(params[former])]}
            params = {key: one for key, one in params.items() if key != former} | renamed
    old = {name: params[name] for name in params if name in engines.MOVED and name not in own}
    if not old or "engine" in params:
        return params
    rest = {name: value for name, value in params.items() if name not in old}
    defaults = kind()._settings
    settings = {name: old[name] for name in engines.SETTINGS if name in old}
    scores = {name: old[name] for name in holdout.ROWS if name in old}
    rows = holdout.Rows(**scores)
    if old.get("cv") is not None:
        settings["holdout"] = holdout.Folds(old["cv"], rows)
    elif rows != holdout.Rows():
        settings["holdout"] = rows
    changed = {name: one for name, one in settings.items() if one != getattr(defaults, name)}
    return {**rest, "engine": engines.Engine(**changed) if changed else None}


def _of_any_age(build: Callable[[dict[str, object]], object], values: dict[str, object]) -> Any:
    return build({"similarities": (), **values})


@cache
def known() -> Registry:
    """The registry of the library; `add` is for types of one's own."""
    registry = Registry()
    for name, kind in PLAIN.items():
        more = (CHECKS[name],) if name in CHECKS else ()
        entry = plain(kind, LATER.get(name, ()))
        registry.add(name, checked(entry, parts.check_fields, *more))
    # Trees of older files have no similarities.
    tree = plain(Tree)
    restored = tree._replace(build=partial(_of_any_age, tree.build))
    registry.add("Tree", checked(restored, parts.check_fields))
    registry.add("Engine", checked(engine_entry(), parts.check_fields))
    registry.add("Level", checked(level_entry(), parts.check_fields, _check_level))
    for one in ESTIMATORS:
        registry.add(one.__name__, checked(estimator(one), fitted.check, fitted.named))
    registry.add("WordCounts", checked(estimator(word_counts.WordCounts)))
    registry.add("Counts", _file.entry())
    restored = plain(corpus.CorpusMap)._replace(build=corpus.restored)
    registry.add("CorpusMap", checked(restored, parts.check_fields))
    registry.add_enum(trace.Outcome)
    return registry
