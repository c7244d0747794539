"""Objects of other programs: taken as they are meant, or refused with what to pass."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import GTM, AspectModel, Counts, IsothermError, TwoSidedClustering, as_counts
from isotherm.data.foreign import PASS

RNG = np.random.default_rng(0)
TABLE = (np.kron(np.eye(2), np.full((20, 3), 4)) + RNG.integers(0, 2, (40, 6))).astype(int)
CELLS, GENES = [f"cell{i}" for i in range(40)], [f"gene{j}" for j in range(6)]


class Annotated:
    """As an AnnData object looks from outside: a length, entries that are such objects again."""

    def __init__(self, X: Any, **more: Any) -> None:
        self.X = X
        self.obs_names, self.var_names = np.array(CELLS), np.array(GENES)
        self.layers: dict[str, Any] = {}
        self.__dict__.update(more)

    def __len__(self) -> int:
        return len(self.obs_names)

    def __getitem__(self, index: Any) -> "Annotated":
        return self


def foreign(module: str, name: str, **parts: Any) -> Any:
    """An object of a type of another program."""
    return type(name, (SimpleNamespace,), {"__module__": f"{module}._core"})(**parts)


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_matrix, lambda X: sparse.csc_array(1.0 * X)]
)
def test_a_fit_to_annotated_data_knows_its_names(form: Any) -> None:
    data = Annotated(form(TABLE))
    model = AspectModel(2, random_state=0).fit(data)
    counts = Counts(TABLE, column_names=GENES)
    expected = AspectModel(2, random_state=0).fit(counts)
    assert list(model.feature_names_in_) == GENES
    assert model.top_words(3) == expected.top_words(3)
    assert np.array_equal(model.transform(data), expected.transform(counts))
    assert model.perplexity(data) == expected.perplexity(counts)
    clusters = TwoSidedClustering(2, random_state=0).fit(data)
    assert set(clusters.top_rows(1)[0]) <= set(CELLS)
    other = Annotated(form(TABLE), var_names=GENES[::-1])
    with pytest.raises(IsothermError, match="column names of X differ"):
        model.transform(other)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("change", [np.log1p, lambda X: X - 1])
def test_changed_counts_are_refused_with_the_layers(form: Any, change: Any) -> None:
    data = Annotated(form(change(TABLE)), layers={"counts": TABLE, "spliced": TABLE})
    said = r"counts are whole numbers >= 0: .*adata\.layers\['counts'\].*'counts', 'spliced'"
    with pytest.raises(IsothermError, match=said):
        AspectModel(2).fit(data)
    raw = Counts(data.layers["counts"], row_names=data.obs_names, column_names=data.var_names)
    assert AspectModel(2, random_state=0).fit(raw).n_components_ == 2


def test_annotated_data_that_cannot_be_read_say_why() -> None:
    for data, said in (
        (Annotated(None), r"without X; pass raw counts.*it has no layers"),
        (Annotated(TABLE, isbacked=True), r"pass X\.to_memory\(\)"),
        (Annotated(TABLE, var_names=["gene"] * 6), r"var_names_make_unique\(\)"),
    ):
        with pytest.raises(IsothermError, match=said):
            as_counts(data)
    with pytest.raises(IsothermError, match=r"give as_counts\(adata\)"):
        Counts(Annotated(TABLE))
    with pytest.raises(IsothermError, match=r"pass adata\.X, or an array of adata\.obsm"):
        GTM().fit(Annotated(TABLE))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (foreign("mudata", "MuData", obs_names=CELLS, var_names=GENES, X=None), r"mdata\.mod"),
        (foreign("xarray", "Dataset"), r"Counts\(X\.values, row_names"),
        (foreign("torch", "Tensor"), r"a Tensor of torch; pass X\.detach\(\)\.cpu\(\)\.numpy"),
        ({"a": [1, 2], "b": [3, 4]}, r"a dict of 2 entries, no table"),
        (Counter({("a", "x"): 2}), r"from_triples"),
        (type("Rows", (), {"__len__": len, "__getitem__": lambda s, i: s})(), r"a Rows of .* no t"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_table_is_refused(given: Any, said: str) -> None:
    for read in (Counts, as_counts, AspectModel(2).fit):
        with pytest.raises(IsothermError, match=said):
            read(given)
    program = type(given).__module__.partition(".")[0]
    with pytest.raises(IsothermError, match=said if program in PASS else "table"):
        GTM().fit(given)


def test_arrays_of_other_programs_are_read() -> None:
    tensor = foreign("torch", "Tensor", __array__=lambda *_, **__: TABLE)
    type(tensor).__array__ = lambda self, *_, **__: TABLE
    assert as_counts(tensor).total == TABLE.sum()
    assert as_counts([[1, 2], [3, 4]]).total == 10
    assert as_counts((range(2), range(2))).total == 2
