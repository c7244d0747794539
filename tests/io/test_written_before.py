"""Files of earlier versions are read: `written` has some of every kind, by the month they are of.

They hold random counts of 40 rows and 15 columns, and what was fitted to them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, StoredCounts, load
from isotherm.maps.corpus import CorpusMap
from isotherm.retrieval.index import SearchIndex
from support.estimators import ESTIMATORS, X, data_of

WRITTEN = Path(__file__).parent / "written"
FILES = sorted(WRITTEN.rglob("*.iso"))
OTHERS = (Counts, CorpusMap, SearchIndex)


def test_there_are_files_of_every_kind() -> None:
    kinds = {type(load(path)) for path in FILES}
    assert {type(one) for one in ESTIMATORS.values()} <= kinds
    assert set(OTHERS) <= kinds


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_an_earlier_version_is_read_and_used(path: Path) -> None:
    value: Any = load(path)
    if isinstance(value, Counts):
        assert list(value.row_names[:2]) == ["r0", "r1"]
        np.testing.assert_array_equal(value.matrix.toarray(), X)
    elif isinstance(value, CorpusMap):
        assert value.coordinates.shape == (40, 2)
    elif isinstance(value, SearchIndex):
        assert value.rank(X[:3]).argmax(axis=1).shape == (3,)
    else:
        places = value.transform(data_of(value))
        assert len(places) == 40
        assert np.isfinite(places).all()
        assert type(value).__name__ in repr(value)


@pytest.mark.parametrize(
    "path", sorted(WRITTEN.glob("*/stored")), ids=lambda path: path.parent.name
)
def test_a_folder_of_an_earlier_version_is_read(path: Path) -> None:
    counts = StoredCounts(path)
    np.testing.assert_array_equal(counts.load().matrix.toarray(), X)
