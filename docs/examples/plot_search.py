"""
A search by words and topics
============================

A document may be about the query without using its words. ``SearchIndex`` mixes what a document
says with what its topics would say (PLSI), and tells which of them brought it up.
"""

import matplotlib.pyplot as plt

from isotherm import AspectModel, SearchIndex, load_docstrings

corpus = load_docstrings(["numpy"])
models = [AspectModel(k, random_state=0).fit(corpus.counts) for k in (16, 24)]
index = SearchIndex.of(models, corpus.counts)
print(index.query("solve a system of linear equations", 3))

# %%
# What brought the first documents up: their words, and what their topics add.

results = index.query("solve a system of linear equations", 8)
hits = results.hits[::-1]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
ends = [0.0] * len(hits)
for word in results.words:
    parts = [sum(share.amount for share in hit.words if share.word == word) for hit in hits]
    axis.barh([hit.name for hit in hits], parts, left=ends, label=word)
    ends = [end + part for end, part in zip(ends, parts, strict=True)]
axis.barh(
    [hit.name for hit in hits],
    [hit.through_topics for hit in hits],
    left=ends,
    color="lightgrey",
    label="topics",
)
axis.set_title("score", loc="left")
axis.legend()
figure

# %%
# The share of the topics is ``interpolation``; with 0 only words count. Here the names of the first
# five documents both ways.

for share in (0.0, 0.5):
    settings = index.settings._replace(interpolation=share)
    results = index.with_settings(settings).query("random numbers of a distribution", 5)
    print(f"interpolation {share}:")
    for hit in results.hits:
        print("   ", hit.name)

# %%
# Which settings are good is a question for queries with known answers: ``isotherm.retrieval`` has
# the measures, and ``benchmarks/quality/retrieval.py`` asks it on the Cranfield collection.
