"""The model of the page on adding one: its code runs, and obeys the laws of all models."""

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import poisson

from models import test_laws
from models.conftest import TEMPERATURES
from support.docs import ROOT, run_page
from support.models import begin, place, sweep, sweeps

# Every law is a test of this module too, on the model of the page.
globals().update({name: law for name, law in vars(test_laws).items() if name.startswith("test_")})
# A row without tokens says that it is short: see the test below.
del globals()["test_an_empty_row_follows_the_weights"]


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the code of the page leaves behind."""
    return run_page(ROOT / "docs" / "add-a-model.md")


@pytest.fixture
def model(page: dict[str, Any]) -> Any:
    """The model of the page, with three clusters."""
    return page["Poisson"](3)


@pytest.fixture
def temperatures() -> list[float]:
    return list(TEMPERATURES)


def test_an_empty_row_is_a_short_row(model: Any) -> None:
    data = place(test_laws.COUNTS)
    state, _ = sweeps(model, data, begin(model, data), 1.3, 6)
    reached, _ = sweep(model, data, state, 1.3)
    prior = state.params.weight * np.exp(-state.params.rate / 1.3)
    found = reached.rows[0].posterior[test_laws.EMPTY_ROW]
    assert found == pytest.approx(prior / prior.sum(), abs=1e-12)
    assert np.ptp(state.params.rate) > 1


def test_the_free_energy_is_that_of_poissons(model: Any) -> None:
    data = place(test_laws.COUNTS)
    state, energies = sweeps(model, data, begin(model, data), 1.0, 5)
    means = state.params.rate * state.params.word_topic
    logs = poisson.logpmf(test_laws.COUNTS[:, :, None], means).sum(axis=1)
    logs += np.log(state.params.weight)
    # log n! is the same for every cluster, and left out of the model.
    constant = gammaln(test_laws.COUNTS + 1).sum()
    total = np.logaddexp.reduce(logs, axis=1).sum() + constant
    assert energies[-1] == pytest.approx(-total, rel=1e-12)


def test_the_estimator_of_the_page_finds_what_was_planted(page: dict[str, Any]) -> None:
    assert (page["model"].labels_[60:] != page["model"].labels_[0]).mean() > 0.9
    assert page["model"].transform(page["counts"]).sum(axis=1) == pytest.approx(np.ones(120))
    assert page["critical"] > 1
