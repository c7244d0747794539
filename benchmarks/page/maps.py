"""Sections of the page on maps, and on what topics are used for."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.page.parts import (
    Document,
    Part,
    Section,
    Table,
    mean,
    means,
    only,
    pick,
    pivot,
    spread,
)


def robustness(document: Document) -> Iterator[Table]:
    """Log-likelihood over starts."""
    rows = []
    for model in dict.fromkeys(row["model"] for row in document["rows"]):
        own = only(document["rows"], model=model)
        fitted = [row["log-likelihood"] for row in own]
        rows.append(
            {"model": model, "starts": len(own), "log-likelihood": mean(fitted)}
            | {"sd": spread(fitted), "least": min(fitted)}
            | {"held-out": mean(row["held-out"] for row in own)}
            | {"sweeps": mean(row["sweeps"] for row in own)}
        )
    yield Table("Log-likelihood at T = 1 over starts", rows)


def gtm_speed(document: Document) -> Iterator[Table]:
    """Iterations, quality, growth, memory."""
    yield Table("Seconds of an iteration", document["speed"])
    yield Table(
        "Maps of 5,000 molecules",
        pick(document["quality"], "model", "basis", "log p(x)", "seconds"),
    )
    slopes = [
        {"exponent": name, "measured": slope} for name, slope in document["exponents"].items()
    ]
    yield Table("Exponents of the cost of an iteration", slopes)
    yield Table("A large fit", pick(document["large"], "N", "D", "K", "s per sweep", "peak GiB"))


def map_quality(document: Document) -> Iterator[Table]:
    """All methods on each data set."""
    keys = ("method", "trust", "continuity", "10-NN", "disparity", "resampled", "seconds")
    for data in dict.fromkeys(row["data"] for row in document["rows"]):
        yield Table(f"Maps of {data}", pick(only(document["rows"], data=data), *keys))
    own = {r["data"]: r["resampled"] for r in document["rows"] if r["method"] == "DA-GTM"}
    ahead = [row for row in document["rows"] if row["resampled"] < own[row["data"]]]
    title = "Nearer to each other than DA-GTM's are maps of parts of the rows by"
    yield Table(title, pick(ahead, "data", "method", "resampled"))


def map_places(document: Document) -> Iterator[Table]:
    """All ways to place the rows of each data set."""
    for data in dict.fromkeys(row["data"] for row in document["rows"]):
        own = [
            {key: value for key, value in row.items() if key not in ("data", "rows")}
            for row in only(document["rows"], data=data)
        ]
        yield Table(f"Places of {data}", own)


def corpus_map(document: Document) -> Iterator[Table]:
    """Two and three dimensions, means over seeds."""
    near = [f"{kind}, {space}" for space in ("topics", "words") for kind in ("trust", "continuity")]
    values = [*near, "k-NN accuracy", "topic, pure", "topic, mean", "wall s"]
    for dimensions, shown in ((2, "two"), (3, "three")):
        rows = [row for row in document["rows"] if row["dimensions"] == dimensions]
        title = f"Maps in {shown} dimensions, means over seeds"
        yield Table(title, means(rows, ["corpus", "way"], values))


def retrieval(document: Document) -> Iterator[Table]:
    """Defaults next to rivals; the paper; precision with settings chosen on other queries."""
    yield Table("MAP of defaults, in %; LSI has its best size", document["defaults"])
    yield Table("The default less its rivals, points of MAP", document["gaps"])
    yield Table("Medline, Table 3 of the paper: precision at levels of recall", document["medline"])
    keys = ("method", "10 %", "50 %", "90 %", "MAP", "ours - this", "95 %")
    yield Table("Precision at levels of recall, Cranfield", pick(document["held_out"], *keys))
    yield Table("The same, judgements of grades 1 to 4 alone", pick(document["graded"], *keys))
    ahead = [row for row in document["held_out"] if row["ours - this"].startswith("-")]
    yield Table("Ours is **not** ahead of", pick(ahead, "method", "MAP", "ours - this", "95 %"))


def recommend(document: Document) -> Iterator[Table]:
    """Ranking metrics of held-out items."""
    yield Table("Held-out films of planted ratings, in %", document["rows"])


def clustering_projection(document: Document) -> Iterator[Table]:
    """Labels found, and perplexity of unseen documents."""
    rows = pick(document["clusters"], "corpus", "method", "NMI", "least", "largest", "seconds")
    yield Table("Clusters against labels", rows)
    best = {row["corpus"]: row["NMI"] for row in rows if row["method"] == "PCP"}
    ahead = [row for row in rows if row["NMI"] > best.get(row["corpus"], 0.0) + 0.01]
    yield Table("Ahead of PCP by more than 0.01", pick(ahead, "corpus", "method", "NMI"))
    keys = ("corpus", "K", "splits", "unigram", "pLSI", "LDA", "structured", "mean", "fresh")
    yield Table(
        "Perplexity of unseen documents by definition of PCP", pick(document["table"], *keys)
    )


def many_clusters(document: Document) -> Iterator[Table]:
    """Default fits next to those at T = 1 alone."""
    rows, keys = (
        document["table"],
        ("corpus", "model", "M", "K", "seeds", "cooled", "gain", "least gain"),
    )
    yield Table("What the default fit gains over T = 1 alone, nats", pick(rows, *keys))
    keys = ("corpus", "model", "M", "K", "topics a cluster", "of one topic", "distinct", "NMI")
    yield Table(
        "Default fit / T = 1 alone, means over seeds", pick(rows, *keys, "accuracy", "seconds")
    )


def biclusters(document: Document) -> Iterator[Table]:
    """Both sides at once, means over seeds."""
    rows = means(document["rows"], ["method", "threads", "K"], ["NMI", "I(c,d)", "cpu"])
    yield Table("20 newsgroups, means over seeds", rows)


def semi_supervised(document: Document) -> Iterator[Table]:
    """Accuracy on hidden labels."""
    rows = [dict(row, labels=f"{row['labels']}") for row in document["table"]]
    for K in sorted({row["K"] for row in rows if row["K"]}):
        own = [row for row in rows if row["K"] in (0, K)]
        draws = max(row["draws"] for row in own)
        table = pivot(own, ["model"], "labels", "accuracy")
        yield Table(f"K = {K}: accuracy by labels to a group, {draws} draws", table)
    yield Table("What the annealed start gains in accuracy", document["starts"])
    gaps = [dict(row, labels=f"{row['labels']}") for row in document["gaps"]]
    shown = pivot(gaps, ["model", "rival", "K"], "labels", "difference")
    yield Table("Accuracy of DTM less that of LapPLSI at its best lambda, by labels", shown)


def strengths(document: Document) -> Iterator[Table]:
    """The strength that LapPLSI chooses next to fixed ones, and DTM."""
    yield Table(
        "Accuracy on hidden labels, means over numbers of topics; `least` of them, `next to`: what "
        "the chosen strength gains",
        document["summary"],
    )
    own = [row for row in document["table"] if row["K"]]
    rows = [dict(row, labels=f"{row['labels']}") for row in own]
    for value, what in (
        ("accuracy", "Accuracy"),
        ("directions", "In how many directions rows differ"),
    ):
        for name in dict.fromkeys(row["collection"] for row in rows):
            mine = only(rows, collection=name)
            draws = max(row["draws"] for row in mine)
            table = pivot(mine, ["model", "K"], "labels", value)
            yield Table(f"{name}: {what} by labels to a class, {draws} draws", table)


def paper_classifiers(document: Document) -> Iterator[Table]:
    """Settings of DTM, and classifiers on topics of PCP."""
    yield Table("DTM by neighbours and step, five labels to a group", document["dtm"])
    rows = pivot(document["classifiers"], ["corpus", "model"], "labels", "accuracy")
    yield Table("Balanced accuracy of a linear classifier on ten topics", rows)


def document_mixture(document: Document) -> Iterator[Table]:
    """Log-likelihood over starts."""
    rows = []
    for key in dict.fromkeys((row["K"], row["model"]) for row in document["rows"]):
        fitted = [row["L"] for row in only(document["rows"], K=key[0], model=key[1])]
        rows.append(
            {"K": key[0], "model": key[1], "runs": len(fitted), "mean": mean(fitted)}
            | {"sd": spread(fitted), "best": max(fitted), "worst": min(fitted)}
        )
    yield Table("Log-likelihood at T = 1, AP", rows)


def segmentation(document: Document) -> Iterator[Table]:
    """Wrong sites."""
    rows = means(document["rows"], ["method"], ["wrong", "updates", "seconds"])
    yield Table("Mosaic of 16 textures, means over seeds", rows)
    yield Table("Other mosaics of these textures, wrong %", document["others"])


def over_relaxation(document: Document) -> Iterator[Table]:
    """Sweeps saved."""
    rows = means(document["rows"], ["data", "K", "1/T", "way"], ["plain", "times fewer"])
    yield Table("Sweeps to the free energy of plain EM", rows)


def neighbors(document: Document) -> Iterator[Table]:
    """Cost and recall."""
    yield Table("Graphs of neighbours, 20news", document["rows"])


_ROBUST = "Annealed maps against EM from random starts, on the same data with the same grid."

SECTIONS = (
    Section(
        "Maps",
        (
            Part(
                "gtm_robustness-oil",
                f"Oil flow. {_ROBUST}",
                robustness,
                "gtm_robustness --data oil",
                title="Robustness of maps: oil flow",
            ),
            Part(
                "gtm_robustness-maccs",
                f"Molecules. {_ROBUST}",
                robustness,
                "gtm_robustness --data maccs",
                title="Robustness of maps: molecules",
            ),
            Part(
                "gtm_speed",
                "An EM iteration of the map next to ugtm's, with the same numbers and threads.",
                gtm_speed,
                title="Speed of maps",
            ),
            Part(
                "map_quality",
                "Every method has its default settings. Disparity is that of Procrustes between "
                "seeds; `resampled` is the same between maps of nine tenths of the rows, which no "
                "fixed start can give and for which no target is set.",
                map_quality,
                title="Quality of maps",
            ),
            Part(
                "map_places",
                "The same fits, with rows placed over the nodes and over the whole sheet. `on a "
                "node`: within .05 spacings of one; `on the edge`: within .01 of the outermost "
                "place; `shared`: with the place of another row, to .001.",
                map_places,
                title="Places in a map",
            ),
            Part(
                "corpus-map-AspectModel",
                "How should topics enter a map of documents? Neighbourhoods kept (of topics and "
                "of words; ten neighbours) and labels found by neighbours in the map, for every "
                "way. `topic, pure`: weight of a topic in the 15 documents nearest to its place; "
                "`topic, mean`: the same at the mean place of documents, weighed by the topic.",
                corpus_map,
                "corpus_map",
                title="Maps of documents",
            ),
            Part(
                "corpus-map-OneSidedClustering",
                "The same for a model that gives a document to one cluster.",
                corpus_map,
                run="corpus_map --model OneSidedClustering",
                title="Maps of clusters",
            ),
        ),
    ),
    Section(
        "Retrieval",
        (
            Part(
                "retrieval",
                "The `default` is `SearchIndex.of(model, counts)` with nothing set. Its rules were "
                "chosen on the collections made of Reuters, newsgroups and AP, with Medline and "
                "Cranfield in sight. In the tables of Cranfield alone every method, rivals "
                "included, chooses its settings on half of the queries and is measured on the "
                "other half; `ours` is BM25 filled up by topics, with feedback.",
                retrieval,
            ),
            Part(
                "recommend",
                "Items for users from the same index. Ratings are made: users have a few tastes, "
                "and popularity falls by a power law.",
                recommend,
                title="Recommendations",
            ),
        ),
    ),
    Section(
        "Clustering",
        (
            Part(
                "clustering_projection",
                "Clusters over shared topics next to the usual ways, all with as many clusters as "
                "labels, so that NMI (over the larger entropy) compares; and perplexity of "
                "documents that no model saw.",
                clustering_projection,
                title="Clusters over shared topics",
            ),
            Part(
                "clustering_projection-many",
                "More clusters than topics, the paper's case study (50 topics, 20 clusters on the "
                "newsgroups), and clusters that nothing needs. The default fit is the better of an "
                "annealed run and one at T = 1 alone; `cooled` counts the seeds where it is the "
                "annealed one. `topics a cluster`: exponential of the entropy of its mixture; "
                "`accuracy` is that of a linear classifier on `project(X)`.",
                many_clusters,
                run="clustering_projection --many --seeds 2",
                title="More clusters than topics",
            ),
            Part(
                "biclusters",
                "Clusters of postings and words at once, next to scikit-learn's "
                "SpectralCoclustering, all with as many clusters as labels; NMI (over the mean "
                "entropy) is against labels, I(c,d) what the two clusterings tell of each other.",
                biclusters,
            ),
            Part(
                "semi_supervised",
                "A few labels to a group, all other documents without: a linear classifier on "
                "topics, with and without ties to neighbours.",
                semi_supervised,
                title="Few labels",
            ),
            Part(
                "semi_supervised-yahoo-k1b",
                "The same on all pages of the Yahoo! News K-series, six classes that differ in "
                "size: Figure 2 of Huh & Fienberg, who had 15 classes of the 1,389 pages on "
                "entertainment.",
                semi_supervised,
                run="semi_supervised --collection yahoo-k1b --draws 2 --sizes 20 --labels 1 5",
                title="Few labels, Yahoo pages",
            ),
            Part(
                "semi_supervised-strengths",
                "How strongly to tie documents to their neighbours: the strength that LapPLSI "
                "chooses along a path, next to fixed ones, and DTM, which has none.",
                strengths,
                run="semi_supervised --strengths --draws 2 --sizes 20 60 --labels 1 5",
                title="Few labels, how strong the ties are",
            ),
            Part(
                "paper_classifiers",
                "Two figures of the papers: is DTM touchy about its settings, and do ten topics of "
                "PCP serve a classifier better than those of LDA and pLSI?",
                paper_classifiers,
                title="Two figures of the papers",
            ),
            Part(
                "document_mixture",
                "One topic to a document: annealed fits against EM runs from two kinds of start.",
                document_mixture,
                title="Document mixture",
            ),
            Part(
                "neighbors",
                "The graph of neighbours that ties need.",
                neighbors,
                title="Neighbours",
            ),
        ),
    ),
    Section(
        "Segmentation",
        (
            Part(
                "segmentation",
                "Sites of a mosaic of textures that are labelled wrongly, from random EM to "
                "multiscale annealing with a Potts prior.",
                segmentation,
            ),
        ),
    ),
    Section(
        "Over-relaxation",
        (
            Part(
                "over_relaxation",
                "How many sweeps steps longer than 1 save, at the same free energy.",
                over_relaxation,
            ),
        ),
    ),
)
