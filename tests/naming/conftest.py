"""A service to ask, and a model to ask about."""

from collections.abc import Iterator

import numpy as np
import pytest

from isotherm import AspectModel, Counts
from support.endpoint import Service, serving

WORDS = "ship sea wave bank money price team game ball".split()


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service


@pytest.fixture(scope="session")
def three() -> AspectModel:
    """Three topics of three words each; document i is about topic i % 3, later ones are longer."""
    rows = np.zeros((12, 9), int)
    for i in range(12):
        rows[i, 3 * (i % 3) : 3 * (i % 3) + 3] = 10 + i
    counts = Counts(rows, column_names=WORDS)
    return AspectModel(3, random_state=0).fit(counts)
