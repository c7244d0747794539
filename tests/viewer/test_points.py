"""Places, columns and shares in few bytes."""

import math

import numpy as np
import pytest

from isotherm import IsothermError
from isotherm.viewer.parts import points
from isotherm.viewer.parts.points import Place


def placed(coordinates: np.ndarray) -> Place:
    low, high = points.framed(coordinates)
    return Place("2-D", coordinates, low, high)


def test_places_are_kept_to_a_step_of_the_box() -> None:
    given = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 5.0, 0.1] + 7.0
    place = placed(given)
    span = place.high - place.low
    np.testing.assert_allclose(span, span[0])  # a cube
    found = points.quantised_places(place, given)
    assert found.dtype == np.uint16
    assert found.max() <= points.STEPS
    back = place.low + found / points.STEPS * span
    np.testing.assert_allclose(back, given, atol=0.51 * span[0] / points.STEPS)


def test_a_row_without_a_place_has_none_on_any_axis() -> None:
    given = np.array([[0.0, 1.0], [np.nan, 0.5], [2.0, np.inf], [4.0, 3.0]])
    place = placed(given)
    found = points.quantised_places(place, given)
    assert (found[1:3] == points.NONE_16).all()
    assert (found[[0, 3]] < points.NONE_16).all()
    assert points.map_meta(place)["empty"] == 2


def test_places_of_one_row_and_of_none() -> None:
    place = placed(np.array([[3.0, 4.0]]))
    np.testing.assert_array_equal(points.quantised_places(place, place.coordinates), [[32767] * 2])
    with pytest.raises(IsothermError, match="no row has finite coordinates"):
        points.framed(np.full((2, 2), np.nan))


def test_what_the_map_consists_of_is_given_in_its_box() -> None:
    nodes = np.array([[-1.0, -1.0], [1.0, 0.0]])
    corners = np.full(2, -1.0), np.full(2, 1.0)
    place = Place("2-D", nodes, *corners, nodes, nodes, np.array([1.0, 3.0]), (2, 1))
    arrays = points.map_arrays(4, place)
    assert sorted(arrays) == ["map4.magnification", "map4.nodes", "map4.places", "map4.topics"]
    np.testing.assert_array_equal(arrays["map4.nodes"], [[0, 0], [1, 0.5]])
    np.testing.assert_array_equal(arrays["map4.topics"], [[0, 0], [1, 0.5]])
    np.testing.assert_array_equal(arrays["map4.magnification"], [1, 3])
    assert points.map_meta(place)["grid"] == [2, 1]


# Columns -----------------------------------------------------------------------------------------


def column(values: object) -> tuple[dict, np.ndarray]:
    metas, arrays = points.columns_of({"c": values}, len(values))  # type: ignore[arg-type]
    assert metas[0].pop("name") == "c"
    return metas[0], arrays["column0"]


@pytest.mark.parametrize(
    "values",
    [
        [3.0, 1.0, None, 2.0, float("nan")],
        np.array([3.0, 1.0, np.inf, 2.0, np.nan]),
        np.array([3, 1, None, 2, None], dtype=object),
        (np.float32(3), np.int8(1), None, 2, math.nan),
    ],
)
def test_numbers_are_continuous(values: object) -> None:
    meta, codes = column(values)
    assert meta == {"kind": "number", "low": 1.0, "high": 3.0, "missing": 2}
    assert codes.tolist() == [65534, 0, 65535, 32767, 65535]


def test_numbers_that_are_all_the_same_or_all_missing_or_huge() -> None:
    assert column([2, 2])[1].tolist() == [0, 0]
    meta, codes = column(np.array([np.nan, np.nan]))
    assert meta == {"kind": "number", "low": 0.0, "high": 0.0, "missing": 2}
    assert codes.tolist() == [65535, 65535]
    assert column([-1e308, 0.0, 1e308])[1].tolist() == [0, 32767, 65534]


def test_dates_are_years() -> None:
    meta, codes = column(np.array(["2000-01-01", "NaT", "2020-07-01"], "datetime64[D]"))
    assert meta["kind"] == "number"
    assert meta["low"] == pytest.approx(2000.0, abs=0.01)
    assert meta["high"] == pytest.approx(2020.5, abs=0.01)
    assert codes.tolist() == [0, 65535, 65534]


def test_categories_come_most_frequent_first() -> None:
    meta, codes = column(["b", "a", None, "c", "b", float("nan"), "c"])
    assert meta == {"kind": "category", "categories": ["b", "c", "a"], "missing": 2}
    assert codes.dtype == np.uint8
    assert codes.tolist() == [0, 2, 255, 1, 0, 255, 1]


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        ([True, False, True], ["True", "False"]),
        (np.array([True, False, True]), ["True", "False"]),
        (np.array(["x", "y", "x"]), ["x", "y"]),
        ([1, "1", "z"], ["1", "z"]),
        ([None, None], []),
    ],
)
def test_all_else_are_categories(values: object, categories: list[str]) -> None:
    assert column(values)[0]["categories"] == categories


@pytest.mark.parametrize(("number", "size"), [(255, 1), (256, 2), (500, 2)])
def test_categories_take_as_few_bytes_as_they_can(number: int, size: int) -> None:
    meta, codes = column([f"c{i:03d}" for i in range(number)] + [None])
    assert codes.dtype.itemsize == size
    assert codes[-1] == np.iinfo(codes.dtype).max
    assert codes[:-1].tolist() == list(range(number))
    assert len(meta["categories"]) == number


def test_rare_categories_are_put_together() -> None:
    values = [f"c{i:03d}" for i in range(600)] + ["c599"] * 3
    meta, codes = column(values)
    assert len(meta["categories"]) == 501
    assert meta["categories"][0] == "c599"
    assert meta["categories"][-1] == points.OTHERS
    assert (codes == 500).sum() == 100


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "column 'c' has 2 entries for 3 rows"),
        ("abc", "column 'c' is of type str"),
        (5, "column 'c' is of type int"),
        (np.zeros((3, 2)), r"shape \(3, 2\); it must have one axis"),
    ],
)
def test_bad_columns_are_refused(values: object, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        points.columns_of({"c": values}, 3)


# Documents ---------------------------------------------------------------------------------------


def test_shares_are_the_strongest_topics() -> None:
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.full(7, 0.5), 50)
    found = points.shares(weights)
    for i, row in enumerate(weights):
        order = np.argsort(-row, kind="stable")[:3]
        assert found["shares.topic"][i].tolist() == order.tolist()
        np.testing.assert_allclose(found["shares.weight"][i] / 255, row[order], atol=0.5 / 255)


def test_shares_of_equal_and_of_few_topics() -> None:
    found = points.shares(np.full((2, 5), 0.2))
    assert found["shares.topic"][0, 0] == 0
    few = points.shares(np.array([[0.25, 0.75]]))
    assert few["shares.topic"].tolist() == [[1, 0, 0]]
    assert few["shares.weight"].tolist() == [[191, 64, 0]]
    assert points.shares(np.full((1, 300), 1 / 300))["shares.topic"].dtype == np.uint16


def test_typical_documents_are_pure_and_long() -> None:
    weights = np.array([[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [0.05, 0.95]])
    found = points.typical(weights, np.array([4.0, 9.0, 100.0, 1.0]), most=3)
    nothing = 2**32 - 1
    # 0.9^2 * 3 < 0.5^2 * 10; the last has too little of the first topic
    assert found.tolist() == [[2, 1, 0], [2, 3, 1]]
    assert points.typical(weights, np.ones(4), most=5)[0].tolist() == [0, 1, 2, nothing, nothing]
