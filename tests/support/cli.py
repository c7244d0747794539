"""A small collection about three things, as a file of JSON lines."""

import json
from pathlib import Path

import numpy as np

THINGS = {
    "sea": "ship sea wave harbour sailor storm anchor deck sail coast".split(),
    "money": "bank money price market loan share profit trade dollar tax".split(),
    "sport": "team game ball player score coach season match goal league".split(),
}


def write_stories(path: Path, number: int = 60, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    kinds = list(THINGS)
    lines = []
    for i in range(number):
        kind = kinds[i % 3]
        words = [*rng.choice(THINGS[kind], 30), *rng.choice(THINGS[str(rng.choice(kinds))], 4)]
        text = "The " + " ".join(words) + " of it."
        entry = {"id": f"d{i}", "title": f"{kind} story {i}", "kind": kind, "text": text}
        lines.append(json.dumps(entry) + "\n")
    path.write_text("".join(lines))
    return path
