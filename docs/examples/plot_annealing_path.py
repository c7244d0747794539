"""
The annealing path of a corpus
==============================

What happens between hot and cold: components come apart, and held-out words say where to stop.
:doc:`/annealing-path` explains how to read the figures.
"""

# %%
# A planted corpus
# ----------------
#
# Two fields of two subjects each: 80 documents on each subject share a quarter of their words with
# the other subject of the field, and a few with all.

import numpy as np

from isotherm import Engine, Exponential, OneSidedClustering, plots

rng = np.random.default_rng(0)
subjects = np.full((4, 60), 0.2)
for subject in range(4):
    subjects[subject, 10 * subject : 10 * subject + 10] += 1.0
    field = 40 + 10 * (subject // 2)
    subjects[subject, field : field + 10] += 2.0
subjects /= subjects.sum(axis=1, keepdims=True)
counts = np.stack([rng.multinomial(40, subjects[i % 4]) for i in range(320)])

# %%
# A clustering into four, cooled slowly from just above the first critical temperature. First the
# fields part, then the subjects within them; ``record_critical=True`` notes at every temperature
# where each cluster would come apart, which predicts the transitions before they happen. A low
# ``tol`` lets each temperature settle for long, and ``patience`` keeps the cooling from stopping on
# the plateau between the two.

model = OneSidedClustering(
    4,
    weighting="tokens",
    schedule=Exponential(rate=0.95, margin=1.1, end=1.0),
    temper_prior=False,
    pseudo_count=0,
    engine=Engine(patience=50, record_critical=True),
    tol=1e-9,
    max_iter=1000,
    random_state=0,
).fit(counts)
plots.annealing_path(model)

# %%
# Docstrings
# ----------
#
# Real text is not so tidy: words of a topic come and go together at nearly the same temperature,
# so that most topics appear within a few steps, and what is left of the way sharpens them.

from isotherm import AspectModel, load_docstrings

corpus = load_docstrings(["numpy"])
topics = AspectModel(
    12,
    schedule=Exponential(rate=0.97, margin=1.02),
    tol=1e-6,
    engine=Engine(record_critical=True),
    random_state=0,
).fit(corpus.counts)
plots.annealing_path(topics)

# %%
# The same in numbers: one record for each temperature.

print("     T  held out  distinct  sweeps")
for record in topics.trace_:
    print(
        f"{record.temperature:6.3f}  {record.heldout:8.1f}  {record.n_effective:8d}"
        f"  {record.sweeps:6d}"
    )
print(f"chosen: T = {topics.temperature_:.3f}; {topics.outcome_}")
