from typing import Any

import numpy as np
import pytest
from scipy import signal

from isotherm.images import features
from support.corpora import two_waves


def gabor(wavelength: int, angle: float) -> Any:
    """A filter on the pixels, its mean taken out by a Gaussian."""
    sigma = 0.56 * wavelength
    size = int(np.ceil(6 * sigma))
    y, x = np.mgrid[-size : size + 1, -size : size + 1]
    envelope = np.exp(-(x**2 + y**2) / (2 * sigma**2))
    wave = np.exp(2j * np.pi / wavelength * (x * np.cos(angle) + y * np.sin(angle)))
    return envelope * (wave - (envelope * wave).sum() / envelope.sum()) / envelope.sum()


def test_the_bank_has_four_directions_of_three_wavelengths() -> None:
    assert [c.wavelength for c in features.CHANNELS] == [4] * 4 + [8] * 4 + [16] * 4
    assert [c.angle for c in features.CHANNELS[:4]] == pytest.approx(np.arange(4) * np.pi / 4)
    assert features.WINDOWS == {4: 16, 8: 32, 16: 64}


def test_moduli_are_those_of_filters_on_the_pixels() -> None:
    image = np.random.default_rng(0).uniform(0, 255, (70, 81))
    found = list(features.moduli(image))
    assert len(found) == 12
    for channel, modulus in zip(features.CHANNELS, found, strict=True):
        kernel = gabor(*channel)
        flat = image - image.mean()
        padded = np.pad(flat / np.abs(flat).max(), len(kernel) // 2, mode="symmetric")
        expected = np.abs(signal.fftconvolve(padded, kernel, mode="valid"))
        assert np.abs(modulus - expected).max() < 2e-3 * expected.max()


def test_a_wave_moves_the_filter_of_its_wavelength_and_direction_most() -> None:
    y, x = np.mgrid[:128, :128]
    for number, (wavelength, angle) in enumerate(features.CHANNELS):
        phase = 2 * np.pi / wavelength * (x * np.cos(angle) + y * np.sin(angle))
        middle = [m[32:96, 32:96].mean() for m in features.moduli(np.cos(phase))]
        assert int(np.argmax(middle)) == number


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1000.0), (1e200, 0.0), (1e-200, 0.0)])
def test_brightness_and_contrast_do_not_matter(scale: float, shift: float) -> None:
    image = np.random.default_rng(1).uniform(0, 1, (64, 64))
    changed = features.moduli(scale * image + shift)
    for one, other in zip(features.moduli(image), changed, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_bins_are_of_equal_width_up_to_the_percentile_and_the_last_is_open() -> None:
    modulus = np.concatenate([np.linspace(0, 1, 9951), np.full(49, 1e6)]).reshape(100, 100)
    top = np.percentile(modulus, 99.5)
    levels = features.binned(modulus)
    expected = np.minimum(np.floor(modulus / (top / 16)), 15)
    assert (levels == expected).mean() > 0.999
    assert levels.min() == 0
    assert levels.ravel()[-49:].tolist() == [15] * 49
    assert features.binned(np.zeros((4, 4))).tolist() == [[0] * 4] * 4


@pytest.mark.parametrize(("window", "step"), [(16, 8), (64, 8), (32, 5), (16, 4), (16, 16), (6, 1)])
def test_histograms_are_those_of_windows_around_the_cells(window: int, step: int) -> None:
    levels = np.random.default_rng(0).integers(0, 16, (70, 67)).astype(np.uint8)
    found = features.window_histograms(levels, window, step)
    height, width = features.site_shape(levels.shape, step)
    assert found.shape == (height * width, 16)
    padded = np.pad(levels, 100, mode="symmetric")
    for i, j in [(0, 0), (0, width - 1), (height - 1, 0), (height - 1, width - 1), (3, 2)]:
        top, left = (100 + step * n + (step - window) // 2 for n in (i, j))
        part = padded[top : top + window, left : left + window]
        expected = np.bincount(part.ravel(), minlength=16) / window**2
        np.testing.assert_allclose(found[i * width + j], expected, atol=1e-7)


@pytest.mark.parametrize(("shape", "step"), [((128, 128), 8), ((65, 90), 8), ((64, 64), 5)])
def test_every_site_has_the_same_number_of_counts(shape: tuple[int, int], step: int) -> None:
    counts = features.texture_counts(two_waves(*shape), step)
    height, width = features.site_shape(shape, step)
    assert height == -(-shape[0] // step)
    assert counts.shape == (height * width, 192)
    dense = counts.matrix.toarray().reshape(-1, 12, 16)
    np.testing.assert_allclose(dense.sum(axis=2), 16.0, rtol=1e-6)


def test_columns_are_named_and_in_order() -> None:
    counts = features.texture_counts(two_waves(64, 64), 8)
    assert counts.column_names is not None
    assert counts.column_names[0] == "wavelength 4, 0 degrees, bin 0"
    assert counts.column_names[4 * 16 + 16 + 3] == "wavelength 8, 45 degrees, bin 3"
    # Left of the middle waves of 8 pixels run along x: their filter is strong, that along y weak.
    whole = features.texture_counts(two_waves(), 8).matrix.toarray().reshape(16, 16, 12, 16)
    strength = whole @ np.arange(16)
    assert strength[8, 3, 4] > 5 * strength[8, 3, 6]
    assert strength[8, 12, 6] > 5 * strength[8, 12, 4]
