"""What the page is told: the parts of an explorer, their facts, arrays and strings.

A part is one block of bytes (`isotherm.viewer.container`): a header of facts in JSON, arrays by
name, tables of strings by name. All of them are listed here and nowhere else; the page has the same
types and codes in `page/data/format.js`, which is written from this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypedDict

FORMAT, VERSION = "isotherm explorer", 1
# A block begins with these letters, and every array in it at a multiple of so many bytes.
MAGIC, ALIGNMENT = "ISO1", 8
# Places and numbers are in 16 bits: 0 is the low end, STEPS the high one.
STEPS = 65534
# Shares are in 8 bits: this is all of it.
SHARE_STEPS = 255
# The largest code says that there is none, in 8, 16 and 32 bits.
NONE_8, NONE_16, NONE_32 = 255, 65535, 4294967295

# Word and its probability or lift, none where a map alone is known.
Words = list[tuple[str, float | None]]
# Number of a topic and how similar it is.
Similar = list[tuple[int, float]]


class Nouns(TypedDict):
    """What things are called, each as one and as many."""

    row: str
    rows: str
    column: str
    columns: str
    component: str
    components: str


class MapMeta(TypedDict):
    """A map: number of its axes, nodes along each, and documents without a place."""

    name: str
    dimensions: int
    grid: list[int] | None
    empty: int


class NumberColumn(TypedDict):
    """Numbers from low to high, in `STEPS` steps."""

    name: str
    kind: Literal["number"]
    low: float
    high: float
    missing: int


class CategoryColumn(TypedDict):
    """Categories, most frequent first; a code is the place in this list."""

    name: str
    kind: Literal["category"]
    categories: list[str]
    missing: int


Column = NumberColumn | CategoryColumn


class TopicMeta(TypedDict):
    """A final topic: words that tell, frequent ones and those of large lift, P(k), and so on.

    NPMI, similar topics, its node, and how reproducible it is where that is known.
    """

    name: str
    words: Words
    frequent: Words
    lift: Words
    size: float
    reproducibility: float | None
    coherence: float | None
    similar: Similar
    node: int | None


class TreeMeta(TypedDict):
    """A tree: of each node its parent, what is known of it, and the final topic that it is."""

    kind: Literal["topics", "splits", "hierarchy"]
    parents: list[int]
    temperatures: list[float | None]
    similarities: list[float | None]
    meaning: str
    splits: list[float]
    components: list[int | None]
    words: list[Words]
    sizes: list[float]
    reproducibility: list[float | None]


class RecordMeta(TypedDict):
    """One temperature of an annealing run."""

    temperature: float | None
    free_energy: float | None
    log_likelihood: float | None
    heldout: float | None
    n_effective: int
    sweeps: int


class CoolingMeta(TypedDict):
    """An annealing run, hottest first, and what its effective number counts."""

    name: str
    parts: str
    first_critical: float | None
    temperature: float | None
    trace: list[RecordMeta]


class StageTopic(TypedDict):
    """A topic on the way, and the final ones that came of it."""

    name: str
    words: Words
    size: float
    finals: list[int]


class StageMeta(TypedDict):
    """A stage of the annealing, and the maps whose documents have places then."""

    temperature: float
    n_topics: int
    topics: list[StageTopic]
    moved: list[int]


class EditingMeta(TypedDict):
    """What a live page may do to the topics.

    What has to come with every edit (`token`, and the `state` of the topics that it is about), the
    kinds of edits there are, topics that stay as they are, and the last edit in words.
    """

    token: str
    state: str
    kinds: list[str]
    pinned: list[int]
    last: str | None


class PointsHead(TypedDict):
    """What is said of a collection before anything is known of its maps."""

    format: str
    version: int
    title: str
    subtitle: str
    live: bool
    editing: EditingMeta | None
    n_documents: int
    parts: list[str]
    nouns: Nouns


class PointsMeta(PointsHead):
    """Facts of the part `points`: the collection as a whole."""

    n_topics: int
    n_words: int
    facts: list[list[str]]
    maps: list[MapMeta]
    columns: list[Column]
    topics: list[TopicMeta]
    tree: TreeMeta | None
    coolings: list[CoolingMeta]
    stages: list[StageMeta]


class TextsMeta(TypedDict):
    """Facts of the part `texts`: whether they are all there, or openings."""

    whole: bool


class NoMeta(TypedDict):
    """A part without facts of its own."""


class Values(NamedTuple):
    """An array of a part.

    Attributes
    ----------
    types : tuple of {"u1", "u2", "u4", "f4"}
        What its values may be: codes take the fewest bytes that have room for one more than all.
    shape : tuple of str
        I documents, K topics, J words, L axes, N nodes; * is any number.
    about : str
    """

    types: tuple[str, ...]
    shape: tuple[str, ...]
    about: str


class PartFormat(NamedTuple):
    """What a part may contain; in names of arrays {m} is a map, {c} a column, {s} a stage."""

    meta: type
    arrays: Mapping[str, Values]
    strings: tuple[str, ...] = ()


CODES = ("u1", "u2")
# In the order of the file: the first picture is made of `points`.
PARTS: Mapping[str, PartFormat] = MappingProxyType(
    {
        "points": PartFormat(
            PointsMeta,
            {
                "map{m}.places": Values(("u2",), ("I", "L"), "0..STEPS of its box, or NONE_16"),
                "map{m}.topics": Values(("f4",), ("K", "L"), "0..1 of its box"),
                "map{m}.nodes": Values(("f4",), ("N", "L"), "0..1 of its box"),
                "map{m}.magnification": Values(("f4",), ("N",), "of each node"),
                "topic": Values(CODES, ("I",), "strongest topic"),
                "column{c}": Values(CODES, ("I",), "category or 0..STEPS; largest: none"),
            },
        ),
        "documents": PartFormat(
            NoMeta,
            {
                "shares.topic": Values(CODES, ("I", "*"), "strongest topics"),
                "shares.weight": Values(("u1",), ("I", "*"), "their shares, 0..SHARE_STEPS"),
                "typical": Values(("u4",), ("K", "*"), "typical documents, or NONE_32"),
                "stage{s}.topic": Values(CODES, ("I",), "strongest topic then"),
                "stage{s}.map{m}": Values(("u2",), ("I", "L"), "places then, as in map{m}.places"),
            },
            ("titles",),
        ),
        "words": PartFormat(
            NoMeta,
            {
                "totals": Values(("u4",), ("J",), "how often each occurs"),
                "spread.start": Values(("u4",), ("J+1",), "where the entries of each word begin"),
                "spread.topic": Values(CODES, ("*",), "a topic of the word"),
                "spread.share": Values(("u1",), ("*",), "P(k|w), 0..SHARE_STEPS"),
                "nodes.start": Values(("u4",), ("J+1",), "the same for nodes of a hierarchy"),
                "nodes.node": Values(CODES, ("*",), "a node of the word"),
                "nodes.share": Values(("u1",), ("*",), "P(node|w), 0..SHARE_STEPS"),
            },
            ("words",),
        ),
        "texts": PartFormat(TextsMeta, {}, ("texts",)),
        "index": PartFormat(
            NoMeta,
            {
                "postings.start": Values(("u4",), ("J+1",), "where the bytes of each word begin"),
                "postings.bytes": Values(("u1",), ("*",), "documents skipped and counts, varints"),
                "lengths": Values(("u4",), ("I",), "words of each document"),
            },
        ),
    }
)
