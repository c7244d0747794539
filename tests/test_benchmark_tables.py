"""What the benchmarks of numbers of topics, growth, few labels and maps make of measurements."""

from typing import Any

import numpy as np
import pytest

from benchmarks.page import maps as pages
from benchmarks.quality import semi_supervised, topic_numbers
from benchmarks.scale import growth


def grown(name: str, power: float, note: str = "") -> list[dict[str, Any]]:
    """Rows of a program whose seconds grow like a power of each size."""
    sizes = dict.fromkeys(size for own in growth.DIRECTIONS.values() for size in own)
    return [
        {"program": name, "documents": s.rows, "V": s.columns, "K": s.topics, "nnz": 50 * s.rows}
        | {"CPU s": (s.rows * s.topics * s.columns) ** power, "peak MB": 9.0, "libraries MB": 1.0}
        | {"net MB": float(s.topics), "note": note}
        for s in sizes
    ]


def test_exponents_are_those_the_seconds_grow_with() -> None:
    rows = grown(growth.OURS, 1.0) + grown("other", 1.5)
    ours, other = growth.exponents(rows, growth.DIRECTIONS)
    for direction in growth.DIRECTIONS:
        assert ours[f"s, {direction}"] == pytest.approx(1.0)
        assert other[f"s, {direction}"] == pytest.approx(1.5)
    assert ours["MB, K"] == pytest.approx(1.0)
    assert ours["MB, nnz"] == pytest.approx(0.0)


def test_a_program_that_failed_has_no_exponent() -> None:
    rows = grown(growth.OURS, 1.0) + grown("broken", 1.0, "no environment")
    assert set(growth.exponents(rows, growth.DIRECTIONS)[1].values()) == {"broken", None}
    ends = growth.largest(rows, growth.DIRECTIONS)
    assert [row["program"] for row in ends] == [growth.OURS] * 3


def test_growth_beyond_linear_and_more_memory_are_misses() -> None:
    rows = grown(growth.OURS, 1.5) + [
        row | {"net MB": row["net MB"] / 2} for row in grown("other", 1.0)
    ]
    slopes = growth.exponents(rows, growth.DIRECTIONS)
    judged = {t.name: t for t in growth.judge(slopes, growth.largest(rows, growth.DIRECTIONS))}
    assert not judged["exponent of seconds in K"].met
    assert judged["exponent of net memory in K"].met
    assert judged["largest K: net memory, ours / least other"].value == pytest.approx(2.0)
    assert not judged["largest nnz: CPU, fastest other / ours"].met


def test_memory_that_was_not_measured_is_not_judged() -> None:
    rows = [row | {"net MB": None} for row in grown(growth.OURS, 1.0)]
    slopes = growth.exponents(rows, growth.DIRECTIONS)
    names = [t.name for t in growth.judge(slopes, growth.largest(rows, growth.DIRECTIONS))]
    assert names == [f"exponent of seconds in {d}" for d in growth.DIRECTIONS]


def test_topics_that_hold_most_of_the_tokens() -> None:
    assert topic_numbers.most([0.5, 0.45, 0.03, 0.02]) == 2
    assert topic_numbers.most([0.02, 0.5, 0.03, 0.45]) == 2
    assert topic_numbers.most(np.full(20, 7.0)) == 19


def row(method: str, K: int | None, groups: int = 10, **more: Any) -> dict[str, Any]:
    told = {"data": "mixed topics", "groups": groups, "seed": 0, "method": method, "K": K}
    return told | {"NMI": 0.5, "AMI": 0.5, "perplexity": 100.0, "CPU seconds": 2.0} | more


def test_planted_numbers_count_as_right_within_a_tenth() -> None:
    rows = [row("a", 10), row("a", 11), row("a", 12), row("a", 18, 20), row("b", None)]
    a, b = topic_numbers.planted_table(rows)
    assert a["planted 10"] == "10, 11, 12"
    assert a["planted 20"] == "18"
    assert a["share right"] == pytest.approx(0.75)
    assert a["off by, times"] > 1
    assert b["share right"] is None


def test_ours_is_judged_by_the_best_of_the_others() -> None:
    ours = row("isotherm X", 9, data="text", perplexity=110.0, AMI=0.6)
    text = [ours, row("a", 9, data="text"), row("b", 9, data="text", AMI=0.7), row("c", None)]
    judged = topic_numbers.judge([], text)
    assert [target.value for target in judged] == pytest.approx([1.1, -0.1, 1.0])
    assert [target.met for target in judged] == [False, False, True]


def test_what_is_told_the_number_is_judged_by_what_is_told_it_too() -> None:
    rows = [("isotherm X", 0.2), (f"isotherm X{topic_numbers.CUT}", 0.6), ("a", 0.3)]
    rows += [(f"a{topic_numbers.TOLD}", 0.9), (f"b{topic_numbers.TOLD}", 0.5)]
    text = [row(name, 9, data="text", NMI=value, AMI=value) for name, value in rows]
    *_, unaware, _, aware = topic_numbers.judge([], text)
    assert (unaware.value, aware.value) == pytest.approx((-0.1, -0.3))


def test_what_is_not_measured_yet_is_neither_met_nor_missed() -> None:
    behind = {"AMI": None, "NMI": 0.9, "groups": 5}
    text = [row("isotherm X", 200, data="text", AMI=0.6), row("a", 9, data="text", **behind)]
    _, gain, _ = topic_numbers.judge([], text)
    # Already behind what the other has at least.
    assert gain.name == "text: AMI, ours - best other, at most"
    assert gain.value == pytest.approx(0.6 - (0.9 - topic_numbers.CHANCE))
    text[1] |= {"K": 900}  # so many topics share much with labels by chance
    assert topic_numbers.judge([], text)[1].value is None
    text[1] |= {"K": 9, "NMI": 0.5}
    _, gain, _ = topic_numbers.judge([], text)
    assert gain.name == "text: AMI, ours - best other"
    assert gain.row()["met"] == "not measured"
    assert gain.row()["measured"] is None
    assert topic_numbers.mean_of(text, "AMI") is None
    assert topic_numbers.mean_of(text[:1], "AMI") == 0.6


def test_measures_are_filled_in_for_the_same_fit_alone() -> None:
    text = [row("isotherm X", 3, data="text", NMI=0.5), row("isotherm Y", 3, data="text")]
    one = topic_numbers.Found("isotherm X", None, np.ones(3), np.eye(3), 1.0)
    topic_numbers.fill_in(text, "text", 0, one, {"NMI": 0.501, "AMI": 0.75})
    assert (text[0]["AMI"], text[1]["AMI"]) == (0.75, 0.5)
    topic_numbers.fill_in(text, "text", 0, one, {"NMI": 0.6, "AMI": 0.9})
    other = one._replace(weights=np.ones(4))
    topic_numbers.fill_in(text, "text", 0, other, {"NMI": 0.5, "AMI": 0.9})
    assert text[0]["AMI"] == 0.75
    assert topic_numbers.agreement([0, 1, 2], one)["AMI"] == 1.0


def test_planted_documents_have_their_groups() -> None:
    for case in (topic_numbers.mixed(5, 1), topic_numbers.single(5, 1)):
        assert case.n_groups == 5
        assert set(case.labels) <= set(range(5))
        assert case.counts.n_rows == len(case.labels) == 5 * topic_numbers.ROWS
        assert case.n_groups in case.grid


def test_an_annealed_start_gains_over_the_random_start_of_the_same_model() -> None:
    found = {"DTM": (0.5, 0.7), "DTM, random start": (0.4, 0.65), "pLSA": (0.9, 0.9)}
    rows = [
        {"model": name, "K": 20, "labels": n, "accuracy": value}
        for name, both in found.items()
        for n, value in zip((1, 3), both, strict=True)
    ]
    (gain,) = semi_supervised.start_gains(rows)
    assert gain.pop("model") == "DTM"
    assert gain == pytest.approx({"K": 20, "least": 0.05, "mean": 0.075, "most": 0.1})


def test_a_chosen_strength_is_held_to_the_best_fixed_one_of_every_cell() -> None:
    fixed = [f"LapPLSI {value}" for value in semi_supervised.LAMBDAS["LapPLSI"]]
    cells = {20: (0.5, 0.6, 0.7, 0.7, 0.6), 60: (0.4, 0.5, 0.6, 0.8, 0.9)}
    rows = [
        {"collection": "pages", "model": "tf-idf", "K": 0, "labels": 1, "accuracy": 0.3},
        *(
            {"collection": "pages", "model": name, "K": K, "labels": 1, "accuracy": value}
            for K, values in cells.items()
            for name, value in zip(
                ["LapPLSI auto", "DTM", *fixed], [0.7, K / 100, *values], strict=True
            )
        ),
    ]
    (found,) = semi_supervised.strength_summary(rows)
    assert found["next to the best"] == pytest.approx(-0.1)
    assert found["next to DTM"] == pytest.approx(0.3)
    assert (found["tf-idf"], found["least of DTM"], found["LapPLSI 1"]) == (0.3, 0.2, 0.45)


def test_weights_along_a_line_differ_in_one_direction() -> None:
    line = np.outer(np.linspace(0, 1, 20), [1.0, -0.5, -0.5]) + 1 / 3
    assert semi_supervised.directions(line) == pytest.approx(1.0)
    assert semi_supervised.directions(np.eye(4)) == pytest.approx(3.0)


def test_methods_nearer_to_themselves_than_ours_are_named() -> None:
    rows = [
        {"data": data, "method": method, "resampled": value}
        for data, own, other in (("oil", 0.5, 0.3), ("digits", 0.1, 0.3))
        for method, value in (("DA-GTM", own), ("EM-GTM", other))
    ]
    *_, last = pages.map_quality({"rows": rows})
    assert last.rows == [{"data": "oil", "method": "EM-GTM", "resampled": 0.3}]
