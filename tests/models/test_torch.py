"""Every model on the torch backend against the reference, arrays of all sizes on the device.

In double precision both agree to 1e-8 of the largest entry after some sweeps, in single precision
to 2e-3 (rounding is magnified from sweep to sweep); energies to 1e-10 and 1e-5. The device is
torch's CPU; ISOTHERM_TEST_DEVICE=cuda in the environment runs the same on a GPU.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isotherm import _nested
from isotherm.anneal.critical import component_splits, first_critical
from isotherm.anneal.engine import ADAPTIVE_RELAXATION
from isotherm.anneal.fold import fold_in
from isotherm.anneal.heldout import HeldoutRows, log_likelihood, smoothed_unigram
from isotherm.anneal.relax import relax
from isotherm.anneal.start import Spectral
from isotherm.anneal.trace import State
from isotherm.data.counts import Counts
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import Reference
from isotherm.models.dtm import DTM
from isotherm.models.gtm import Gtm
from isotherm.models.hierarchy import Hierarchy
from isotherm.models.lap_plsi import LapPLSI
from isotherm.models.lda import Lda
from isotherm.models.leave_one_out import AspectLeaveOneOut, ClusterLeaveOneOut
from isotherm.models.ltm import LTM
from isotherm.models.pcp import FactorizedPcp, Pcp
from isotherm.models.segments import Segments
from isotherm.models.tied import Tied, pooled
from isotherm.models.ttmm import Ttmm
from isotherm.models.two_sided import TwoSided
from isotherm.placement.local import Local
from isotherm.tree import Tree
from models.conftest import MODELS
from support.linked import linked, random_graph, random_state
from support.maps import GRID, curved, put
from support.models import begin, fitted, place, poisson_counts, same, sweep, sweeps

torch_array = pytest.importorskip(
    "isotherm.kernels.torch.array", reason="torch is not installed (pip install 'isotherm[gpu]')"
)
from isotherm.kernels.torch.backend import Torch  # noqa: E402

COUNTS = poisson_counts()
HELD = poisson_counts(3)
WEIGHT = np.random.default_rng(5).uniform(0.5, 2.0, len(COUNTS))
TREE = Tree.from_nested([[0, 1], 2])
PLAIN = Reference()
DEVICE = os.environ.get("ISOTHERM_TEST_DEVICE", "cpu")
DOUBLE = Torch("float64", DEVICE)
# Backend, tolerance of arrays, tolerance of energies.
BACKENDS = {
    "double": (DOUBLE, 1e-8, 1e-10),
    "single": (Torch("float32", DEVICE), 2e-3, 1e-5),
}


@pytest.fixture(autouse=True)
def _all_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_array, "FEW", 0)


def weighted(kernels: Kernels) -> Local:
    return place(COUNTS, kernels, WEIGHT)


def plain(kernels: Kernels) -> Local:
    return place(COUNTS, kernels)


def cut(kernels: Kernels) -> Local:
    return place(COUNTS, kernels, bounds=[0, 7, 8, len(COUNTS)])


def tied(kernels: Kernels) -> Local:
    return Local.place(pooled(Counts(COUNTS), np.arange(len(COUNTS)) // 2), kernels)


def image(kernels: Kernels) -> Local:
    return place(np.maximum(COUNTS, 1.0), kernels)


def graph(kernels: Kernels) -> Local:
    return linked(COUNTS, random_graph(len(COUNTS)), kernels)


def on(weights: str) -> Hierarchy:
    return Hierarchy(TREE.parents, TREE.leaves, weights, critical=True)


Case = tuple[Any, Callable[[Kernels], Local], Callable[[Any, Local], State], float]
CASES: dict[str, Case] = {
    **{name: (model, weighted, begin, 1.3) for name, model in MODELS.items()},
    "aspect-in-blocks": (MODELS["aspect"], cut, begin, 1.3),
    "cluster-hard": (MODELS["cluster"], weighted, begin, 0.0),
    "aspect-leave-one-out": (AspectLeaveOneOut(3), weighted, begin, 1.3),
    "cluster-leave-one-out": (ClusterLeaveOneOut(3, 2.0), weighted, begin, 1.3),
    "two-sided": (TwoSided(3), weighted, begin, 1.3),
    "two-sided-hard": (TwoSided(3), weighted, begin, 0.0),
    "hierarchy-uniform": (on("uniform"), weighted, begin, 1.3),
    "hierarchy-cluster": (on("cluster"), weighted, begin, 1.3),
    "hierarchy-full": (on("full"), weighted, begin, 1.3),
    "tied": (Tied(3, fixed_weights=True), tied, begin, 1.3),
    "segments": (Segments(3, shape=(3, 6), gamma=1.0), image, begin, 1.3),
    "ttmm": (Ttmm(3, 4, 0.1), weighted, begin, 1.3),
    "pcp": (Pcp(3, 4, 0.1, 1.3, 0.4), weighted, begin, 1.3),
    "pcp-factorized": (FactorizedPcp(3, 4, 0.1, 1.3, 0.4), weighted, begin, 1.3),
    "lda": (Lda(3, 0.1, 0.5), weighted, begin, 1.0),
    "lap-plsi": (LapPLSI(3), graph, random_state, 1.0),
    "lap-plsi-jacobi": (LapPLSI(3, method="jacobi"), graph, random_state, 1.0),
    "lap-plsi-cai": (LapPLSI(3, method="cai"), graph, random_state, 1.0),
    "ltm": (LTM(3), graph, random_state, 1.0),
    "ltm-exact": (LTM(3, method="exact"), graph, random_state, 1.0),
    "dtm": (DTM(3), graph, random_state, 1.0),
    "dtm-paper": (DTM(3, step="paper"), graph, random_state, 1.0),
}
each = pytest.mark.parametrize("name", CASES)
backends = pytest.mark.parametrize("precision", BACKENDS)


def agree(wanted: Any, found: Any, tolerance: float) -> bool:
    """Whether two named tuples agree, relative to the largest entry of each field."""
    pairs = [(a, np.asarray(b)) for a, b in zip(wanted, found, strict=True) if np.size(a)]
    return same([a for a, _ in pairs], [b for _, b in pairs], tolerance)


def after(name: str, kernels: Kernels, n: int = 4) -> tuple[Any, Local, State, list[float]]:
    """Model, data, state and energies of some sweeps."""
    model, at, first, temperature = CASES[name]
    data = at(kernels)
    state, energies = sweeps(model, data, first(model, data), temperature, n)
    return model, data, state, energies


@backends
@each
def test_sweeps_agree_with_the_reference(name: str, precision: str) -> None:
    kernels, tolerance, close = BACKENDS[precision]
    _, plain_data, wanted, wanted_energies = after(name, PLAIN)
    _, data, found, energies = after(name, kernels)
    # Relative to a nat for each token where energies themselves are near zero.
    assert energies == pytest.approx(wanted_energies, rel=close, abs=close * COUNTS.sum())
    assert agree(wanted.params, found.params, tolerance)
    assert agree(plain_data.gather(wanted.rows), data.gather(found.rows), tolerance)


@each
def test_likelihoods_and_held_out_scores_agree(name: str) -> None:
    values = []
    for kernels in (PLAIN, DOUBLE):
        model, data, state, _ = after(name, kernels)
        whole = sum(
            model.log_likelihood(state.params, rows, block, kernels)
            for rows, block in zip(state.rows, data.blocks, strict=True)
        )
        held = place(HELD, kernels, bounds=np.cumsum([0] + [b.n_rows for b in data.blocks]))
        mixed = 0.0
        if (
            held.blocks[0].n_columns == data.blocks[0].n_columns
            and len(data.blocks[0].weight) == 18
        ):
            mixed, _ = log_likelihood(model, state, held, smoothed_unigram(data.summary), 1e-3)
        values.append((whole, mixed, *model.sizes(state.params)))
    assert values[1] == pytest.approx(values[0], rel=1e-9)


@pytest.mark.parametrize("name", [*MODELS, "hierarchy-cluster", "hierarchy-full", "two-sided"])
def test_critical_temperatures_agree(name: str) -> None:
    found = []
    for kernels in (PLAIN, DOUBLE):
        model, data, state, _ = after(name, kernels)
        some = model.probes(state.params).components
        splits = component_splits(model, data, state, CASES[name][3], some)
        found.append([*splits.temperatures, first_critical(model, data)])
    assert found[1] == pytest.approx(found[0], rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_relaxed_and_shaken_states_agree(name: str) -> None:
    found = []
    for kernels in (PLAIN, DOUBLE):
        model, data, old, _ = after(name, kernels)
        new, _ = sweep(model, data, old, 1.3)
        relaxed = relax(model, data, old, new, 1.7)
        shaken = model.perturb(relaxed.params, np.random.default_rng(0), 0.1)
        found.append((relaxed.params, data.gather(relaxed.rows), shaken))
    for wanted, own in zip(*found, strict=True):
        assert agree(wanted, own, 1e-8)


@pytest.mark.parametrize("name", [*MODELS, "two-sided", "hierarchy-full", "ttmm", "lap-plsi"])
def test_rows_folded_in_agree(name: str) -> None:
    found = []
    for kernels in (PLAIN, DOUBLE):
        model, _, state, _ = after(name, kernels)
        new = place(HELD, kernels)
        rows = fold_in(model, _nested.apply(np.asarray, state.params), new, CASES[name][3])
        found.append(_nested.apply(np.asarray, new.gather(rows)))
    assert same(found[0], found[1], 1e-7)


@pytest.mark.parametrize("density", ["prior", "fold-in", "best"])
def test_densities_of_unseen_rows_agree(density: str) -> None:
    scores = []
    for kernels in (PLAIN, DOUBLE):
        model, data, state, _ = after("document", kernels)
        held = HeldoutRows(place(HELD, kernels), 0.5, 0.5, density)
        scores.append(held.score(model, state, data, 1.3))
    assert scores[1] == pytest.approx(scores[0], rel=1e-8)


def test_the_engine_takes_the_same_way() -> None:
    found = []
    for kernels in (PLAIN, DOUBLE):
        data = weighted(kernels)
        start = Spectral().state(MODELS["aspect"], data, np.random.default_rng(0))
        fit, energies = fitted(MODELS["aspect"], data, start, 1.2, 15, ADAPTIVE_RELAXATION)
        found.append((energies, _nested.apply(np.asarray, fit.state.params)))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-9)
    assert same(found[0][1], found[1][1], 1e-7)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("precision", BACKENDS)
def test_maps_agree(missing: float, precision: str) -> None:
    kernels, tolerance, close = BACKENDS[precision]
    values, weight = curved(missing=missing), np.random.default_rng(0).uniform(0.5, 2.0, 150)
    found = []
    for backend in (PLAIN, kernels):
        model, data = Gtm(GRID, alpha=0.1), put(values, weight, backend)
        table = model.sheet(3, 1.0, np.random.default_rng(1))
        state = State(model.with_weight(table, data.summary), data.no_rows, 0.0)
        state = state._replace(extra=model.prior_energy(state.params, data.summary))
        state, energies = sweeps(model, data, state, 1.2, 5)
        splits = component_splits(model, data, state, 1.2, np.zeros(1, int))
        found.append((state.params, energies, splits.temperatures))
    assert found[1][1] == pytest.approx(found[0][1], rel=close)
    assert same(found[0][0], found[1][0], tolerance)
    np.testing.assert_allclose(found[1][2], found[0][2], rtol=10 * tolerance)
