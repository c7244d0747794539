"""A model some of whose components stay as they are, whatever the counts say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from isotherm._types import Array, Params, Rng, Stats
from isotherm.kernels.base import Kernels
from isotherm.models.base import CountModel, GrowingModel


def held(model: CountModel, components: tuple[int, ...]) -> GrowingModel:
    """The model with P(y|k) of some components held; weights of rows and components move."""
    return cast(GrowingModel, Held(cast(GrowingModel, model), components))


@dataclass(frozen=True)
class Held:
    """All that a model is, but for the M-step of P(y|k), which passes some components over.

    P(y|k) of one component says nothing of another's M-step, so a sweep still never raises the
    free energy.

    Parameters
    ----------
    model : CountModel
        Whose parameters have `word_topic` (J, K).
    components : tuple of int
        Those that stay.
    """

    model: GrowingModel
    components: tuple[int, ...]

    def __getattr__(self, name: str) -> object:
        return getattr(object.__getattribute__(self, "model"), name)

    def maximize(
        self, stats: Stats, params: Params, temperature: float, k: Kernels
    ) -> tuple[Params, float]:
        """The M-step of the others."""
        reached, energy = self.model.maximize(stats, params, temperature, k)
        return self._put_back(reached, params), energy

    def project(self, relaxed: Params, reached: Params) -> Params:
        """Valid parameters, of which those that are held are not moved."""
        return self._put_back(self.model.project(relaxed, reached), reached)

    def perturb(self, params: Params, rng: Rng, noise: float) -> Params:
        """Noise on the others."""
        return self._put_back(self.model.perturb(params, rng, noise), params)

    def pushed(self, params: Params, moves: Array) -> Params:
        """P(y|k) of the others multiplied by exp(moves), (J, K)."""
        return self._put_back(self.model.pushed(params, moves), params)

    def _put_back(self, params: Params, last: Params) -> Params:
        table: Array = params.word_topic.copy()
        stay = list(self.components)
        table[:, stay] = last.word_topic[:, stay]
        moved: Params = params._replace(word_topic=table)
        return moved
