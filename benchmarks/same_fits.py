"""Whether two versions of the library fit the same numbers, to the bit.

`python benchmarks/same_fits.py` fits every estimator on small made tables and prints a digest of
each; `--against REVISION` has another revision do the same with its own copy of this script, and
names every attribute that differs. For changes that must not change results: digests of one machine
cannot be compared with those of another.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import isotherm
from isotherm import (
    DTM,
    GTM,
    LTM,
    PCP,
    TTMM,
    Adaptive,
    AspectModel,
    DocumentMixture,
    Exponential,
    Fixed,
    Grid,
    HierarchicalClustering,
    LapPLSI,
    Noisy,
    OneSidedClustering,
    Stepwise,
    StoredCounts,
    Tempered,
    TwoSidedClustering,
)

ROOT = Path(__file__).resolve().parents[1]
# What depends on the clock and on the process, and not on the fit.
PASSING = ("seconds", "peak_memory_")
QUERIES = ("transform", "predict", "score", "perplexity")

Digests = dict[str, dict[str, str]]


def topics(n_rows: int = 300, n_columns: int = 200, n_topics: int = 6) -> Any:
    """Counts (I, J) of rows that mix topics, and the topic each has the most of."""
    rng = np.random.default_rng(5)
    words = rng.dirichlet(np.full(n_columns, 0.05), n_topics)
    share = rng.dirichlet(np.full(n_topics, 0.15), n_rows)
    lengths = rng.integers(30, 120, n_rows)
    counts = [rng.multinomial(n, p) for n, p in zip(lengths, share @ words, strict=True)]
    return sparse.csr_array(np.array(counts, float)), share.argmax(axis=1)


def vectors(n_rows: int = 240) -> Any:
    """Points (I, 6) on a bent sheet, with noise and a few missing values."""
    rng = np.random.default_rng(6)
    u, v = rng.uniform(-1, 1, (2, n_rows))
    X = np.stack([u, v, u**2, u * v, np.sin(3 * v), u - v], axis=1)
    X = X + rng.normal(0, 0.05, X.shape)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X


def engine(**settings: Any) -> dict[str, Any]:
    """Settings of the engine, as parameters of the version at hand."""
    kind = getattr(isotherm, "Engine", None)
    return settings if kind is None else {"engine": kind(**settings)}


def folds(number: int) -> dict[str, Any]:
    """Cross-validation, as parameters of the version at hand."""
    kind = getattr(isotherm, "Folds", None)
    return {"cv": number} if kind is None else engine(holdout=kind(number))


def fits() -> dict[str, Callable[[Path], tuple[Any, Any]]]:
    """For each name a function from a scratch folder to a fitted estimator and its data."""
    X, label = topics()
    V = vectors()
    few = np.where(np.arange(len(label)) % 10 == 0, label, -1)
    weight = 1.0 + (np.arange(len(label)) % 3)

    def plain(model: Any, data: Any = X, **fit: Any) -> Callable[[Path], tuple[Any, Any]]:
        return lambda _: (model.fit(data, **fit), data)

    def stored(model: Any) -> Callable[[Path], tuple[Any, Any]]:
        def fit(folder: Path) -> tuple[Any, Any]:
            return model.fit(StoredCounts.write(folder / "counts", X, memory=64)), X

        return fit

    seed: dict[str, Any] = {"random_state": 0, "verbose": False}
    batches = Stepwise(batch=100)
    return {
        "aspect": plain(AspectModel(6, **seed)),
        "aspect single": plain(AspectModel(6, **engine(precision="float32"), **seed)),
        "aspect auto": plain(AspectModel("auto", max_components=16, **seed)),
        "aspect predict": plain(AspectModel("predict", max_components=16, **seed)),
        "aspect weighted": plain(AspectModel(5, **seed), sample_weight=weight),
        "aspect plain": plain(
            AspectModel(5, schedule=Fixed(1.0), validation_fraction=0, start=Noisy(), **seed)
        ),
        "aspect tempered": plain(AspectModel(8, schedule=Tempered(), **seed)),
        "aspect batches": plain(AspectModel(5, **engine(batches=batches), **seed)),
        "aspect predict batches": plain(
            AspectModel("predict", max_components=8, **engine(batches=batches), **seed)
        ),
        "aspect left out": plain(AspectModel(5, leave_one_out=True, **seed)),
        "aspect unrelaxed": plain(
            AspectModel(
                5, temper_prior=False, **engine(over_relax=False, record_critical=True), **seed
            )
        ),
        "aspect stored": stored(AspectModel(6, **seed)),
        "aspect predict stored": stored(AspectModel("predict", max_components=8, **seed)),
        "clusters": plain(OneSidedClustering(6, weighting="tokens", **seed)),
        "clusters predict": plain(
            OneSidedClustering("predict", weighting="tokens", max_components=16, **seed)
        ),
        "clusters untempered": plain(
            OneSidedClustering(5, weighting="tokens", temper_prior=False, **seed)
        ),
        "clusters left out": plain(
            OneSidedClustering(5, weighting="tokens", leave_one_out=True, **seed)
        ),
        "clusters equal rows": plain(OneSidedClustering(5, weighting="rows", **seed)),
        "clusters hard": plain(
            OneSidedClustering(
                5,
                weighting="tokens",
                schedule=Exponential(end=0.0),
                validation_fraction=0,
                **engine(batches=batches),
                **seed,
            )
        ),
        "clusters damped": plain(OneSidedClustering(6, **seed)),
        "clusters stored": stored(OneSidedClustering(5, weighting="tokens", **seed)),
        "documents": plain(DocumentMixture(6, **seed)),
        "documents predict": plain(DocumentMixture("predict", max_components=12, **seed)),
        "documents folds": plain(DocumentMixture(5, **folds(3), **seed)),
        "documents shared": plain(DocumentMixture(5, weights="shared", **seed)),
        "documents adaptive": plain(DocumentMixture(5, schedule=Adaptive(), stepwise=True, **seed)),
        "documents stored": stored(DocumentMixture(5, **seed)),
        "two-sided": plain(TwoSidedClustering(5, 4, **seed)),
        "two-sided hard": plain(TwoSidedClustering(4, schedule=Fixed(0.0), **seed)),
        "hierarchy": plain(HierarchicalClustering("predict", max_components=12, **seed)),
        "hierarchy given": plain(
            HierarchicalClustering(tree=((0, 1), (2, 3)), n_components=4, **seed)
        ),
        "hierarchy of weights": plain(HierarchicalClustering(5, weights="cluster", **seed)),
        "hierarchy full": plain(
            HierarchicalClustering(5, weights="full", schedule=Grid((4.0, 2.0, 1.0)), **seed)
        ),
        "LapPLSI": plain(LapPLSI(5, **seed)),
        "LTM": plain(LTM(5, **seed)),
        "DTM": plain(DTM(5, **seed)),
        "DTM labels": plain(DTM(5, **seed), y=few),
        "PCP": plain(PCP(8, 5, **seed)),
        "PCP auto": plain(PCP("documents", 5, inference="factorized", learn_hyper=True, **seed)),
        "PCP many": plain(PCP(4, 6, inference="factorized", n_init=2, **seed)),
        "TTMM": plain(TTMM(8, 5, **seed)),
        "map": plain(GTM(**seed), V),
        "map plain": plain(GTM(1, schedule=Fixed(1.0), start="pca", **seed), V),
        "map weighted": plain(
            GTM(3, n_init=1, **engine(record_critical=True), **seed),
            V,
            sample_weight=weight[: len(V)],
        ),
    }


def canonical(value: Any) -> Iterator[bytes]:
    """Bytes that two equal values share, whatever classes they are of."""
    if isinstance(value, Enum | type(None) | str | bool | int):
        yield repr(value.value if isinstance(value, Enum) else value).encode()
    elif isinstance(value, float | np.floating):
        yield float(value).hex().encode()
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    elif hasattr(value, "_asdict"):
        yield from canonical(value._asdict())
    elif dataclasses.is_dataclass(value):
        yield from canonical({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in PASSING:
                yield str(name).encode()
                yield from canonical(item)
    elif isinstance(value, list | tuple | np.ndarray):
        yield f"[{len(value)}]".encode()
        for item in value:
            yield from canonical(item)
    elif hasattr(value, "__dict__"):
        yield from canonical(vars(value))
    else:
        yield repr(value).encode()


def digest(value: Any) -> str:
    """Short digest of a value."""
    whole = hashlib.sha256()
    for part in canonical(value):
        whole.update(part + b"\0")
    return whole.hexdigest()[:16]


def digests(model: Any, data: Any) -> dict[str, str]:
    """A digest for each fitted attribute, and for what the model says of its data."""
    names = [name for name in vars(model) if name.endswith("_") and name not in PASSING]
    found = {name: digest(getattr(model, name)) for name in sorted(names)}
    for query in QUERIES:
        if hasattr(model, query):
            found[f"{query}(X)"] = digest(getattr(model, query)(data))
    return found


def measured(only: str) -> Digests:
    """Digests of all fits whose name has this in it."""
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, fit) in enumerate(fits().items()):
            if only in name:
                folder = Path(scratch, str(number))
                folder.mkdir()
                found[name] = digests(*fit(folder))
                print(f"{name:22} {digest(found[name])}", file=sys.stderr, flush=True)
    return found


def elsewhere(revision: str, only: str) -> Digests:
    """Digests as another revision makes them, with its own library and its own script."""
    with tempfile.TemporaryDirectory() as scratch:
        tree, out = Path(scratch, "tree"), Path(scratch, "digests.json")
        tree.mkdir()
        archive = subprocess.run(
            ["git", "archive", revision], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
        script = next(tree.glob("benchmarks/**/same_fits.py"), None)
        if script is None:
            sys.exit(f"{revision} has no benchmarks/same_fits.py to run")
        command = [sys.executable, str(script), "--only", only, "--write", str(out)]
        environment = os.environ | {"PYTHONPATH": str(tree / "src")}
        subprocess.run(command, check=True, env=environment)
        return json.loads(out.read_text())


def differences(ours: Digests, theirs: Digests) -> list[str]:
    """A line for each fit, or attribute of one, that is not the same in both."""
    lines = [f"{name}: not in both" for name in sorted(ours.keys() ^ theirs.keys())]
    for name in ours.keys() & theirs.keys():
        both = ours[name].keys() | theirs[name].keys()
        differ = [one for one in sorted(both) if ours[name].get(one) != theirs[name].get(one)]
        lines += [f"{name}: {', '.join(differ)}"] if differ else []
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="fits with this in their name")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the digests as JSON")
    parser.add_argument("--against", metavar="WHAT", help="a revision, or a file of digests")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"isotherm at {Path(isotherm.__file__).parent}", file=sys.stderr)
    ours = measured(options.only)
    if options.write:
        options.write.write_text(json.dumps(ours, indent=1))
    if not options.against:
        return 0
    if Path(options.against).is_file():
        theirs = json.loads(Path(options.against).read_text())
        theirs = {name: value for name, value in theirs.items() if options.only in name}
    else:
        theirs = elsewhere(options.against, options.only)
    lines = differences(ours, theirs)
    print("\n".join(lines) if lines else f"{len(ours)} fits, all the same to the bit")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
