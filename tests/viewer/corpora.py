"""A small corpus of four subjects in two pairs, its fits and its maps, made once a session."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from isotherm import (
    GTM,
    AspectModel,
    Counts,
    Engine,
    HierarchicalClustering,
    MappedCorpus,
    OneSidedClustering,
    Stages,
    map_corpus,
)

N_EACH, N_SUBJECTS, N_WORDS = 30, 4, 12


class Fixed(NamedTuple):
    """A fit with a fixed number of topics, and what it kept on its way."""

    model: AspectModel
    stages: Stages


@cache
def counts() -> Counts:
    """120 documents of 4 subjects with 12 words of their own each; the last one is empty."""
    rng = np.random.default_rng(5)
    subject = np.repeat(np.arange(N_SUBJECTS), N_EACH)
    rate = np.full((len(subject), N_SUBJECTS * N_WORDS), 0.2)
    own = np.arange(N_SUBJECTS * N_WORDS) // N_WORDS
    rate[subject[:, None] == own] = 3.0
    # Subjects 0 and 1 share words, and so do 2 and 3.
    rate[(subject[:, None] // 2 == own // 2) & (subject[:, None] != own)] = 1.0
    matrix = rng.poisson(rate)
    matrix[-1] = 0
    names = [f"s{k}w{j}" for k in range(N_SUBJECTS) for j in range(N_WORDS)]
    return Counts(matrix, [f"d{i}" for i in range(len(subject))], names)


@cache
def labels() -> list[str]:
    return [f"subject {i // N_EACH}" for i in range(N_SUBJECTS * N_EACH)]


@cache
def grown() -> AspectModel:
    return AspectModel("auto", max_components=8, random_state=0).fit(counts())


@cache
def fixed() -> Fixed:
    stages = Stages()
    model = AspectModel(4, engine=Engine(callbacks=[stages]), random_state=0).fit(counts())
    return Fixed(model, stages)


@cache
def clusters() -> OneSidedClustering:
    return OneSidedClustering("auto", max_components=8, random_state=0).fit(counts())


@cache
def hierarchy() -> HierarchicalClustering:
    return HierarchicalClustering(4, random_state=0).fit(counts())


@cache
def mapped(n_dimensions: int, of: str = "grown") -> MappedCorpus:
    """Map by the topics of one of the fits above."""
    model = fixed().model if of == "fixed" else globals()[of]()
    gtm = GTM(n_dimensions, n_nodes=5, n_init=1, random_state=0)
    texts = [f"text of {name}" for name in range(counts().n_rows)]
    return map_corpus(counts(), topics=model, gtm=gtm, labels=labels(), texts=texts)
