"""
Clusters, and a hierarchy of them
=================================

Here a document belongs to one group. ``OneSidedClustering`` gives the groups;
``HierarchicalClustering`` puts them at the leaves of a tree, and words at the nodes where they
belong: general ones high up, special ones at the leaves.
"""

from isotherm import HierarchicalClustering, OneSidedClustering, load_docstrings, plots
from isotherm.evaluate import nmi

corpus = load_docstrings(["numpy"])
clusters = OneSidedClustering(8, random_state=0).fit(corpus.counts)
print(clusters.describe(6))

# %%
# The labels are found without any: the part of the package that a docstring is from says how much
# they have to do with each other.

print(f"information shared with parts of packages: {nmi(corpus.sublabels, clusters.labels_):.2f}")

# %%
# A hierarchy of the same documents.

tree = HierarchicalClustering(8, random_state=0).fit(corpus.counts)
plots.tree_words(tree)

# %%
# How one word is shared by the nodes:

plots.word_spread(tree, "series")
