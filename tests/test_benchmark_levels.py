"""What the benchmark of numbers of topics makes of measurements; no peer is needed."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from benchmarks.harness import labelled
from benchmarks.harness.labelled import Case
from benchmarks.page import topics as pages
from benchmarks.quality import levels
from benchmarks.quality.levels import CLUSTERS, HDP, NMF, TOPICS, Answer, Sheet, title
from isotherm import Counts

DEFAULT, CUT = (f"{CLUSTERS}, {what}" for what in (levels.DEFAULT, levels.CUT))
OF_TOPICS = f"{TOPICS}, {levels.DEFAULT}"
CASE = Case(
    "text",
    Counts(sparse.csr_array(np.kron(np.eye(2, dtype=int), np.full((4, 3), 2)))),
    np.array([0, 0, 0, 0, 1, 1, 1, -1]),
    2,
)


def answer(table: list[list[float]], largest: list[int], error: str = "") -> Answer:
    words = [[int(j) for j in np.flatnonzero(row)] for row in table]
    return Answer(words, np.array(table), np.array(largest), 2.0, error)


RIGHT = answer([[3, 2, 1, 0, 0, 0], [0, 0, 0, 3, 2, 1]], [0, 0, 0, 0, 1, 1, 1, 0])
FAILED = answer([], [], "no wheel")


@pytest.mark.parametrize("draw", labelled.PLANTED)
def test_planted_documents_have_their_groups(draw: Any) -> None:
    case = draw(5, 1)
    known = case.labels[case.labels >= 0]
    assert (case.n_groups, len(known)) == (5, 5 * labelled.ROWS)
    assert case.counts.n_rows == len(case.labels)
    assert set(known) == set(range(5))
    assert (case.counts.matrix.sum(axis=0) > 0).all()


def test_islands_share_no_word_with_the_rest() -> None:
    case = labelled.islands(5, 1)
    used = [
        set(case.counts.matrix[case.labels == label].indices) for label in sorted(set(case.labels))
    ]
    assert case.labels.tolist().count(-1) == labelled.ISLANDS * labelled.ISLANDERS
    assert not used[0] & set().union(*used[1:])


def test_documents_repeat_words_of_their_own() -> None:
    plain, own = labelled.mixed(5, 1).counts, labelled.own_words(5, 1).counts
    more = own.matrix[:, plain.n_columns :]
    assert (np.diff(sparse.csr_array(more).indptr) == labelled.OWN).all()
    assert more.data.min() >= labelled.REPEATS


def test_quoted_lines_go() -> None:
    text = (
        "In article <1@b> a@b (A B) writes:\n> said\nJK> more\n|> less\n: so\nfoo@bar writes:\nmine"
    )
    assert labelled.unquoted(text) == "mine"


def test_a_row_of_a_number_says_how_far_it_is_off() -> None:
    row = levels.numbered(CASE, DEFAULT, RIGHT, [2, 4])
    assert (row["K"], row["error"], row["AMI"], row["levels"]) == (2, 0.0, 1.0, "2, 4")
    three = answer([[1, 0], [0, 1], [1, 1]], [0, 0, 2, 2, 1, 1, 1, 0])
    assert levels.numbered(CASE, DEFAULT, three)["error"] == pytest.approx(0.5)
    failed = levels.numbered(CASE, DEFAULT, FAILED)
    assert failed["note"] == "no wheel"
    assert set(failed) == set(row)
    bare = levels.numbered(CASE._replace(labels=None, n_groups=0), DEFAULT, RIGHT)
    assert (bare["labels"], bare["error"], bare["AMI"]) == (None, None, None)


def test_words_that_occur_together_are_coherent() -> None:
    row = levels.worded(CASE, TOPICS, RIGHT)
    assert (row["NPMI"], row["diversity"]) == pytest.approx((1.0, 1.0))
    torn = answer([[1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 0, 0]], [0] * 8)
    assert levels.worded(CASE, TOPICS, torn)["NPMI"] < 0
    assert levels.worded(CASE, TOPICS, FAILED)["NPMI"] is None


def test_topics_of_two_halves_are_matched() -> None:
    other = answer(RIGHT.table[::-1].tolist(), [])
    row = levels.halved(CASE, TOPICS, (RIGHT, other))
    assert row["cosine"] == pytest.approx(1.0)
    assert row["same words"] == pytest.approx(3 / levels.N_WORDS)
    assert levels.halved(CASE, TOPICS, (RIGHT, FAILED))["cosine"] is None
    first, second = levels.halves(CASE)
    assert sorted([*first, *second]) == list(range(8))


def test_rows_of_peers_are_kept_and_ours_replaced() -> None:
    before = {"told": [{"data": "a", "method": "x", "K": 1}, {"data": "a", "method": "y", "K": 2}]}
    new = {"data": "a", "method": "x", "K": 9}
    for kept, expected in ((True, [1, 2]), (False, [9, 2])):
        sheet = Sheet(before, kept)
        sheet.peer("told", lambda: new, data="a", method="x")
        assert [row["K"] for row in sheet.rows["told"]] == expected
    sheet.put("told", {"data": "a", "method": "y", "K": 7}, "data", "method")
    sheet.put("told", {"data": "b", "method": "y", "K": 8}, "data", "method")
    assert [row["K"] for row in sheet.rows["told"]] == [9, 7, 8]
    assert [row["K"] for row in before["told"]] == [1, 2]


def test_rows_of_numbers_that_ours_no_longer_has_go() -> None:
    def at(K: int, method: str, data: str = "a") -> dict[str, Any]:
        return {"data": data, "K": K, "method": method}

    nmf, hdp = title(NMF), title(HDP)
    kept = [at(7, hdp), at(8, nmf, "b"), at(8, TOPICS, "b")]
    sheet = Sheet({"words": [at(8, TOPICS), at(8, nmf), at(4, nmf), *kept]}, kept=True)
    sheet.forget("a", TOPICS)
    sheet.put("words", at(4, TOPICS), "data", "K", "method")
    sheet.match("a", [TOPICS])
    assert sheet.rows["words"] == [at(4, nmf), *kept, at(4, TOPICS)]


def test_topics_of_a_level_are_those_of_the_fit() -> None:
    own = levels.ours(TOPICS, labelled.mixed(5, 0).counts)
    assert own.levels[0] == own.model.n_components_ == 5
    assert levels.with_topics(own, CASE, 5)[0].n_components_ == 5
    assert 0.9 < (levels.reproducible(own.model) or 0.0) <= 1.0


def row(method: str, **more: Any) -> dict[str, Any]:
    own = {"data": "text", "method": method, "labels": 10, "K": 12, "error": 0.2, "AMI": 0.5}
    return own | more


def judged(**tables: list[dict[str, Any]]) -> dict[str, Any]:
    rows = dict.fromkeys(levels.TABLES, ()) | tables
    return {target.name: target for target in levels.judge(rows)}


def test_planted_numbers_are_right_when_exact() -> None:
    rows = [
        {
            "data": "mixed",
            "planted": 5,
            "seed": seed,
            "method": f"{TOPICS}, {levels.DEFAULT}",
            "K": K,
            "AMI": 1.0,
        }
        | {"error": abs(K - 5) / 5}
        for seed, K in enumerate((5, 5, 6, 9))
    ]
    (entry,) = levels.planted_table(rows)
    assert (entry["exact"], entry["within one"]) == (0.5, 0.75)
    assert entry["planted 5"] == "5, 5, 6, 9"
    (target,) = judged(planted=rows).values()
    assert not target.met


def test_the_default_number_is_judged_by_the_labels() -> None:
    errors = [row(DEFAULT, error=value) for value in (0.1, 1.3, None)]
    targets = judged(numbers=errors)
    mean, most = (targets[f"{CLUSTERS}: error of the default number next to the labels, {what}"]
                  for what in ("mean", "most"))  # fmt: skip
    assert (mean.value, most.value) == (pytest.approx(0.7), 1.3)
    assert (mean.met, most.met) == (False, True)


def test_ours_is_judged_by_the_best_of_the_others() -> None:
    numbers = [
        row(DEFAULT),
        row(f"{TOPICS}, {levels.DEFAULT}", AMI=0.9),
        row("a", AMI=0.6),
        row("b", AMI=None),
        row("c", data="other", AMI=0.9),
    ]
    told = [row(CUT, AMI=0.8), row("d", AMI=0.7)]
    words = [
        {"data": "text", "K": K, "method": method, "NPMI": value, "diversity": 1.0}
        for K, method, value in (
            (5, TOPICS, 0.3), (5, title(NMF), 0.2), (5, "other", 0.9), (9, title(NMF), 0.8)
        )
    ]  # fmt: skip
    targets = judged(numbers=numbers, told=told, words=words)
    assert targets["text: AMI, default level - best peer"].value == pytest.approx(-0.1)
    assert targets["text: AMI, as many as labels - best peer"].value == pytest.approx(0.1)
    assert targets["text, K = 5: NPMI, topics - NMF of tf-idf"].value == pytest.approx(0.1)
    assert len([name for name in targets if "NPMI" in name]) == 1


def test_topics_of_halves_are_judged_on_average() -> None:
    rows = [
        {"data": str(i), "K": 4, "method": method, "cosine": cosine}
        for i, method, cosine in ((0, TOPICS, 1.0), (1, TOPICS, 0.7), (1, "a", 0.1))
    ]
    target = judged(halves=rows)[
        f"{TOPICS}: halves, cosine at the default level, mean of the collections"
    ]
    assert target.value == pytest.approx(0.85)
    assert not target.met


def test_the_dearest_levels_are_judged() -> None:
    costs = [{"method": TOPICS, "ratio": 1.4}, {"method": TOPICS, "ratio": 2.5}]
    assert not judged(costs=costs)[f"{TOPICS}: cost of levels, most"].met


def test_the_page_has_every_table() -> None:
    document = {
        "summary": [], "numbers": [row(DEFAULT), row(title(HDP))], "told": [row(CUT)],
        "halves": [{"data": "text", "K": 12, "method": TOPICS, "cosine": 0.9}],
        "words": [{"data": "text", "K": 12, "method": TOPICS, "NPMI": 0.2, "diversity": 1.0}],
        "costs": [{"data": "text", "ratio": 1.4}],
    }  # fmt: skip
    shown = list(pages.levels(document))
    assert [len(table.rows) for table in shown] == [0, 2, 1, 1, 1, 1]
