"""Names of topics, asked of a language model one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isotherm.data.base import Array
from isotherm.errors import warn
from isotherm.estimators.counts import CountEstimator
from isotherm.naming.answers import LONGEST, distinct, name_in, one_line, shortened
from isotherm.naming.endpoint import Endpoint, RequestRefusedError
from isotherm.naming.prompts import Prompt, prompts


class Answer(NamedTuple):
    """What came of asking for the name of a topic: a name, or why there is none."""

    topic: int
    name: str | None
    problem: str = ""


def answers(endpoint: Endpoint, asked: Sequence[Prompt]) -> Iterator[Answer]:
    """The answers to some prompts, each as soon as it is there.

    An error where the endpoint cannot be talked to. A request that it refuses is an error if it is
    the first of all, and else a topic without a name.
    """
    answered = False
    for prompt in asked:
        try:
            text = endpoint.complete(prompt.messages)
        except RequestRefusedError as error:
            if not answered:
                raise
            yield Answer(prompt.topic, None, str(error))
            continue
        answered = True
        name = name_in(text)
        yield Answer(prompt.topic, name, "" if name else _unusable(text))


def ask(
    model: CountEstimator,
    documents: Sequence[str] | None = None,
    *,
    url: str,
    language_model: str | None = None,
    key_env: str | None = None,
    row_totals: Array | None = None,
    topics: Sequence[int] | None = None,
    n_words: int = 15,
    n_documents: int = 5,
    timeout: float = 60.0,
) -> tuple[str, ...]:
    """Names of all topics, asked of a language model; the model itself stays as it is.

    Telling words of the topics, and beginnings of documents if they are given, are sent to `url`;
    `prompts` returns what that would be. A topic whose answer is no name keeps its own, with a
    warning.

    Parameters
    ----------
    model : fitted estimator for counts
    documents : sequence of str (I,), optional
        Titles or texts of the rows of the fit.
    url : str
        Address of an OpenAI-compatible service, such as "http://localhost:11434/v1".
    language_model : str, optional
        Its name there; services with a single one need none.
    key_env : str, optional
        Name of the environment variable that holds the key, where one is needed.
    row_totals, topics, n_words, n_documents
        As in `prompts`.
    timeout : float
        Seconds for each answer.

    Returns
    -------
    tuple of str
        A name for each of the K topics: one line of at most 60 letters, all different. Topics that
        were not asked about keep their own.
    """
    endpoint = Endpoint(url, language_model, key_env, timeout)
    asked = prompts(
        model,
        documents,
        row_totals=row_totals,
        topics=topics,
        n_words=n_words,
        n_documents=n_documents,
    )
    found = list(answers(endpoint, asked))
    for answer in found:
        if answer.name is None:
            warn(f"topic {answer.topic} keeps its name: {answer.problem}")
    return named(model, found)


def named(model: CountEstimator, found: Sequence[Answer]) -> tuple[str, ...]:
    """Names of all topics: those of the answers, and their own where there is none."""
    own = own_names(model)
    new = {answer.topic: answer.name for answer in found if answer.name is not None}
    others = [name for k, name in enumerate(own) if k not in new]
    words = dict(enumerate(model.top_words(15)))
    new = distinct(new, others, words)
    return tuple(new.get(k, name) for k, name in enumerate(own))


def own_names(model: CountEstimator) -> list[str]:
    """What topics are called before anybody names them: by their most telling words."""
    names = getattr(model, "names_", None)
    return [" ".join(words) for words in model.top_words(3)] if names is None else list(names)


def _unusable(text: str | None) -> str:
    if not text or not text.strip():
        return "the answer was empty"
    shown = shortened(one_line(text[:1000]), LONGEST)
    return f"the answer was no name of at most {LONGEST} letters ({shown!r})"
