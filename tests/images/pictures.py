"""Images that are made, not read."""

from typing import Any

import numpy as np


def two_waves(height: int = 128, width: int = 128, seed: int = 0) -> Any:
    """Upright waves on the left half, lying ones on the right, and a little noise."""
    y, x = np.mgrid[:height, :width]
    image = np.where(x < width // 2, np.sin(2 * np.pi * x / 8), np.sin(2 * np.pi * y / 8))
    return image + 0.1 * np.random.default_rng(seed).standard_normal(image.shape)
