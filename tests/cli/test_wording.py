"""Messages name options, not what their values are called in Python."""

import re
from pathlib import Path
from typing import Any

import pytest

from isotherm import AspectModel
from isotherm.cli.console import in_options, message_of
from isotherm.errors import IsothermError


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("n_components=500; it must be", "--topics 500; it must be"),
        ("give format= one of", "give --format one of"),
        ("names= is for tables; use vocabulary=.", "--names is for tables; use --vocabulary."),
        ("limits (min_df, max_df, min_length).", "limits (--min-df, --max-df, --min-length)."),
        ("ngrams=(1, 3); use", "--ngrams (1, 3); use"),
        ("text_column='a b' is not", "--text-column 'a b' is not"),
        # What is no name stays.
        ("the names of columns, a format", "the names of columns, a format"),
        ("/data/min_df/names=x.csv and a/n_jobs", "/data/min_df/names=x.csv and a/n_jobs"),
        ("min_df.csv has none", "min_df.csv has none"),
        ("give header=True, header=False or\nformat=.", "give --header, --no-header or\n--format."),
        ("row_names=3 of 'n_jobs'", "row_names=3 of 'n_jobs'"),
    ],
)
def test_names_become_options(said: str, told: str) -> None:
    assert in_options(said) == told


def test_errors_say_what_they_are_about() -> None:
    said = "names=3 has no tokens=5, unlike min_df; give format=."
    assert message_of(IsothermError(said)) == (
        "--names 3 has no --tokens 5, unlike --min-df; give --format."
    )
    assert message_of(IsothermError(said, parameter="names", also=("min_df",))) == (
        "--names 3 has no tokens=5, unlike --min-df; give format=."
    )
    assert message_of(IsothermError(said, parameter="path")) == said


def test_advice_for_python_is_not_given() -> None:
    error = IsothermError("a.txt:3: is torn.", parameter="errors", in_python=", or errors='report'")
    assert str(error) == "a.txt:3: is torn, or errors='report'."
    assert message_of(error) == "a.txt:3: is torn, or leave --strict out."
    error = IsothermError("a.txt is torn", parameter="tokens", in_python=", or tokenizer=")
    assert message_of(error) == "a.txt is torn"


@pytest.mark.parametrize(
    "words",
    [
        ["--token-pattern", "(a)(b)"],
        ["--token-pattern", "x+", "--min-length", "3"],
        ["--encoding", "klingon"],
        ["--min-df", "0.9", "--max-df", "0.1"],
        ["--min-df", "1000", "--max-df", "2000"],
        ["--id-column", "nope"],
        ["--text-column", "nope"],
        ["--stop-words", "nosuch"],
        ["--names", "PATH"],
        ["--vocabulary", "PATH", "--min-df", "2"],
        ["--format", "uci"],
        ["--format", "matrix-market"],
        ["--format", "parquet"],
        ["--format", "npz"],
    ],
)
def test_no_message_of_counting_speaks_python(
    words: list[str], stories: Path, tmp_path: Path, fails: Any
) -> None:
    given = [str(stories) if word == "PATH" else word for word in words]
    said = fails("count", stories, "-o", tmp_path / "a.counts", *given)
    assert not re.search(r"\b[a-z]+_[a-z_]+\b|\w=|isotherm\.(load|save)", said.replace("a_b", ""))
    assert words[0] in said or "--format" in said


def test_broken_lines_name_the_option_that_stops(tmp_path: Path, fails: Any) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "ships"}\n{\n')
    assert "or leave --strict out" in fails("count", source, "--strict")


def test_estimators_warnings_and_memory(
    stories: Path, tmp_path: Path, fails: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["fit", stories, "-o", tmp_path / "a.run", "--topics", "2", "--json"]
    fit = AspectModel.fit

    def warning(self: Any, X: Any) -> Any:
        import warnings

        warnings.warn("n_components=2 are few", UserWarning, stacklevel=1)
        return fit(self, X)

    def too_large(self: Any, X: Any) -> None:
        raise MemoryError("Unable to allocate 596. GiB")

    monkeypatch.setattr(AspectModel, "fit", too_large)
    assert "not enough memory (Unable to allocate 596. GiB); fewer topics or segments" in fails(
        *words
    )
    monkeypatch.setattr(AspectModel, "fit", warning)
    say(*words)
    assert say.err == "isotherm: note: --topics 2 are few\n"


def test_what_documents_say_stays_as_it_is(tmp_path: Path, say: Any) -> None:
    (tmp_path / "a.txt").write_text("Call it with min_df=3 or format=csv, then see 😀")
    for verb, more in (("info", []), ("count", ["-o", tmp_path / "a.counts"])):
        said = say(verb, tmp_path / "a.txt", *more)
        assert "a.txt:1: Call it with min_df=3 or format=csv, then see 😀" in said
    assert "1 emoji were not counted; --tokens 'multilingual' counts them" in said
