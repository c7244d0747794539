"""Blocks of data: what goes in comes out, and it is as the page reads it."""

import gzip
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from isotherm import IsothermError
from isotherm.viewer import container
from isotherm.viewer.container import gzipped, pack, unpack, well_formed

TYPES = [np.dtype(name) for name in ("u1", "u2", "u4", "f4")]
names = st.text("abc.019", min_size=1, max_size=6)
tables = st.sampled_from(TYPES).flatmap(
    lambda dtype: arrays.arrays(
        dtype,
        arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5),
        elements=st.floats(width=32, allow_nan=False) if dtype.kind == "f" else None,
    )
)
# All of Unicode, half surrogate pairs as well.
texts = st.lists(st.text(st.characters(), max_size=8), max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(names, tables, max_size=4), texts)
def test_round_trip(given_arrays: dict, given_texts: list[str]) -> None:
    meta = {"number": 1.5, "nothing": None, "said": given_texts}
    block = pack(meta, given_arrays, {"table of texts": given_texts})
    found = unpack(block)
    expected = [well_formed(text) for text in given_texts]
    assert found.meta == {"number": 1.5, "nothing": None, "said": expected}
    assert found.strings == {"table of texts": expected}
    assert sorted(found.arrays) == sorted(given_arrays)
    for name, values in given_arrays.items():
        assert found.arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(found.arrays[name], values)
    assert pack(meta, given_arrays, {"table of texts": given_texts}) == block


def test_layout_is_what_the_page_reads() -> None:
    block = pack({"a": 1}, {"x": np.arange(3, dtype=np.uint16)}, {"t": ["é", "", "z"]})
    raw = gzip.decompress(block)
    assert raw[:4] == b"ISO1"
    (length,) = struct.unpack("<I", raw[4:8])
    header = json.loads(raw[8 : 8 + length])
    assert header["meta"] == {"a": 1}
    assert header["strings"] == ["t"]
    start = (8 + length + 7) // 8 * 8
    assert raw[8 + length : start] == bytes(start - 8 - length)
    by_name = {entry["name"]: entry for entry in header["arrays"]}
    assert by_name["x"]["dtype"] == "u2"
    assert by_name["x"]["shape"] == [3]
    assert [by_name[name]["dtype"] for name in ("t", "t.ends")] == ["u1", "u4"]
    for entry in header["arrays"]:
        assert entry["offset"] % 8 == 0
    x = start + by_name["x"]["offset"]
    assert raw[x : x + 6] == b"\x00\x00\x01\x00\x02\x00"
    ends = start + by_name["t.ends"]["offset"]
    assert struct.unpack("<III", raw[ends : ends + 12]) == (2, 2, 3)


def test_big_endian_and_strided_arrays_are_written_little_endian() -> None:
    values = np.arange(12, dtype=">u4").reshape(3, 4)[:, ::2]
    np.testing.assert_array_equal(unpack(pack({}, {"x": values})).arrays["x"], values)


@pytest.mark.parametrize("size", [0, 1, container.PIECE, container.PIECE + 1, 3 * container.PIECE])
def test_pieces_make_one_stream(size: int) -> None:
    raw = np.random.default_rng(0).integers(0, 4, size, np.uint8).tobytes()
    packed = gzipped(raw)
    assert gzip.decompress(packed) == raw
    # One member only: browsers refuse what follows the first.
    assert packed.count(container.GZIP_HEADER) == 1
    assert len(packed) < 0.5 * size + 100


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("plain", "plain"),
        ("half \ud83d", "half �"),
        ("\ude00 other", "� other"),
        ("\ud83d\ude00", "😀"),
        ("nul \x00 \u202e", "nul \x00 \u202e"),
    ],
)
def test_half_surrogates_become_replacement_characters(given_text: str, expected: str) -> None:
    assert well_formed(given_text) == expected


@pytest.mark.parametrize("dtype", ["i4", "f8", "u8", "?", "U3"])
def test_other_types_are_refused(dtype: str) -> None:
    with pytest.raises(IsothermError, match=r"array 'x' is of .*; it must be one of"):
        pack({}, {"x": np.zeros(2, dtype)})


def test_numbers_that_json_cannot_say_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        pack({"x": float("nan")}, {})


def test_too_many_bytes_of_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MOST_BYTES", 5)
    pack({}, {}, {"titles": ["abc", "de"]})
    with pytest.raises(IsothermError, match="titles have 6 bytes"):
        pack({}, {}, {"titles": ["abc", "def"]})


def test_other_bytes_are_refused() -> None:
    with pytest.raises(IsothermError, match="begin with b'ISO2'"):
        unpack(gzip.compress(b"ISO2" + bytes(12)))
