"""How examples are shown: figures as in a notebook, and in an order to read them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

# Topics first, then groups, then search and maps; what is not named comes last.
ORDER = """
    annealing_path how_many own_words stability hierarchy pairs few_labels search corpus_map
    gtm_digits gtm_missing textures
""".split()


class Order:
    """Place of an example, by the name of its file."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Number in ORDER, and the name."""
        stem = name.removeprefix("plot_").removesuffix(".py")
        return (ORDER.index(stem) if stem in ORDER else len(ORDER)), name


def drawn(block: tuple[Any, ...], variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Image of the figure that the last line of a block of an example evaluates to, in RST."""
    value = variables["example_globals"].get("___")
    if not isinstance(value, Figure):
        return ""
    path = next(variables["image_path_iterator"])
    value.savefig(path, dpi=140, facecolor="white")
    variables["example_globals"]["___"] = None  # drawn once, not again after the next block
    rst: str = figure_rst([path], settings["src_dir"])
    return rst


def _get_sg_image_scraper() -> Callable[..., str]:
    """What Sphinx-Gallery asks a module for."""
    return drawn
