"""Words and how often they stand in texts, next to scikit-learn's CountVectorizer."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from isotherm import Counts, IsothermError, count_words
from isotherm.kernels.cpu.tokens import Tally
from isotherm.text import counting

# Letters whose lower case is longer, depends on their place or is ASCII; digits of other scripts;
# marks that join words or part them; bytes that mean something to the loops.
ODD = "aAbB zZ09_'-\0\n\tßẞİıΣσςKÅéÉe\u0301中文字٣²Ⅷǅ\u200d\u00ad\u3000«»🙂𝔸𐐀\ud800\udfff"
TEXTS = st.lists(st.one_of(st.text(ODD, max_size=40), st.text(max_size=30)), min_size=1, max_size=8)
PLAIN = [
    "The cat sat on the mat.",
    "",
    "Dogs and cats; the DOG'S mat!",
    "a b c",
    "naïve Ünder 中文",
]


def rival(texts: list[str], **settings: Any) -> tuple[list[str], np.ndarray]:
    """Words and counts (I, J) of scikit-learn; nothing if it finds no words."""
    vectorizer = CountVectorizer(**settings)
    try:
        table = vectorizer.fit_transform(texts).toarray()
    except ValueError:
        return [], np.zeros((len(texts), 0))
    return vectorizer.get_feature_names_out().tolist(), table


def ours(texts: Any, **settings: Any) -> tuple[list[str], np.ndarray]:
    try:
        counts = count_words(texts, **settings).counts
    except IsothermError:
        return [], np.zeros((len(texts), 0))
    assert counts.column_names is not None
    assert counts.matrix.has_canonical_format
    indices = counts.matrix.indices
    starts = counts.matrix.indptr
    for lo, hi in itertools.pairwise(starts):
        assert np.all(np.diff(indices[lo:hi]) > 0)
    return counts.column_names.tolist(), counts.matrix.toarray()


def check_same(texts: list[str], mine: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    names, table = ours(texts, **mine)
    expected_names, expected = rival(texts, **theirs)
    assert names == expected_names
    np.testing.assert_array_equal(table, expected)
    return names


@settings(max_examples=250)
@given(TEXTS, st.booleans(), st.sampled_from([1, 2, 3]))
def test_words_are_those_of_scikit_learn(texts: list[str], lowercase: bool, least: int) -> None:
    pattern = rf"(?u)\b\w{{{least},}}\b"
    # Marks and phrases that the rule misreads would be refused otherwise.
    mine = {"lowercase": lowercase, "min_length": least, "tokens": "words"}
    check_same(texts, mine, {"lowercase": lowercase, "token_pattern": pattern})


@settings(max_examples=150)
@given(TEXTS, st.sampled_from([(1, 2), (2, 2), (1, 3), (2, 4)]), st.booleans())
def test_runs_are_those_of_scikit_learn(
    texts: list[str], ngrams: tuple[int, int], stop: bool
) -> None:
    words = ["ab", "中文", "zz", "the"] if stop else None
    mine = {"ngrams": ngrams, "stop_words": words, "tokens": "words"}
    check_same(texts, mine, {"ngram_range": ngrams, "stop_words": words})


@settings(max_examples=100)
@given(
    st.lists(st.text("abc ", max_size=20), min_size=1, max_size=8),
    st.sampled_from([1, 2, 3, 0.3, 0.5]),
    st.sampled_from([1.0, 0.9, 0.5, 2, 5]),
)
def test_limits_are_those_of_scikit_learn(
    texts: list[str], low: int | float, high: int | float
) -> None:
    limits = {"min_df": low, "max_df": high, "min_length": 1}
    check_same(texts, limits, {"min_df": low, "max_df": high, "token_pattern": r"(?u)\b\w+\b"})


@settings(max_examples=100)
@given(TEXTS, st.integers(2, 4), st.sampled_from([1, 2, 10**6]), st.sampled_from([(1, 1), (1, 2)]))
def test_neither_threads_nor_chunks_matter(
    texts: list[str], n_jobs: int, size: int, ngrams: tuple[int, int]
) -> None:
    whole = ours(texts, n_jobs=1, ngrams=ngrams)
    before = counting.CHARACTERS
    counting.CHARACTERS = size
    try:
        parts = ours(texts, n_jobs=n_jobs, ngrams=ngrams)
    finally:
        counting.CHARACTERS = before
    assert parts[0] == whole[0]
    np.testing.assert_array_equal(parts[1], whole[1])


def test_real_text_is_counted_as_by_scikit_learn(shared_data: Path) -> None:
    path = shared_data / "20news" / "four-groups.jsonl.gz"
    found = count_words(path, keep="texts")
    vectorizer = CountVectorizer()
    assert found.texts is not None
    expected = vectorizer.fit_transform(found.texts)
    assert found.counts.shape == (4000, 36580)
    assert found.counts.column_names is not None
    assert found.counts.column_names.tolist() == vectorizer.get_feature_names_out().tolist()
    assert (found.counts.matrix != expected).nnz == 0


@pytest.mark.parametrize("n", [5_000, 40_000])
def test_tables_grow(n: int) -> None:
    texts = [" ".join(f"w{i}" for i in range(lo, lo + 500)) for lo in range(0, n, 500)]
    found = count_words([*texts, *texts], n_jobs=1, ngrams=(1, 2))
    words = [f"w{i}" for i in range(n)]
    pairs = [f"{a} {b}" for a, b in itertools.pairwise(words)]
    pairs = [pair for i, pair in enumerate(pairs) if (i + 1) % 500]
    assert found.counts.column_names is not None
    assert found.counts.column_names.tolist() == sorted(words + pairs)
    np.testing.assert_array_equal(found.counts.column_totals, 2)


def test_one_word_may_be_as_long_as_a_text() -> None:
    long = "x" * 300_000
    found = count_words([long, "short", long + "y " + long])
    assert found.counts.column_names is not None
    assert found.counts.column_names.tolist() == ["short", long, long + "y"]
    np.testing.assert_array_equal(found.counts.matrix.toarray(), [[0, 1, 0], [1, 0, 0], [0, 1, 1]])


def test_stop_words_leave_no_trace() -> None:
    names, table = ours(PLAIN, stop_words="english", min_df=0)
    assert names == ["cat", "cats", "dog", "dogs", "mat", "naïve", "sat", "ünder", "中文"]
    assert table.sum() == 10
    # What can never be met is no matter; case is that of the text.
    assert ours(PLAIN, stop_words=["THE", "don't", "x"])[0] == [
        *"and cat cats dog dogs mat naïve on sat ünder 中文".split()
    ]


def test_stop_words_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("the\nand\n\n  on \n", encoding="utf-8")
    assert "on" not in ours(PLAIN, stop_words=path)[0]
    assert "mat" in ours(PLAIN, stop_words=str(path))[0]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_own_rule_for_words(ngrams: tuple[int, int]) -> None:
    pattern = r"[a-z]+"
    check_same(
        PLAIN,
        {"token_pattern": pattern, "ngrams": ngrams, "stop_words": ["the"]},
        {"token_pattern": pattern, "ngram_range": ngrams, "stop_words": ["the"]},
    )
    split = ours(PLAIN, tokenizer=re.compile(pattern).findall, ngrams=ngrams, stop_words=["the"])
    assert split[0] == ours(PLAIN, token_pattern=pattern, ngrams=ngrams, stop_words=["the"])[0]


def test_most_frequent_words_stay() -> None:
    texts = ["one one one two two three", "four two three", "five"]
    assert ours(texts, max_features=2)[0] == ["one", "two"]
    # Equally frequent ones stay in the order of the alphabet.
    assert ours(texts, max_features=4)[0] == ["five", "one", "three", "two"]


def test_fixed_vocabulary() -> None:
    found = count_words(PLAIN, vocabulary=["mat", "unicorn", "cat"])
    assert found.counts.column_names is not None
    assert found.counts.column_names.tolist() == ["mat", "unicorn", "cat"]
    expected = [[1, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(found.counts.matrix.toarray(), expected)
    assert found.n_unknown_tokens == count_words(PLAIN).counts.total - 3
    assert found.n_unknown_words == 10
    nothing = count_words(["new words"], vocabulary=["old"])
    assert nothing.counts.shape == (1, 1)
    assert nothing.counts.total == 0


def test_stems_are_added_up() -> None:
    pytest.importorskip("Stemmer")
    texts = ["connected connecting connection", "The connections relate", "relating"]
    names, table = ours(texts, stemmer="porter", stop_words=["the"])
    assert names == ["connect", "relat"]
    np.testing.assert_array_equal(table, [[3, 0], [1, 1], [0, 1]])
    # Two forms in one document are one document of the stem.
    assert ours(texts, stemmer="english", stop_words=["the"], min_df=2, max_df=2)[0] == names
    pairs, _ = ours(texts, stemmer="porter", stop_words=["the"], ngrams=(2, 2))
    assert pairs == ["connect connect", "connect relat"]


def test_without_the_stemmer_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(IsothermError, match=r"isotherm\[text\]"):
        count_words(PLAIN, stemmer="porter")


def test_report_of_a_count() -> None:
    records = [("x", "one two"), ("y", "!"), ("z", "two")]
    found = count_words(records, min_df=2, keep="texts")
    assert (found.n_documents, found.n_empty, found.n_dropped_words) == (3, 1, 1)
    assert found.counts.row_names is not None
    assert found.counts.row_names.tolist() == ["x", "y", "z"]
    assert found.texts == ("one two", "!", "two")
    assert found.fields == ({}, {}, {})
    assert count_words(records).texts is None
    assert "3 rows x 1 columns" in repr(found)


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "CHARACTERS", 12)
    seen: list[int] = []
    count_words(["one two"] * 5, progress=seen.append, n_jobs=2)
    assert seen == [2, 4, 5]


def test_counts_are_exact_where_float32_is_not() -> None:
    many = (1 << 24) + 1
    tally = Tally()
    rows = tally.feed(b"ab " * 3 + b"\0", 1)
    assert rows.counts.tolist() == [3]
    found = count_words(Counts(np.array([[many]]), column_names=["word"]))
    assert found.counts.total == many


def test_a_source_that_fails_ends_all_threads() -> None:
    import threading

    def broken() -> Iterator[str]:
        yield from ["one two"] * 10
        raise RuntimeError("the disk is gone")

    before = threading.active_count()
    with pytest.raises(RuntimeError, match="disk"):
        count_words(broken(), n_jobs=3)
    assert threading.active_count() == before


def test_a_worker_that_fails_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Tally, text: bytes, n: int) -> Any:
        raise MemoryError("no more")

    monkeypatch.setattr(counting, "CHARACTERS", 1)
    monkeypatch.setattr(Tally, "feed", broken)
    with pytest.raises(MemoryError, match="no more"):
        count_words(["one"] * 100, n_jobs=2)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"min_length": 0}, "min_length=0"),
    ({"min_length": True}, "min_length=True"),
    ({"min_df": -1}, "min_df=-1"),
    ({"min_df": 1.5}, "min_df=1.5"),
    ({"max_df": "all"}, "max_df='all'"),
    ({"min_df": 3, "max_df": 2}, "max_df=2 means fewer"),
    ({"max_features": 0}, "max_features=0"),
    ({"ngrams": (2, 1)}, r"ngrams=\(2, 1\)"),
    ({"ngrams": 2}, "ngrams=2"),
    ({"ngrams": (1, 99)}, "at most 16"),
    ({"stemmer": "lancaster"}, "'porter', 'english'"),
    ({"stop_words": "german"}, "stop_words='german' is not a file"),
    ({"stop_words": [1]}, "stop_words="),
    ({"stop_words": 5}, "stop_words=5"),
    ({"vocabulary": []}, "vocabulary is empty"),
    ({"vocabulary": ["a", "a"]}, "twice"),
    ({"vocabulary": ["a"], "min_df": 2}, "fixes the columns"),
    ({"names": ["a"]}, "counted already"),
    ({"token_pattern": "("}, "token_pattern="),
    ({"token_pattern": "(a)(b)"}, "more than one group"),
    ({"tokenizer": "split"}, "tokenizer="),
    ({"tokenizer": str.split, "token_pattern": "a"}, "both given"),
    ({"tokenizer": str.split, "min_length": 3}, "min_length=3"),
    ({"tokenizer": str.split, "tokens": "words"}, "with tokenizer; one splits"),
    ({"token_pattern": "a", "tokens": "words"}, "with token_pattern; one splits"),
    ({"tokens": "letters"}, "tokens='letters'"),
    ({"header": "yes"}, "header='yes'"),
    ({"names": 3}, "counted already"),
    ({"n_jobs": 0}, "n_jobs=0"),
    ({"keep": "all"}, "keep='all'"),
    ({"errors": "ignore"}, "errors='ignore'"),
    ({"encoding": "utf-9"}, "utf-9"),
    ({"encoding": "base64"}, "base64"),
    ({"format": "docx"}, "format='docx'"),
    ({"format": "csv"}, "is for files"),
    ({"progress": 3}, "progress=3"),
    ({"text_column": 3}, "text_column=3"),
    ({"id_column": 3}, "id_column=3"),
    ({"text_column": "body"}, "its columns are 'text'"),
    ({"min_df": 4}, "no word is left"),
]


@pytest.mark.parametrize(("setting", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_settings_are_explained(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message) as caught:
        count_words(PLAIN, **setting)
    # Those who have other names for parameters know which one it is.
    assert caught.value.parameter in setting


MEMORY = """
import resource, sys
from isotherm import count_words
count_words(["warm up"], n_jobs=2)
line = " ".join("word%03d" % (i % 50) for i in range(2500))
def texts(n):
    for _ in range(n):
        yield "".join(line)[:-1] + "x"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = count_words(texts(6_000), n_jobs=2)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert found.counts.shape == (6_000, 51), found
print((after - before) // 1024, len(line) * 6_000 >> 20, found.counts.nnz)
"""


def test_memory_is_that_of_the_counts() -> None:
    """114 MiB of text go by; 300,000 cells stay, and what waits in chunks."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    used, text, nnz = map(int, done.stdout.split())
    assert text > 110
    assert nnz == 306_000
    assert used < 50


def test_english_stop_words_leave_what_may_be_a_subject():
    words = count_words(["the share of interest rates", "an aspect of it is the result"], min_df=1)
    kept = count_words(
        ["the share of interest rates", "an aspect of it is the result"],
        min_df=1,
        stop_words="english",
    )
    assert list(kept.counts.column_names) == ["aspect", "interest", "rates", "result", "share"]
    assert words.counts.n_columns > 5
