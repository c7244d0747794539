"""The verbs that tell of a run: topics, tree, search, info."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, SearchIndex, load
from isotherm.cli import runs
from isotherm.cli.query import asked
from isotherm.retrieval.scoring import SearchSettings
from support.cli import THINGS


@pytest.fixture(scope="module")
def two_sided(stories: Path) -> Path:
    from isotherm import cli

    run = stories.with_name("two.run")
    words = ["fit", str(stories), "--model", "two-sided", "--topics", "2", "-o", str(run)]
    assert cli.main([*words, "--json"]) == 0
    return run


# topics -------------------------------------------------------------------------------------------


def test_topics_are_those_of_the_model(grown: Path, say: Any) -> None:
    model = load(grown / "model.iso")
    found = say("topics", grown, "-n", "4", "--by", "lift", "--json")
    words = model.top_words(4, by="lift")
    order = np.argsort(-model.weights_, kind="stable").tolist()
    assert [one["topic"] for one in found] == order
    assert [one["words"] for one in found] == [words[k] for k in order]
    assert sum(one["share"] for one in found) == pytest.approx(1)
    assert [one["name"] for one in found] == [model.names_[k] for k in order]
    assert [one["reproducibility"] for one in found] == model.reproducibility_[order].tolist()
    first = say("topics", grown).splitlines()[0]
    name, shown = model.names_[order[0]], model.top_words(10)[order[0]]
    assert first.split("%")[1].split() == [
        f"{model.reproducibility_[order[0]]:.2f}",
        *name.split(),
        *(word for word in shown if word not in name.split(", ")),
    ]
    assert {shown[0] in words for words in THINGS.values()} == {True, False}


def test_topics_and_nodes_say_how_reproducible_they_are(
    grown: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(grown / "model.iso")
    K, tree = len(model.weights_), model.topic_tree_
    model.reproducibility_ = np.array([0.41, *[0.93] * (K - 1)])
    model.node_reproducibility_ = np.full(tree.n_nodes, 0.88)
    model.node_reproducibility_[tree.leaves[0]] = np.nan
    monkeypatch.setattr(runs.Run, "model", model)
    known = {one["topic"]: one["reproducibility"] for one in say("topics", grown, "--json")}
    assert known == {k: 0.41 if k == 0 else 0.93 for k in range(K)}
    lines = say("topics", grown).splitlines()
    (low,) = [line for line in lines if line.endswith("(only in this sample)")]
    assert (low.split()[0], low.split()[3]) == ("0", "0.41")
    assert sum(" 0.93 " in line for line in lines) == K - 1
    branches = say("tree", grown).splitlines()
    assert sum(line.endswith(" %  0.88") for line in branches) == tree.n_nodes - 1
    nested = say("tree", grown, "--json")
    assert nested["reproducibility"] == 0.88
    assert not any(line.endswith("0.88") for line in say("tree", grown, "--splits").splitlines())


# tree ---------------------------------------------------------------------------------------------


def test_tree_in_its_three_forms(grown: Path, say: Any) -> None:
    tree = load(grown / "model.iso").topic_tree_
    lines = say("tree", grown, "-n", "2").splitlines()
    assert lines[0].startswith(f"({tree.similarities[0]:.3g}) ")
    assert len(lines) == tree.n_nodes
    assert sum("[" in line for line in lines) == tree.n_leaves
    assert lines[0].endswith("100.0 %  1.00")
    assert lines[1].startswith("├─ ")
    assert lines[-1].lstrip().startswith("└─ ")
    nested = say("tree", grown, "--json")
    assert len(nested["children"]) == 2
    assert nested["share"] == pytest.approx(1)
    newick = say("tree", grown, "--newick")
    assert newick.endswith(";\n")
    assert newick.count("'") == 2 * tree.n_leaves
    splits = load(grown / "model.iso").tree_
    told = say("tree", grown, "--splits").splitlines()
    assert len(told) == splits.n_nodes
    assert told[0].startswith(f"(T {splits.temperatures[0]:.3g}) ")


def test_levels_are_shown_where_they_are_asked_for(
    stories: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    out = tmp_path / "a.run"
    say("fit", stories, "--max-topics", "6", "-o", out)
    model = load(out / "model.iso")
    for level in model.levels_:
        number = str(level.n_components)
        assert len(say("topics", out, "--level", number, "--json")) == level.n_components
        tree = say("tree", out, "--level", number).splitlines()
        assert len(tree) == 2 * level.n_components - 1
    said = fails("topics", out, "--level", "99")
    assert "--level 99; the levels have" in said
    assert f"{model.n_components_}" in said
    say("fit", stories, "--topics", "2", "-o", tmp_path / "b.run")
    assert "has no levels" in fails("topics", tmp_path / "b.run", "--level", "2")


def test_a_run_without_a_tree_says_how_to_get_one(two_sided: Path, fails: Any) -> None:
    assert "--topics auto" in fails("tree", two_sided)
    assert "leave --splits out" in fails("tree", two_sided, "--splits")


# search -------------------------------------------------------------------------------------------


def test_search_ranks_as_the_index_does(grown: Path, say: Any) -> None:
    words = ["The", "ship", "in", "the", "harbour", "zeppelin"]
    found = say("search", grown, *words, "-n", "3", "--json")
    assert (found["query"], found["unknown"]) == (["ship", "harbour"], ["zeppelin"])
    assert "note: no document has zeppelin" in say.err
    index = SearchIndex.of(load(grown / "model.iso"), Counts.load(grown / "counts.iso"))
    hits = index.query(["ship", "harbour"], 3).hits
    assert [one["id"] for one in found["documents"]] == [hit.name for hit in hits]
    assert [one["score"] for one in found["documents"]] == [hit.score for hit in hits]
    assert all(one["title"].startswith("sea story") for one in found["documents"])
    text = say("search", grown, "ship harbour", "-n", "1")
    assert text.startswith(f"  1. {hits[0].score:.3f}  {hits[0].name}  sea story ")
    assert "topic" in text
    words = ["ship", "--weights", "bm25", "--interpolation", "0.2", "--json"]
    scores = [one["score"] for one in say("search", grown, *words)["documents"]]
    settings = SearchSettings("words", "bm25", 0.2)
    assert scores == index.with_settings(settings).query("ship").scores


def test_search_by_forms_phrases_and_without_words(grown: Path, say: Any) -> None:
    forms = say("search", grown, "ships harbours", "--json")
    assert (forms["query"], forms["unknown"]) == (["ship", "harbour"], [])
    assert forms["documents"] == say("search", grown, "ship harbour", "--json")["documents"]
    docs = runs.open_run(grown).documents
    texts = dict(zip(docs.ids, docs.texts or (), strict=True))
    words, known = texts["d0"].split(), set(runs.open_run(grown).words)
    pairs = itertools.pairwise(words)
    first, second = next(pair for pair in pairs if known.issuperset(pair) and len(set(pair)) == 2)
    found = say("search", grown, f'"{first} {second}"', "-n", "100", "--json")["documents"]
    assert "d0" in [one["id"] for one in found]
    assert all(f"{first} {second}" in texts[one["id"]] for one in found)
    everything = say("search", grown, f"{first}", "-n", "100", "--json")["documents"]
    for word in (second, "harbour", "storm"):
        without = say("search", grown, f"{first} -{word}", "-n", "100", "--json")["documents"]
        left = [one["id"] for one in everything if word not in texts[one["id"]].split()]
        assert [one["id"] for one in without] == left


def test_stop_words_of_a_query_are_named(grown: Path, say: Any) -> None:
    found = say("search", grown, "the ship", "--json")
    assert (found["stopped"], found["unknown"]) == (["the"], [])
    assert "stop words, which were not counted: the" in say.err


def test_stop_words_alone_find_nothing(grown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from isotherm import cli

    assert cli.main(["search", str(grown), "of", "the"]) == 1
    note, error = capsys.readouterr().err.splitlines()
    assert "stop words, which were not counted: of, the" in note
    assert "no word of the query 'of the' is anything but a stop word" in error


def test_search_for_nothing_known(grown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from isotherm import cli

    assert cli.main(["search", str(grown), "zeppelin"]) == 1
    note, error = capsys.readouterr().err.splitlines()
    assert "no document has zeppelin" in note
    assert "no word of the query 'zeppelin'" in error


def test_search_needs_topics_of_documents(two_sided: Path, fails: Any) -> None:
    said = fails("search", two_sided, "ship")
    assert "TwoSidedClustering" in said
    assert f"isotherm fit {two_sided}" in said


def test_words_of_a_query_are_made_like_columns() -> None:
    plain = {
        **{"lowercase": True, "min_length": 2, "tokens": None, "token_pattern": None},
        **{"stop_words": "english", "ngrams": [1, 2], "stem": None},
    }
    found = asked("The Oil price of Brent", plain, ["oil", "oil price", "price"])
    assert found == (["oil", "price", "oil price"], ["brent"], ["the", "of"])
    # A word that is a column in a run alone is not unknown.
    assert asked("oil price", plain, ["oil price"]) == (["oil price"], [], [])
    kept = {**plain, "lowercase": False, "stop_words": "none", "token_pattern": "[A-Z]"}
    assert asked("The Oil", kept, ["T"]) == (["T"], ["O"], [])


def test_stop_words_of_a_file_that_is_gone(stories: Path, tmp_path: Path, say: Any) -> None:
    stop, run = tmp_path / "stop.txt", tmp_path / "a.run"
    stop.write_text("the\nof\nit\nship\n")
    say("fit", stories, "--stop-words", stop, "--topics", "2", "-o", run)
    assert "ship" not in runs.open_run(run).words
    assert say("search", run, "the ship anchor", "--json")["unknown"] == []
    stop.unlink()
    found = say("search", run, "the ship anchor", "--json")
    assert (found["query"], found["unknown"]) == (["anchor"], ["the", "ship"])


# info ---------------------------------------------------------------------------------------------


def test_info_of_a_run(grown: Path, say: Any) -> None:
    found = say("info", grown, "--json")
    assert (found["kind"], found["state"], found["documents"]) == ("run", "done", 60)
    assert found["files"] == {"counts.iso": "ok", "model.iso": "ok"}
    assert found["settings"]["labels"] == "kind"
    assert "counts.iso ok, model.iso ok" in say("info", grown)


def test_info_of_files(grown: Path, stories: Path, tmp_path: Path, say: Any, fails: Any) -> None:
    found = say("info", grown / "counts.iso", "--json")
    assert (found["kind"], found["version"], found["checksums"]) == ("counts", 1, "ok")
    assert "60 rows x 30 columns" in found["holds"]
    found = say("info", stories, "--json")
    assert (found["kind"], found["format"], found["documents"]) == ("documents", "jsonl", 60)
    assert (found["text_column"], found["fields"]) == ("text", ["title", "kind"])
    table = tmp_path / "toy.ldac"
    table.write_text("2 0:2 2:1\n1 1:4\n")
    found = say("info", table, "--json")
    assert (found["format"], found["documents"], found["tokens"]) == ("ldac", 2, 7)
    broken = tmp_path / "broken.iso"
    content = bytearray((grown / "counts.iso").read_bytes())
    content[len(content) // 2] ^= 1
    broken.write_bytes(content)
    assert "damaged" in fails("info", broken)
    assert "there is no file" in fails("info", tmp_path / "none")


def test_an_unfinished_run_is_told(grown: Path, tmp_path: Path, say: Any) -> None:
    folder = tmp_path / "a.run.unfinished"
    folder.mkdir()
    about = json.loads((grown / runs.ABOUT).read_text())
    (folder / runs.ABOUT).write_text(json.dumps(about))
    assert "not done" in say("info", folder)
