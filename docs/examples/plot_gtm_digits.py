"""
A map of digits
===============

``GTM`` lays a smooth sheet through vectors and says where on it each one lies. Here the vectors
are pictures of 8 x 8 pixels, so the way back from the map can be looked at. Places lie between the
nodes of the sheet and a little beyond its rim.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from isotherm import GTM, plots

digits = load_digits()
model = GTM(n_components=2, n_nodes=16, random_state=0)
places = model.fit_transform(digits.data)
plots.map_points(places, labels=[str(digit) for digit in digits.target])

# %%
# Where the sheet is stretched, dark, there is little data: borders between clusters.

plots.magnification(model, places, labels=[str(digit) for digit in digits.target])

# %%
# From places of the map back to pictures: every tile is what ``inverse_transform`` says of its
# place.

side = np.linspace(-1, 1, 10)
grid = np.stack(np.meshgrid(side, -side), axis=-1).reshape(-1, 2)
tiles = np.pad(
    model.inverse_transform(grid).reshape(10, 10, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1))
)
figure = plt.figure(figsize=(5, 5), layout="constrained")
axis = figure.add_subplot()
axis.imshow(tiles.transpose(0, 2, 1, 3).reshape(100, 100), cmap="gray_r", vmin=0, vmax=16)
axis.set_axis_off()
figure

# %%
# How it was annealed: the sheet opens at the first critical temperature. One step below it all its
# nodes can be told apart already, and cooling brings them to where the data are.

plots.annealing_path(model)

# %%
# A density finds odd rows: the least likely digits of all.

odd = np.argsort(model.score_samples(digits.data))[:8]
figure, axes = plt.subplots(1, 8, figsize=(8, 1.4), layout="constrained")
for axis, i in zip(axes, odd, strict=True):
    axis.imshow(digits.images[i], cmap="gray_r")
    axis.set_title(str(digits.target[i]), fontsize=9)
    axis.set_axis_off()
figure
