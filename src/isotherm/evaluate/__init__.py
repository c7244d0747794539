"""How good a fit is: each measure defined once.

Held-out tokens (`tokens`) and whole rows (`rows`), top words of topics (`word_coherence`,
`top_words`), fits against each other (`matching`) and against labels (`agreement`, `few_labels`),
and all of it in one call (`summary`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from isotherm.evaluate.rows import (
        lda_document_bounds,
        mixture_densities,
        plsi_perplexity,
        row_perplexity,
        unigram_perplexity,
    )
    from isotherm.evaluate.summary import EvaluationReport, evaluate_topics
    from isotherm.evaluate.tokens import completion_halves, heldout_log_likelihood, perplexity
    from isotherm.evaluate.top_words import diversity, exclusivity, top_columns
    from isotherm.evaluate.word_coherence import Coherence, coherence

# Loaded on first use: estimators need the perplexities, and the rest needs estimators.
_HOME = {
    "Coherence": "word_coherence",
    "Draw": "few_labels",
    "EvaluationReport": "summary",
    "Matching": "matching",
    "Stability": "matching",
    "accuracies": "few_labels",
    "accuracy": "agreement",
    "ami": "agreement",
    "ari": "agreement",
    "coherence": "word_coherence",
    "completeness": "agreement",
    "completion_halves": "tokens",
    "diversity": "top_words",
    "draw": "few_labels",
    "evaluate_topics": "summary",
    "exclusivity": "top_words",
    "heldout_log_likelihood": "tokens",
    "homogeneity": "agreement",
    "lda_document_bounds": "rows",
    "match_topics": "matching",
    "mixture_densities": "rows",
    "nmi": "agreement",
    "perplexity": "tokens",
    "plsi_perplexity": "rows",
    "purity": "agreement",
    "row_perplexity": "rows",
    "similarities": "matching",
    "stability": "matching",
    "top_columns": "top_words",
    "unigram_perplexity": "rows",
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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'isotherm.evaluate' has no attribute {name!r}")
    value = getattr(import_module(f"isotherm.evaluate.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
