"""
The same topics from every seed?
================================

EM from random starts ends in another optimum each time. An annealed fit begins where there is only
one, and mostly stays in its valley. Here both are fitted with five seeds.
"""

import matplotlib.pyplot as plt
import numpy as np

from isotherm import AspectModel, Fixed, Noisy, load_docstrings
from isotherm.evaluate import stability

counts = load_docstrings(["numpy"]).counts
seeds = range(5)
annealed = [AspectModel(12, random_state=seed).fit(counts) for seed in seeds]
plain = [
    AspectModel(
        12, schedule=Fixed(1.0), start=Noisy(1.0), validation_fraction=0, random_state=seed
    ).fit(counts)
    for seed in seeds
]

# %%
# Topics of two fits are paired one to one, by the best pairing of all; the figure shows the mean
# cosine of the pairs. One means: the same topics.

found = {"EM, random starts": stability(plain), "annealed": stability(annealed)}

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axis, (name, one) in zip(axes, found.items(), strict=True):
    drawn = axis.imshow(one.pairs, vmin=0.5, vmax=1.0, cmap="viridis")
    axis.set_title(f"{name}: {one.mean:.2f}", loc="left")
    axis.set_xlabel("seed")
    axis.set_ylabel("seed")
figure.colorbar(drawn, ax=axes, label="mean cosine of paired topics")
figure

# %%
# Not every topic is as stable as the mean. Those that change from seed to seed are to be read with
# care.

model = annealed[0]
order = np.argsort(-found["annealed"].per_topic)
for k in order:
    print(f"{found['annealed'].per_topic[k]:.2f}", *model.top_words(6)[k])

# %%
# Being the same is not being good: ``evaluate_topics`` has measures for that, and
# ``benchmarks/quality/stability.py`` compares the likelihoods on larger collections.
