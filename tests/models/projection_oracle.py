"""The lower bound of clustering-projection for any state, on dense arrays."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, xlogy

Array = NDArray[Any]


class Point(NamedTuple):
    """A state: psi (D, M), phi (D or M, V, K), eta, gamma, beta (K, V), alpha, lam, smooth."""

    psi: Array
    phi: Array
    eta: Array
    gamma: Array
    beta: Array
    alpha: float
    lam: Array
    smooth: float = 0.0


def kl(a: Array, b: Array) -> float:
    """KL(Dir(a) || Dir(b))."""
    logs = digamma(a) - digamma(a.sum())
    own = gammaln(a.sum()) - gammaln(a).sum() + ((a - 1) * logs).sum()
    return float(own - gammaln(b.sum()) + gammaln(b).sum() - ((b - 1) * logs).sum())


def elbo(point: Point, n: Array, temperature: float = 1.0) -> float:
    """The bound; the entropy of psi counts T times. phi by document, or by cluster."""
    psi, phi, eta, gamma, beta, alpha, lam, smooth = point
    M = len(eta)
    ep = digamma(eta) - digamma(eta.sum())
    et = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    total = -kl(eta, np.full(M, alpha / M)) - sum(kl(row, lam) for row in gamma)
    total += (psi * ep).sum() - temperature * xlogy(psi, psi).sum()
    total += smooth * np.log(beta).sum()
    words = np.log(beta).T - np.log(phi)  # (D or M, V, K)
    if len(phi) == len(psi) and len(phi) != M:
        g = psi @ et
        return float(total + np.einsum("dv,dvk,dvk->", n, phi, words + g[:, None, :]))
    inner = phi * (words + et[:, None, :])
    return float(total + np.einsum("dm,dv,mvk->", psi, n, inner))


def cluster_phi(gamma: Array, beta: Array) -> Array:
    """The best phi by cluster, (M, V, K)."""
    et = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    phi = np.exp(et)[:, None, :] * beta.T
    return np.asarray(phi / phi.sum(axis=2, keepdims=True))


def row_phi(psi: Array, gamma: Array, beta: Array) -> Array:
    """The best phi by document, (D, V, K)."""
    et = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
    phi = np.exp(psi @ et)[:, None, :] * beta.T
    return np.asarray(phi / phi.sum(axis=2, keepdims=True))


def steepest(point: Point, field: str, n: Array, temperature: float = 1.0) -> float:
    """Largest derivative of the bound along any tilt of one field.

    A tilt multiplies one entry by exp(t) and normalises where the field holds distributions. Of a
    large field some entries are tilted.
    """
    value = np.asarray(getattr(point, field))
    sums = {"psi": 1, "beta": 1, "phi": 2}.get(field)
    found = 0.0
    every = list(np.ndindex(value.shape))
    for index in every[:: 1 + len(every) // 24]:
        ends = []
        for t in (1e-4, -1e-4):
            moved = value.copy()
            moved[index] *= np.exp(t)
            if sums is not None:
                moved /= moved.sum(axis=sums, keepdims=True)
            ends.append(elbo(point._replace(**{field: moved}), n, temperature))
        found = max(found, abs(ends[0] - ends[1]) / 2e-4)
    return found
