"""An explorer without any fit: made-up documents of 24 topics in a tree of three levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from isotherm.viewer.container import pack

N_TOPICS, N_GROUPS, N_SECTIONS = 24, 3, 8
PER_TOPIC = 25
MISSING = {np.uint8: 255, np.uint16: 65535}
SUBJECTS = (
    "kernel matrix tensor vector string socket thread process parser token cluster sample "
    "gradient spline fourier filter wavelet polygon buffer stream archive locale calendar random"
).split()
SECTIONS = ("north", "east", "south", "west")
PROSE = (
    "the of and in to a for with on as by from at is are that this which can may not or over under"
).split()


def synthetic(n: int, seed: int = 0, *, live: bool = False) -> dict[str, bytes]:
    """All parts of an explorer of n documents, as blocks by name, "points" first."""
    rng = np.random.default_rng(seed)
    world = _world(n, rng)
    parts = {"points": _points(world, live), "documents": _documents(world), "words": _words(world)}
    if not live:
        parts["texts"] = pack({"whole": True}, {}, {"texts": _texts(world)})
        parts["index"] = _index(world)
    return parts


def _world(n: int, rng: np.random.Generator) -> dict[str, Any]:
    weights = rng.dirichlet(np.full(N_TOPICS, 3.0))
    topic = rng.choice(N_TOPICS, n, p=weights)
    second = rng.choice(N_TOPICS, n, p=weights)
    share = rng.uniform(0.45, 0.95, n)
    groups = np.arange(N_TOPICS) // (N_TOPICS // N_GROUPS)
    sections = np.arange(N_TOPICS) // (N_TOPICS // N_SECTIONS)
    places, centres = [], []
    for axes in (3, 2):
        far = _spread(N_GROUPS, axes, 1.0)[groups]
        near = _spread(N_SECTIONS, axes, 0.35)[sections]
        centre = far + near + 0.16 * rng.normal(size=(N_TOPICS, axes))
        centre *= 0.9 / np.abs(centre).max()
        place = share[:, None] * centre[topic] + (1 - share[:, None]) * centre[second]
        place = np.clip(place + 0.05 * rng.normal(size=(n, axes)), -1, 1)
        place[rng.random(n) < 0.002] = np.nan
        places.append(place)
        centres.append(centre)
    n_words = N_TOPICS * PER_TOPIC
    words = [
        SUBJECTS[k] if j == 0 else f"{SUBJECTS[k]}{j}" for k in range(N_TOPICS) for j in range(25)
    ]
    table = np.full((N_TOPICS, n_words), 0.1 / n_words)
    for k in range(N_TOPICS):
        own = slice(k * PER_TOPIC, (k + 1) * PER_TOPIC)
        table[k, own] += 0.9 * rng.dirichlet(np.full(PER_TOPIC, 0.6))
    table /= table.sum(axis=1, keepdims=True)
    return {
        **{"n": n, "rng": rng, "weights": weights, "topic": topic, "second": second},
        **{"share": share, "groups": groups, "sections": sections, "places": places},
        **{"centres": centres, "words": words, "table": table},
        "titles": _titles(n, topic, rng),
    }


def _spread(n: int, axes: int, radius: float) -> np.ndarray:
    """n directions, evenly over a circle or a sphere."""
    turn = np.arange(n) * np.pi * (3 - np.sqrt(5))
    if axes == 2:
        turn = 2 * np.pi * np.arange(n) / n
        return radius * np.column_stack([np.cos(turn), np.sin(turn)])
    height = 1 - 2 * (np.arange(n) + 0.5) / n
    flat = np.sqrt(1 - height**2)
    return radius * np.column_stack([flat * np.cos(turn), flat * np.sin(turn), height])


def _titles(n: int, topic: np.ndarray, rng: np.random.Generator) -> list[str]:
    other = rng.integers(0, N_TOPICS, n)
    titles = [
        f"{SUBJECTS[k]} and {SUBJECTS[o]}, no. {i}"
        for i, (k, o) in enumerate(zip(topic.tolist(), other.tolist(), strict=True))
    ]
    # What has broken pages before.
    odd = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "", "İstanbul ✓"]
    odd += ["漢字の文書", "\u202eright to left", "nul \x00 inside", "x" * 300]
    titles[: len(odd)] = odd[:n]
    return titles[:n]


def _quantised(values: np.ndarray, low: Any, high: Any) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        steps = np.rint((values - low) / (high - low) * 65534)
    return np.where(np.isfinite(values), steps, 65535).astype(np.uint16)


def _listed(probabilities: np.ndarray, words: list[str], number: int) -> list[list[Any]]:
    order = np.argsort(-probabilities, kind="stable")[:number]
    return [[words[w], round(float(probabilities[w]), 5)] for w in order]


def _topics(world: dict[str, Any]) -> list[dict[str, Any]]:
    table, words, weights = world["table"], world["words"], world["weights"]
    unigram = weights @ table
    roots = np.sqrt(table)
    like = roots @ roots.T
    topics = []
    for k in range(N_TOPICS):
        best = [j for j in np.argsort(-like[k]) if j != k][:5]
        found = _listed(table[k], words, 20)
        topics.append(
            {
                "name": ", ".join(word for word, _ in found[:3]),
                "words": found,
                "lift": _listed(np.where(table[k] > 1e-3, table[k] / unigram, 0), words, 20),
                "size": float(weights[k]),
                "coherence": round(0.2 + 0.5 * ((k * 7) % 11) / 11, 3),
                "similar": [[int(j), round(float(like[k, j]), 4)] for j in best],
                "node": 1 + N_GROUPS + N_SECTIONS + k,
            }
        )
    return topics


def _tree(world: dict[str, Any]) -> dict[str, Any]:
    groups, sections = world["groups"], world["sections"]
    of_section = [int(groups[np.flatnonzero(sections == s)[0]]) for s in range(N_SECTIONS)]
    parents = [-1, *[0] * N_GROUPS, *(1 + g for g in of_section)]
    parents += [1 + N_GROUPS + int(s) for s in sections]
    members = [np.arange(N_TOPICS), *(np.flatnonzero(groups == g) for g in range(N_GROUPS))]
    members += [np.flatnonzero(sections == s) for s in range(N_SECTIONS)]
    members += [np.array([k]) for k in range(N_TOPICS)]
    weights, table = world["weights"], world["table"]
    mean = [(weights[m] / weights[m].sum()) @ table[m] for m in members]
    inner = [1.0, *np.linspace(0.8, 0.7, N_GROUPS), *np.linspace(0.5, 0.3, N_SECTIONS)]
    return {
        "kind": "splits",
        "parents": parents,
        "temperatures": [*map(float, inner), *[None] * N_TOPICS],
        "similarities": [],
        "meaning": "",
        "splits": sorted({float(t) for t in inner}, reverse=True),
        "components": [*[None] * len(inner), *range(N_TOPICS)],
        "words": [_listed(p, world["words"], 10) for p in mean],
        "sizes": [float(weights[m].sum()) for m in members],
    }


def _stages(world: dict[str, Any]) -> list[dict[str, Any]]:
    weights, table = world["weights"], world["table"]
    whole = np.zeros(N_TOPICS, dtype=int)
    stages = []
    kept = (1.05, whole), (0.75, world["groups"]), (0.4, world["sections"])
    for temperature, codes in (*kept, (0.2, np.arange(N_TOPICS))):
        topics = []
        for code in range(codes.max() + 1):
            finals = np.flatnonzero(codes == code)
            mean = (weights[finals] / weights[finals].sum()) @ table[finals]
            found = _listed(mean, world["words"], 10)
            topics.append(
                {
                    "name": ", ".join(word for word, _ in found[:3]),
                    "words": found,
                    "size": float(weights[finals].sum()),
                    "finals": finals.tolist(),
                }
            )
        stages.append(
            {
                "temperature": temperature,
                "n_topics": len(topics),
                "topics": topics,
                "moved": [] if len(topics) == N_TOPICS else [0, 1],
            }
        )
    return stages


def _cooling(name: str, first: float, floor: float) -> dict[str, Any]:
    trace = []
    for step in range(25):
        temperature = 1.1 * (floor / 1.1) ** (step / 24)
        progress = step / 24
        n = int(1 + (N_TOPICS - 1) * progress**1.5)
        trace.append(
            {
                "temperature": temperature,
                "free_energy": 9e5 - 2e5 * progress**2,
                "log_likelihood": -9e5 + 1.5e5 * progress,
                "heldout": 900 - 500 * progress + (60 * (progress - 0.8) if progress > 0.8 else 0),
                "n_effective": n,
                "sweeps": 10 + step,
            }
        )
    return {
        "name": name,
        "parts": "components" if name == "topics" else "nodes",
        "first_critical": first,
        "temperature": trace[-1]["temperature"],
        "trace": trace,
    }


def _columns(world: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    n, rng = world["n"], world["rng"]
    section = (world["topic"] % len(SECTIONS)).astype(np.uint8)
    section[rng.random(n) < 0.02] = 255
    year = 1990 + 30 * rng.beta(2, 1, n) + world["topic"] / 8
    year[rng.random(n) < 0.02] = np.nan
    length = rng.lognormal(4, 0.8, n)
    kinds: list[dict[str, Any]] = [
        {"name": "section", "kind": "category", "categories": list(SECTIONS)},
        {"name": "year", "kind": "number"},
        {"name": "length", "kind": "number"},
    ]
    arrays = {"column0": section}
    kinds[0]["missing"] = int((section == 255).sum())
    for c, values in ((1, year), (2, length)):
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        kinds[c] |= {"low": low, "high": high, "missing": int(np.isnan(values).sum())}
        arrays[f"column{c}"] = _quantised(values, low, high if high > low else low + 1)
    return kinds, arrays


def _points(world: dict[str, Any], live: bool) -> bytes:
    arrays: dict[str, np.ndarray] = {}
    maps = []
    for m, (places, centres) in enumerate(zip(world["places"], world["centres"], strict=True)):
        axes = places.shape[1]
        side = 10 if axes == 3 else 20
        line = np.linspace(0, 1, side)
        nodes = np.stack(np.meshgrid(*[line] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
        arrays[f"map{m}.places"] = _quantised(places, -1, 1)
        arrays[f"map{m}.places"][np.isnan(places[:, 0])] = 65535
        arrays[f"map{m}.topics"] = ((centres + 1) / 2).astype(np.float32)
        arrays[f"map{m}.nodes"] = nodes.astype(np.float32)
        arrays[f"map{m}.magnification"] = np.exp(np.sin(9 * nodes).sum(axis=1)).astype(np.float32)
        empty = int(np.isnan(places[:, 0]).sum())
        grid = [side] * axes
        maps.append({"name": f"{axes}-D", "dimensions": axes, "grid": grid, "empty": empty})
    columns, more = _columns(world)
    arrays |= {"topic": world["topic"].astype(np.uint8), **more}
    parts = ["points", "documents", "words", *([] if live else ["texts", "index"])]
    meta = {
        "format": "isotherm explorer",
        "version": 1,
        "title": "A made-up corpus",
        "subtitle": "24 topics in a tree of three levels",
        "live": live,
        "n_documents": world["n"],
        "n_topics": N_TOPICS,
        "n_words": len(world["words"]),
        "parts": parts,
        "nouns": {
            **{"row": "document", "rows": "documents", "column": "word", "columns": "words"},
            **{"component": "topic", "components": "topics"},
        },
        "facts": [["documents", f"{world['n']:,}"], ["topics", "24"], ["model", "AspectModel"]],
        "maps": maps,
        "columns": columns,
        "topics": _topics(world),
        "tree": _tree(world),
        "coolings": [_cooling("topics", 0.9, 0.2), _cooling("map", 1.0, 0.05)],
        "stages": _stages(world),
    }
    return pack(meta, arrays)


def _documents(world: dict[str, Any]) -> bytes:
    topic, second, share = world["topic"], world["second"], world["share"]
    topics = np.column_stack([topic, second, (topic + 1) % N_TOPICS]).astype(np.uint8)
    weights = np.column_stack([share, 0.8 * (1 - share), 0.1 * (1 - share)])
    weights[:, 1][topic == second] = 0
    weights[:, 2][(topic + 1) % N_TOPICS == second] = 0
    arrays = {"shares.topic": topics, "shares.weight": np.rint(255 * weights).astype(np.uint8)}
    typical = np.full((N_TOPICS, 50), 4294967295, np.uint32)
    order = np.argsort(-share, kind="stable")
    for k in range(N_TOPICS):
        found = order[topic[order] == k][:50]
        typical[k, : len(found)] = found
    arrays["typical"] = typical
    codings = np.zeros(N_TOPICS, int), world["groups"], world["sections"]
    for s, codes in enumerate(codings):
        arrays[f"stage{s}.topic"] = codes[topic].astype(np.uint8)
        for m, (places, centres) in enumerate(zip(world["places"], world["centres"], strict=True)):
            middle = np.stack([centres[codes == codes[k]].mean(axis=0) for k in range(N_TOPICS)])
            amount = 0.0 if s == 0 else 0.25 * s
            moved = middle[topic] + amount * (places - middle[topic])
            arrays[f"stage{s}.map{m}"] = _quantised(moved, -1, 1)
            arrays[f"stage{s}.map{m}"][np.isnan(places[:, 0])] = 65535
    return pack({}, arrays, {"titles": world["titles"]})


def _words(world: dict[str, Any]) -> bytes:
    table, weights = world["table"], world["weights"]
    joint = weights[:, None] * table
    spread = np.rint(255 * joint / joint.sum(axis=0)).astype(np.uint8).T
    word, topic = np.nonzero(spread)
    start = np.searchsorted(word, np.arange(len(spread) + 1))
    totals = np.rint(100 * world["n"] * joint.sum(axis=0)).astype(np.uint32)
    arrays = {
        "totals": totals,
        "spread.start": start.astype(np.uint32),
        "spread.topic": topic.astype(np.uint8),
        "spread.share": spread[word, topic],
    }
    return pack({}, arrays, {"words": world["words"]})


def _said(world: dict[str, Any]) -> np.ndarray:
    """Words (I, 12) of each document: nine of its first topic, three of its second."""
    if "said" not in world:
        rng, n = np.random.default_rng(1), world["n"]
        each = [world["topic"]] * 9 + [world["second"]] * 3
        world["said"] = np.column_stack(each) * PER_TOPIC + rng.integers(0, PER_TOPIC, (n, 12))
    return np.asarray(world["said"])


def _texts(world: dict[str, Any]) -> list[str]:
    words, filler = np.array(world["words"], dtype=object), np.array(PROSE, dtype=object)
    rng = np.random.default_rng(2)
    rows = words[_said(world)]
    between = filler[rng.integers(0, len(PROSE), rows.shape)]
    texts = [
        " ".join(f"{a} {b}" for a, b in zip(one, other, strict=True)).capitalize() + "."
        for one, other in zip(between, rows, strict=True)
    ]
    if texts:
        texts[0] = "</script><b>bold?</b> " + texts[0]
    return texts


def _varints(values: np.ndarray) -> bytes:
    out = bytearray()
    for value in values.tolist():
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
    return bytes(out)


def _index(world: dict[str, Any]) -> bytes:
    said, n = _said(world), world["n"]
    pairs, counts = np.unique(said * np.int64(n) + np.arange(n)[:, None], return_counts=True)
    word, document = pairs // n, pairs % n
    blocks, start = [], [0]
    for w in range(len(world["words"])):
        mine = word == w
        gaps = np.diff(document[mine], prepend=-1) - 1
        blocks.append(_varints(np.column_stack([gaps, counts[mine]]).ravel()))
        start.append(start[-1] + len(blocks[-1]))
    arrays = {
        "postings.start": np.array(start, np.uint32),
        "postings.bytes": np.frombuffer(b"".join(blocks), np.uint8),
        "lengths": np.full(n, said.shape[1], np.uint32),
    }
    return pack({}, arrays)
