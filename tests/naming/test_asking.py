"""What is asked about topics, and the names that come of it."""

from typing import Any

import numpy as np
import pytest

from isotherm import AspectModel, IsothermError, IsothermWarning
from isotherm.naming import ask, prompts
from isotherm.naming.asking import own_names
from support.endpoint import Reply, Request, Service, chat

KINDS = ("sea", "money", "sport")
TITLES = [f"{KINDS[i % 3]}\nstory {i}" for i in range(12)]
# A word of each topic -> what a service calls it.
NAMES = {"ship": "Ships at Sea", "bank": "Money", "team": "Games"}


def kind_of(model: AspectModel, k: int) -> str:
    """What a topic is about."""
    (word,) = set(model.top_words(3)[k]) & NAMES.keys()
    return word


def knowing(request: Request) -> Reply:
    """The answer of a service that reads the words."""
    _, words, *_ = request.body["messages"][-1]["content"].splitlines()
    return chat(next(NAMES[word] for word in words.split(", ") if word in NAMES))


def test_a_prompt_has_words_and_typical_documents(three: AspectModel) -> None:
    totals = np.arange(12)
    asked = prompts(three, TITLES, row_totals=totals, n_words=3, n_documents=2)
    assert [one.topic for one in asked] == [0, 1, 2]
    for k, (system, user) in enumerate(one.messages for one in asked):
        assert (system["role"], user["role"]) == ("system", "user")
        assert ", ".join(three.top_words(3)[k]) in user["content"]
        first = list(NAMES).index(kind_of(three, k))
        lines = [line for line in user["content"].splitlines() if line.startswith("- ")]
        # The longest of the pure ones, on one line each.
        assert lines == [f"- {KINDS[first]} story {i}" for i in (first + 9, first + 6)]


def test_documents_are_sent_only_if_they_are_there(three: AspectModel) -> None:
    words = prompts(three)
    assert "story" not in str(words)
    assert words == prompts(three, TITLES, n_documents=0)
    assert words == prompts(three, [""] * 12)
    assert prompts(three, TITLES, topics=[2, 0, 2])[1] == prompts(three, TITLES)[2]


def test_long_documents_are_cut(three: AspectModel) -> None:
    text = str(prompts(three, ["word " * 1000 + str(i) for i in range(12)]))
    assert len(text) < 4000


def test_rows_that_have_clusters_in_place_of_topics(three: AspectModel) -> None:
    other = three.__class__.__new__(three.__class__)
    other.__dict__ = {**vars(three), "row_weights_": three.row_weights_[:, :2]}
    assert prompts(other, TITLES) == prompts(three)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topics": [3]}, "topics=[3], of which 3 is no topic; the model has topics 0 to 2"),
        ({"topics": [-1]}, "-1 is no topic"),
        ({"topics": [1.0]}, "1.0 is no topic"),
        ({"topics": [True]}, "True is no topic"),
        ({"n_words": 0}, "n_words=0"),
        ({"n_documents": -1}, "n_documents=-1"),
        ({"documents": ["one"]}, "1 documents for a model of 12 rows"),
    ],
)
def test_what_cannot_be_asked(three: AspectModel, settings: Any, message: str) -> None:
    with pytest.raises(IsothermError) as caught:
        prompts(three, **settings)
    assert message in str(caught.value)
    with pytest.raises(IsothermError, match="not fitted"):
        prompts(AspectModel(2))


def test_ask(three: AspectModel, service: Service) -> None:
    service.answer = knowing
    names = ask(three, TITLES, url=service.url, language_model="small")
    assert names == tuple(NAMES[kind_of(three, k)] for k in range(3))
    assert [one.body["model"] for one in service.requests] == ["small"] * 3
    assert [tuple(one.body["messages"]) for one in service.requests] == [
        one.messages for one in prompts(three, TITLES)
    ]


def test_some_topics_keep_their_names(three: AspectModel, service: Service) -> None:
    own = own_names(three)
    assert ask(three, url=service.url, topics=[1]) == (own[0], "A Name", own[2])
    service.says(own[0])
    second = ask(three, url=service.url, topics=[1])[1]
    assert second.startswith(f"{own[0]} (")


def test_equal_answers_become_different_names(three: AspectModel, service: Service) -> None:
    names = ask(three, url=service.url)
    assert len(set(names)) == 3
    for k, name in enumerate(names):
        assert name in [f"A Name ({word})" for word in three.top_words(3)[k]]


def test_a_topic_without_a_usable_answer_keeps_its_name(
    three: AspectModel, service: Service
) -> None:
    service.says("Ships", "", "Money")
    with pytest.warns(IsothermWarning, match="topic 1 keeps its name: the answer was empty"):
        names = ask(three, url=service.url)
    assert names == ("Ships", own_names(three)[1], "Money")
    service.says("Ships", "so long " * 30, "Money")
    with pytest.warns(IsothermWarning, match="no name of at most 60 letters .'so long so"):
        ask(three, url=service.url)


def test_a_request_that_is_refused_later_is_about_its_topic(
    three: AspectModel, service: Service
) -> None:
    service.says("Ships", Reply(400, {"error": {"message": "filtered"}}), "Money")
    with pytest.warns(IsothermWarning, match="topic 1 keeps its name: .*filtered"):
        names = ask(three, url=service.url)
    assert (names[0], names[2]) == ("Ships", "Money")
    service.says(Reply(400, {"error": {"message": "no such model"}}))
    with pytest.raises(IsothermError, match="no such model"):
        ask(three, url=service.url)


def test_the_model_stays_as_it_is(three: AspectModel, service: Service) -> None:
    before = own_names(three)
    ask(three, url=service.url)
    assert own_names(three) == before
