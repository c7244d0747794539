"""Settings of counting as one value."""

import dataclasses
import inspect

import numpy as np
import pytest

from isotherm import IsothermError, WordCounts, count_words
from isotherm.text.options import CountOptions

# Those of what is read, which `WordCounts` does not do.
READING = {"names", "format", "header", "encoding", "errors", "keep", "progress", "tokens"}


def test_every_field_is_a_parameter_with_the_same_default_and_type() -> None:
    fields = {one.name: (one.default, one.type) for one in dataclasses.fields(CountOptions)}
    signature = inspect.signature(count_words).parameters
    parameters = {
        name: (one.default, one.annotation) for name, one in signature.items() if name != "source"
    }
    assert parameters == fields
    own = inspect.signature(WordCounts).parameters
    assert {name: one.default for name, one in own.items()} == {
        name: default for name, (default, _) in fields.items() if name not in READING
    }


def test_every_parameter_reaches_its_field() -> None:
    seen = []

    class StopError(Exception):
        pass

    def watch(options: CountOptions) -> None:
        seen.append(options)
        raise StopError

    given = {
        "lowercase": False,
        "tokens": "words",
        "min_length": 3,
        "stop_words": ["a"],
        "min_df": 2,
        "max_df": 0.5,
        "max_features": 9,
        "ngrams": (1, 2),
        "names": ["n"],
        "format": "lines",
        "text_column": "t",
        "id_column": "i",
        "header": True,
        "encoding": "latin-1",
        "errors": "raise",
        "keep": "texts",
        "n_jobs": 2,
        "progress": print,
    }
    others = [{"token_pattern": "a"}, {"tokenizer": str.split}, {"vocabulary": ["v"]}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("isotherm.text.ingest.ingest", lambda source, options: watch(options))
        for settings in (given, *others):
            with pytest.raises(StopError):
                count_words([], **settings)
            for name, value in settings.items():
                assert getattr(seen[-1], name) == value
    covered = {*given, *(name for one in others for name in one), "stemmer"}
    assert covered == {one.name for one in dataclasses.fields(CountOptions)}


def test_numbers_are_those_of_python() -> None:
    options = CountOptions(min_df=np.int64(2), max_df=np.float32(0.5), max_features=np.int8(3))
    assert (options.min_df, options.max_df, options.max_features) == (2, 0.5, 3)
    assert [type(one) for one in (options.min_df, options.max_df)] == [int, float]
    assert CountOptions(n_jobs=3).n_threads == 3
    assert CountOptions(n_jobs=-1).n_threads == CountOptions().n_threads >= 1


def test_words_are_read_once() -> None:
    options = CountOptions(stop_words=iter(["The", "of"]))
    assert options.stopped == options.stopped == {"the", "of"}
    assert CountOptions(stop_words=["The"], lowercase=False).stopped == {"The"}
    assert CountOptions(vocabulary=iter("ab")).columns == ("a", "b")


def test_a_value_cannot_be_changed_or_be_wrong() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CountOptions().min_df = 3  # type: ignore[misc]
    with pytest.raises(IsothermError, match="min_df=-1"):
        dataclasses.replace(CountOptions(), min_df=-1)
