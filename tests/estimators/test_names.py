"""Names of components: short, distinct, and of the words that tell most."""

from pathlib import Path

import numpy as np
import pytest

from isotherm import AspectModel, Counts, load
from isotherm.errors import IsothermError
from isotherm.estimators.names import LEAST, MOST, names_of, same_word
from isotherm.estimators.words import telling

# Words of four topics, and words that all documents have.
TOPICS = (
    ("stock", "stocks", "market", "shares", "price"),
    ("court", "judge", "trial", "jury", "lawyer"),
    ("rain", "wind", "storm", "flood", "river"),
    ("movie", "actor", "film", "stage", "music"),
)
COMMON = ("said", "year", "people")
WORDS = [word for topic in TOPICS for word in topic] + list(COMMON)


def planted(n_rows: int = 60, seed: int = 0) -> np.ndarray:
    """Counts (I, J): rows of one topic each, with common words in all of them."""
    rng = np.random.default_rng(seed)
    table = np.zeros((n_rows, len(WORDS)), int)
    for i in range(n_rows):
        own = np.arange(5) + 5 * (i % len(TOPICS))
        table[i, own] = rng.poisson([5, 4, 4, 3, 2])
        table[i, 20:] = rng.poisson(6, len(COMMON))
    return table


def fitted(table: np.ndarray, words: list[str]) -> AspectModel:
    return AspectModel(4, random_state=0).fit(Counts(table, column_names=words))


def parts(name: str) -> list[str]:
    return name.split(", ")


def test_names_are_short_distinct_and_of_their_own_words() -> None:
    model = fitted(planted(), WORDS)
    assert len(set(model.names_)) == len(model.names_) == 4
    for name in model.names_:
        assert LEAST <= len(parts(name)) <= MOST
        assert any(set(parts(name)) <= set(topic) for topic in TOPICS)
    assert not any({"stock", "stocks"} <= set(parts(name)) for name in model.names_)
    assert fitted(planted(), WORDS).names_ == model.names_


def test_names_do_not_depend_on_the_order_of_columns() -> None:
    order = np.random.default_rng(1).permutation(len(WORDS))
    scores = np.random.default_rng(2).exponential(size=(6, len(WORDS)))
    scores[:, 3] = scores[:, 4]  # a tie
    other = names_of(scores[:, order], [WORDS[j] for j in order])
    assert names_of(scores, WORDS) == other
    whole = fitted(planted(), WORDS)
    turned = fitted(planted()[:, order], [WORDS[j] for j in order])
    assert sorted(whole.names_) == sorted(turned.names_)


def test_a_foreign_row_leaves_the_other_names_alone() -> None:
    table = np.pad(planted(), ((0, 1), (0, 3)))
    table[-1, -3:] = 2  # three words that no other row has
    words = [*WORDS, "xylem", "quark", "zebra"]
    names = fitted(planted(), WORDS).names_
    assert sum(name in names for name in fitted(table, words).names_) >= 3


def test_a_word_is_in_one_name_where_there_are_others() -> None:
    scores = np.array([[9.0, 3, 2, 0, 0, 0], [8.0, 0, 0, 3, 2, 1]])
    names = names_of(scores, ["oil", "rig", "well", "price", "barrel", "cent"])
    assert names == ("oil, rig, well", "price, barrel, cent")
    few = names_of(np.array([[9.0, 3], [8.0, 0]]), ["oil", "rig"])
    assert few == ("oil, rig", "oil")


def test_components_without_words_and_equal_ones_have_names_too() -> None:
    scores = np.array([[3.0, 2, 0], [3.0, 2, 0], [0, 0, 0], [-1.0, 0, 0]])
    names = names_of(scores, ["oil", "rig", "well"])
    assert names == ("oil, rig", "oil, rig (2)", "component 2", "component 3")


def test_numbers_name_a_component_only_where_it_has_no_words() -> None:
    scores = np.array([[9.0, 8, 1, 1, 0], [0, 0, 0, 0, 2.0]])
    assert names_of(scores, ["1987", "__", "corn", "wheat", "12"]) == ("corn, wheat, 1987", "12")


def test_long_words_make_names_of_two() -> None:
    words = ["telecommunications", "deregulation", "infrastructure"]
    assert names_of(np.array([[3.0, 2, 1]]), words) == ("telecommunications, deregulation",)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("share", "shares", True),
        ("party", "parties", True),
        ("Israel", "israeli", True),
        ("car", "cars", True),
        ("farmers", "farm", True),
        ("computer", "computing", True),
        ("iran", "iraq", False),
        ("international", "internet", False),
        ("car", "carnival", False),
        ("12", "123", False),
        ("12", "12", True),
        ("oil", "rig", False),
    ],
)
def test_forms_of_a_word(one: str, other: str, same: bool) -> None:
    assert same_word(one, other) is same_word(other, one) is same


def test_one_component_is_named_by_its_frequent_words() -> None:
    table = planted()
    model = AspectModel(1, random_state=0).fit(Counts(table, column_names=WORDS))
    assert set(parts(model.names_[0])) == set(COMMON)


def test_columns_without_names_are_named_by_their_numbers() -> None:
    model = AspectModel(4, random_state=0).fit(planted())
    assert all(part.isdigit() for name in model.names_ for part in parts(name))
    shown = model.describe(2, names=WORDS)
    assert any(name in shown for name in fitted(planted(), WORDS).names_)


def test_words_that_tell_are_those_a_component_has_more_of() -> None:
    table = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.0, 0.1, 0.4]])
    scores = telling(table, table.mean(axis=0), table)
    assert scores[0].argmax() == 1
    assert scores[1].argmax() == 3
    assert scores[0, 0] == scores[0, 3] == 0
    assert scores[1, 2] < 0
    same = telling(table[:1], table[0] + [1e-3, -1e-3, 0, 0], table[:1])
    np.testing.assert_array_equal(same, table[:1])


def test_files_keep_names_and_older_ones_get_them(tmp_path: Path) -> None:
    model = fitted(planted(), WORDS)
    names = model.names_
    model.names_ = ("markets", *names[1:])
    assert load(model.save(tmp_path / "named.iso")).names_ == ("markets", *names[1:])
    del model.names_
    assert load(model.save(tmp_path / "before.iso")).names_ == names


@pytest.mark.parametrize("names", [("a", "b", "c"), ("a", "b", "c", "c"), ("a", "b", "c", "")])
def test_files_with_other_names_are_refused(names: tuple[str, ...], tmp_path: Path) -> None:
    model = fitted(planted(), WORDS)
    model.names_ = names
    with pytest.raises(IsothermError, match="names_"):
        load(model.save(tmp_path / "wrong.iso"))
