"""Coherence: formulas by hand and by brute force, and the figures of another program."""

from collections.abc import Iterator
from itertools import combinations
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from evaluate.reference_texts import TOPICS, VOCABULARY, reference_texts
from isotherm import Counts
from isotherm.errors import IsothermError
from isotherm.evaluate import coherence

TEXTS = reference_texts()
LETTERS = [list("ababc"), list("aab"), list("ccd"), list("dcabbbda"), [], list("d")]

# gensim 4.4.0: CoherenceModel(topics=TOPICS, texts=TEXTS, dictionary=Dictionary(TEXTS),
# corpus=[Dictionary(TEXTS).doc2bow(t) for t in TEXTS], coherence=..., window_size=..., topn=8,
# processes=1).get_coherence_per_topic(). It forgets a word that leaves a window even if the window
# holds it once more; in TEXTS no window holds a word twice. Its U_mass adds 1e-12 to the share of
# documents.
GENSIM = [
    ("npmi", 10, {}, [-0.0111940003, -0.0379230787, -0.0609712542, -0.0306396478, -0.1798988759]),
    ("c_v", 110, {}, [0.6146606761, 0.63559709, 0.468543641, 0.6060563137, 0.3089191418]),
    (
        "u_mass",
        None,
        {"smoothing": 60e-12},
        [-0.489907927, -0.5039042255, -0.5864267741, -0.7679146335, -1.0334469547],
    ),
    (
        "npmi",
        5,
        {"window": 5},
        [-0.2286508949, -0.2848936623, -0.1699032146, -0.1332100523, -0.2872160406],
    ),
    (
        "c_v",
        7,
        {"window": 7},
        [0.2644513773, 0.2031606057, 0.3124722812, 0.3398434767, 0.2102549116],
    ),
]


@pytest.mark.parametrize(("measure", "window", "options", "expected"), GENSIM)
def test_figures_of_gensim(measure: str, window: Any, options: Any, expected: Any) -> None:
    found = coherence(TOPICS, TEXTS, measure, 8, **options)
    assert found.per_topic == pytest.approx(expected, abs=2e-10)
    assert found.mean == pytest.approx(np.mean(expected), abs=2e-10)
    assert (found.measure, found.window) == (measure, window)
    assert found.missing.tolist() == [0] * 5


def windows(texts: list[list[str]], size: int | None) -> Iterator[set[str]]:
    for text in filter(None, texts):
        last = 1 if size is None else max(1, len(text) - size + 1)
        for i in range(last):
            yield set(text[i:] if size is None else text[i : i + size])


def brute(texts: list[list[str]], size: int | None, words: str) -> tuple[int, Any]:
    held = list(windows(texts, size))
    table = [[sum({a, b} <= window for window in held) for b in words] for a in words]
    return len(held), np.array(table, float)


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8, 20, None])
def test_npmi_of_words_that_repeat(size: int | None) -> None:
    n, joint = brute(LETTERS, size, "abcd")
    p, e = joint / n, 1e-12
    pairs = [
        log((p[i, j] + e) / (p[i, i] * p[j, j])) / -log(p[i, j] + e)
        for i, j in combinations(range(4), 2)
    ]
    found = coherence([list("abcd")], LETTERS, window=size or "document")
    assert found.per_topic == pytest.approx([np.mean(pairs)], rel=1e-12)
    assert found.n_windows == n
    assert found.window == size


def test_long_collections_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = coherence(TOPICS, TEXTS)
    monkeypatch.setattr("isotherm.evaluate.occurrence.SPAN", 7)
    np.testing.assert_array_equal(coherence(TOPICS, TEXTS).per_topic, whole.per_topic)


def test_known_answers() -> None:
    counts = Counts([[1, 2, 0, 0], [3, 1, 0, 0], [0, 0, 1, 1], [0, 0, 2, 0], [0, 0, 0, 0]])
    tables = np.array([[3, 2, 0, 0], [0, 0, 3, 2], [0, 3, 0, 2.0]])
    found = coherence(tables, counts, n_words=2, smoothing=0.0)
    # Together always; in one of four of two and one; never.
    assert found.per_topic == pytest.approx([1.0, log(2) / log(4), -1.0])
    assert found.n_windows == 4
    assert found.window is None
    mass = coherence(tables, counts, "u_mass", n_words=2)
    assert mass.per_topic == pytest.approx([log(3 / 2), log(2 / 2), log(1 / 2)])
    # Vectors (1, 1/2) and (1/2, 1), their sum (3/2, 3/2).
    curved = coherence(tables[1:2], counts, "c_v", 2, smoothing=0.0)
    assert curved.mean == pytest.approx(2.25 / np.sqrt(1.25 * 4.5))
    with np.errstate(all="raise"):
        assert coherence(tables[2:], counts, "u_mass", 2, smoothing=0.0).mean == -np.inf


def test_words_that_are_everywhere_agree() -> None:
    counts = np.ones((3, 2))
    for measure in ("npmi", "c_v"):
        assert coherence(np.ones((1, 2)), counts, measure, 2).mean == pytest.approx(1.0)


def tabled() -> tuple[Counts, Any]:
    """TEXTS as counts, and topics as a table over the same columns."""
    index = {word: j for j, word in enumerate(VOCABULARY)}
    counts = np.zeros((len(TEXTS), len(VOCABULARY)))
    for row, text in zip(counts, TEXTS, strict=True):
        np.add.at(row, [index[word] for word in text], 1)
    table = np.zeros((len(TOPICS), len(VOCABULARY)))
    for row, words in zip(table, TOPICS, strict=True):
        row[[index[word] for word in words]] = np.arange(len(words), 0, -1)
    return Counts(counts, column_names=VOCABULARY), table


@pytest.mark.parametrize("measure", ["npmi", "c_v", "u_mass"])
def test_all_forms_of_topics_and_reference_say_the_same(measure: str) -> None:
    counts, table = tabled()
    expected = coherence(TOPICS, TEXTS, measure, window="document").per_topic
    other = np.random.default_rng(0).permutation(300)
    shuffled = Counts(counts.matrix[:, other], column_names=[VOCABULARY[j] for j in other])
    model = type("Model", (), {"components_": table})()
    calls = [
        coherence(TOPICS, counts, measure),
        coherence(table, counts, measure),
        coherence(model, counts.matrix, measure),
        coherence(table, sparse.coo_matrix(counts.matrix), measure),
        coherence(table, shuffled, measure, words=VOCABULARY),
        coherence(table[:, other], shuffled, measure),
        coherence(table, (text for text in TEXTS), measure, words=VOCABULARY, window="document"),
        coherence(TOPICS, [" ".join(text).upper() for text in TEXTS], measure, window="document"),
        coherence(TOPICS, ["-".join(t) for t in TEXTS], measure, window="document",
                  tokenizer=lambda text: text.split("-")),
        coherence(np.array(TOPICS), counts[np.arange(60)[::-1]], measure),
        coherence(TOPICS, pd.DataFrame(counts.matrix.toarray(), columns=VOCABULARY), measure),
        coherence(TOPICS, pd.Series(map(" ".join, TEXTS)), measure, window="document"),
    ]  # fmt: skip
    for found in calls:
        assert found.per_topic == pytest.approx(expected, rel=1e-12)
        assert found.n_windows == 60


def test_order_of_words_matters_to_u_mass_alone() -> None:
    turned = [words[::-1] for words in TOPICS[::-1]]
    for measure in ("npmi", "c_v"):
        found = coherence(turned, TEXTS, measure).per_topic
        assert found[::-1] == pytest.approx(coherence(TOPICS, TEXTS, measure).per_topic)
    found = coherence(turned, TEXTS, "u_mass").per_topic[::-1]
    assert not np.allclose(found, coherence(TOPICS, TEXTS, "u_mass").per_topic, atol=1e-3)


def test_words_beyond_n_words_do_not_count() -> None:
    longer = [[*words, "nowhere"] for words in TOPICS]
    expected = coherence([words[:5] for words in TOPICS], TEXTS).per_topic
    assert coherence(longer, TEXTS, n_words=5).per_topic == pytest.approx(expected)


def test_words_that_are_not_there_are_left_out_and_told() -> None:
    strange = [[TOPICS[0][0], "x", *TOPICS[0][1:], "y"], ["x", TOPICS[1][0]], TOPICS[2]]
    for reference in (TEXTS, tabled()[0]):
        found = coherence(strange, reference)
        known = coherence([TOPICS[0], TOPICS[2]], reference)
        assert found.per_topic[[0, 2]] == pytest.approx(known.per_topic)
        assert np.isnan(found.per_topic[1])
        assert found.mean == pytest.approx(known.mean)
        assert found.missing.tolist() == [2, 1, 0]


TABLE = tabled()[1]
COUNTS = tabled()[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: coherence(TOPICS, TEXTS, "c_w"), "measure='c_w'; it must be one of 'npmi', 'c_v'"),
        (lambda: coherence(TOPICS, TEXTS, n_words=1), "n_words=1; .* at least 2"),
        (lambda: coherence(TOPICS, TEXTS, smoothing=-1.0), "smoothing=-1.0; .* at least 0"),
        (lambda: coherence(TOPICS, TEXTS, window=1), "window=1; .* at least 2"),
        (lambda: coherence(TOPICS, TEXTS, window="wide"), "window='wide'; .*'auto', 'document'"),
        (lambda: coherence(TOPICS, COUNTS, window=5), "window=5, but counts .*or give texts"),
        (lambda: coherence(TOPICS, TEXTS, "u_mass", window=5), "U_mass has none; leave it out"),
        (lambda: coherence(TOPICS, "w001 w002"), "reference='w001 w002'; give Counts, or a list"),
        (lambda: coherence(TOPICS, 3), "reference=3; give Counts"),
        (lambda: coherence(TOPICS, [["a"], 3]), "text 1 of the reference is 3"),
        (lambda: coherence(TOPICS, [["a"], [3]]), r"text 1 of the reference is \[3\]"),
        (lambda: coherence(TOPICS, [[], ""]), "no text with a word in it"),
        (lambda: coherence(TOPICS, [["W001"]]), r"none of the 40 top words \(w000, w004, w008"),
        (lambda: coherence([["a", "b"]], COUNTS), "none of the 2 top words"),
        (lambda: coherence(TOPICS, COUNTS.matrix), "topics are words but .* no column_names"),
        (lambda: coherence(TABLE, TEXTS), "no words for texts; give them as words="),
        (lambda: coherence(TABLE[:, 1:], COUNTS), "topics have 299 columns, the counts 300"),
        (lambda: coherence(TABLE, TEXTS, words=["a"]), "1 words for 300 columns of topics"),
        (lambda: coherence(TABLE, COUNTS.matrix, words=VOCABULARY), "words= was given but"),
        (lambda: coherence("word", TEXTS), "topics='word'; give a list of lists of words"),
        (lambda: coherence(["one", "two"], TEXTS), "topic 0 is 'one'; give a list of words"),
        (lambda: coherence([["one", 2]], TEXTS), r"topic 0 is \['one', 2\]"),
        (lambda: coherence([["a", "b"], []], TEXTS), r"topic 1 is \[\]; give a list of words"),
        (lambda: coherence([["a", "b", "a"]], TEXTS), "topic 0 has a word twice"),
        (lambda: coherence(None, TEXTS), r"topics have shape \(\)"),
        (lambda: coherence(-TABLE, COUNTS), "topics hold negative or infinite numbers"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        call()
