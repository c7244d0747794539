"""How good a fit is: each measure defined once.

Held-out tokens (`anneal.scores`) and whole rows (`estimators.row_densities`), top words of topics
(`word_coherence`, `top_words`), fits against each other (`matching`) and against labels
(`agreement`, `few_labels`), and all of it in one call (`summary`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isotherm.anneal.scores import completion_halves, heldout_log_likelihood, perplexity
    from isotherm.estimators.row_densities import (
        lda_document_bounds,
        mixture_densities,
        plsi_perplexity,
        row_perplexity,
        unigram_perplexity,
    )
    from isotherm.evaluate.agreement import (
        accuracy,
        ami,
        ari,
        completeness,
        homogeneity,
        nmi,
        purity,
    )
    from isotherm.evaluate.few_labels import Draw, accuracies, draw
    from isotherm.evaluate.matching import (
        Matching,
        Stability,
        match_topics,
        similarities,
        stability,
    )
    from isotherm.evaluate.summary import EvaluationReport, evaluate_topics
    from isotherm.evaluate.top_words import diversity, exclusivity, top_columns
    from isotherm.evaluate.word_coherence import Coherence, coherence

# Loaded on first use: most measures need no estimators.
_HOME = {
    "Coherence": "isotherm.evaluate.word_coherence",
    "Draw": "isotherm.evaluate.few_labels",
    "EvaluationReport": "isotherm.evaluate.summary",
    "Matching": "isotherm.evaluate.matching",
    "Stability": "isotherm.evaluate.matching",
    "accuracies": "isotherm.evaluate.few_labels",
    "accuracy": "isotherm.evaluate.agreement",
    "ami": "isotherm.evaluate.agreement",
    "ari": "isotherm.evaluate.agreement",
    "coherence": "isotherm.evaluate.word_coherence",
    "completeness": "isotherm.evaluate.agreement",
    "completion_halves": "isotherm.anneal.scores",
    "diversity": "isotherm.evaluate.top_words",
    "draw": "isotherm.evaluate.few_labels",
    "evaluate_topics": "isotherm.evaluate.summary",
    "exclusivity": "isotherm.evaluate.top_words",
    "heldout_log_likelihood": "isotherm.anneal.scores",
    "homogeneity": "isotherm.evaluate.agreement",
    "lda_document_bounds": "isotherm.estimators.row_densities",
    "match_topics": "isotherm.evaluate.matching",
    "mixture_densities": "isotherm.estimators.row_densities",
    "nmi": "isotherm.evaluate.agreement",
    "perplexity": "isotherm.anneal.scores",
    "plsi_perplexity": "isotherm.estimators.row_densities",
    "purity": "isotherm.evaluate.agreement",
    "row_perplexity": "isotherm.estimators.row_densities",
    "similarities": "isotherm.evaluate.matching",
    "stability": "isotherm.evaluate.matching",
    "top_columns": "isotherm.evaluate.top_words",
    "unigram_perplexity": "isotherm.estimators.row_densities",
}

__all__ = [
    "Coherence",
    "Draw",
    "EvaluationReport",
    "Matching",
    "Stability",
    "accuracies",
    "accuracy",
    "ami",
    "ari",
    "coherence",
    "completeness",
    "completion_halves",
    "diversity",
    "draw",
    "evaluate_topics",
    "exclusivity",
    "heldout_log_likelihood",
    "homogeneity",
    "lda_document_bounds",
    "match_topics",
    "mixture_densities",
    "nmi",
    "perplexity",
    "plsi_perplexity",
    "purity",
    "row_perplexity",
    "similarities",
    "stability",
    "top_columns",
    "unigram_perplexity",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'isotherm.evaluate' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
