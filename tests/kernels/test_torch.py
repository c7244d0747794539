"""The torch backend against the reference, function by function, on torch's CPU.

ISOTHERM_TEST_DEVICE=cuda in the environment runs the same on a GPU.

In double precision both agree to 1e-11 of the largest number, in single precision to 2e-6 (1e-4 for
posteriors of rows, whose exponents are large). Kernels of Triton are run by its interpreter, which
takes seconds for what a GPU does in no time: on few rows, in a process of its own.
"""

import inspect
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.special import wrightomega

from isotherm.data.linked import LinkedBlock, Links
from isotherm.data.vectors import vector_blocks
from isotherm.kernels.base import Kernels
from isotherm.kernels.reference import Reference
from isotherm.tree import Tree
from support.kernels import (
    FUNCTIONS,
    LINKED_FUNCTIONS,
    PATH_FUNCTIONS,
    VECTOR_FUNCTIONS,
    Case,
    PathCase,
    block_of,
    call,
    case_of,
    equal,
    linked_outputs,
    uneven_block,
)

torch = pytest.importorskip("torch", reason="torch is not installed (pip install 'isotherm[gpu]')")
from isotherm.kernels.torch import array, backend, linked  # noqa: E402
from isotherm.kernels.torch import pattern as torch_pattern  # noqa: E402
from isotherm.kernels.torch import sums as torch_sums  # noqa: E402
from isotherm.kernels.torch.backend import Torch  # noqa: E402

PLAIN = Reference()
TOLERANCE = {"float64": 1e-11, "float32": 2e-6}
DEVICE = os.environ.get("ISOTHERM_TEST_DEVICE", "cpu")
SIZES = (1, 8, 33) if DEVICE == "cpu" else (1, 3, 8, 33, 100, 128, 200, 300, 600, 1500)
precisions = pytest.mark.parametrize("precision", TOLERANCE)


@pytest.fixture(autouse=True, params=["device", "host"])
def _where_results_are(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All results on the device, or all that are small on the host."""
    if request.param == "device":
        monkeypatch.setattr(array, "FEW", 0)


def off(found: Any, wanted: Any) -> float:
    """Largest difference relative to the largest number."""
    found, wanted = (np.asarray(x, np.float64) for x in (found, wanted))
    assert found.shape == wanted.shape
    largest = float(np.abs(wanted).max(initial=0.0))
    return float(np.abs(found - wanted).max(initial=0.0)) / max(largest, 1e-300)


def small_case(K: int, seed: int = 0) -> Case:
    rng = np.random.default_rng(seed)
    return case_of(uneven_block(rng, 60, 40), K, rng).rounded()


@pytest.mark.parametrize(
    "name",
    ["prepare", *FUNCTIONS, *VECTOR_FUNCTIONS, *PATH_FUNCTIONS, *LINKED_FUNCTIONS],
)
def test_signatures_are_equal(name: str) -> None:
    shapes = [inspect.signature(getattr(owner, name)) for owner in (Torch, Kernels)]
    assert shapes[0] == shapes[1]


@precisions
@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_agree(name: str, K: int, precision: str) -> None:
    case = small_case(K)
    kernels = Torch(precision, DEVICE)
    loose = 50.0 if precision == "float32" and name in ("row", "row_loo", "pair_loo") else 1.0
    for found, wanted in zip(call(kernels, name, case), call(PLAIN, name, case), strict=True):
        assert off(found, wanted) <= loose * TOLERANCE[precision]


@precisions
def test_results_are_on_the_device_and_of_the_promised_types(precision: str) -> None:
    case, kernels = small_case(5), Torch(precision, DEVICE)
    own, double = kernels.dtype, np.dtype(np.float64)
    pair = kernels.pair(kernels.prepare(case.block), case.U, case.V)
    row = kernels.row(kernels.prepare(case.block), np.log(case.V), np.zeros(5))
    assert [x.dtype for x in (*pair[:2], *row[:3])] == [own, own, own, own, double]
    assert isinstance(pair.rows, array.DeviceArray)
    assert pair.rows.on_device == (array.FEW == 0)
    assert isinstance(pair.log_z, float)


@precisions
def test_pairs_that_underflow_are_redone_in_log_space(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "REDONE_AT_ONCE", 64)
    case = small_case(4)
    tiny = {"float32": 1e-25, "float64": 1e-170}[precision]
    U, V = case.U.astype(precision) * tiny, case.V.astype(precision) * tiny
    V[:20] /= tiny  # some are as they should be
    kernels = Torch(precision, DEVICE)
    least = {"float32": 1e-27, "float64": 1e-300}[precision]
    some = np.where(np.arange(case.block.nnz) % 2, least, 0.0)
    for rest in (None, some.astype(precision)):
        found, wanted = (k.pair(k.prepare(case.block), U, V, rest) for k in (kernels, PLAIN))
        for one, other in zip(found, wanted, strict=True):
            assert off(one, other) <= 10 * TOLERANCE[precision]


@pytest.mark.parametrize("hard", [False, True])
def test_hard_posteriors_and_ties_go_to_the_lowest_index(hard: bool) -> None:
    block = block_of([[1, 0, 2], [0, 3, 1], [0, 0, 0]])
    logs, prior = np.zeros((3, 4)), np.array([[0.0, 1.0, 1.0, 0.0]] * 3)
    found, wanted = (
        k.row(k.prepare(block), logs, prior, hard) for k in (Torch("float64", DEVICE), PLAIN)
    )
    for one, other in zip(found, wanted, strict=True):
        assert off(one, other) <= 1e-12


@precisions
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("squares", [False, True])
def test_paths_agree(precision: str, hard: bool, squares: bool) -> None:
    tree = Tree.from_nested([[0, [1, [2, [3, 4]]]], 5])
    case = PathCase(tree, uneven_block(np.random.default_rng(0), 30, 20)).rounded()
    case.nodes[3] = 0.0  # a column that no node has
    outcomes = []
    for k in (Torch(precision, DEVICE), PLAIN):
        block, settings = k.prepare(case.block), (case.prior, 0.4, hard, squares)
        outcomes.append([
            k.mixed(case.nodes, case.paths, case.share),
            *k.unmixed(case.nodes, case.sums, case.paths, case.share),
            *k.path(block, case.nodes, case.paths, case.shares, *settings),
        ])  # fmt: skip
    for found, wanted in zip(*outcomes, strict=True):
        assert off(found, wanted) <= 50 * TOLERANCE[precision]


@precisions
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_posteriors_over_centres_agree(precision: str, missing: bool, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    values, centres = rng.normal(size=(700, 6)), rng.normal(size=(9, 6))
    if missing:
        values[rng.random(values.shape) < 0.3] = np.nan
    block = vector_blocks(values, rng.uniform(0.2, 3.0, 700) if weighted else None)[0]
    outcomes = []
    for k in (Torch(precision, DEVICE), PLAIN):
        placed = k.prepare(block)
        outcomes.append([*k.nodes(placed, centres, 0.7), *k.node_posterior(placed, centres, 0.7)])
    for found, wanted in zip(*outcomes, strict=True):
        assert off(found, wanted) <= 50 * TOLERANCE[precision]
    assert type(outcomes[0][0]) is np.ndarray


def test_sums_over_many_rows_are_added_up_in_double_precision() -> None:
    values, k = np.full((100_000, 1), 0.1, np.float32), Torch("float32", DEVICE)
    block = k.prepare(vector_blocks(values)[0])
    sums = k.nodes(block, np.array([[0.1], [0.1]]), 1.0)
    np.testing.assert_allclose(sums.mass, 50_000.0, rtol=1e-6)
    table = np.full((300_000, 3), 0.1, np.float32)
    np.testing.assert_allclose(k.totals(table), 300_000 * float(np.float32(0.1)), rtol=1e-6)


@pytest.mark.parametrize("K", [1, 5])
@pytest.mark.parametrize("name", LINKED_FUNCTIONS)
def test_linked_rows_agree(name: str, K: int) -> None:
    kernels = Torch("float32", DEVICE)  # such rows are float64 in any case
    outcomes = linked_outputs(kernels, name, 1, K), linked_outputs(PLAIN, name, 1, K)
    for found, wanted in zip(*outcomes, strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-9, atol=1e-12)


def test_rows_that_nothing_pulls_are_plain_or_stay() -> None:
    counts = np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 0.0]])
    curvature = np.array([0.0, 0.0, 2.0])
    slope = np.array([[9.0, 1.0], [9.0, 1.0], [1.0, 0.5]])
    last = np.array([[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]])
    found = Torch("float32", DEVICE).simplex(counts, curvature, slope, last)
    wanted = [[0.25, 0.75], [0.2, 0.8], [0.625, 0.375]]
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-12)


def test_wright_omega_is_that_of_the_library() -> None:
    x = np.concatenate([np.linspace(-60, 60, 2001), [-700.0, 1e3, 1e6]])
    found = linked._omega(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, wrightomega(x), rtol=1e-12)


def test_linked_blocks_keep_their_links() -> None:
    block = block_of(np.eye(4) + 1)
    links = Links.of(np.ones((4, 4)) - np.eye(4))
    placed = Torch("float32", DEVICE).prepare(LinkedBlock.of(block, links))
    assert isinstance(placed, LinkedBlock)
    assert placed.links is links


def test_bfloat16_rounds_what_is_gathered_and_nothing_else() -> None:
    case = small_case(8)
    kernels = Torch("float32", DEVICE, "bfloat16")
    found = kernels.pair(kernels.prepare(case.block), case.U, case.V)
    rounded = [torch.from_numpy(x).bfloat16().float().numpy() for x in (case.U, case.V)]
    wanted = PLAIN.pair(case.block, *rounded)
    for one, other in zip(found, wanted, strict=True):
        assert off(one, other) <= 2e-6
    plain = PLAIN.pair(case.block, case.U, case.V)
    assert 1e-5 < off(found.rows, plain.rows) < 1e-2
    assert off(found.rows.sum(axis=1), plain.rows.sum(axis=1)) < 1e-6


def test_a_pattern_finds_every_non_zero_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_pattern, "COLUMN_SEGMENT", 5)
    monkeypatch.setattr(torch_pattern, "ROW_SEGMENT", 7)
    monkeypatch.setattr(torch_pattern, "SLAB", 200)
    block = uneven_block(np.random.default_rng(0), 60, 40)
    kernels = Torch("float64", DEVICE)
    pattern = torch_pattern.pattern_of(kernels.prepare(block), kernels.place)
    entries = pattern.by_column.entries.cpu().numpy()
    assert np.array_equal(pattern.row_of.cpu().numpy(), block.row_of)
    assert np.array_equal(pattern.by_column.rows.cpu().numpy(), block.row_of[entries])
    cases = [
        (pattern.by_row, block.row_of, np.flatnonzero(np.diff(block.indptr) > 7)),
        (pattern.by_column.segments, block.indices[entries], np.arange(block.n_columns)),
    ]
    for segments, owner, several in cases:
        starts, ends, owners, many, lists, order = (x.cpu().numpy() for x in segments)
        assert (ends - starts).max() <= 7
        at = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
        assert np.array_equal(np.sort(at), np.arange(block.nnz))
        assert np.array_equal(owner[at], np.repeat(owners, ends - starts))
        assert np.array_equal(many, several)
        for m, one in enumerate(many):
            own = np.sort(order[lists[m] : lists[m + 1]])
            assert np.array_equal(own, np.flatnonzero(owners == one))
    first = pattern.by_row.owners[: block.n_rows].cpu().numpy()
    assert np.array_equal(first, np.arange(block.n_rows))


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    case, kernels = small_case(4), Torch("float64", DEVICE)
    whole = [call(kernels, name, case) for name in ("pair", "row", "pair_loo", "row_loo")]
    monkeypatch.setattr(torch_sums, "AT_ONCE", 100)
    monkeypatch.setattr("isotherm.kernels.torch.leave_one_out.AT_ONCE", 100)
    for name, wanted in zip(("pair", "row", "pair_loo", "row_loo"), whole, strict=True):
        for found, other in zip(call(kernels, name, case), wanted, strict=True):
            assert off(found, other) <= 1e-12


@precisions
def test_rows_and_columns_of_a_single_token_have_no_say_of_themselves(precision: str) -> None:
    block = block_of([[1, 0, 0, 0], [0, 2, 3, 0], [0, 1, 4, 2], [0, 0, 0, 1], [0, 5, 0, 2]])
    case = case_of(block, 3, np.random.default_rng(0)).rounded()
    for name in ("pair_loo", "row_loo"):
        outcomes = call(Torch(precision, DEVICE), name, case), call(PLAIN, name, case)
        for found, wanted in zip(*outcomes, strict=True):
            assert off(found, wanted) <= 50 * TOLERANCE[precision]


def test_a_backend_that_was_used_is_pickled_by_its_settings() -> None:
    kernels = Torch("float64", DEVICE, "bfloat16", n_threads=2)
    kernels.totals(np.ones((3, 2)))
    kernels.power(np.ones((3, 2)), 0.5, np.zeros(2))
    again = pickle.loads(pickle.dumps(kernels))
    assert again == kernels
    assert again._sums is kernels._sums


def test_the_same_comes_out_every_time() -> None:
    case, kernels = small_case(20), Torch("float32", DEVICE)
    for name in FUNCTIONS:
        assert equal(call(kernels, name, case), call(kernels, name, case))


INTERPRETED = """
import numpy as np, torch
from isotherm.kernels.torch import array as torch_array
from isotherm.kernels.torch import pattern as torch_pattern
from isotherm.kernels.torch import sums as torch_sums, triton_sums
from isotherm.kernels.reference import Reference
from isotherm.kernels.torch.backend import Torch
from support.kernels import case_of, block_of
torch_array.FEW = 0
torch_pattern.COLUMN_SEGMENT, torch_pattern.ROW_SEGMENT, torch_pattern.SLAB = 2, 3, 8
rng = np.random.default_rng(0)
matrix = rng.poisson(1.5, (5, 6))
matrix[1], matrix[:, 2], matrix[0] = 0, 0, 1
block, plain = block_of(matrix, rng.uniform(0.5, 2.0, 5)), Reference()
for K, precision, tolerance in ((3, "float64", 1e-12), (6, "float32", 2e-6)):
    case = case_of(block, K, rng).rounded()
    outcomes = []
    for k in (Torch(precision, "cpu", triton=True), plain):
        placed, U, V = k.prepare(case.block), case.U.astype(k.dtype), case.V.astype(k.dtype)
        V[4] *= 1e-30  # one column underflows in single precision
        found = [k.power(U, 0.7, np.linspace(-2, 1, K)), k.dots(placed, U, V)]
        found += k.pair(placed, U, V)
        found += k.pair(placed, U, V, case.pair_share[:, 0].astype(k.dtype))
        if precision == "float64":
            found += [k.times(placed, V), k.transposed_times(placed, U)]
        outcomes.append([np.asarray(x, float) for x in found])
    for n, (found, wanted) in enumerate(zip(*outcomes, strict=True)):
        gap = np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-300)
        assert gap <= tolerance, (K, precision, n, gap)
scores, weight = torch.randn(3, 5), torch.rand(3)
for w in (None, weight):
    own, twin = triton_sums.soften(scores.clone(), w), torch_sums.soften(scores.clone(), w)
    assert all((a - b).abs().max() < 1e-6 for a, b in zip(own, twin))
print("agrees")
"""


def test_triton_kernels_agree_in_the_interpreter() -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    if array.FEW:
        return  # the same either way
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INTERPRETED],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": "1"},
    )
    assert done.stdout.strip() == "agrees", done.stderr[-2000:]
