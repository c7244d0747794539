"""Sections of the page on size: GPU, disk, clusters of machines, the explorer, reading texts."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.page.parts import Document, Part, Section, Table, pick


def gpu(document: Document) -> Iterator[Table]:
    """Sweeps, fits and maps on a GPU."""
    for name, title in (
        ("sweeps", "A sweep"),
        ("fit", "A whole fit"),
        ("map", "An EM sweep of a map"),
        ("agreement", "Relative differences from the CPU in float64"),
        ("quality", "The same run with tables of two types"),
    ):
        if document.get(name):
            yield Table(title, document[name])


def out_of_core(document: Document) -> Iterator[Table]:
    """Memory against disk."""
    keys = ("counts", "nnz", "K", "blocks", "corpus MB", "budget MB", "peak MB", "s, best")
    yield Table("A sweep", pick(document["rows"], *keys))


def cluster(document: Document) -> Iterator[Table]:
    """Threads against workers."""
    yield Table("A sweep", pick(document["rows"], "where", "nnz", "K", "s, best", "s, median"))


def plan(document: Document) -> Iterator[Table]:
    """The formula, and what it says of large corpora."""
    yield Table("The formula for seconds of a sweep", document["factors"])
    yield Table("What it says", document["plans"])


def rows(document: Document) -> Iterator[Table]:
    """The rows as they are."""
    yield Table("", document["rows"])


def explorer(document: Document) -> Iterator[Table]:
    """Seconds and bytes for every page and number of points."""
    shown = pick(
        document["rows"],
        "page",
        "points",
        **{"file, bytes": "bytes", "s to first picture": "first_s"},
        **{"CPU s to first answer": "answer_cpu", "ms to hover": "hover_ms"},
        **{"frames a second": "fps"},
    )
    yield Table("In a browser without a graphics card", shown)


def mutants(document: Document) -> Iterator[Table]:
    """What tests noticed, room by room; changes that no test did although they matter."""
    yield Table("", document["rows"])
    matter = [row for row in document["survivors"] if not row["makes no difference"]]
    code = [{**row, "before": f"`{row['before']}`", "after": f"`{row['after']}`"} for row in matter]
    shown = pick(code, "revision", "module", "before", "after")
    yield Table("Changes that no test of their room noticed in that revision", shown)


def ingestion(document: Document) -> Iterator[Table]:
    """Words counted."""
    yield Table(
        "Counting words", pick(document["rows"], "texts", "ngrams", "way", "seconds", "CPU", "MB/s")
    )


SECTIONS = (
    Section(
        "Scale",
        (
            Part(
                "gpu",
                "Sweeps, whole fits and maps on one GPU, and how far they are from the CPU's.",
                gpu,
                title="On a GPU",
            ),
            Part(
                "out_of_core",
                "Counts on the disk next to counts in memory.",
                out_of_core,
                title="Counts on the disk",
            ),
            Part(
                "cluster",
                "Two Dask workers next to two threads of one process.",
                cluster,
                title="On a cluster",
            ),
            Part(
                "cluster-cuda",
                "Two Dask workers that share a GPU next to one process on it: sums and parameters "
                "travel, and take longer than the sweep.",
                cluster,
                run="cluster --device cuda",
                title="A cluster that shares a GPU",
            ),
            Part(
                "stepwise",
                "Steps on batches of documents next to whole sweeps.",
                rows,
                title="Batches",
            ),
            Part(
                "plan",
                "A formula for sweeps, fitted to some sizes and tried on others, and what it says "
                "of corpora that do not fit this machine.",
                plan,
                title="Planning",
            ),
        ),
    ),
    Section(
        "The explorer",
        (
            Part(
                "explorer",
                "10,000 to a million points in a browser, next to plotly's scatter3d and deck.gl. "
                "An empty cell is what a page did not reach.",
                explorer,
            ),
        ),
    ),
    Section(
        "Reading texts",
        (
            Part(
                "ingestion",
                "Words counted, next to scikit-learn's CountVectorizer on the same texts.",
                ingestion,
            ),
        ),
    ),
    Section(
        "The tests",
        (
            Part(
                "mutants",
                "Changes of one operator, comparison, condition or loop, drawn at random from "
                "models, engine, search and measures, and what the tests of their room say. "
                "Kernels are left out: parity tests hold them to the reference.",
                mutants,
                title="Would the tests notice a mistake?",
            ),
        ),
    ),
)
