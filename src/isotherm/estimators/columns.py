"""Which column a user means."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError


def column_number(word: Any, names: Array | None, n_columns: int) -> int:
    """Number of the column with a name, or with that number; names may be unknown."""
    if names is None or not isinstance(word, str):
        whole = hasattr(word, "__index__") and not isinstance(word, bool)
        if whole and 0 <= word < n_columns:
            return int(word)
        raise IsothermError(
            f"word is {word!r}; give {'' if names is None else 'a column name or '}"
            f"the number of a column, 0 to {n_columns - 1}"
        )
    found = np.flatnonzero(np.asarray(names) == word)
    if len(found):
        return int(found[0])
    near = difflib.get_close_matches(word, [str(name) for name in names], n=5)
    hint = f"near it are {', '.join(near)}" if near else "no column is spelled like it"
    raise IsothermError(f"word is {word!r}, which the counts do not have; {hint}")
