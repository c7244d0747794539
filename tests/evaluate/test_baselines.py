"""Predictions without topics."""

import numpy as np
import pytest

from isotherm import Counts
from isotherm.data.split import SPLIT_SEED
from isotherm.evaluate.baselines import baselines


def test_the_unigram_is_that_of_the_tokens_that_are_kept() -> None:
    X = np.random.default_rng(0).poisson(3.0, (200, 8))
    kept, held = Counts(X).hold_out(0.1, SPLIT_SEED)
    p = (kept.column_totals + 0.5) / (kept.total + 4.0)
    expected = np.exp(-(held.column_totals * np.log(p)).sum() / held.total)
    assert baselines(X).unigram == pytest.approx(expected)


def test_own_words_help_only_where_documents_repeat_them() -> None:
    rng = np.random.default_rng(0)
    alike = baselines(rng.multinomial(60, np.full(50, 0.02), 300))
    assert alike.own_words == pytest.approx(alike.unigram, rel=0.02)
    bursts = np.zeros((300, 50), int)
    for row in bursts:
        row[rng.choice(50, 3, replace=False)] = 20
    found = baselines(bursts)
    assert found.unigram == pytest.approx(50, rel=0.05)
    assert found.own_words < 4


def test_nothing_is_held_out_of_a_few_tokens() -> None:
    assert np.isnan(baselines(np.eye(1))).all()
