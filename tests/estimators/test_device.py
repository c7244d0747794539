"""Where a fit is computed: the same results on the torch backend, and what is refused."""

import importlib.util
import os
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from isotherm import (
    DTM,
    GTM,
    PCP,
    TTMM,
    AspectModel,
    DocumentMixture,
    Engine,
    HierarchicalClustering,
    IsothermError,
    LapPLSI,
    OneSidedClustering,
    TwoSidedClustering,
    checkpointing,
    load,
    save,
)
from isotherm.anneal.callbacks import Callback
from isotherm.anneal.stages import Stages
from isotherm.io import registry
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.devices import kernels_on
from support.corpora import admixture

COUNTS = admixture(40, 30, 3)[0]
# ISOTHERM_TEST_DEVICE=cuda in the environment runs the same on a GPU.
DEVICE = os.environ.get("ISOTHERM_TEST_DEVICE", "torch")
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed (pip install 'isotherm[gpu]')",
)
ESTIMATORS: dict[str, Any] = {
    "aspect": AspectModel(3, random_state=0),
    "aspect-auto": AspectModel("auto", max_components=2, random_state=0),
    "aspect-leave-one-out": AspectModel(3, leave_one_out=True, random_state=0),
    "aspect-own-words": AspectModel(3, own_words=True, random_state=0),
    "one-sided": OneSidedClustering(3, random_state=0),
    "document": DocumentMixture(3, random_state=0),
    "two-sided": TwoSidedClustering(3, random_state=0),
    "hierarchy": HierarchicalClustering(3, random_state=0),
    "ttmm": TTMM(3, 4, random_state=0),
    "pcp": PCP(3, 4, random_state=0),
    "lap-plsi": LapPLSI(3, max_iter=5, random_state=0),
    "dtm": DTM(3, max_iter=5, random_state=0),
}


def test_the_device_is_a_parameter_of_every_estimator() -> None:
    for kind in registry.ESTIMATORS:
        estimator: Any = kind()
        assert estimator.get_params()["device"] == "cpu"
        assert clone(estimator.set_params(device="cuda")).device == "cuda"


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "", None, 0, "CUDA"])
def test_other_devices_are_refused_before_any_work(device: Any) -> None:
    with pytest.raises(IsothermError, match=r"device=.*must be 'cpu', 'cuda'"):
        AspectModel(2, device=device).fit(COUNTS)
    with pytest.raises(IsothermError, match="device="):
        GTM(device=device).fit(np.eye(4))


@pytest.mark.parametrize("device", ["cuda", "torch", "cuda:1"])
def test_without_torch_the_extra_is_named(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isotherm.kernels.torch.backend", None)
    with pytest.raises(IsothermError, match=r"isotherm\[gpu\]"):
        AspectModel(2, device=device).fit(COUNTS)
    assert kernels_on("cpu", "float64", 2) == Cpu("float64", 2)


def test_bfloat16_is_refused_where_nothing_gains_by_it() -> None:
    with pytest.raises(IsothermError, match=r"precision='bfloat16' with device='cpu'"):
        AspectModel(2, engine=Engine(precision="bfloat16")).fit(COUNTS)


@needs_torch
def test_bfloat16_costs_digits_and_little_else() -> None:
    plain, rough = (
        AspectModel(3, engine=Engine(precision=precision), device=DEVICE, random_state=0).fit(
            COUNTS
        )
        for precision in ("float32", "bfloat16")
    )
    assert rough.precision_ == "bfloat16"
    assert rough.components_.dtype == np.float64
    assert rough.perplexity(COUNTS) == pytest.approx(plain.perplexity(COUNTS), rel=0.02)
    assert rough.free_energy_ != plain.free_energy_


@needs_torch
def test_without_a_gpu_that_is_said() -> None:
    import torch

    missing = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(IsothermError, match="finds no such GPU"):
        AspectModel(2, device=missing).fit(COUNTS)


@needs_torch
@pytest.mark.filterwarnings("ignore::isotherm.IsothermWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_on_torch_are_those_on_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from isotherm.kernels.torch import array

    monkeypatch.setattr(array, "FEW", 0)
    here = clone(ESTIMATORS[name]).fit(COUNTS)
    there = clone(ESTIMATORS[name]).set_params(device=DEVICE).fit(COUNTS)
    assert there.free_energy_ == pytest.approx(here.free_energy_, rel=1e-6)
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-5)
    np.testing.assert_allclose(there.row_weights_, here.row_weights_, atol=1e-4)
    np.testing.assert_allclose(there.transform(COUNTS), here.transform(COUNTS), atol=1e-4)
    assert there.score(COUNTS) == pytest.approx(here.score(COUNTS), rel=1e-5)
    assert _all_on_the_host(vars(there))


@needs_torch
def test_a_map_on_torch_is_that_on_the_cpu(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from isotherm.kernels.torch import array

    monkeypatch.setattr(array, "FEW", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1)) * [1.0, 0.5, 0.2] + 0.1 * rng.normal(size=(80, 3))
    here = GTM(n_nodes=5, n_basis=3, random_state=0).fit(X)
    there = GTM(n_nodes=5, n_basis=3, random_state=0, device=DEVICE).fit(X)
    np.testing.assert_allclose(there.centres_, here.centres_, atol=1e-5)
    for call in ("transform", "score_samples", "responsibilities"):
        found = getattr(there, call)(X)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, getattr(here, call)(X), atol=1e-4)
    assert _all_on_the_host(vars(there))


@needs_torch
def test_a_fit_on_torch_goes_on_from_a_checkpoint(tmp_path: Any) -> None:
    class StopAt(Callback):
        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            self.seen += 1
            if self.seen == 5:
                raise RuntimeError("power cut")

        seen = 0

    def model(*callbacks: Callback) -> AspectModel:
        return AspectModel(3, random_state=0, device=DEVICE, engine=Engine(callbacks=callbacks))

    whole, path = model().fit(COUNTS), tmp_path / "fit.checkpoint"
    with pytest.raises(RuntimeError, match="power cut"), checkpointing(path, every=0):
        model(StopAt()).fit(COUNTS)
    with checkpointing(path, every=0):
        again = model().fit(COUNTS)
    np.testing.assert_array_equal(again.components_, whole.components_)


@needs_torch
def test_stages_of_a_run_on_torch_are_on_the_host() -> None:
    stages = Stages()
    AspectModel(3, random_state=0, device=DEVICE, engine=Engine(callbacks=[stages])).fit(COUNTS)
    assert all(_all_on_the_host(stage.params) for stage in stages.kept)


@needs_torch
def test_a_fit_on_torch_is_saved_and_loaded(tmp_path: Any) -> None:
    model = AspectModel(3, random_state=0, device=DEVICE).fit(COUNTS)
    again = load(save(model, tmp_path / "model.isotherm"))
    assert again.device == DEVICE
    np.testing.assert_array_equal(again.transform(COUNTS), model.transform(COUNTS))


def _all_on_the_host(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_all_on_the_host(one) for one in value.values())
    if isinstance(value, tuple | list):
        return all(_all_on_the_host(one) for one in value)
    return not hasattr(value, "on_device")
