"""
A few labels among many documents
=================================

``LapPLSI`` ties every document to its nearest neighbours, and documents with the same label to each
other, and finds topics whose weights answer to that. A classifier on these weights needs few
labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from isotherm import AspectModel, LapPLSI, load_docstrings
from isotherm.evaluate import accuracies, draw

corpus = load_docstrings(["numpy", "scipy", "sklearn"], min_tokens=60)
names, classes = np.unique(corpus.labels, return_inverse=True)

# %%
# From each package 120 docstrings, of which the labels of a few are shown (the others are -1). The
# share of the hidden labels that a linear classifier then finds, from the weights of an annealed
# aspect model and from those of LapPLSI:

shown = (2, 5, 20)
found = {"aspect model": [], "LapPLSI": []}
for n_labels in shown:
    drawn = draw(classes, 120, n_labels, rng=0)
    counts = corpus.counts[drawn.rows]
    plain = AspectModel(20, random_state=0).fit(counts).row_weights_
    tied = LapPLSI(20, random_state=0).fit_transform(counts, drawn.known)
    found["aspect model"].append(accuracies(plain, drawn, strengths=[10])[0])
    found["LapPLSI"].append(accuracies(tied, drawn, strengths=[10])[0])

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, shares in found.items():
    axis.plot(shown, shares, marker="o", label=name)
axis.axhline(1 / len(names), color="grey", linestyle="dashed", label="chance")
axis.set(xscale="log", xticks=shown, xticklabels=shown, ylim=(0, 1))
axis.set_xlabel("labels shown of each class")
axis.set_title("hidden labels that are found", loc="left")
axis.minorticks_off()
axis.legend(loc="lower right")
figure

# %%
# This is one draw of documents. ``benchmarks/quality/semi_supervised.py`` repeats it on postings of
# newsgroups, next to other models.
