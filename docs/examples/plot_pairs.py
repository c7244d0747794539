"""
Who meets whom: two sides at once
=================================

``TwoSidedClustering`` groups rows and columns at the same time, so that a small table says how
often their groups meet. ``cluster_pairs`` does that for a list of pairs, from reading to names.
"""

import numpy as np

from isotherm import cluster_pairs, plots

rng = np.random.default_rng(0)
adjectives = {
    "taste": "sweet sour bitter salty spicy".split(),
    "weather": "cloudy windy rainy stormy foggy".split(),
    "mood": "happy gloomy cheerful angry calm".split(),
}
nouns = {
    "taste": "apple soup cheese lemon sauce".split(),
    "weather": "morning sky coast valley autumn".split(),
    "mood": "child neighbour crowd teacher sailor".split(),
}
liking = {("mood", "weather"): 0.35, ("weather", "mood"): 0.05, ("taste", "mood"): 0.1}
pairs = []
for left, some in adjectives.items():
    for right, others in nouns.items():
        rate = 6.0 if left == right else 6.0 * liking.get((left, right), 0.02)
        for a in some:
            for n in others:
                pairs += [(a, n)] * rng.poisson(rate)
rng.shuffle(pairs)
print(len(pairs), "pairs, such as", *pairs[:3])

# %%
# Three clusters of each side. Members are listed by how typical they are.

found = cluster_pairs([tuple(pair) for pair in pairs], 3, random_state=0)
for c in range(3):
    print(c, *[n for n in found.names("left") if found.cluster_of(n, "left") == c])
for c in range(3):
    print(c, *[n for n in found.names("right") if found.cluster_of(n, "right") == c])

# %%
# How many times as often as by chance each two clusters meet: moods are said of weather, too.

plots.association(found.model, 5)
