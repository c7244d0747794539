"""
Topics and what documents repeat
================================

Words come in bursts: a document that has used a name uses it again, whatever it is about. Topics
need not explain that, if a model knows what a document repeats.
"""

# %%
# Documents about one or two of four topics. A fifth of their tokens are two words of their own, as
# the names of a thread would be.

import matplotlib.pyplot as plt
import numpy as np

from isotherm import AspectModel

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(200, 0.1), 4)
counts = np.zeros((200, 200))
for row in counts:
    own = rng.binomial(60, 0.2)
    mixed = rng.dirichlet(np.full(4, 0.2)) @ topics
    np.add.at(row, rng.choice(200, 60 - own, p=mixed), 1)
    np.add.at(row, rng.choice(rng.choice(200, 2, replace=False), own), 1)

# %%
# How many topics predict best? Without own words, names of single documents are topics.

settings = {"max_components": 32, "random_state": 0}
plain = AspectModel("predict", **settings).fit(counts)
model = AspectModel("predict", own_words=True, **settings).fit(counts)
print(f"{plain.n_components_} topics without own words, {model.n_components_} with them")
print(f"weight of own words: {model.own_weight_:.2f}")

# %%
# How alike are the topics that were planted and those that are found, each model being told that
# there are four?


def cosines(found):
    """Cosine of each planted topic and each that was found."""
    a, b = (t / np.linalg.norm(t, axis=1, keepdims=True) for t in (topics, found))
    return a @ b.T


figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True)
for ax, own_words in zip(axes, (False, True), strict=True):
    fit = AspectModel(4, own_words=own_words, random_state=0).fit(counts)
    table = cosines(fit.components_)
    order = [int(table[k].argmax()) for k in range(4)]
    ax.imshow(table[:, order], vmin=0, vmax=1, cmap="Blues")
    ax.set(title="with own words" if own_words else "without", xlabel="found", xticks=[], yticks=[])
    for k, at in enumerate(order):
        ax.text(k, k, f"{table[k, at]:.2f}", ha="center", va="center", color="white")
axes[0].set_ylabel("planted")
figure
