"""Latent-variable models for dyadic counts, fitted by deterministic annealing."""

__version__ = "0.1.0"

__all__: list[str] = []
