"""The models that the laws are tested on. A new model is one more line here."""

from typing import Any

import pytest

from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.models.own_words import AspectOwnWords

MODELS = {
    "aspect": Aspect(3),
    "aspect-tempered-prior": Aspect(3, temper_prior=True),
    "aspect-own-words": AspectOwnWords(3),
    "cluster": Cluster(3),
    "cluster-tempered-prior": Cluster(3, temper_prior=True),
    "cluster-pseudo-counts": Cluster(3, pseudo_count=7.0),
    "cluster-fixed-weights": Cluster(3, fixed_weights=True),
    "document": Document(3),
    "document-stepwise": Document(3, stepwise=True),
    "document-pseudo-counts": Document(3, pseudo_count=7.0),
    "document-stepwise-pseudo-counts": Document(3, pseudo_count=7.0, stepwise=True),
}
TEMPERATURES = (0.7, 1.0, 1.3, 2.0, 5.0)


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request: pytest.FixtureRequest) -> Any:
    """Every model in turn, with three components."""
    return request.param


@pytest.fixture
def temperatures(model: Any) -> list[float]:
    """Temperatures that the model allows."""
    return [t for t in TEMPERATURES if t >= model.zero_temperature]
