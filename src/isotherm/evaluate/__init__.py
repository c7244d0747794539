"""How good a fit is: each measure defined once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isotherm.evaluate.agreement import nmi
    from isotherm.evaluate.few_labels import Draw, accuracies, draw
    from isotherm.evaluate.rows import (
        lda_document_bounds,
        mixture_densities,
        plsi_perplexity,
        row_perplexity,
        unigram_perplexity,
    )
    from isotherm.evaluate.tokens import completion_halves, heldout_log_likelihood, perplexity

# Loaded on first use: estimators need the perplexities and not the rest.
_HOME = {
    "Draw": "few_labels",
    "accuracies": "few_labels",
    "completion_halves": "tokens",
    "draw": "few_labels",
    "heldout_log_likelihood": "tokens",
    "lda_document_bounds": "rows",
    "mixture_densities": "rows",
    "nmi": "agreement",
    "perplexity": "tokens",
    "plsi_perplexity": "rows",
    "row_perplexity": "rows",
    "unigram_perplexity": "rows",
}

__all__ = [
    "Draw",
    "accuracies",
    "completion_halves",
    "draw",
    "heldout_log_likelihood",
    "lda_document_bounds",
    "mixture_densities",
    "nmi",
    "perplexity",
    "plsi_perplexity",
    "row_perplexity",
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
