"""
Segments of an image, by texture
================================

Around every site of an image the answers of twelve filters are counted; sites are clustered by
these counts, coarse blocks first, and smoothed by what their neighbours say. Brightness and colour
play no part.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

from isotherm import segment

# %%
# Four textures made of noise, which differ in direction and scale, and all have the same mean and
# variance.

rng = np.random.default_rng(0)
y, x = np.mgrid[:256, :256]


def texture(across, along):
    """Noise that was smoothed by so much in either direction."""
    made = ndimage.gaussian_filter(rng.standard_normal((256, 256)), (across, along))
    return (made - made.mean()) / made.std()


textures = [texture(0.7, 4.0), texture(4.0, 0.7), texture(1.0, 1.0), texture(3.0, 3.0)]
wave = 14 * np.sin(x / 25)
truth = (y + wave > 128).astype(int) * 2 + (x + 14 * np.sin(y / 30) > 128)
image = np.choose(truth, textures)

found = segment(image, 4, random_state=0)

# %%
# The image, the segments, and how sure each site is of its own.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(image, cmap="gray")
axes[0].set_title("image", loc="left")
axes[1].imshow(found.labels, cmap="viridis")
axes[1].set_title("segments", loc="left")
axes[2].imshow(found.posterior.max(axis=2), cmap="gray", vmin=0.25, vmax=1)
axes[2].set_title("probability", loc="left")
for axis in axes:
    axis.set_axis_off()
figure

# %%
# How many pixels are right, with the best naming of the segments:

from isotherm.evaluate import accuracy

print(f"{accuracy(truth.ravel(), found.labels.ravel()):.3f}")
