"""
Maps with missing values
========================

Values that are not there (NaN) are left out of the likelihood, exactly; nothing is filled in
before. What was missing can be told afterwards from the place on the map.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from isotherm import GTM, plots

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
names = [f"cultivar {kind}" for kind in wine.target]

# %%
# A fifth of all values is taken away at random.

rng = np.random.default_rng(0)
gone = rng.random(X.shape) < 0.2
holes = np.where(gone, np.nan, X)
model = GTM(n_nodes=12, random_state=0).fit(holes)
places = model.transform(holes)
plots.map_points(places, labels=names)

# %%
# The values that were taken away, told from the places: next to the mean of the column, which is
# zero here.

told = model.inverse_transform(places)
error = np.sqrt(np.mean((told - X)[gone] ** 2))
print(
    f"root mean square error {error:.2f}; of the column mean {np.sqrt(np.mean(X[gone] ** 2)):.2f}"
)

# %%
# The fewer values of a row are known, the less is known of its place: ``responsibilities`` is the
# posterior over the nodes of the map, and its entropy says how sure it is.

for known in (13, 6, 3, 0):
    row = X[:1].copy()
    row[0, known:] = np.nan
    posterior = model.responsibilities(row)[0]
    entropy = -np.sum(posterior * np.log(np.maximum(posterior, 1e-300)))
    print(
        f"{known:2d} values: place {model.transform(row)[0].round(2)}, nodes {np.exp(entropy):.0f}"
    )
