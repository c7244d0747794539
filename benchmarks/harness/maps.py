"""What the benchmarks of maps share: their data, one log-likelihood for all, and the rivals."""

from __future__ import annotations

import contextlib
import io
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from benchmarks.harness import common
from isotherm import GTM, Engine
from isotherm.anneal.start import state_of
from isotherm.data.vectors import vector_blocks
from isotherm.estimators.gtm import ALPHA, HELD
from isotherm.models.grid import LatentGrid
from isotherm.models.gtm import Gtm
from isotherm.placement.local import Local

try:
    import ugtm
except ImportError:  # said in the output
    ugtm = None

MACCS_ROWS = 1000
ROWS_AT_A_TIME = 2048


class Vectors(NamedTuple):
    """Rows to fit (I, D), other rows of the same kind to score, and labels of the first."""

    name: str
    train: np.ndarray
    test: np.ndarray
    labels: np.ndarray


def oil_flow() -> Vectors:
    """Three-phase oil flow: 1,000 x 12 readings as published, and its validation set."""
    train, test = (common.vectors("oil-flow", f"{part}.csv.gz") for part in ("train", "valid"))
    labels = common.vectors("oil-flow", "train-labels.txt").astype(int)
    return Vectors("oil flow", train, test, labels)


def maccs(seed: int = common.SEED) -> Vectors:
    """1,000 compounds of bbbp as 166 MACCS keys, and 1,000 others."""
    bits = common.vectors("maccs", "bbbp-bits.csv.gz")
    drawn = np.random.default_rng(seed).choice(len(bits), MACCS_ROWS, replace=False)
    others = np.setdiff1d(np.arange(len(bits)), drawn)[:MACCS_ROWS]
    return Vectors("MACCS", bits[drawn], bits[others], np.zeros(0, int))


def many_compounds(rows: int, seed: int = common.SEED) -> np.ndarray:
    """So many compounds of hiv and bbbp together, as MACCS keys (rows, 166)."""
    bits = np.concatenate([common.vectors("maccs", f"{k}-bits.csv.gz") for k in ("hiv", "bbbp")])
    return bits[np.random.default_rng(seed).choice(len(bits), rows, replace=False)]


def cloud(rows: int, columns: int, seed: int = common.SEED) -> np.ndarray:
    """Gaussian rows (rows, columns), float32, of mean variance 1 along ever shorter axes."""
    scale = 1.0 / np.sqrt(1.0 + np.arange(columns))
    scale /= np.sqrt((scale**2).mean())
    normal = np.random.default_rng(seed).standard_normal((rows, columns), np.float32)
    return normal * scale.astype(np.float32)


def developed(X: np.ndarray, side: int, kernels: Any, sweeps: int = 3) -> common.Ours:
    """A map of side x side nodes, some sweeps into a fit at T = 1; blocks as the estimator cuts."""
    model = Gtm(LatentGrid((side, side), (4, 4)), ALPHA)
    rows = max(1, HELD // model.n_components)
    data = Local(vector_blocks(X.astype(kernels.dtype), rows_per_block=rows), kernels)
    weight = model.sheet(X.shape[1], 1.0, np.random.default_rng(common.SEED))
    begin = state_of(model, data, model.with_weight(weight, data.summary))
    ours = common.Ours(model, data, begin)
    for _ in range(sweeps):
        ours = ours._replace(state=ours.sweep(1.0))
    return ours


def log_likelihood(X: np.ndarray, centres: np.ndarray, noise: float) -> float:
    """Mean of log p(x) under equal Gaussians of variance `noise` around centres (K, D)."""
    # Centred, and in double precision: small differences of large squares are what is wanted.
    mean = X.mean(axis=0)
    X, Y = X - mean, np.asarray(centres, np.float64) - mean
    total = 0.0
    for begin in range(0, len(X), ROWS_AT_A_TIME):
        part = X[begin : begin + ROWS_AT_A_TIME]
        square = (part**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1) - 2.0 * part @ Y.T
        total += float(logsumexp(-square / (2.0 * noise), axis=1).sum())
    constant = np.log(len(Y)) + 0.5 * X.shape[1] * np.log(2.0 * np.pi * noise)
    return total / len(X) - float(constant)


@cache
def warmed() -> None:
    """Compiles, once to a process, so that no clock runs meanwhile."""
    X = np.random.default_rng(0).normal(size=(50, 3)) * (3.0, 1.0, 0.5)
    for precision in ("float32", "float64"):
        GTM(n_nodes=3, n_basis=2, max_iter=2, n_jobs=1, engine=Engine(precision=precision)).fit(X)


def rival_map(
    X: np.ndarray, iterations: int, *, k: int = 16, m: int = 4, s: float = 0.3,
    regul: float = 0.1, random_state: int = common.SEED,
) -> Any:  # fmt: skip
    """ugtm's fit of a map to X as it is, without its messages; the defaults are its own.

    Its `runGTM` is these two steps on standardised columns, whatever it is asked for: its centres
    and its noise would be in other units than ours, and its map one of other data.
    """
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = ugtm.initialize(X, k, m, s, random_state)
        return ugtm.optimize(X, begin, regul, iterations, verbose=False)


def rival_log_likelihood(X: np.ndarray, fitted: Any) -> float:
    """Mean of log p(x) of ugtm's map; its own figure leaves parts of it out."""
    return log_likelihood(X, fitted.matY.T, float(np.squeeze(fitted.betaInv)))


def our_log_likelihood(X: np.ndarray, fitted: Any) -> float:
    """The same of ours, by the same function."""
    return log_likelihood(X, fitted.centres_, fitted.noise_variance_)


def note_missing(**packages: Any) -> None:
    """Say which rivals are left out."""
    for name, module in packages.items():
        if module is None:
            package = name.replace("_", "-")
            print(f"NOTE: {package} is missing and left out (install the extra 'bench')")
