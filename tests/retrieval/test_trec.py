"""Files of judgements and rankings."""

from pathlib import Path

import numpy as np
import pytest

from isotherm.errors import IsothermError
from isotherm.retrieval.trec import read_qrels, relevance, write_run


def test_judgements_are_read(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("1\t0\t7\t2\n\n1 0 9 -1\n2 0 7 3\n", encoding="utf-8")
    assert read_qrels(path) == {"1": {"7": 2, "9": -1}, "2": {"7": 3}}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1 0 7 2\n1 0 7\n", "line 2"),
        ("1 0 7 high\n", "line 1"),
        ("1 0 7 2\n1 0 7 3\n", "as 3"),
        ("\n", "no judgements"),
    ],
)
def test_broken_judgements_are_refused(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(IsothermError, match=match):
        read_qrels(path)


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="cannot be read"):
        read_qrels(tmp_path / "nothing.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(IsothermError, match="cannot be read"):
        read_qrels(tmp_path / "binary")


def test_relevance_leaves_out_documents_that_are_not_there() -> None:
    judged = {"1": {"7": 2, "9": -1, "100": 1}, "3": {"7": 1}}
    every = relevance(judged, [1, 2], [7, 8, 9])
    np.testing.assert_array_equal(every.toarray(), [[1, 0, 1], [0, 0, 0]])
    some = relevance(judged, [1, 2], [7, 8, 9], grades=range(1, 5))
    np.testing.assert_array_equal(some.toarray(), [[1, 0, 0], [0, 0, 0]])
    with pytest.raises(IsothermError, match="repeat"):
        relevance(judged, [1], [7, 7])


def test_run_has_the_best_documents_with_exact_scores(tmp_path: Path) -> None:
    scores = np.array([[0.1, 0.3, 0.2], [1.0, 1.0, 0.0]])
    path = write_run(tmp_path / "run.txt", scores, ["q1", "q2"], ["a", "b", "c"], n=2, tag="mine")
    assert path.read_text(encoding="utf-8").splitlines() == [
        "q1 Q0 b 1 0.3 mine",
        "q1 Q0 c 2 0.2 mine",
        "q2 Q0 a 1 1.0 mine",
        "q2 Q0 b 2 1.0 mine",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["run.txt"]
    with pytest.raises(IsothermError, match="shape"):
        write_run(path, scores, ["q1"], ["a", "b", "c"])
    with pytest.raises(IsothermError, match="blanks"):
        write_run(path, scores, ["q1", "q 2"], ["a", "b", "c"])
