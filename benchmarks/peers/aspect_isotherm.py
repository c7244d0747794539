"""isotherm's aspect model, measured in the same way as every peer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from _adapter import Job, job

from isotherm import AspectModel, Counts, Engine, Exponential, Spectral
from isotherm.anneal.start import state_of
from isotherm.estimators import plan as plans
from isotherm.estimators.recipe import Recipe
from isotherm.models.aspect import Aspect

# A fit has some eighty sweeps.
SWEEPS_APART = 3


def watch(given: Job) -> None:
    """Take a snapshot of every third sweep, where its parameters are made."""
    maximize, done = Aspect.maximize, [0]

    def watched(self: Aspect, *rest: Any) -> Any:
        made = maximize(self, *rest)
        done[0] += 1
        if done[0] % SWEEPS_APART == 0 and len(made[0].weight) == given.k:
            given.snapshot(lambda: (np.array(made[0].word_topic.T), np.array(made[0].weight)))
        return made

    Aspect.maximize = watched


class FromAll(AspectModel):
    """Begins along the spectrum of all counts, not of those that are not held out."""

    def _recipe(self, table: Any) -> Recipe:
        return replace(super()._recipe(table), cool=cool_from_all)


def cool_from_all(recipe: Recipe, annealer: Any, plan: Any, rng: Any) -> Any:
    """A run from where all counts say, not only those that are not held out."""
    model = recipe.models[-1]
    begin = Spectral().state(model, plan.full, rng)
    state = state_of(model, plan.data, begin.params)
    return annealer.run(model, plan.data, rng, heldout=plan.heldout, state=state)


def fitted(given: Job, counts: Counts) -> AspectModel:
    """The fit, by default or in one of the ways that were tried to make seeds give the same."""
    settings: dict[str, Any] = {"n_jobs": given.threads, "verbose": False, **given.settings}
    way = settings.pop("way", "")
    if way:
        plans.SPLIT_SEED = given.seed  # every seed holds out other tokens
    kind = FromAll if way == "start from all" else AspectModel
    model = kind(given.k, random_state=given.seed, **settings).fit(counts)
    if way == "cool again":
        again = Exponential(rate=0.95, end=model.temperature_, margin=0.8)
        settings |= {"schedule": again, "validation_fraction": 0.0}
        model = AspectModel(given.k, random_state=given.seed, **settings).fit(counts)
    return model


def main(given: Job) -> None:
    counts = Counts(given.counts)
    # Compiled before the clock starts, for either precision that the size may choose.
    few = counts.take_rows(np.arange(min(200, counts.n_rows)))
    for precision in ("float32", "float64"):
        AspectModel(
            8,
            own_words=given.settings.get("own_words", False),
            engine=Engine(precision=precision),
            random_state=0,
            n_jobs=given.threads,
        ).fit(few)
    if given.snapshots:
        watch(given)
    with given.timed():
        model = fitted(given, counts)
    given.finish(model.components_, model.weights_, model.row_weights_)


if __name__ == "__main__":
    main(job())
