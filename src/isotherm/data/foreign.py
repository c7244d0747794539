"""Tables of other programs: what they hold in our terms, or an error that says what to pass.

None of them is imported: they are known by the module of their type, or by what they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from isotherm.errors import IsothermError

# Module of a type -> what of it can be passed.
PASS = {
    "mudata": "one of its tables, mdata.mod[name]",
    "spatialdata": "one of its tables, sdata.tables[name]",
    "xarray": "Counts(X.values, row_names=..., column_names=...) of an array with two dimensions",
    "torch": "X.detach().cpu().numpy(), of a dense tensor",
    "tensorflow": "X.numpy()",
    "jax": "numpy.asarray(X)",
    "cupy": "X.get()",
}


class Annotated(NamedTuple):
    """Matrix (I, J) of an AnnData object, and the names of both sides."""

    matrix: Any
    row_names: Any
    column_names: Any


def is_annotated(X: object) -> bool:
    """Whether X is an AnnData object, or has what makes one."""
    if _module(X) in ("mudata", "spatialdata"):
        return False
    return all(hasattr(X, name) for name in ("X", "obs_names", "var_names"))


def annotated(X: Any) -> Annotated:
    """Matrix and names of an AnnData object."""
    if getattr(X, "isbacked", False):
        raise IsothermError("X is an AnnData object whose table is in a file; pass X.to_memory()")
    if X.X is None:
        raise IsothermError(f"X is an AnnData object without X; {_how(X)}")
    return Annotated(X.X, X.obs_names, X.var_names)


def check_raw(X: Any) -> None:
    """Refuse an AnnData object whose X was changed: models are of what was counted."""
    table, is_sparse = X.X, bool(sparse.issparse(X.X))
    values = np.asarray(table.tocoo().data if is_sparse else table)
    if values.dtype.kind == "f":
        bad = values[~((values >= 0) & (values == np.floor(values)))]
    else:
        bad = values[values < 0] if values.dtype.kind == "i" else values[:0]
    if bad.size:
        raise IsothermError(
            f"X is an AnnData object whose X holds {bad.flat[0]:g}, and counts are whole numbers "
            f">= 0: X was normalized, or its logarithms taken; {_how(X)}"
        )


def check_program(X: object) -> None:
    """Refuse objects of other programs that are no tables; say what of them can be passed."""
    module = _module(X)
    if module in PASS and not _is_array(X):
        raise IsothermError(f"X is {_a(type(X).__name__)} of {module}; pass {PASS[module]}")


def check_table(X: object) -> None:
    """Refuse what no array can be made of, before numpy tries."""
    if sparse.issparse(X):
        return
    check_program(X)
    module, kind = _module(X), type(X).__name__
    if isinstance(X, Mapping):
        raise IsothermError(
            f"X is {_a(kind)} of {len(X)} entries, no table; pass a matrix, a data frame, or "
            "Counts.from_triples of a mapping from pairs to counts"
        )
    known = ("__array__", "__array_interface__", "__dlpack__", "__dataframe__")
    if isinstance(X, Sequence) or any(hasattr(X, one) for one in known):
        return
    # What has a length and entries is taken apart by numpy, however deep that goes.
    if hasattr(X, "__len__") and hasattr(X, "__getitem__") and not hasattr(type(X), "columns"):
        raise IsothermError(
            f"X is {_a(kind)} of {module}, which is no table that is known here; pass a matrix "
            "(numpy or scipy.sparse), a data frame, or Counts(matrix, row_names=, column_names=)"
        )


def _is_array(X: object) -> bool:
    """Whether numpy can read it as a table."""
    try:
        return np.asarray(X).ndim == 2 and np.asarray(X).dtype != object
    except Exception:  # whatever the other program raises
        return False


def _how(X: object) -> str:
    """What to pass of an AnnData object instead of its X."""
    layers = [str(name) for name in getattr(X, "layers", None) or ()]
    which = f"its layers are {', '.join(map(repr, layers[:10]))}" if layers else "it has no layers"
    return (
        "pass raw counts, such as Counts(adata.layers['counts'], row_names=adata.obs_names, "
        f"column_names=adata.var_names) ({which})"
    )


def _module(X: object) -> str:
    return type(X).__module__.partition(".")[0]


def _a(kind: str) -> str:
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"
