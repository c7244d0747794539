"""How clusters with an untempered prior P(c) are annealed: along the path of a tempered one.

While it is hot, an untempered prior counts T times as much as the counts of a row do: large
clusters grow, and those that are left with a few odd rows stay so when it gets colder, although
they would be needed elsewhere. At T = 1 both priors are one model. So the tempered model, whose
clusters stay balanced, is cooled; the untempered one begins where that ends, and is heated for as
long as it predicts better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from isotherm.anneal import progress
from isotherm.anneal.callbacks import HeldoutRule
from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Fixed, Schedule
from isotherm.anneal.trace import COOLING, HEATING, Fit, Outcome
from isotherm.estimators.starts.two_sided import Heating
from isotherm.models.base import Model
from isotherm.models.cluster import Cluster
from isotherm.placement.base import Data

# Heating by steps as large as those of the default cooling, where the schedule has no rate.
RATE = 0.93


def has_untempered_prior(model: Model) -> TypeGuard[Cluster]:
    """Whether a model has one P(c) for all rows, free to move and not tempered."""
    return isinstance(model, Cluster) and not (model.temper_prior or model.fixed_weights)


def cooled_tempered(
    annealer: Annealer,
    model: Cluster,
    data: Data,
    heldout: Heldout | None,
    rng: np.random.Generator,
) -> Fit:
    """Fit of a model with an untempered prior, begun with the tempered one at the end of cooling.

    Where nothing is held out it has the lowest temperature of the schedule (or that at which a
    callback stopped the cooling), otherwise the one that predicts best on the way up from there.
    Its trace is that of both runs; the cooling is not scored.
    """
    others = [one for one in annealer.callbacks if not isinstance(one, HeldoutRule)]
    guide = replace(annealer, callbacks=others)
    with progress.phase("cooling", 0.6):
        cold = guide.run(replace(model, temper_prior=True), data, rng)
    if cold.outcome is Outcome.INTERRUPTED:
        return replace(cold, model=model)
    heating = replace(annealer, schedule=_heating(annealer.schedule, cold, heldout))
    with progress.phase("heating", 0.4):
        warm = heating.run(model, data, rng, heldout=heldout, state=cold.state)
    # Where nothing was held out, the one temperature more is still that of the end of the cooling.
    phase = COOLING if heldout is None else HEATING
    trace = (*cold.trace, *(replace(record, phase=phase) for record in warm.trace))
    return replace(warm, first_critical=cold.first_critical, trace=trace)


def _heating(schedule: Schedule, cold: Fit, heldout: Heldout | None) -> Schedule:
    """From the coldest temperature that is above 0 back to the first; only it without a score."""
    temperatures = [record.temperature for record in cold.trace]
    if heldout is None or cold.outcome is Outcome.STOPPED:
        return Fixed(temperatures[-1])
    above = [temperature for temperature in temperatures if temperature > 0]
    if not above:
        return Fixed(0.0)
    return Heating(getattr(schedule, "rate", RATE), min(above), max(above))
