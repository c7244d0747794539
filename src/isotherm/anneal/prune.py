"""Fewer components at the temperature that was chosen, where they do as well.

A growing run compares numbers of components at different temperatures: more of them come later, and
part of what they seem to gain is what cooling gains. So those that came close are tried once more,
at the same temperature.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isotherm.anneal.engine import Annealer
from isotherm.anneal.grow import Growth
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, Outcome
from isotherm.data.base import Data

# Numbers of components are tried whose held-out score came within this share of the best.
CLOSE = 0.02


def fewest(annealer: Annealer, fit: Fit, data: Data, heldout: Heldout) -> Fit:
    """The fit with the fewest components that the others are not worth more than.

    Parameters
    ----------
    annealer : Annealer
        That the fit was grown by.
    fit : Fit
    data : Data
    heldout : Heldout
        That the number of components was chosen by.
    """
    if fit.outcome is Outcome.INTERRUPTED:
        return fit
    growth = annealer.growth or Growth()
    chosen = min(step.heldout for step in fit.path if step.n_components == fit.model.n_components)
    there = replace(annealer, schedule=Fixed(fit.temperature), growth=None, callbacks=())
    for step in fit.path:
        if step.n_components >= fit.model.n_components:
            break
        if step.heldout > (1.0 + CLOSE) * chosen:
            continue
        state = state_of(step.model, data, step.params)
        try:
            tried = there.run(
                step.model, data, np.random.default_rng(0), heldout=heldout, state=state
            )
        except KeyboardInterrupt:
            return replace(fit, outcome=Outcome.INTERRUPTED)
        score = tried.trace[-1].heldout
        if chosen < score * (1.0 - growth.needed(heldout.size)):
            continue
        found = step._replace(
            params=tried.state.params, temperature=tried.temperature, heldout=score
        )
        path = tuple(found if one is step else one for one in fit.path)
        return replace(fit, model=step.model, state=tried.state, tree=step.tree, path=path)
    return fit
