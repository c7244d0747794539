"""What is packed is what the format says, and the page has the same format."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isotherm import Explorer
from isotherm.viewer.container import Part, unpack
from isotherm.viewer.format import NONE_8, NONE_16, PARTS
from viewer import corpora, schema
from viewer.synthetic import synthetic


def of_fit() -> dict[str, bytes]:
    columns = {"year": np.arange(120.0), "kind": ["a", None] * 60}
    model, stages = corpora.fixed()
    maps = [corpora.mapped(2, "fixed"), corpora.mapped(3, "fixed")]
    return Explorer.of(
        maps, model=model, counts=corpora.counts(), columns=columns, stages=stages
    ).parts()


def of_hierarchy() -> dict[str, bytes]:
    return Explorer.of(corpora.mapped(2, "hierarchy"), counts=corpora.counts()).parts()


def of_map_alone() -> dict[str, bytes]:
    return Explorer.of(corpora.mapped(2).map).parts()


def of_vectors() -> dict[str, bytes]:
    return Explorer.of_vectors(np.random.default_rng(0).normal(size=(9, 3))).parts()


def made_up() -> dict[str, bytes]:
    return synthetic(300)


MADE = [of_fit, of_hierarchy, of_map_alone, of_vectors, made_up]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_parts_are_as_the_format_says(make: Callable[[], dict[str, bytes]]) -> None:
    sizes: dict[str, int] = {}
    blocks = make()
    parts = {name: unpack(block) for name, block in blocks.items()}
    assert [one for name, part in parts.items() for one in schema.faults(name, part, sizes)] == []
    assert list(parts) == parts["points"].meta["parts"]
    assert list(parts) == [name for name in PARTS if name in parts]
    assert sizes["I"] == parts["points"].meta["n_documents"]


def test_all_arrays_of_the_format_are_packed_by_some_explorer() -> None:
    packed = [(name, unpack(block)) for make in MADE for name, block in make().items()]
    for name, part in PARTS.items():
        arrays = {array for other, one in packed if other == name for array in one.arrays}
        for pattern in part.arrays:
            assert any(schema.matches(array, pattern) for array in arrays), pattern
        strings = {table for other, one in packed if other == name for table in one.strings}
        assert strings == set(part.strings)


def changed(part: Part, **meta: Any) -> Part:
    return part._replace(meta={**part.meta, **meta})


def test_what_is_not_as_the_format_says_is_seen() -> None:
    points = unpack(synthetic(50)["points"])
    topic = {**points.meta["topics"][0], "words": [["a"]]}
    column = {**points.meta["columns"][0], "kind": "date"}
    odd = [
        (changed(points, more=1), "meta has"),
        (changed(points, n_documents="50"), "meta.n_documents='50'"),
        (changed(points, tree=[]), "meta.tree=[]"),
        (
            changed(points, topics=[topic]),
            "meta.topics[0].words[0]=['a']",
        ),
        (
            changed(points, columns=[column]),
            "meta.columns[0]",
        ),
        (points._replace(arrays={"map0.place": np.zeros(3)}), "array map0.place"),
        (points._replace(arrays={"topic": np.zeros(50, np.uint32)}), "array topic is u4 of (50,)"),
        (points._replace(strings={"titles": []}), "strings titles"),
    ]
    for part, expected in odd:
        faults = schema.faults("points", part, {})
        assert len(faults) == 1
        assert faults[0].startswith(expected)
    assert schema.faults("points", points, {"I": 51})[0].endswith("I is 50, and 51 before")


def test_codes_of_none_are_the_largest_of_their_types() -> None:
    assert [np.iinfo(np.uint8).max, np.iinfo(np.uint16).max] == [NONE_8, NONE_16]


def test_the_page_has_this_format() -> None:
    text = schema.WRITTEN.read_text(encoding="utf-8")
    assert text == schema.written(), "out of date: run python tests/viewer/schema.py"
