"""One table of options: what follows from a line of it, and that nothing else has to follow."""

import ast
import dataclasses
import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from isotherm import AspectModel, IsothermError, cli, load
from isotherm.cli import options, parser, runs
from isotherm.cli.option import Option
from isotherm.cli.options import OPTIONS
from isotherm.cli.readers import at_least
from isotherm.text.kinds import BAGS, DOCUMENTS
from isotherm.text.options import CountOptions

# Settings of Python alone: functions, which no command line can name.
IN_PYTHON = {"tokenizer", "progress"}
# What is another one on the command line, where documents are shown later.
OTHER_DEFAULTS = {"stop_words": "english", "keep": "texts"}


# A pretend option ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Longer(CountOptions):
    """The settings of counting with one more."""

    max_length: int | None = None


PRETEND = Option(
    "--max-length",
    "letters at most",
    read=at_least(1),
    metavar="N",
    group="words",
    saved=int | None,
    field="max_length",
    is_rule=True,
)


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more option of counting: a line of the table and a field, and nothing else."""
    more = {verb: (*OPTIONS[verb], PRETEND) for verb in ("count", "fit")}
    monkeypatch.setattr(options, "OPTIONS", {**OPTIONS, **more})
    monkeypatch.setattr("isotherm.text.options.CountOptions", Longer)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Longer]:
    """The settings that documents are counted by."""
    from isotherm.text import ingest

    seen: list[Longer] = []
    real = ingest.ingest
    monkeypatch.setattr(
        ingest, "ingest", lambda source, given: seen.append(given) or real(source, given)
    )
    return seen


def parsed(verb: str, *words: str) -> Any:
    return parser.parsed(verb, import_module(f"isotherm.cli.verbs.{verb}").add_arguments, words)


@pytest.mark.usefixtures("pretend")
def test_an_option_is_in_the_help_and_is_read_and_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for verb in ("count", "fit"):
        with pytest.raises(SystemExit):
            cli.main([verb, "--help"])
        below = capsys.readouterr().out.partition("\nwords:\n")[2]
        assert "  --max-length N        letters at most\n" in below
        assert parsed(verb, "a.jsonl").max_length is None
        assert parsed(verb, "a.jsonl", "--max-length", "7").max_length == 7
    with pytest.raises(SystemExit):
        cli.main(["count", "a.jsonl", "--max-length", "0"])
    assert "--max-length: '0' is no integer of at least 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["count", "a.jsonl", "--max-lenght", "5"])
    assert "did you mean '--max-length'?" in capsys.readouterr().err


@pytest.mark.usefixtures("pretend")
def test_an_option_is_a_key_of_files_and_a_setting_of_runs_and_of_counting(
    stories: Path,
    grown: Path,
    tmp_path: Path,
    say: Any,
    fails: Any,
    counted: list[Longer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[count]\nmax-length = 7")
    model = load(grown / "model.iso")
    monkeypatch.setattr(AspectModel, "fit", lambda self, X: vars(self).update(vars(model)) or self)
    out = tmp_path / "a.run"
    say("fit", stories, "-o", out, "--config", file, "--json")
    assert counted[-1].max_length == 7
    about = json.loads((out / "run.json").read_text())
    assert about["settings"]["max_length"] == 7
    assert "max_length 7" in say("info", out)
    # Other texts are counted in the same way.
    say("eval", out, "--heldout", stories, "--json")
    assert counted[-1].max_length == 7
    differs = fails("fit", stories, "-o", out, "--resume", "--max-length", "8")
    assert "what differs is --max-length (was 7)" in differs
    say("count", stories, "-o", tmp_path / "a.counts", "--max-length", "9")
    assert counted[-1].max_length == 9
    late = fails("fit", tmp_path / "a.counts", "--max-length", "5")
    assert "--max-length comes too late" in late
    # A run of a version without it has the default; one of another type is damaged.
    assert runs.read(grown).settings["max_length"] is None
    about["settings"]["max_length"] = "seven"
    (out / "run.json").write_text(json.dumps(about))
    assert "run.json is damaged (TypeError('max_length is str'))" in fails("topics", out)


@pytest.mark.usefixtures("pretend")
def test_messages_name_an_option(
    stories: Path, tmp_path: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Any, given: Any) -> None:
        raise IsothermError("max_length=3; use more.", parameter="max_length")

    monkeypatch.setattr("isotherm.text.ingest.ingest", refuse)
    said = fails("count", stories, "-o", tmp_path / "a.counts")
    assert said == "isotherm: error: --max-length 3; use more.\n"


# The table ----------------------------------------------------------------------------------------


def test_every_setting_of_counting_has_an_option_with_its_default() -> None:
    defaults = {one.name: one.default for one in dataclasses.fields(CountOptions)}
    chosen = {one.field: one.in_python(one.default) for one in options.counting()}
    chosen["errors"] = options.fields(vars(parsed("count", "x")), options.counting())["errors"]
    assert chosen == {
        **{name: value for name, value in defaults.items() if name not in IN_PYTHON},
        **OTHER_DEFAULTS,
    }
    assert {one.name for one in options.rules()} == {
        *("lowercase", "min_length", "tokens", "token_pattern", "stop_words", "ngrams", "stem")
    }
    assert (*DOCUMENTS, *BAGS) == options.FORMATS


def test_the_table_has_every_verb_and_no_option_twice() -> None:
    assert list(OPTIONS) == list(cli.VERBS)
    flags: dict[str, str] = {}
    for verb in OPTIONS:
        names = [flag for one in options.of_verb(verb) for flag in one.flags.split()]
        assert len(set(names)) == len(names)
        for one in OPTIONS[verb]:
            assert not (one.is_flag and one.is_switch)
            # A message means the same option, whichever verb it ends.
            assert all(flags.setdefault(name, one.flag) == one.flag for name in one.parameters)


def test_what_is_saved_is_of_the_type_that_is_read_back() -> None:
    for verb, words in (("count", []), ("fit", []), ("fit", ["--vocabulary=v", "--ngrams=2-3"])):
        values = options.settings_of(parsed(verb, "a.jsonl", *words), options.saved(verb))
        written = options.as_json(values)
        assert options.checked(written, options.saved(verb)) == written
        assert (
            options.checked({}, options.saved("count")).items()
            <= options.as_json(
                options.settings_of(parsed("fit", "x"), options.saved("fit"))
            ).items()
        )


@pytest.mark.parametrize("ngrams", [[1], [1, "2"], [1, 2, 3], "12", None])
def test_settings_of_another_form_are_refused(ngrams: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        options.checked({"ngrams": ngrams}, options.saved("count"))


def test_no_verb_imports_another_one() -> None:
    folder = Path(cli.__file__).parent / "verbs"
    files = [path for path in folder.glob("*.py") if path.stem != "__init__"]
    assert {path.stem for path in files} == set(cli.VERBS)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert "verbs" not in f"{node.module}.{node.names[0].name}", path
