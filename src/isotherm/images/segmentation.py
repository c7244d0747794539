"""What a segmentation is: labels, posteriors, and the pictures that show them."""

from __future__ import annotations

import colorsys
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isotherm._markup import Part, page
from isotherm.anneal.multiscale import Level
from isotherm.anneal.trace import Fit
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.images import files

__all__ = ["Segmentation"]

# How much of the colour of its segment a pixel shows.
TINT = 0.45


@dataclass(frozen=True, eq=False, repr=False)
class Segmentation:
    """Segments of an image: H x W pixels, h x w sites, K segments, J texture features.

    Segments are numbered as they appear, row by row from the top left corner; those without any
    site come last.

    Attributes
    ----------
    labels : (H, W) int
        Segment of each pixel: that of the site whose cell it is in.
    site_labels : (h, w) int
    posterior : (h, w, K)
        Probability of each segment at each site.
    image : (H, W)
        Grey levels that were segmented.
    counts : Counts, (h w, J)
        Texture of each site.
    step : int
        Pixels from site to site.
    fit : Fit
        Of all sites, with the Potts prior; the components are in the order of the segments.
    levels : tuple of Level
        What happened on the way, coarsest level first; `levels[0].fits[0]` is the cooling.
    """

    labels: Array
    site_labels: Array
    posterior: Array
    image: Array
    counts: Counts
    step: int
    fit: Fit
    levels: tuple[Level, ...]

    @property
    def n_segments(self) -> int:
        """Number of segments K that were asked for."""
        return int(self.posterior.shape[2])

    @property
    def areas(self) -> Array:
        """Pixels of each segment, (K,)."""
        return np.bincount(self.labels.ravel(), minlength=self.n_segments)

    @property
    def site_updates(self) -> int:
        """Posteriors that were computed, over all levels and sweeps."""
        smoothing = self.fit.n_sweeps * self.site_labels.size
        return sum(level.site_updates for level in self.levels) + smoothing

    def overlay(self) -> Array:
        """The image tinted by segment, with their borders in black, (H, W, 3) uint8."""
        low, high = np.percentile(self.image, (0.5, 99.5))
        grey = np.clip((self.image - low) / (high - low if high > low else 1.0), 0.0, 1.0)
        colours = np.array([_colour(k) for k in range(self.n_segments)])
        shown = (1 - TINT) * grey[:, :, None] + TINT * colours[self.labels]
        right = np.diff(self.labels, axis=1, append=self.labels[:, -1:]) != 0
        below = np.diff(self.labels, axis=0, append=self.labels[-1:]) != 0
        shown[right | below] = 0.0
        return np.asarray(np.rint(255 * shown), np.uint8)

    def save_overlay(self, path: str | os.PathLike[str]) -> Path:
        """Path of the picture that was written: the overlay, as PNG, JPEG or TIFF by its ending."""
        return files.write_image(path, self.overlay())

    def plot(self) -> Any:
        """Figure (of matplotlib) of the image beside its overlay."""
        from isotherm.plots._style import new_figure

        height, width = self.image.shape
        figure = new_figure((9.0, 0.4 + 4.5 * height / width))
        left, right = figure.subplots(1, 2)
        left.imshow(self.image, cmap="gray")
        left.set_title("image")
        right.imshow(self.overlay())
        right.set_title(f"{self.n_segments} segments")
        for ax in (left, right):
            ax.set_axis_off()
        return figure

    def _repr_html_(self) -> str:
        areas = self.areas
        shares = 100 * areas / areas.sum()
        rows = [(k, n, f"{s:.1f} %") for k, (n, s) in enumerate(zip(areas, shares, strict=True))]
        return page(repr(self), Part(("segment", "pixels", "share"), rows))

    def __repr__(self) -> str:
        height, width = self.image.shape
        rows, columns = self.site_labels.shape
        return (
            f"Segmentation({height} x {width} pixels, {rows} x {columns} sites, "
            f"{self.n_segments} segments)"
        )


def _colour(number: int) -> tuple[float, float, float]:
    """Red, green and blue of a segment; hues a golden section apart stay apart, however many."""
    return colorsys.hsv_to_rgb(number * 0.618034 % 1.0, (0.95, 0.6)[number % 2], 0.95)
