"""
A search by words and topics
============================

A document may be about the query without using its words. ``SearchIndex`` adds up what the words,
the company they keep (the spectrum of the documents) and the topics say, and tells which of them
brought a document up.
"""

import matplotlib.pyplot as plt

from isotherm import AspectModel, SearchIndex, load_docstrings

corpus = load_docstrings(["numpy"])
models = [AspectModel(k, random_state=0).fit(corpus.counts) for k in (16, 24)]
index = SearchIndex.of(models, corpus.counts)
print(index.query("solve a system of linear equations", 3))

# %%
# What brought the first documents up: their words, and what topics, spectrum and feedback add.

results = index.query("solve a system of linear equations", 8)
hits = results.hits[::-1]
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
ends = [0.0] * len(hits)
for word in results.words:
    parts = [sum(share.amount for share in hit.words if share.word == word) for hit in hits]
    axis.barh([hit.name for hit in hits], parts, left=ends, label=word)
    ends = [end + part for end, part in zip(ends, parts, strict=True)]
for part, color in (("topics", "dimgrey"), ("spectrum", "darkgrey"), ("feedback", "lightgrey")):
    parts = [max(getattr(hit, f"through_{part}"), 0.0) for hit in hits]
    axis.barh([hit.name for hit in hits], parts, left=ends, color=color, label=part)
    ends = [end + part for end, part in zip(ends, parts, strict=True)]
axis.set_title("score", loc="left")
axis.legend()
figure

# %%
# Documents like a document, and words like a word, come from the same index.

print(results[0].name)
for near in index.similar(results[0].document, 5):
    print(f"{near.score:6.2f}  {near.name}")
print([near.name for near in index.similar_words("random", 8)])

# %%
# There is nothing to tune; ``weights``, ``interpolation`` and ``query`` choose the scores of the
# paper instead. How good each is on collections with known answers,
# ``benchmarks/quality/retrieval.py`` says.
