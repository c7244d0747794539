"""Values as JSON and arrays, and back."""

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from isotherm import IsothermError
from isotherm.anneal.trace import Record
from isotherm.format import codec
from isotherm.io.registry import known
from isotherm.models import base as models
from isotherm.models.base import Topics
from support.estimators import assert_same


class Pair(NamedTuple):
    left: Any
    right: Any = 3


@dataclass(frozen=True)
class Setting:
    size: int
    table: Any = None

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("a negative size")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Other(Enum):
    RED = "red"


REGISTRY = codec.Registry(Pair, Setting)
REGISTRY.add_enum(Colour)


def again(value: Any) -> Any:
    """The value after a way through JSON and arrays."""
    writer = codec.Writer(REGISTRY)
    text = json.dumps(writer.encode(value, "it"), allow_nan=False)
    return codec.Reader(REGISTRY, writer.arrays).decode(json.loads(text))


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=())),
    st.sampled_from(Colour),
    hnp.arrays(
        hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.floating_dtypes(sizes=(16, 32, 64)),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    hnp.arrays(np.dtype("<f8"), (2, 3)).map(np.asfortranarray),
    hnp.arrays(np.dtype("<f4"), (3, 4)).map(lambda a: a[::2, ::-1]),
    st.lists(st.text(max_size=5), max_size=4).map(lambda t: np.array([*t, None], object)[:-1]),
    st.floats().map(np.float64),
    st.floats(width=32).map(np.float32),
    st.integers(-128, 127).map(np.int8),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=4), inner, max_size=4),
        st.builds(Pair, inner, inner),
        st.builds(Setting, st.integers(0, 9), inner),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert_same(again(value), value)


@given(VALUES)
def test_arrays_that_say_the_same_come_back_as_they_were(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "SMALL", 0)
        assert_same(again([value, value]), [value, value])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, 0.1])
def test_floats_keep_their_bits(value: float) -> None:
    assert np.float64(again(value)).tobytes() == np.float64(value).tobytes()
    assert again(np.float64(value)).tobytes() == np.float64(value).tobytes()


def test_order_in_memory_is_kept() -> None:
    """Sums depend on it, in the last bits."""
    table = np.random.default_rng(0).random((5, 6, 7))
    for order in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1), (1, 2, 0)]:
        turned = table.transpose(order)
        found = again(turned)
        assert found.strides == turned.strides
        assert found.sum() == turned.sum()
        assert np.array_equal(found, turned)
    assert again(np.asfortranarray(table[0])).flags.f_contiguous


def test_a_shared_array_is_written_once() -> None:
    table = np.ones((3, 2)).T
    writer = codec.Writer(REGISTRY)
    text = writer.encode([table, Pair(table, table.copy())], "it")
    assert len(writer.arrays) == 2
    found = codec.Reader(REGISTRY, writer.arrays).decode(text)
    assert found[0] is found[1].left
    assert found[0] is not found[1].right


def test_what_another_array_says_is_written_once() -> None:
    table = np.random.default_rng(0).random((70, 40)).astype(np.float32)
    wide = np.ascontiguousarray(table.T, np.float64)
    fine = np.random.default_rng(0).random((70, 40))
    writer = codec.Writer(REGISTRY)
    given = [table, wide, np.asfortranarray(wide), table.copy(), fine, fine.T.copy(), wide[::2]]
    text = writer.encode(given, "it")
    assert [one.shape for one in writer.arrays.values()] == [(70, 40), (70, 40), (20, 70)]
    assert [one.dtype.str[1:] for one in writer.arrays.values()] == ["f4", "f8", "f4"]
    found = codec.Reader(REGISTRY, writer.arrays).decode(text)
    assert_same(found, given)
    laid_out = [one.flags.c_contiguous for one in found]
    assert laid_out == [True, True, False, True, True, True, True]
    # Each is an array of its own: whoever changes one of them changes no other.
    found[0][:] = found[4][:] = 2
    assert_same([*found[1:4], *found[5:]], [*given[1:4], *given[5:]])


@pytest.mark.parametrize("change", [np.nextafter(1.0, 2.0), math.nan, 1e300, -0.0, 1e-46])
def test_a_number_that_single_precision_lacks_is_kept(change: float) -> None:
    table = np.zeros((50, 20))
    table[31, 7] = change
    both = [np.zeros((50, 20)), table, table.T]
    found = again(both)
    assert_same(found, both)
    assert found[1].tobytes() == table.tobytes()


def test_an_array_that_is_claimed_too_often_is_refused() -> None:
    one = {"$": "cast", "name": "a", "turn": [0], "dtype": "<f8"}
    many = [{**one, "number": i} for i in range(5)]
    arrays = {"a": np.ones(1000, np.float32)}
    assert len(codec.Reader(REGISTRY, arrays, 40_000).decode(many)) == 5
    with pytest.raises(ValueError, match="more than a file of its length"):
        codec.Reader(REGISTRY, arrays, 39_999).decode(many)


@pytest.mark.parametrize("dtype", ["<U3", "<U50", object])
def test_text_is_bytes_and_offsets(dtype: Any) -> None:
    given = np.array([["aé", "", "日本"], ["x", "\0y", "z"]], dtype)
    writer = codec.Writer(REGISTRY)
    writer.encode(given, "it")
    kept = sorted(array.dtype.str for array in writer.arrays.values())
    assert kept == ["<i8", "|u1"]
    assert_same(again(given), given)
    assert again(given).dtype == given.dtype


def test_labels_of_several_types() -> None:
    given = np.array(["a", 3, 2.5, None, True, np.int64(4)], object)
    assert_same(again(given).tolist(), given.tolist())


def test_sparse_matrices() -> None:
    given = sparse.csr_array(np.array([[0, 2.0, 0], [0, 0, 0], [1, 0, 3]], np.float32))
    found = again(given)
    assert found.dtype == np.float32
    assert found.shape == (3, 3)
    assert_same(found, given)


@pytest.mark.parametrize("name", codec.GENERATORS)
def test_generators(name: str) -> None:
    rng = np.random.Generator(getattr(np.random, name)(5))
    rng.integers(3, size=3)
    assert again(rng).random(4).tolist() == rng.random(4).tolist()


@pytest.mark.parametrize(
    "value",
    [
        1j,
        b"bytes",
        {1, 2},
        object(),
        print,
        Other.RED,
        range(3),
        np.datetime64("2020-01-01"),
        np.ones(2, complex),
        np.ones(2, "S3"),
        np.ones(2, np.longdouble),
        np.zeros(2, [("a", int)]),
        np.ma.masked_array([1, 2]),
        sparse.coo_array(np.eye(2)),
        {3: 4},
        np.array([object()], object),
        models.Mixture(1, 2),
        Topics(),
    ],
    ids=lambda value: type(value).__name__,  # no addresses: workers must agree on the names
)
def test_what_has_no_form_is_refused_by_name(value: Any) -> None:
    with pytest.raises(IsothermError, match=r"it\.left\[1\].*which files of isotherm do not hold"):
        codec.Writer(REGISTRY).encode(Pair([0, value]), "it")


def test_what_is_neither_dataclass_nor_named_tuple_needs_an_entry() -> None:
    with pytest.raises(IsothermError, match="say with an Entry how it is taken apart"):
        codec.Registry(dict)


BAD: list[Any] = [
    {},
    {"$": "nothing"},
    {"$": ["list"]},
    {"$": "float", "value": "1e3"},
    {"$": "float", "value": 3},
    {"$": "tuple"},
    {"$": "tuple", "items": "abc"},
    {"$": "tuple", "items": {"a": 1}},
    {"$": "dict", "items": [1]},
    {"$": "object", "type": "Other", "fields": {}},
    {"$": "object", "type": "os.system", "fields": {"command": "true"}},
    {"$": "object", "type": ["Pair"], "fields": {}},
    {"$": "object", "type": "Pair", "fields": {"left": 1}},
    {"$": "object", "type": "Pair", "fields": {"left": 1, "right": 2, "more": 3}},
    {"$": "object", "type": "Pair", "fields": [1, 2]},
    {"$": "object", "type": "Setting", "fields": {"size": -1, "table": None}},
    {"$": "object", "type": "Setting", "fields": {"size": "a", "table": None}},
    {"$": "enum", "type": "Other", "name": "RED"},
    {"$": "enum", "type": "Colour", "name": "GREEN"},
    {"$": "enum", "type": "Colour", "name": "__class__"},
    {"$": "scalar", "dtype": "O", "value": 3},
    {"$": "scalar", "dtype": "<f8", "value": "3"},
    {"$": "scalar", "dtype": "<i1", "value": 1000},
    {"$": "scalar", "dtype": "nothing", "value": 1},
    {"$": "array", "name": "none"},
    {"$": "array", "name": ["a"]},
    {"$": "array", "name": "a", "axes": [0, 5]},
    {"$": "array", "name": "a", "axes": [0, 0]},
    {"$": "cast", "name": "a", "turn": [1, 0], "dtype": "<f8"},
    {"$": "cast", "name": "none", "turn": [1, 0], "dtype": "<f8", "number": 1},
    {"$": "cast", "name": "a", "turn": [1, 1], "dtype": "<f8", "number": 1},
    {"$": "cast", "name": "a", "turn": [0.5, 1], "dtype": "<f8", "number": 1},
    {"$": "cast", "name": "a", "turn": [0, 1], "dtype": "<i8", "number": 1},
    {"$": "cast", "name": "a", "turn": [0, 1], "dtype": "<f4", "number": 1},
    {"$": "cast", "name": "a", "turn": [0, 1], "dtype": "O", "number": 1},
    {"$": "csr", "shape": [2, 2]},
    {"$": "csr", "shape": [2], "data": {"$": "array", "name": "a"}},
    {"$": "strings", "bytes": [1], "offsets": [0, 1], "shape": [1], "dtype": "O"},
    {"$": "objects", "items": [1], "shape": [2], "dtype": "|O"},
    {"$": "objects", "items": [1], "shape": [1], "dtype": "<f8"},
    {"$": "objects", "items": ["a"], "shape": [1], "dtype": "<U1000000000"},
    {"$": "generator", "state": None},
    {"$": "generator", "state": {"$": "dict", "items": {"bit_generator": "seed"}}},
    {"$": "generator", "state": {"$": "dict", "items": {"bit_generator": "PCG64"}}},
    {"$": "random_state", "state": {"$": "dict", "items": {"bit_generator": "MT19937"}}},
]


@pytest.mark.parametrize("text", BAD, ids=str)
def test_bad_json_is_an_error(text: Any) -> None:
    from isotherm.format.archive import DAMAGE

    with pytest.raises(DAMAGE):
        codec.Reader(REGISTRY, {"a": np.ones((2, 2))}).decode([text])


def test_parts_of_a_sparse_matrix_must_fit() -> None:
    def parts(data: list[float], indices: list[int], indptr: list[int]) -> Any:
        arrays = {
            "d": np.array(data),
            "i": np.array(indices, np.int32),
            "p": np.array(indptr, np.int32),
        }
        text = {"$": "csr", "shape": [2, 3]}
        names = {"data": "d", "indices": "i", "indptr": "p"}
        text |= {name: {"$": "array", "name": short} for name, short in names.items()}
        return codec.Reader(REGISTRY, arrays).decode(text)

    assert parts([1.0, 2.0], [0, 2], [0, 1, 2]).toarray().tolist() == [[1, 0, 0], [0, 0, 2]]
    for data, indices, indptr in [
        ([1.0, 2.0], [0, 3], [0, 1, 2]),
        ([1.0, 2.0], [0, -1], [0, 1, 2]),
        ([1.0, 2.0], [0, 1], [0, 3, 2]),
        ([1.0, 2.0], [0, 1], [1, 1, 2]),
        ([1.0, 2.0], [0, 1], [0, 2]),
        ([1.0], [0, 1], [0, 1, 2]),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011 (scipy's own words)
            parts(data, indices, indptr)


def test_fields_that_came_later_may_be_missing() -> None:
    def read(later: tuple[str, ...], **fields: Any) -> Any:
        registry = codec.Registry()
        registry.add("Pair", codec.plain(Pair, later))
        return codec.Reader(registry, {}).decode({"$": "object", "type": "Pair", "fields": fields})

    assert read(("right",), left=1) == Pair(1, 3)
    assert read(("right",), left=1, right=2) == Pair(1, 2)
    for later, fields in (((), {"left": 1}), (("right",), {"right": 1}), (("right",), {"up": 1})):
        with pytest.raises(ValueError, match="other fields"):
            read(later, **fields)


def test_records_of_earlier_versions_are_read() -> None:
    record = Record(1.0, 2.0, 3.0, 4.0, 5, 6, (), 7, 8.0, True)
    written = codec.Writer(known()).encode(record, "it")
    for name in ("entropy", "phase"):
        del written["fields"][name]
    again = codec.Reader(known(), {}).decode(written)
    assert again.phase == "cooling"
    assert math.isnan(again.entropy)
