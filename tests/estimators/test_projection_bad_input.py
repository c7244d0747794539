"""Settings and counts that TTMM and PCP refuse."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import PCP, TTMM, Exponential, Fixed, Grid, IsothermError
from support.corpora import one_topic_each

X, _ = one_topic_each(90, 40, 3)
KINDS: dict[str, Any] = {
    "ttmm": (TTMM, {}),
    "structured": (PCP, {}),
    "factorized": (PCP, {"inference": "factorized"}),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request: pytest.FixtureRequest) -> Any:
    made, settings = request.param
    return lambda *a, **k: made(*a, **{"random_state": 0, **settings, **k})


@pytest.mark.parametrize("made", [TTMM, PCP])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0; it must be an integer of at least 1"),
        ({"n_clusters": 2.5}, "n_clusters=2.5; it must be an integer"),
        ({"n_clusters": 5001}, "5001 clusters; at most 5000 .* n_clusters=200"),
        ({"n_components": 0}, "n_components=0; it must be an integer of at least 1"),
        ({"smooth": -0.1}, "smooth=-0.1; it must be a number of at least 0"),
        ({"n_init": 0}, "n_init=0; it must be an integer of at least 1"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"start": "spectral"}, "start='spectral'"),
    ],
)
def test_bad_settings(made: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        made(**settings).fit(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "gibbs"}, "inference='gibbs'; it must be one of 'structured', 'factorized'"),
        ({"n_clusters": "rows"}, "n_clusters='rows'; it must be one of 'documents'"),
        ({"n_clusters": "documents"}, 'give inference="factorized", or a number of clusters'),
        ({"alpha": 0.0}, "alpha=0.0; it must be a number above 0"),
        ({"alpha": -1.0}, "alpha=-1.0; it must be a number of at least 0"),
        ({"concentration": 0.0}, "concentration=0.0; it must be a number above 0"),
        ({"concentration": [1.0, 1.0]}, "concentration=.*one for each of the 10 topics"),
        ({"concentration": [0.0] * 10}, "concentration=.*one for each of the 10 topics"),
        ({"concentration": ["a"] * 10}, "concentration=.*one for each of the 10 topics"),
        ({"topics": np.ones((10, 40))}, r"topics of shape \(10, 40\); they must be 10 rows"),
        ({"topics": -np.ones((10, 40)) / 40}, "of probabilities that sum to 1"),
        ({"topics": np.ones((3, 40)) / 40}, r"topics of shape \(3, 40\); they must be 10 rows"),
        ({"topics": np.ones((10, 7)) / 7}, r"topics has shape \(10, 7\) for 40 columns"),
        ({"learn_hyper": 1}, "learn_hyper=1; it must be True or False"),
        ({"schedule": Exponential(end=0.0)}, "ends at T = 0, where the bound has no meaning"),
        ({"schedule": Fixed(0.0)}, "take TTMM for hard clusters"),
        ({"schedule": Grid([1.0, 0.0])}, "take TTMM for hard clusters"),
    ],
)
def test_bad_settings_of_pcp(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        PCP(**settings).fit(X)


def test_ttmm_takes_no_word_for_its_clusters() -> None:
    with pytest.raises(IsothermError, match="n_clusters='documents'; it must be an integer"):
        TTMM("documents").fit(X)


def test_too_many_documents_are_refused() -> None:
    counts = sparse.csr_array(np.tile(X[:, :15], (56, 1)))
    with pytest.raises(IsothermError, match=r"5040 clusters; at most 5000 .* n_clusters=200"):
        PCP("documents", 2, inference="factorized").fit(counts)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_counts(kind: Any, bad: float) -> None:
    counts = X.astype(float)
    counts[3, 3] = bad
    with pytest.raises(ValueError, match=r"Negative values|NaN|infinity"):
        kind(3, 4).fit(counts)
