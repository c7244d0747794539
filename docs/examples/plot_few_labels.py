"""
A few labels among many documents
=================================

``DTM`` ties every document to its nearest neighbours, and documents with the same label to each
other, and finds topics whose weights answer to that. A classifier on these weights needs few
labels.
"""

import numpy as np

from isotherm import DTM, AspectModel, load_docstrings
from isotherm.evaluate import accuracies, draw

corpus = load_docstrings(["numpy", "scipy", "sklearn"], min_tokens=60)
names, classes = np.unique(corpus.labels, return_inverse=True)

# %%
# From each package 120 docstrings, of which the labels of a few are shown (the others are -1). The
# share of the hidden labels that a linear classifier then finds, from the weights of an annealed
# aspect model and from those of DTM. It is one draw of documents; ``benchmarks/semi_supervised.py``
# repeats it on postings of newsgroups.

print("labels each  aspect   DTM")
for n_labels in (2, 5, 20):
    drawn = draw(classes, 120, n_labels, rng=0)
    counts = corpus.counts[drawn.rows]
    plain = AspectModel(20, random_state=0).fit(counts).row_weights_
    tied = DTM(20, random_state=0).fit_transform(counts, drawn.known)
    found = [accuracies(weights, drawn, strengths=[10])[0] for weights in (plain, tied)]
    print(f"{n_labels:11d}  {found[0]:6.2f}  {found[1]:4.2f}")
