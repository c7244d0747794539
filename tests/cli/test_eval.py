"""`isotherm eval`."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.stories import THINGS, write_stories
from isotherm import Counts, SearchIndex, count_words, load
from isotherm.evaluate import evaluate_topics
from isotherm.retrieval.evaluate import evaluate


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Queries and judgements: stories of a kind are relevant to its first word."""
    folder = tmp_path_factory.mktemp("judged")
    queries, qrels = folder / "queries.jsonl", folder / "qrels.txt"
    lines = [json.dumps({"id": f"q{i}", "text": THINGS[kind][0]}) for i, kind in enumerate(THINGS)]
    queries.write_text("\n".join(lines))
    pairs = [f"q{i} 0 d{j} {int(j % 3 == i)}" for i in range(3) for j in range(30)]
    qrels.write_text("\n".join(pairs))
    return queries, qrels


def test_measures_are_those_of_the_library(grown: Path, tmp_path: Path, say: Any) -> None:
    other = write_stories(tmp_path / "other.jsonl", 20, seed=1)
    found = say("eval", grown, "--heldout", other, "-n", "5", "--json")
    model, counts = load(grown / "model.iso"), Counts.load(grown / "counts.iso")
    heldout = count_words(other, vocabulary=counts.column_names).counts
    labels = ["sea", "money", "sport"] * 20
    expected = evaluate_topics(model, counts, heldout=heldout, labels=labels, n_words=5)
    assert found == expected.as_dict()
    assert found["perplexity"] == model.perplexity(heldout)
    assert found["agreement"]["purity"] > 0.9
    text = say("eval", grown)
    assert "npmi" in text
    assert "fits=" not in text


def test_retrieval_by_judgements(grown: Path, judged: tuple[Path, Path], say: Any) -> None:
    queries, qrels = judged
    found = say("eval", grown, "--queries", queries, "--qrels", qrels, "--json")["retrieval"]
    counts = Counts.load(grown / "counts.iso")
    index = SearchIndex.of(load(grown / "model.iso"), counts)
    asked = count_words(queries, vocabulary=counts.column_names).counts
    relevant = [[j < 30 and j % 3 == i for j in range(60)] for i in range(3)]
    expected = evaluate(index.rank(asked), relevant)
    assert found["queries"] == 3
    assert found["mean_average_precision"] == expected.mean_average_precision
    assert found["precision_at_recall"]["0.5"] == expected.mean_precision[2]
    # All that are listed: also those of grade 0.
    words = ["--min-grade", "0", "--json"]
    more = say("eval", grown, "--queries", queries, "--qrels", qrels, *words)["retrieval"]
    assert more["mean_average_precision"] != found["mean_average_precision"]
    assert "mean average precision" in say("eval", grown, "--queries", queries, "--qrels", qrels)


def test_what_cannot_be_measured(
    grown: Path, judged: tuple[Path, Path], tmp_path: Path, fails: Any
) -> None:
    queries, qrels = judged
    assert "belong together" in fails("eval", grown, "--queries", queries)
    assert str(qrels) in fails("eval", grown, "--queries", queries, "--qrels", str(qrels)[:-1])
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "zeppelin"}\n')
    assert "no word of" in fails("eval", grown, "--heldout", other)
    wrong = tmp_path / "qrels.txt"
    wrong.write_text("x 0 y 1\n")
    assert "names must be the same" in fails("eval", grown, "--queries", queries, "--qrels", wrong)
