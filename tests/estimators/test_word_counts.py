"""Texts to counts with names as a step of scikit-learn's, and names given afterwards."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import isotherm
from isotherm import (
    PCP,
    AspectModel,
    Counts,
    HierarchicalClustering,
    IsothermError,
    TwoSidedClustering,
    WordCounts,
    count_words,
    read_documents,
)

TEXTS = ["sun and moon", "moon and star", "bread and salt", "salt and fish"] * 5


def test_words_stay_known_in_a_pipeline() -> None:
    pipe = make_pipeline(WordCounts(stop_words=["and"]), AspectModel(2, random_state=0))
    model = pipe.fit(TEXTS)[-1]
    assert sorted(words[0] for words in model.top_words(1)) == ["moon", "salt"]
    assert "moon" in model.describe(1)
    weights = pipe.transform(["sun and moon", "nothing known"])
    assert weights.shape == (2, 2)
    assert list(pipe.get_feature_names_out()) == ["aspectmodel0", "aspectmodel1"]
    grid = {"wordcounts__min_length": [2, 4]}
    searched = GridSearchCV(pipe.set_params(aspectmodel__max_iter=2), grid, cv=2).fit(TEXTS)
    assert searched.best_estimator_[0].min_length in (2, 4)


@pytest.mark.parametrize(
    "given",
    [
        list,
        iter,
        np.array,
        read_documents,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: pd.Series(texts, index=range(7, 27)),
        lambda texts: pd.DataFrame({"text": texts, "year": 1998}),
    ],
)
def test_counts_are_those_of_count_words(given: Any) -> None:
    expected = count_words(TEXTS, ngrams=(1, 2), min_df=2).counts
    words = WordCounts(ngrams=(1, 2), min_df=2)
    for found in (words.fit_transform(given(TEXTS)), words.transform(given(TEXTS))):
        assert isinstance(found, Counts)
        assert list(found.column_names) == list(expected.column_names)
        assert (found.matrix != expected.matrix).nnz == 0
    assert list(words.get_feature_names_out()) == list(expected.column_names)


def test_unknown_words_are_left_out_as_by_scikit_learn() -> None:
    new = ["sun sun zebra", "", "zebra"]
    words = WordCounts(max_features=3).fit(TEXTS)
    theirs = CountVectorizer(max_features=3).fit(TEXTS)
    assert list(words.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert (words.transform(new).matrix.toarray() == theirs.transform(new).toarray()).all()
    stems = WordCounts(stemmer="porter").fit(["running dogs", "a dog runs"])
    assert stems.transform(["dogs"]).matrix.toarray().tolist() == [[1, 0]]


def test_it_is_an_estimator_of_scikit_learn() -> None:
    words = WordCounts(min_df=2, stop_words=["and"])
    again = clone(words)
    assert again.get_params() == words.get_params()
    with pytest.raises(NotFittedError):
        words.transform(TEXTS)
    with pytest.warns(match="requires input"):
        checks = check_estimator(WordCounts(), on_fail=None)
    assert [one["check_name"] for one in checks if one["status"] == "failed"] == []
    theirs, ours = CountVectorizer().__sklearn_tags__(), words.__sklearn_tags__()
    assert ours.input_tags.string == theirs.input_tags.string
    assert ours.input_tags.two_d_array == theirs.input_tags.two_d_array


def test_frames_come_out_where_they_are_asked_for() -> None:
    words = WordCounts().fit(TEXTS).set_output(transform="pandas")
    frame = words.transform(pd.Series(["sun", "fish"], index=["a", "b"]))
    assert list(frame.columns) == list(words.get_feature_names_out())
    assert list(frame.index) == ["a", "b"]
    assert frame.loc["b", "fish"] == 1
    assert type(clone(words).fit(TEXTS).transform(TEXTS)) is pd.DataFrame
    with config_context(transform_output="pandas"):
        assert type(WordCounts().fit_transform(TEXTS)) is pd.DataFrame
    # Frames carry names, whoever made them.
    model = AspectModel(2, random_state=0).fit(words.transform(TEXTS))
    assert set(model.top_words(1)[0]) <= set(frame.columns)


def test_it_is_kept_in_a_file(tmp_path: Any) -> None:
    words = WordCounts(stop_words=["and"], ngrams=(1, 2)).fit(TEXTS)
    again = WordCounts.load(words.save(tmp_path / "words.iso"))
    assert again.get_params() == words.get_params()
    assert repr(again.transform(TEXTS)) == repr(words.transform(TEXTS))
    assert type(isotherm.load(tmp_path / "words.iso")) is WordCounts
    with pytest.raises(IsothermError, match="tokenizer"):
        WordCounts(tokenizer=str.split).save(tmp_path / "code.iso")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "WordCounts takes texts, one for each row"),
        ([], "gave no documents"),
        (["a text", None], r"^item:2: is NoneType; .* Correct or remove it\.$"),
        (pd.Series(["a text", np.nan]), r"item:2: is float"),
    ],
)
def test_no_row_goes_missing(texts: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        WordCounts().fit(texts)


COUNTED = CountVectorizer()
MATRIX = COUNTED.fit_transform(TEXTS)
NAMES = COUNTED.get_feature_names_out()


@pytest.mark.parametrize(
    "estimator",
    [
        AspectModel(2, random_state=0),
        PCP(2, 2, random_state=0),
        TwoSidedClustering(2, random_state=0),
        HierarchicalClustering(2, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_names_may_be_given_afterwards(estimator: Any) -> None:
    """Those of a vectorizer whose matrix has none; as good as if the fit had known them."""
    model = clone(estimator).fit(MATRIX)
    known = clone(estimator).fit(Counts(MATRIX, column_names=NAMES))
    assert model.top_words(3) != known.top_words(3) == model.top_words(3, names=NAMES)
    assert model.describe(3, names=list(NAMES)) == known.describe(3)
    for other in ("node_words", "top_columns"):
        if hasattr(model, other):
            assert getattr(model, other)(3, names=NAMES) == getattr(known, other)(3)
    for wrong, said in (
        (NAMES[1:], "names has 6 entries, but there are 7 columns"),
        (COUNTED.vocabulary_, "names is a dict, whose order is not that of the columns"),
        ("sun moon", "names is one string"),
    ):
        with pytest.raises(IsothermError, match=said):
            model.top_words(3, names=wrong)
        with pytest.raises(IsothermError, match=said):
            model.describe(3, names=wrong)
