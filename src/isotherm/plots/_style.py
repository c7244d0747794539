"""What all figures share: colors, and an empty figure that notebooks can show."""

from __future__ import annotations

import functools
import io
from types import ModuleType
from typing import TYPE_CHECKING

from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart with every common kind of colour vision.
BLUE, GREEN, RED, PURPLE = "#0072b2", "#009e73", "#d55e00", "#cc79a7"
SCREEN_DPI = 100
INK, FAINT = "#24292f", "#8c959f"


def _matplotlib() -> ModuleType:
    try:
        import matplotlib.figure
    except ImportError as missing:
        raise IsothermError(
            "figures need matplotlib, which is not installed; pip install isotherm[plot]"
        ) from missing
    return matplotlib


def ticker() -> ModuleType:
    """The module of matplotlib that numbers axes."""
    import matplotlib.ticker

    return matplotlib.ticker


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty figure of that many inches."""
    figure: Figure = _matplotlib().figure.Figure(figsize=size, layout="constrained")
    # Found by notebooks on the figure itself, whatever its class.
    vars(figure)["_repr_png_"] = functools.partial(_png, figure)
    return figure


def _png(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """The figure as a picture, and its size on the screen: half of its pixels, for sharp ones."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=2 * SCREEN_DPI, facecolor="white")
    width, height = (round(SCREEN_DPI * inches) for inches in figure.get_size_inches())
    return buffer.getvalue(), {"width": width, "height": height}


def style(ax: Axes) -> None:
    """The look that all figures share."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=9)
    ax.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.7)
