"""`isotherm name`: names of the topics of a run, asked of a service on this computer."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isotherm import load
from isotherm.cli import runs
from isotherm.cli.edits import edit
from support.endpoint import Reply, Service, serving


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service


@pytest.fixture
def run(grown: Path, tmp_path: Path) -> Path:
    """A run of three topics."""
    return Path(shutil.copytree(grown, tmp_path / "a.run"))


def test_topics_are_renamed_and_the_names_taken_back(run: Path, service: Service, say: Any) -> None:
    own = load(run / runs.MODEL).names_
    service.says("Ships", '"Money"', "The Game")
    told = say("name", run, "--url", service.url, "--model", "small")
    width = max(map(len, own))
    assert told.splitlines() == [
        f"3 new names from {service.url}/chat/completions",
        f"   0  {own[0]:<{width}}  -> Ships",
        f"   1  {own[1]:<{width}}  -> Money",
        f"   2  {own[2]:<{width}}  -> The Game",
        f"{run}: isotherm edit {run} undo takes them back",
    ]
    assert load(run / runs.MODEL).names_ == ("Ships", "Money", "The Game")
    assert {request.body["model"] for request in service.requests} == {"small"}
    assert [one["what"] for one in say("edit", run, "list", "--json")["edits"]] == ["rename"]
    say("edit", run, "undo")
    assert load(run / runs.MODEL).names_ == own


def test_what_would_be_sent_is_what_is_sent(run: Path, service: Service, say: Any) -> None:
    shown = say("name", run, "--prompt-only", "--url", service.url, "--json")
    assert service.requests == []
    say("name", run, "--url", service.url)
    assert [one["messages"] for one in shown] == [one.body["messages"] for one in service.requests]
    asked = shown[0]["messages"][1]["content"]
    assert asked.count("\n- ") == 5
    assert " story " in asked  # titles of documents
    text = say("name", run, "--prompt-only", "--documents", "0", "-n", "4")
    assert text.endswith("\nnothing was sent\n")
    assert " story " not in text
    assert text.count("topic 2, user:") == 1


def test_nothing_is_sent_without_an_address(
    run: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isotherm.naming.endpoint.Endpoint._posted", None)
    said = fails("name", run)
    assert "nothing was sent, as there is no --url" in said
    assert load(run / runs.MODEL).edits_ == ()


def test_some_topics_only(run: Path, service: Service, say: Any, fails: Any) -> None:
    own = load(run / runs.MODEL).names_
    service.says("Ships")
    told = say("name", run, "--url", service.url, "--only", "1", "--json")
    assert told["topics"] == [{"topic": 1, "was": own[1], "name": "Ships", "problem": ""}]
    assert (told["renamed"], len(service.requests)) == (1, 1)
    assert load(run / runs.MODEL).names_ == (own[0], "Ships", own[2])
    again = say("name", run, "--url", service.url, "--only", "1")
    assert again.splitlines()[1].split() == ["1", "Ships", "was", "called", "so", "again"]
    assert len(load(run / runs.MODEL).edits_) == 1
    assert "there is no topic 3" in fails("name", run, "--url", service.url, "--only", "0,3")


def test_answers_that_are_no_names(run: Path, service: Service, say: Any, fails: Any) -> None:
    own = load(run / runs.MODEL).names_
    service.says("Ships", "", "word " * 60)
    told = say("name", run, "--url", service.url, "--json")["topics"]
    assert [one["name"] for one in told] == ["Ships", own[1], own[2]]
    assert told[1]["problem"] == "the answer was empty"
    say("edit", run, "undo")
    service.says("")
    said = fails("name", run, "--url", service.url)
    assert "no answer was a name: of topic 0, the answer was empty; see by --prompt-only" in said
    assert load(run / runs.MODEL).edits_ == ()


def test_a_service_that_fails_leaves_the_run_as_it_was(
    run: Path, service: Service, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (run / runs.MODEL).read_bytes()
    service.says("Ships", Reply(404, {"error": {"message": "no such model"}}))
    assert "answered 404 Not Found: no such model" in fails("name", run, "--url", service.url)
    assert "--url 'ftp://a'" in fails("name", run, "--url", "ftp://a")
    monkeypatch.setenv("A_KEY", "")
    said = fails("name", run, "--url", service.url, "--key-env", "A_KEY")
    assert "--key-env 'A_KEY'" in said
    assert (run / runs.MODEL).read_bytes() == before


def test_the_key_is_sent_and_not_shown(
    run: Path, service: Service, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "sesame-opens")
    said = say("name", run, "--url", service.url, "--key-env", "A_KEY", "--json")
    assert service.requests[0].headers["authorization"] == "Bearer sesame-opens"
    assert "sesame-opens" not in json.dumps(said) + say.err
    assert b"sesame-opens" not in (run / runs.MODEL).read_bytes()


def test_the_run_is_held_while_it_is_asked_about(run: Path, service: Service, say: Any) -> None:
    refused: list[str] = []

    def answer(request: Any) -> Reply:
        try:
            edit(run, lambda found: pytest.fail("it was not held"))
        except ValueError as error:
            refused.append(str(error))
        return Reply(content={"choices": [{"message": {"content": "Ships"}}]})

    service.answer = answer
    say("name", run, "--url", service.url)
    assert len(refused) == 3
    assert all("another process is at work" in said for said in refused)
