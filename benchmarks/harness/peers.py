"""Other programs that fit topics, each in an environment of its own, behind one function.

`make bench-peers` makes the environments. A peer is run by the python of its environment, through
a small adapter in `peers/`; counts go there and topics come back in files of plain arrays. Seconds
are those of the fit alone, taken inside that process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import isotherm

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "benchmarks" / "peers"
ENVIRONMENTS = ROOT / ".venv-peers"
REPORT = ROOT / "benchmarks" / "results" / "peers.json"
# The interpreter that runs the benchmark: isotherm itself.
HERE = "here"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Peer(NamedTuple):
    """Where a peer runs, what its adapter is asked for, and what stands in tables."""

    environment: str
    adapter: str
    model: str
    settings: dict[str, Any]
    shown: str
    needs_texts: bool = False


PEERS: dict[str, Peer] = {
    "isotherm": Peer(HERE, "aspect_isotherm.py", "aspect", {}, "isotherm AspectModel"),
    "isotherm-own-words": Peer(
        HERE, "aspect_isotherm.py", "aspect", {"own_words": True},
        "isotherm AspectModel, own words",
    ),
    "sklearn-nmf-kl": Peer(
        "sklearn", "matrices_sklearn.py", "nmf",
        {"beta_loss": "kullback-leibler", "solver": "mu", "init": "nndsvda", "max_iter": 200},
        "scikit-learn NMF (Kullback-Leibler)",
    ),
    # Its rule of ten batches without gain would end it within the first pass over 20news.
    "sklearn-minibatch-nmf": Peer(
        "sklearn", "matrices_sklearn.py", "minibatch-nmf",
        {"beta_loss": "kullback-leibler", "init": "nndsvda", "max_iter": 100,
         "max_no_improvement": None},
        "scikit-learn MiniBatchNMF",
    ),
    "sklearn-lda": Peer(
        "sklearn", "matrices_sklearn.py", "lda", {"max_iter": 10}, "scikit-learn LDA"
    ),
    "sklearn-lsi": Peer("sklearn", "matrices_sklearn.py", "lsi", {}, "LSI (tf-idf, SVD)"),
    "sklearn-nmf-tfidf": Peer(
        "sklearn", "matrices_sklearn.py", "nmf-tfidf", {"max_iter": 400}, "NMF of tf-idf"
    ),
    "sklearn-kmeans-tfidf": Peer(
        "sklearn", "matrices_sklearn.py", "kmeans-tfidf", {"n_init": 10}, "k-means of tf-idf"
    ),
    "tomotopy-lda": Peer(
        "tomotopy", "lda_tomotopy.py", "lda", {"sweeps": 1000}, "tomotopy LDA, 1000 sweeps"
    ),
    "tomotopy-hdp": Peer(
        "tomotopy", "lda_tomotopy.py", "hdp", {"sweeps": 1000}, "tomotopy HDP, 1000 sweeps"
    ),
    "gensim-lda": Peer(
        "gensim", "lda_gensim.py", "lda", {"passes": 10}, "gensim LDA, 10 passes"
    ),
    # Its tutorial has a decorrelation of 1.5e5, at which the topics of these corpora fall together.
    "bigartm": Peer(
        "bigartm", "artm_bigartm.py", "artm",
        {"sparse_words": -0.1, "sparse_documents": -0.15, "decorrelation": 1e4, "passes": 30},
        "BigARTM, three regularisers",
    ),
    "bigartm-plain": Peer(
        "bigartm", "artm_bigartm.py", "artm",
        {"sparse_words": 0.0, "sparse_documents": 0.0, "decorrelation": 0.0, "passes": 30},
        "BigARTM without regularisers",
    ),
    "enstop-plsa": Peer("enstop", "plsa_enstop.py", "plsa", {}, "enstop PLSA"),
    "bertopic": Peer("bertopic", "clusters_bertopic.py", "clusters", {}, "BERTopic", True),
}  # fmt: skip


class PeerFit(NamedTuple):
    """What a peer found, and what that cost.

    Attributes
    ----------
    topics : (K, J) float64
        Rows sum to one; NaN where a peer has no distributions (LSI).
    weights : (K,)
        Shares of the topics in the corpus; sum to one.
    wall, cpu : float
        Seconds of the fit, without imports and reading; CPU of all its threads and processes.
    peak_rss : int
        Most bytes the process held, interpreter, libraries and counts included.
    n_topics : int
    curve : list of (wall, cpu, topics, weights) or None
        On the way, if snapshots were asked for and the peer lets one look.
    documents : (I, K) or None
        Weights of topics in the documents fitted, by the peer itself; not normalised.
    shown : (K, J)
        The table whose largest entries are a topic's words; `topics` for most.
    error : str or None
        Why there is nothing else.
    """

    topics: Any
    weights: Any
    wall: float
    cpu: float
    peak_rss: int
    n_topics: int
    curve: list[tuple[float, float, Any, Any]] | None
    documents: Any
    shown: Any
    error: str | None = None


def python_of(environment: str) -> Path:
    """The interpreter of an environment."""
    if environment == HERE:
        return Path(sys.executable)
    folder = "Scripts" if os.name == "nt" else "bin"
    return ENVIRONMENTS / environment / folder / "python"


def report() -> dict[str, dict[str, Any]]:
    """What `make bench-peers` said of every environment, by name."""
    if not REPORT.exists():
        return {}
    return {row["environment"]: row for row in json.loads(REPORT.read_text())["environments"]}


def available(name: str) -> str | None:
    """None if a peer can run, else why it cannot."""
    environment = PEERS[name].environment
    said = report().get(environment, {})
    if said.get("error"):
        return f"cannot be installed: {said['error']}"
    if not python_of(environment).exists():
        return f"no environment {environment}; make bench-peers"
    return None


def version(name: str) -> str:
    """Versions of what a peer is made of, as installed."""
    if PEERS[name].environment == HERE:
        return f"isotherm {isotherm.__version__}"
    return str(report().get(PEERS[name].environment, {}).get("version", "unknown"))


def fit(
    name: str,
    counts: Any,
    k: int,
    seed: int,
    *,
    threads: int = 1,
    snapshots: int = 0,
    texts: Sequence[str] | None = None,
    timeout: float | None = None,
    **settings: Any,
) -> PeerFit:
    """Topics of a peer, fitted to counts (I, J).

    Parameters
    ----------
    name : str
        One of PEERS.
    counts : sparse matrix (I, J)
    k, seed, threads : int
    snapshots : int
        About so many on the way; 0 for none.
    texts : sequence of str, optional
        The documents, for peers that read them.
    timeout : float, optional
        Most seconds for the whole process.
    **settings
        Override those of the peer.
    """
    peer = PEERS[name]
    if reason := available(name):
        return failed(reason)
    if peer.needs_texts and texts is None:
        return failed("needs the texts of the documents, which are not at hand")
    job = {
        "model": peer.model, "k": k, "seed": seed, "threads": threads, "snapshots": snapshots,
        "settings": peer.settings | settings, "texts": list(texts) if peer.needs_texts else None,
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        place = Path(folder)
        (place / "job.json").write_text(json.dumps(job))
        whole = sparse.csr_matrix(counts).astype(np.int32)
        sparse.save_npz(place / "counts.npz", whole, compressed=False)
        command = [str(python_of(peer.environment)), str(ADAPTERS / peer.adapter), folder]
        try:
            done = subprocess.run(
                command, env=_surroundings(peer, threads), capture_output=True, text=True,
                timeout=timeout, cwd=folder,  # where what it leaves behind goes too
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return failed(f"not done after {timeout:g} s")
        if done.returncode or not (place / "result.npz").exists():
            return failed(_last_words(done.stderr or done.stdout, done.returncode))
        return _read(place / "result.npz")


def failed(reason: str) -> PeerFit:
    """A fit that is nothing but a reason."""
    nan = float("nan")
    return PeerFit(None, None, nan, nan, 0, 0, None, None, None, reason)


def _surroundings(peer: Peer, threads: int) -> dict[str, str]:
    limits = dict.fromkeys(THREADS, str(threads))
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    ours = {"PYTHONPATH": str(ROOT / "src")} if peer.environment == HERE else {}
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return inherited | limits | offline | ours


def _last_words(text: str, code: int, lines: int = 3) -> str:
    said = [line.strip() for line in text.splitlines() if line.strip()][-lines:]
    return " / ".join(said) or f"ended with code {code}"


def _read(path: Path) -> PeerFit:
    with np.load(path, allow_pickle=False) as found:
        topics, weights = _distributions(found["topics"]), found["weights"]
        wall, cpu, peak = found["clock"].tolist()
        steps = sorted(key[3:] for key in found.files if key.startswith("at_"))
        curve = [
            (*found[f"at_{i}"].tolist(), found[f"topics_{i}"], found[f"weights_{i}"]) for i in steps
        ]
        documents = found["documents"] if "documents" in found.files else None
        shown = found["shown"] if "shown" in found.files else topics
    return PeerFit(
        topics, weights / weights.sum(), wall, cpu, int(peak), len(topics), curve or None,
        documents, shown,
    )  # fmt: skip


def _distributions(topics: Any) -> Any:
    """Rows that sum to one; a topic without any words is the uniform one."""
    total = topics.sum(axis=1, keepdims=True)
    return np.where(total == 0, 1.0 / topics.shape[1], topics / np.where(total == 0, 1.0, total))
