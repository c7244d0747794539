"""
A map of a corpus, and a page to explore
========================================

Documents are placed by their topics. The map is plain data that can be drawn, saved, or opened in
the explorer.
"""

import isotherm
from isotherm import plots

corpus = isotherm.load_docstrings(["numpy", "sklearn"])
model = isotherm.AspectModel(20, random_state=0).fit(corpus.counts)
found = isotherm.map_corpus(corpus.counts, topics=model, names=corpus.names, texts=corpus.texts)
plots.map_points(found, labels=corpus.labels)

# %%
# The explorer of the same map. It is one page without any server, here inside this one: point at a
# document, click on a topic, search for a word.

explorer = isotherm.Explorer.of(
    found, counts=corpus.counts, labels=corpus.sublabels, title="numpy and scikit-learn"
)
explorer

# %%
# New documents find their places on the same map.

new = isotherm.count_words(
    ["Fast Fourier transform of a real signal.", "Decision trees and forests."],
    vocabulary=corpus.counts.column_names,
).counts
found.place(new).round(2)
