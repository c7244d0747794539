"""
How many topics? And how they came apart
========================================

With ``n_components="auto"`` a model begins with one component. Components split at their critical
temperatures; held-out words say when more of them no longer pay. Then halves of the documents are
fitted by themselves, and the model has as many components as both halves show.
"""

# %%
# A number that is known
# ----------------------
#
# Seven planted topics; every document mixes some of them.

import numpy as np

from isotherm import AspectModel, load_docstrings, plots
from isotherm.estimators.fitted import branch_words

rng = np.random.default_rng(1)
topics = rng.dirichlet(np.full(120, 0.05), size=7)
mixtures = rng.dirichlet(np.full(7, 0.2), size=300)
counts = np.stack([rng.multinomial(120, mixture @ topics) for mixture in mixtures])

planted = AspectModel("auto", random_state=0).fit(counts)
planted.levels_

# %%
# Held-out perplexity against the number of topics, along the run, and levels of the model:

plots.how_many(planted)

# %%
# A number that nobody knows
# --------------------------
#
# On text many small topics foretell words best, and few are found again in other documents. Levels
# lie between; here there are to be no more topics than we want to read.

corpus = load_docstrings(["numpy"])
coarse = AspectModel("auto", max_components=16, random_state=0).fit(corpus.counts)
print(coarse.describe(6))
plots.how_many(coarse)

# %%
# Each level is a model. Behind the share of a topic stands how alike it is in two halves of the
# documents; some of the finest level are only in this sample.

model = coarse.at(coarse.levels_[-1])
print(model.describe(6))

# %%
# ``topic_tree_`` puts topics together that meet in the same documents, and says how many times as
# often as by chance; the words of a node are those that set it apart from the node above.
# (``tree_`` has every split with its temperature.)

words = branch_words(model, 4)


def show(node=0, depth=0):
    """Print the tree below a node."""
    similarity = model.topic_tree_.similarities[node]
    alike = "" if np.isnan(similarity) else f"  ({similarity:.2f} times chance)"
    print("   " * depth + " ".join(words[node]) + alike)
    for child in model.topic_tree_.children(node):
        show(child, depth + 1)


show()

# %%
# Any smaller number of topics is a cut, no worse than a fit of that number.

for top in model.cut(5, corpus.counts).top_words(6):
    print(*top)
