"""An explorer without any fit: made-up documents of 24 topics in a tree of three levels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from isotherm import Counts, Tree
from isotherm.estimators.words import telling
from isotherm.viewer import gather
from isotherm.viewer.container import Part, pack
from isotherm.viewer.format import (
    PARTS,
    Column,
    CoolingMeta,
    PointsMeta,
    RecordMeta,
    StageMeta,
    TopicMeta,
)
from isotherm.viewer.parts import contents, points
from isotherm.viewer.parts.points import Place
from isotherm.viewer.parts.stages import Moment, joined, stage_meta
from isotherm.viewer.parts.words import index_part, words_part

N_TOPICS, N_GROUPS, N_SECTIONS = 24, 3, 8
PER_TOPIC = 25
GROUPS = np.arange(N_TOPICS) // (N_TOPICS // N_GROUPS)
SECTION_OF = np.arange(N_TOPICS) // (N_TOPICS // N_SECTIONS)
# Which topic each final one came of, from hot to cold.
OWNERS = np.zeros(N_TOPICS, int), GROUPS, SECTION_OF, np.arange(N_TOPICS)
SUBJECTS = (
    "kernel matrix tensor vector string socket thread process parser token cluster sample "
    "gradient spline fourier filter wavelet polygon buffer stream archive locale calendar random"
).split()
SECTIONS = ("north", "east", "south", "west")
PROSE = (
    "the of and in to a for with on as by from at is are that this which can may not or over under"
).split()


SAID = gather.Given(
    None, None, None, {}, {}, "A made-up corpus", "24 topics in a tree of three levels"
)


def synthetic(n: int, seed: int = 0, *, live: bool = False) -> dict[str, bytes]:
    """All parts of an explorer of n documents, as blocks by name, "points" first."""
    world = _world(n, np.random.default_rng(seed))
    parts = {"points": _points(world, live), "documents": _documents(world), "words": _words(world)}
    if not live:
        parts["texts"] = Part({"whole": True}, {}, {"texts": _texts(world)})
        parts["index"] = _index(world)
    return {name: pack(*part) for name, part in parts.items()}


def _world(n: int, rng: np.random.Generator) -> dict[str, Any]:
    weights = rng.dirichlet(np.full(N_TOPICS, 3.0))
    topic = rng.choice(N_TOPICS, n, p=weights)
    second = rng.choice(N_TOPICS, n, p=weights)
    share = rng.uniform(0.45, 0.95, n)
    places, centres = [], []
    for axes in (3, 2):
        far = _spread(N_GROUPS, axes, 1.0)[GROUPS]
        near = _spread(N_SECTIONS, axes, 0.35)[SECTION_OF]
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
        **{"n": n, "rng": rng, "topic": topic, "second": second, "share": share},
        **{
            "places": places,
            "centres": centres,
            "words": words,
            "model": _model(weights, table, words),
        },
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


def _placed(world: dict[str, Any]) -> list[Place]:
    """The maps, each in a box from -1 to 1."""
    placed = []
    for places, centres in zip(world["places"], world["centres"], strict=True):
        axes = places.shape[1]
        side = 10 if axes == 3 else 20
        line = np.linspace(0, 1, side)
        nodes = np.stack(np.meshgrid(*[line] * axes, indexing="ij"), axis=-1).reshape(-1, axes)
        high = np.ones(axes)
        placed.append(
            Place(
                f"{axes}-D",
                places,
                -high,
                high,
                topics=centres,
                nodes=2 * nodes - 1,
                magnification=np.exp(np.sin(9 * nodes).sum(axis=1)),
                grid=(side,) * axes,
            )
        )
    return placed


def _topics(world: dict[str, Any]) -> list[TopicMeta]:
    topics = contents.topics_of(world["model"], world["words"], None)
    for k, topic in enumerate(topics):
        topic["coherence"] = round(0.2 + 0.5 * ((k * 7) % 11) / 11, 3)
    return topics


# How reproducible the first two topics are.
DOUBTFUL, SOLID = 0.41, 0.93


def _model(weights: np.ndarray, table: np.ndarray, words: list[str]) -> SimpleNamespace:
    """What the library asks of a fitted model, with a tree of groups, sections and topics."""
    of_section = GROUPS[:: N_TOPICS // N_SECTIONS]
    parents = [-1, *[0] * N_GROUPS, *(1 + of_section), *(1 + N_GROUPS + SECTION_OF)]
    usual = weights @ table
    first = np.argsort(-telling(table, usual, table), axis=1, kind="stable")[:, :3]
    known = np.full(N_TOPICS, np.nan)
    known[:2] = DOUBTFUL, SOLID
    inner = [1.0, *np.linspace(0.8, 0.7, N_GROUPS), *np.linspace(0.5, 0.3, N_SECTIONS)]
    return SimpleNamespace(
        weights_=weights,
        components_=table,
        unigram_=usual,
        background_=usual,
        names_=tuple(", ".join(words[j] for j in row) for row in first),
        reproducibility_=known,
        tree_=Tree(parents, temperatures=[*inner, *[np.nan] * N_TOPICS]),
    )


def _stages(world: dict[str, Any]) -> list[StageMeta]:
    model = world["model"]
    metas = []
    for temperature, owner in zip((1.05, 0.75, 0.4, 0.2), OWNERS, strict=True):
        sizes = np.bincount(owner, model.weights_)
        table = joined((model.weights_[:, None] * model.components_).T, owner, len(sizes)).T
        moment = Moment(temperature, sizes, table / sizes[:, None], owner)
        moved = [] if len(sizes) == N_TOPICS else [0, 1]
        metas.append(stage_meta(model, moment, world["words"], moved))
    return metas


def _cooling(name: str, first: float, floor: float) -> CoolingMeta:
    trace: list[RecordMeta] = []
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


def _columns(world: dict[str, Any]) -> tuple[list[Column], dict[str, np.ndarray]]:
    n, rng = world["n"], world["rng"]
    section = np.array(SECTIONS, dtype=object)[world["topic"] % len(SECTIONS)]
    section[rng.random(n) < 0.02] = None
    year = 1990 + 30 * rng.beta(2, 1, n) + world["topic"] / 8
    year[rng.random(n) < 0.02] = np.nan
    length = rng.lognormal(4, 0.8, n)
    return points.columns_of({"section": section, "year": year, "length": length}, n)


def _points(world: dict[str, Any], live: bool) -> Part:
    n = world["n"]
    columns, arrays = _columns(world)
    placed = _placed(world)
    for m, place in enumerate(placed):
        arrays |= points.map_arrays(m, place)
    arrays["topic"] = points.codes(world["topic"], N_TOPICS)
    meta: PointsMeta = {
        **gather.head(SAID, gather.NOUNS, n),
        "live": live,
        "editing": None,
        "n_topics": N_TOPICS,
        "n_words": len(world["words"]),
        "parts": [name for name in PARTS if not live or name not in ("texts", "index")],
        "facts": [["documents", f"{n:,}"], ["topics", "24"], ["model", "AspectModel"]],
        "maps": [points.map_meta(place) for place in placed],
        "columns": columns,
        "topics": _topics(world),
        "tree": contents.tree_meta(world["model"], world["words"]),
        "coolings": [_cooling("topics", 0.9, 0.2), _cooling("map", 1.0, 0.05)],
        "stages": _stages(world),
    }
    return Part(meta, arrays, {})


def _documents(world: dict[str, Any]) -> Part:
    n, topic, second, share = world["n"], world["topic"], world["second"], world["share"]
    weights, row = np.zeros((n, N_TOPICS)), np.arange(n)
    weights[row, (topic + 1) % N_TOPICS] = 0.1 * (1 - share)
    weights[row, second] = 0.8 * (1 - share)
    weights[row, topic] = share
    arrays = points.shares(weights)
    arrays["typical"] = points.typical(weights, np.ones(n))
    placed = _placed(world)
    for s, owner in enumerate(OWNERS[:-1]):
        arrays[f"stage{s}.topic"] = points.codes(owner[topic], owner.max() + 1)
        for m, place in enumerate(placed):
            centres = place.topics
            middle = np.stack([centres[owner == owner[k]].mean(axis=0) for k in range(N_TOPICS)])
            amount = 0.0 if s == 0 else 0.25 * s
            moved = middle[topic] + amount * (place.coordinates - middle[topic])
            arrays[f"stage{s}.map{m}"] = points.quantised_places(place, moved)
    return Part({}, arrays, {"titles": world["titles"]})


def _words(world: dict[str, Any]) -> Part:
    model = world["model"]
    part = words_part(model, world["words"], None)
    totals = np.rint(100 * world["n"] * model.unigram_).astype(np.uint32)
    return part._replace(arrays={"totals": totals, **part.arrays})


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


def _index(world: dict[str, Any]) -> Part:
    said, n = _said(world), world["n"]
    row = np.repeat(np.arange(n), said.shape[1])
    shape = n, len(world["words"])
    part = index_part(Counts(sparse.coo_array((np.ones(said.size), (row, said.ravel())), shape)))
    assert part is not None
    return part
