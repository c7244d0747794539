"""`isotherm eval`."""

import json
from pathlib import Path
from typing import Any

import pytest

from isotherm import Counts, SearchIndex, count_words, load
from isotherm.evaluate import evaluate_topics, purity, stability
from isotherm.retrieval.evaluate import evaluate
from support.cli import THINGS, write_stories


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
    assert found.pop("skipped") == {"stability": "needs other fits (--others)"}
    assert found == {k: v for k, v in expected.as_dict().items() if k != "skipped"}
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


def test_stability_against_other_runs(
    grown: Path, stories: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    runs = [tmp_path / f"{seed}.run" for seed in (1, 2)]
    for seed, run in enumerate(runs, 1):
        say("fit", grown, "-o", run, "--topics", "3", "--seed", str(seed), "--json")
    found = say("eval", grown, "--others", f"{runs[0]},{runs[1]}", "--json")
    models = [load(run / "model.iso") for run in (grown, *runs)]
    assert found["stability"]["mean"] == stability(models).mean > 0.9
    assert "stability" not in found["skipped"]
    assert "matched topics, 3 fits" in say("eval", grown, "--others", f"{runs[0]},{runs[1]}")
    other = tmp_path / "other.run"
    say("fit", stories, "-o", other, "--topics", "2", "--min-df", "30", "--json")
    assert "different words" in fails("eval", grown, "--others", other)
    assert "is no run" in fails("eval", grown, "--others", stories)


def test_documents_without_a_label_are_left_out(tmp_path: Path, say: Any) -> None:
    source = write_stories(tmp_path / "a.jsonl")
    entries = [json.loads(line) for line in source.read_text().splitlines()]
    for i, entry in enumerate(entries):
        entry["kind"] = [entry["kind"], None, ""][0 if i < 45 else 1 + i % 2]
    source.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    words = ["--model", "lap-plsi", "--topics", "3", "--json"]
    say("fit", source, "-o", tmp_path / "a.run", *words, "--supervise", "kind")
    found = say("eval", tmp_path / "a.run", "--labels", "kind", "--json")["agreement"]
    assert "the fit has learned from the labels in 'kind'" in say.err
    model, counts = (
        load(tmp_path / "a.run" / "model.iso"),
        Counts.load(tmp_path / "a.run" / "counts.iso"),
    )
    own = model.transform(counts).argmax(axis=1)[:45]
    assert found["purity"] == purity([entry["kind"] for entry in entries[:45]], own) > 0.9
