"""Words: how they spread, and which documents have them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isotherm import Counts
from isotherm.viewer.parts import words
from isotherm.viewer.parts.words import index_part, varints, words_part
from viewer import corpora


def read(raw: list[int]) -> list[int]:
    """Numbers of varints, as the page reads them."""
    found, value, shift = [], 0, 0
    for byte in raw:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value, shift = 0, 0
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2**40), max_size=30))
def test_varints_come_back(values: list[int]) -> None:
    raw, ends = varints(np.array(values, np.int64))
    assert read(raw.tolist()) == values
    sizes = [max(1, -(-value.bit_length() // 7)) for value in values]
    assert ends.tolist() == np.cumsum(sizes).tolist()


def postings(part: object, word: int) -> list[tuple[int, int]]:
    arrays = part.arrays  # type: ignore[attr-defined]
    start = arrays["postings.start"]
    flat = read(arrays["postings.bytes"][start[word] : start[word + 1]].tolist())
    gaps, counts = flat[::2], flat[1::2]
    return list(zip((np.cumsum(np.array(gaps) + 1) - 1).tolist(), counts, strict=True))


@pytest.mark.parametrize("shape", [(120, 7), (3, 40), (1, 1)])
def test_index_holds_the_counts(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    matrix = rng.poisson(0.4, shape) * rng.integers(1, 400, shape)
    matrix[0, 0] = 1000
    part = index_part(Counts(matrix))
    assert part is not None
    for word in range(shape[1]):
        there = np.flatnonzero(matrix[:, word])
        assert postings(part, word) == list(
            zip(there.tolist(), matrix[there, word].tolist(), strict=True)
        )
    assert part.arrays["lengths"].tolist() == matrix.sum(axis=1).tolist()


def test_counts_that_are_no_integers_count_at_least_once() -> None:
    part = index_part(Counts(np.array([[0.2, 2.6], [0.0, 0.4]])))
    assert postings(part, 0) == [(0, 1)]
    assert postings(part, 1) == [(0, 3), (1, 1)]


def test_no_index_where_it_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "LARGEST", 3)
    assert index_part(Counts(np.ones((1, 1), int))) is not None
    assert index_part(Counts(np.ones((3, 3), int))) is None


def spread(part: object, name: str, entry: str, word: int, width: int) -> np.ndarray:
    arrays = part.arrays  # type: ignore[attr-defined]
    start = arrays[f"{name}.start"]
    there = slice(start[word], start[word + 1])
    found = np.zeros(width)
    found[arrays[f"{name}.{entry}"][there]] = arrays[f"{name}.share"][there] / 255
    assert (arrays[f"{name}.share"][there] > 0).all()
    return found


@pytest.mark.parametrize("columns", [words.COLUMNS, 7])
def test_spread_is_the_posterior_of_the_topics(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr(words, "COLUMNS", columns)
    model, counts = corpora.grown(), corpora.counts()
    names = [str(name) for name in counts.column_names]
    part = words_part(model, names, counts)
    assert part.strings == {"words": names}
    assert part.arrays["totals"].tolist() == counts.column_totals.tolist()
    joint = model.weights_[:, None] * model.components_
    posterior = joint / joint.sum(axis=0)
    for word in range(len(names)):
        found = spread(part, "spread", "topic", word, len(model.weights_))
        np.testing.assert_allclose(found, posterior[:, word], atol=0.51 / 255)
    assert "nodes.start" not in part.arrays


def test_spread_over_nodes_is_that_of_the_hierarchy() -> None:
    model = corpora.hierarchy()
    names = [str(name) for name in corpora.counts().column_names]
    part = words_part(model, names, None)
    assert "totals" not in part.arrays
    for word in (0, 13, 40):
        found = spread(part, "nodes", "node", word, model.tree_.n_nodes)
        np.testing.assert_allclose(found, model.word_spread(names[word]), atol=0.51 / 255)
