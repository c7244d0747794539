"""`isotherm count`."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, count_words
from isotherm.cli import documents


def test_counts_are_those_of_the_library(stories: Path, tmp_path: Path, say: Any) -> None:
    out = tmp_path / "a.counts"
    words = ["--min-df", "5", "--max-df", "0.9", "--ngrams", "2", "--stop-words", "none"]
    said = say("count", stories, "-o", out, *words, "--json")
    found = Counts.load(out)
    expected = count_words(stories, min_df=5, max_df=0.9, ngrams=(1, 2)).counts
    assert list(found.column_names) == list(expected.column_names)
    assert (found.matrix != expected.matrix).nnz == 0
    assert list(found.row_names) == list(expected.row_names)
    assert (said["documents"], said["words"]) == found.shape
    assert (said["tokens"], said["n_problems"]) == (found.total, 0)


def test_titles_fields_and_texts_are_kept(stories: Path, tmp_path: Path, say: Any) -> None:
    out = tmp_path / "a.counts"
    said = say("count", stories, "-o", out)
    assert said.startswith(f"{out}: 60 documents, 30 words, ")
    assert f"next: isotherm fit {out}" in said
    docs = documents.read(documents.beside(out), Counts.load(out))
    first = json.loads(stories.read_text().splitlines()[0])
    assert (docs.ids[0], docs.titles[0], docs.texts[0]) == ("d0", "sea story 0", first["text"])
    assert docs.labels("kind") == ["sea", "money", "sport"] * 20
    say("count", stories, "-o", out, "--force", "--keep", "none")
    docs = documents.read(documents.beside(out), Counts.load(out))
    assert docs.texts is None
    assert docs.titles[0] == "d0"


def test_lines_that_cannot_be_read_are_listed(tmp_path: Path, say: Any, fails: Any) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "ships sail"}\n' + "{broken\n" * 7)
    said = say("count", source, "-o", tmp_path / "a.counts")
    assert "1 document, 2 words, 2 tokens, 7 problems" in said
    lines = say.err.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith(f"isotherm: note: {source}:2: no valid JSON")
    assert lines[5] == "isotherm: note: and 2 more that could not be read"
    found = say("count", source, "-o", tmp_path / "a.counts", "--force", "--json")
    assert (found["n_problems"], len(found["problems"])) == (7, 7)
    assert f"{source}:2" in fails("count", source, "-o", tmp_path / "b.counts", "--strict")
    assert not (tmp_path / "b.counts").exists()


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("{broken\n", [], "gave no documents"),
        ("", [], "gave no documents"),
        ('{"text": "of the"}\n', [], "no word is left"),
        ('{"text": "word"}\n', ["--text-column", "body"], "--text-column 'body' is not in"),
        ('{"text": "word"}\n', ["--stop-words", "no-such-file"], "no-such-file"),
        ('{"text": "word"}\n', ["-o", "no/folder/a.counts"], "there is no folder no/folder"),
    ],
)
def test_nothing_is_written_where_nothing_can_be(
    text: str, words: list[str], message: str, tmp_path: Path, fails: Any
) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text(text)
    out = [] if "-o" in words else ["-o", tmp_path / "a.counts"]
    assert message in fails("count", source, *out, *words)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_missing_source_names_the_nearest(stories: Path, fails: Any) -> None:
    assert str(stories) in fails("count", stories.with_name("storys.jsonl"))


def test_nothing_is_replaced_without_force(stories: Path, tmp_path: Path, fails: Any) -> None:
    out = tmp_path / "a.counts"
    out.write_text("mine")
    assert "--force" in fails("count", stories, "-o", out)
    assert out.read_text() == "mine"


def test_the_name_comes_from_the_source(
    stories: Path, tmp_path: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    say("count", stories)
    np.testing.assert_array_equal(Counts.load("stories.counts").shape, (60, 30))


def test_documents_that_are_not_those_of_the_counts(
    stories: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    out = tmp_path / "a.counts"
    say("count", stories, "-o", out)
    beside = documents.beside(out)
    whole = beside.read_bytes()
    lines = gzip.decompress(whole).splitlines(keepends=True)
    beside.write_bytes(gzip.compress(b"".join(lines[:-1])))
    assert "has other documents" in fails("fit", out, "-o", tmp_path / "a.run")
    beside.write_bytes(whole[:-30])
    assert "is damaged" in fails("fit", out, "-o", tmp_path / "a.run")
    beside.unlink()
    found = say("fit", out, "-o", tmp_path / "a.run", "--topics", "2", "--json")
    assert found["documents"] == 60
    assert say("search", tmp_path / "a.run", "ship", "--json")["documents"][0]["title"][0] == "d"
