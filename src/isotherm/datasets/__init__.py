"""Data sets to try the models on."""

from isotherm.datasets.docstrings import Docstrings, load_docstrings

__all__ = ["Docstrings", "load_docstrings"]
