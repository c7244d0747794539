"""Texture segmentation of an image in one call (Hofmann & Puzicha 1998, section 4.4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from isotherm import _checks, _nested
from isotherm.anneal.callbacks import Callback, Log
from isotherm.anneal.engine import Annealer
from isotherm.anneal.multiscale import Level, Multiscale, check_levels, grid_levels, multiscale
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, State, completed
from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.split import RandomState, as_generator
from isotherm.errors import IsothermError
from isotherm.images import files
from isotherm.images.features import WIDEST, WINDOWS, site_shape, texture_counts
from isotherm.images.segmentation import Segmentation
from isotherm.kernels.cpu.backend import MOST_THREADS, Cpu
from isotherm.models.segments import Segments
from isotherm.models.tied import Tied, pooled
from isotherm.placement.local import Local

__all__ = ["segment"]

# What an eye makes of red, green and blue (ITU-R BT.709).
LUMINANCE = np.array([0.2125, 0.7154, 0.0721])
# Sums and squares of pixels up to this large are far from overflowing.
LARGEST = 1e100
# Pseudo-counts of a segment, over the counts that it has on average; as in OneSidedClustering.
PSEUDO = 0.05
# The coarsest level has at least so many blocks to a segment.
BLOCKS_PER_SEGMENT = 4

# Started well below the critical temperature, different seeds take different ways down; the best
# of several fast ways is better than one slow way.
RATE, MARGIN = 0.8, 0.5


def segment(
    image: str | os.PathLike[str] | ArrayLike,
    n_segments: int,
    *,
    step: int = 8,
    smoothing: float = 8.0,
    n_levels: int | None = None,
    n_init: int = 8,
    callbacks: Sequence[Callback] = (),
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Segmentation:
    """Segments of an image by texture.

    Each site is described by how strongly twelve Gabor filters respond around it, as counts; sites
    are clustered by annealed multiscale EM, coarse blocks first, and then smoothed by a Potts
    prior. Grey level as such, and colour, play no part.

    Parameters
    ----------
    image : (H, W) or (H, W, 3 or 4) array, or path of a picture
        At least 64 pixels high and wide. Colours are turned into grey, transparent pixels into
        white. Reading files needs the extra `images`.
    n_segments : int
        Number of segments K.
    step : int
        Pixels from site to site, 1 to 16: 8 is fast, 4 draws finer borders for four times the work.
    smoothing : float
        How much neighbouring sites prefer the same segment, gamma of the Potts prior; 0 for not at
        all.
    n_levels : int, optional
        Levels from single sites to the coarsest blocks, each twice as wide as the one before; by
        default up to blocks of 64 pixels, as long as there are four of them to a segment. With 1
        there is no coarser level.
    n_init : int
        Starts at the coarsest level; the one with the lowest free energy goes on.
    callbacks : sequence of Callback
        Hear of every run of the engine; a run that one of them stops leads on from where it is.
    n_jobs : int, optional
        Threads; all cores by default.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Segmentation

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import segment
    >>> y, x = np.mgrid[:128, :128]
    >>> image = np.where(x < 64, np.sin(x), np.sin(y))
    >>> segment(image, 2, random_state=0).areas.tolist()
    [8192, 8192]
    """
    grey = as_grey(image)
    _check_settings(n_segments, step, smoothing, n_init, callbacks, n_jobs)
    sites = site_shape(grey.shape, step)
    _check_size(grey, sites, n_segments)
    ladder = grid_levels(sites, _depth(sites, step, n_segments, n_levels))
    kernels = Cpu(n_threads=None if n_jobs in (None, -1) else n_jobs)
    runs = _Runs(kernels, (Log(), *callbacks), as_generator(random_state))
    counts = texture_counts(grey, step)
    pseudo_count = PSEUDO * counts.total / n_segments
    tied = Tied(n_segments, pseudo_count, fixed_weights=True)
    found = runs.through_levels(tied, counts, check_levels(ladder, counts.n_rows), n_init)
    smooth = Segments(n_segments, pseudo_count, shape=sites, gamma=float(smoothing))
    fit = runs.smoothed(smooth, counts, found.fit.state)
    return _arranged(grey, counts, step, sites, fit, found.levels)


class _Runs(NamedTuple):
    """What all runs of the engine share."""

    kernels: Cpu
    callbacks: tuple[Callback, ...]
    rng: np.random.Generator

    def through_levels(
        self, model: Tied, counts: Counts, ladder: Sequence[Array], n_starts: int
    ) -> Multiscale:
        """Sites clustered without regard to their neighbours, coarse blocks first."""
        # At T = |X| blocks are as hard as their sites are at T = 1.
        end = float(np.bincount(ladder[-1]).max())
        cooling = Annealer(
            Exponential(RATE, end=end, margin=MARGIN),
            tol=1e-4,
            max_sweeps=50,
            callbacks=self.callbacks,
        )
        settling = Annealer(Fixed(1.0), tol=1e-5, callbacks=self.callbacks)

        def place(block_of: Array) -> Local:
            return Local.place(pooled(counts, block_of), self.kernels)

        return multiscale(model, place, ladder, cooling, settling, self.rng, n_starts=n_starts)

    def smoothed(self, model: Segments, counts: Counts, state: State) -> Fit:
        """The segments settled with the Potts prior, from those found without it."""
        data = Local.place(counts, self.kernels)
        # The column of sizes has no place among single sites.
        params = state.params._replace(word_topic=state.params.word_topic[:-1])
        begin = state_of(model, data, params)._replace(rows=state.rows)
        annealer = Annealer(Fixed(1.0), tol=1e-6, callbacks=self.callbacks)
        return completed(annealer.run(model, data, self.rng, state=begin))


def as_grey(image: str | os.PathLike[str] | ArrayLike) -> Array:
    """Grey levels (H, W) float64 of an array or of a file."""
    given = files.read_image(image) if isinstance(image, str | os.PathLike) else image
    pixels = np.asarray(given)
    if pixels.dtype.kind not in "buif":
        raise IsothermError(
            f"image is {type(given).__name__} of type {pixels.dtype}; give an array of numbers or "
            "the path of a picture"
        )
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.ndim != 3 or not 1 <= pixels.shape[2] <= 4 or pixels.size == 0:
        raise IsothermError(
            f"image has shape {np.shape(given)}; give (H, W) grey levels, or (H, W, 3) or "
            "(H, W, 4) colours"
        )
    values = pixels.astype(np.float64)
    if not np.isfinite(values).all():
        raise IsothermError("image has NaN or infinite pixels; replace them or cut them off")
    if np.abs(values).max() > LARGEST:
        raise IsothermError(
            f"image has pixels of up to {np.abs(values).max():.3g}; the largest that can be worked "
            f"with is {LARGEST:g}: scale them down"
        )
    n_channels = pixels.shape[2]
    grey = values[:, :, :3] @ LUMINANCE if n_channels >= 3 else values[:, :, 0]
    if n_channels in (2, 4):
        whole = np.iinfo(pixels.dtype).max if pixels.dtype.kind in "iu" else 1.0
        opaque = np.clip(values[:, :, -1] / whole, 0.0, 1.0)
        grey = opaque * grey + (1.0 - opaque) * whole
    return np.asarray(grey)


def _check_settings(
    n_segments: object,
    step: Any,
    smoothing: object,
    n_init: object,
    callbacks: object,
    n_jobs: object,
) -> None:
    _checks.integer("n_segments", n_segments, 2)
    _checks.integer("step", step, 1)
    narrowest = min(WINDOWS.values())
    if step > narrowest:
        raise IsothermError(
            f"step={step}; it must be at most {narrowest}, the narrowest window, or pixels between "
            "the sites would be seen by no site",
            parameter="step",
        )
    _checks.number("smoothing", smoothing, 0.0)
    _checks.integer("n_init", n_init, 1)
    _checks.callbacks(callbacks)
    if n_jobs is not None and n_jobs != -1:
        _checks.integer("n_jobs", n_jobs, 1, MOST_THREADS)


def _check_size(grey: Array, sites: tuple[int, int], n_segments: int) -> None:
    height, width = grey.shape
    if min(height, width) < WIDEST:
        raise IsothermError(
            f"image has {height} x {width} pixels; texture is seen in windows of up to {WIDEST} "
            f"pixels, so give at least {WIDEST} x {WIDEST}"
        )
    if np.ptp(grey) == 0:
        raise IsothermError("all pixels of the image are the same; there is nothing to segment")
    if n_segments > sites[0] * sites[1]:
        raise IsothermError(
            f"n_segments={n_segments} for {sites[0]} x {sites[1]} sites; ask for fewer segments, "
            "or for more sites with a smaller step",
            parameter="n_segments",
        )


def _depth(sites: tuple[int, int], step: int, n_segments: int, given: int | None) -> int:
    """Number of levels: the given one, or as many as the image has room for."""

    def blocks(level: int) -> int:
        side = 1 << level
        return -(-sites[0] // side) * -(-sites[1] // side)

    if given is None:
        depth = 1
        while step << depth <= WIDEST and blocks(depth) >= BLOCKS_PER_SEGMENT * n_segments:
            depth += 1
        return depth
    _checks.integer("n_levels", given, 1)
    if given > 1 and blocks(given - 1) < n_segments:
        raise IsothermError(
            f"n_levels={given} leaves {blocks(given - 1)} blocks for {n_segments} segments; ask "
            "for fewer levels",
            parameter="n_levels",
        )
    return given


def _arranged(
    grey: Array,
    counts: Counts,
    step: int,
    sites: tuple[int, int],
    fit: Fit,
    levels: tuple[Level, ...],
) -> Segmentation:
    """The segmentation, with segments numbered as they appear."""
    posterior = fit.state.rows[0].posterior
    found, first = np.unique(posterior.argmax(axis=1), return_index=True)
    seen = found[np.argsort(first)]
    order = np.concatenate([seen, np.setdiff1d(np.arange(posterior.shape[1]), seen)])
    rows = tuple(_nested.take(block, order) for block in fit.state.rows)
    state = State(_nested.take(fit.state.params, order), rows, fit.state.extra)
    posterior = rows[0].posterior.reshape(*sites, -1)
    labels = posterior.argmax(axis=2)
    wide = labels.repeat(step, axis=0).repeat(step, axis=1)[: grey.shape[0], : grey.shape[1]]
    fit = replace(fit, state=state)
    return Segmentation(wide, labels, posterior, grey, counts, step, fit, levels)
