"""Texture as counts: how often each strength of each Gabor filter occurs around each site.

Hofmann & Puzicha 1998, section 4.4: twelve complex Gabor filters, their moduli in sixteen bins, and
histograms over windows that grow with the wavelength. C channels, B bins, (h, w) sites.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import fft, sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts

N_ORIENTATIONS = 4
# Wavelength in pixels -> side of the window that its histograms are taken in.
WINDOWS = {4: 16, 8: 32, 16: 64}
WIDEST = max(WINDOWS.values())
# Width of the Gaussian envelope over the wavelength: about one octave of bandwidth.
SIGMA = 0.56
N_BINS = 16
# The last bin begins here and is open: a few strong responses must not stretch all others.
TOP_PERCENTILE = 99.5
# Counts that each channel gives to a site. Neighbouring pixels repeat each other, so a window
# holds far fewer independent observations than pixels.
SAMPLES = 16
# The envelope is below 4e-4 beyond so many sigmas.
REACH = 4.0


class Channel(NamedTuple):
    """A filter of the bank: wavelength in pixels, and direction of its wave in radians."""

    wavelength: int
    angle: float


CHANNELS = tuple(
    Channel(wavelength, i * np.pi / N_ORIENTATIONS)
    for wavelength in WINDOWS
    for i in range(N_ORIENTATIONS)
)


def site_shape(shape: tuple[int, int], step: int) -> tuple[int, int]:
    """Sites (h, w) of an image (H, W): one for each cell of step x step pixels, cut ones too."""
    return -(-shape[0] // step), -(-shape[1] // step)


def texture_counts(image: Array, step: int) -> Counts:
    """Counts (h w, C B) of the filters' moduli in windows around the sites, row by row.

    Every site has SAMPLES counts to a channel, shared out over the bins like the pixels of its
    window; borders are reflected.

    Parameters
    ----------
    image : (H, W) float array
        At least as high and as wide as the widest window.
    step : int
        Distance of neighbouring sites in pixels.
    """
    names = [
        f"wavelength {c.wavelength}, {np.degrees(c.angle):g} degrees, bin {b}"
        for c in CHANNELS
        for b in range(N_BINS)
    ]
    shares = [
        window_histograms(binned(modulus), WINDOWS[channel.wavelength], step)
        for channel, modulus in zip(CHANNELS, moduli(image), strict=True)
    ]
    return Counts(sparse.csr_array(SAMPLES * np.concatenate(shares, axis=1)), None, names)


def moduli(image: Array) -> Iterator[Array]:
    """Moduli (H, W) of the image after each filter; the mean is taken out, borders reflected.

    The image is scaled so that its largest deviation from the mean is one.
    A filter is a Gaussian times a complex wave, less the Gaussian that takes its mean out: in
    frequencies w, for the wave k, exp(-s^2 |w - k|^2 / 2) - exp(-s^2 |k|^2 / 2 - s^2 |w|^2 / 2).
    """
    pad = int(np.ceil(REACH * SIGMA * max(WINDOWS)))
    flat = image - image.mean()
    # Bins are relative: only single precision cares how large the numbers are.
    flat /= max(float(np.abs(flat).max()), np.finfo(float).tiny)
    padded = np.pad(flat.astype(np.float32), pad, mode="symmetric")
    height, width = (fft.next_fast_len(size, real=False) for size in padded.shape)
    spectrum = fft.fft2(padded, (height, width), workers=-1)
    rows = 2 * np.pi * fft.fftfreq(height)
    columns = 2 * np.pi * fft.fftfreq(width)
    inside = slice(pad, pad + image.shape[0]), slice(pad, pad + image.shape[1])
    for wavelength, angle in CHANNELS:
        wave, half = 2 * np.pi / wavelength, (SIGMA * wavelength) ** 2 / 2
        down, along = wave * np.sin(angle), wave * np.cos(angle)
        # Gaussians are products of one for the rows and one for the columns.
        gain = np.exp(-half * (rows - down) ** 2)[:, None] * np.exp(-half * (columns - along) ** 2)
        still = np.exp(-half * rows**2)[:, None] * np.exp(-half * columns**2)
        gain -= np.exp(-half * wave**2) * still
        filtered = fft.ifft2(spectrum * gain.astype(np.float32), workers=-1, overwrite_x=True)
        yield np.abs(filtered[inside])


def binned(modulus: Array) -> Array:
    """Bins (H, W) uint8 of equal width on [0, 99.5 percentile], the last one open."""
    top = float(np.percentile(modulus, TOP_PERCENTILE))
    levels: Array = np.minimum(modulus * (N_BINS / top if top > 0 else 1.0), N_BINS - 1)
    return levels.astype(np.uint8)


def window_histograms(levels: Array, window: int, step: int) -> Array:
    """Shares (h w, B) of the bins in square windows around the centres of the sites' cells.

    Pixels are first counted in the cells between all borders of windows, then cells are summed
    from a border to another by differences of running totals: a pixel is touched once.

    Parameters
    ----------
    levels : (H, W) uint8 array of bins
    window, step : int
        Side of the windows and distance of their centres, in pixels.
    """
    sites = site_shape(levels.shape, step)
    pad = window // 2 + step
    padded = np.pad(levels, pad, mode="symmetric")
    first = [pad + step * np.arange(n) + (step - window) // 2 for n in sites]
    borders = [np.unique(np.concatenate([start, start + window])) for start in first]
    cells = [
        np.searchsorted(border, np.arange(size), side="right")
        for border, size in zip(borders, padded.shape, strict=True)
    ]
    shape = len(borders[0]) + 1, len(borders[1]) + 1, N_BINS
    place = (cells[0][:, None] * shape[1] + cells[1]) * N_BINS + padded
    counted = np.bincount(place.ravel(), minlength=int(np.prod(shape))).reshape(shape)
    for axis, (start, border) in enumerate(zip(first, borders, strict=True)):
        running = counted.cumsum(axis=axis)
        from_, to = np.searchsorted(border, start), np.searchsorted(border, start + window)
        counted = running.take(to, axis=axis) - running.take(from_, axis=axis)
    # Exact in single precision for windows that are powers of two.
    return counted.reshape(-1, N_BINS).astype(np.float32) / np.float32(window**2)
