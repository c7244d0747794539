"""Sections of the page on topic models: quality, time, numbers of topics, growth, stability."""

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

WITH_OWN = "perplexity with own words"


def quality(document: Document) -> Iterator[Table]:
    """Means over seeds, a table for each corpus, without topics first; labels; settings."""
    keys: tuple[str, ...] = ("model", "seeds", "topics", "perplexity")
    keys += ("± s.e.", "stability", "NPMI", "diversity")
    if any(row.get(WITH_OWN) is not None for row in document["summary"]):
        keys = (*keys[:4], WITH_OWN, *keys[4:])
    bare = document.get("baselines", ())
    n_models = len({row["model"] for row in document["summary"]})
    for name in dict.fromkeys(row["corpus"] for row in document["summary"]):
        own = only(document["summary"], corpus=name)
        ran = only(document.get("runs", ()), corpus=name)
        when = f"; {ran[0]['date']}, commit `{ran[0]['commit']}`" if ran else ""
        first = [{**row, "note": row["chosen"]} for row in only(bare, corpus=name)]
        shown = pick([*first, *own], *keys, "cpu s", "note")
        less = "" if len(own) == n_models else "; the other peers are not measured yet"
        yield Table(f"{name}, means over seeds{when}{less}", shown)
    measures = ("AMI", "ARI", "homogeneity", "completeness", "NMI")
    agreed = [
        row
        for row in document["summary"]
        if any(row.get(measure) is not None for measure in measures)
    ]
    again = document.get("revised")
    when = f"; AMI to completeness {again['date']}, commit `{again['commit']}`" if again else ""
    title = (
        f"Largest topic of each training document against its label{when}; – is not measured yet"
    )
    yield Table(title, pick(agreed, "corpus", "model", "topics", *measures))
    yield Table("Settings", document["settings"])
    yield Table(
        "Three seeds of ours: what held-out tokens do to its topics, and ways around it",
        document["tried"],
    )
    yield Table(
        "Three fits of one seed, each to another nine tenths of the documents", document["samples"]
    )


def time_to_quality(document: Document) -> Iterator[Table]:
    """Seconds until ours is as good as a rival ends; ratios are ours over theirs."""
    keys = ("corpus", "peer", "their perplexity", "their CPU s", "our CPU s", "CPU ratio")
    for threads in dict.fromkeys(row["threads"] for row in document["summary"]):
        own = only(document["summary"], threads=threads)
        said = "one thread" if threads == 1 else f"{threads} threads"
        yield Table(
            f"On {said}; ratios are ours over theirs", pick(own, *keys, "wall ratio", "note")
        )


def topic_numbers(document: Document) -> Iterator[Table]:
    """Planted and labelled data."""
    planted = [{k: v for k, v in row.items() if k != "NMI"} for row in document["planted"]]
    yield Table("Planted numbers of topics", planted)
    keys = ("data", "groups", "seed", "method", "K", "K of 95 %", "AMI", "ARI", "homogeneity")
    ends = ("cut to the labels", "told the number of the labels")
    told = [row for row in document["labelled"] if row["method"].endswith(ends)]
    free = [row for row in document["labelled"] if row not in told]
    rest = ("perplexity", "CPU seconds", "note")
    yield Table("Labelled documents, number unknown", pick(free, *keys, "completeness", *rest))
    yield Table(
        "Labelled documents, number of labels told: NMI compares one number of topics",
        pick(told, *keys, "completeness", "NMI", *rest),
    )


def levels(document: Document) -> Iterator[Table]:
    """Planted numbers, labels, halves of the documents, words, and what levels cost."""
    yield Table("Planted numbers of topics", document["summary"])
    agreed = ("AMI", "ARI", "homogeneity", "completeness", "CPU seconds", "note")
    keys = ("data", "labels", "method", "K", "error")
    known = [row["reproducibility"] for row in document["numbers"] if row.get("reproducibility")]
    mean_of = f"; reproducibility is {mean(known):.2f} on average" if known else ""
    less = "" if only(document["numbers"], method="BERTopic") else "; BERTopic is not measured yet"
    yield Table(
        f"Number unknown; the error is that of K next to the labels{mean_of}{less}",
        pick(document["numbers"], *keys, *agreed[:-2], "reproducibility", "levels", *agreed[-2:]),
    )
    yield Table("Number of labels told", pick(document["told"], *keys[:-1], *agreed))
    yield Table(
        "Topics of one half of the documents next to those of the other, by pairs: cosine, and "
        "share of the ten words shown that are the same",
        document["halves"],
    )
    yield Table("Ten words of each topic, by the ranking of each program", document["words"])
    yield Table('CPU seconds of `"auto"`, with levels, and of `"predict"`', document["costs"])


def shares(document: Document) -> Iterator[Table]:
    """Collections by number of topics and way, and planted tables; means over splits and seeds."""
    by = ("data", "K", "method")
    told = means(
        document["rows"], by, ("smallest, %", "largest, %", "moved", "perplexity", "AMI", "ARI")
    )
    alike = means(document["halves"], by, ("cosine",))
    rows = [
        row | {"halves, cosine": only(alike, **{key: row[key] for key in by})[0]["cosine"]}
        for row in told
    ]
    yield Table("Shares of topics in collections, means over splits", rows)
    true = ("true smallest, %", "true largest, %")
    values = (*true, "smallest, %", "largest, %", "total variation", "topics found")
    rows = means(document["planted"], ("data", "method"), values)
    yield Table("Planted shares, means over seeds", rows)


def growing(document: Document) -> Iterator[Table]:
    """Numbers found, and text next to a grid."""
    if document["planted"]:
        keys = ("data", "planted", "exact", "within one", "of", "ARI", "seconds")
        yield Table("Planted numbers", pick(document["planted"], *keys))
    keys = ("corpus", "model", "K", "perplexity", "CPU seconds")
    yield Table("Text, next to fixed numbers", pick(document["text"], *keys))


def trees(document: Document) -> Iterator[Table]:
    """Cuts next to fits, and the branches of two trees."""
    keys = ("corpus", "model", "labels", "topics", "fit AMI", "cut AMI", "fit CPU s", "cut CPU s")
    yield Table("A cut and a fit of that number", pick(document["rows"], *keys, "growing CPU s"))
    keys = ("corpus", "model", "topics", "splits AMI", "topic tree AMI")
    yield Table("Trees opened into as many branches", pick(document["rows"], *keys))


def growth(document: Document) -> Iterator[Table]:
    """Exponents, and the largest case of each."""
    yield Table(
        "Exponents of seconds and of peak memory, each size grown by itself", document["exponents"]
    )
    yield Table("The largest cases", document["largest"])


def kernels(document: Document) -> Iterator[Table]:
    """Seconds a sweep on all threads, and memory."""
    keys = ("corpus", "K", "threads", "T=1 s", "NMF s", "LDA s", "x NMF", "x LDA", "of FMA rate")
    most = max(row["threads"] for row in document["rows"])
    yield Table("Seconds of a sweep", pick(only(document["rows"], threads=most), *keys))
    keys = ("corpus", "K", "tables + counts MiB", "peak MiB", "ratio")
    yield Table("Peak memory of a sweep", pick(document["memory"], *keys))


def scaling(document: Document) -> Iterator[Table]:
    """Exponents of the cost of a sweep."""
    yield Table("Exponent of seconds in non-zeros × components", document["exponents"])


def family_speed(document: Document) -> Iterator[Table]:
    """Time over what the arithmetic of a model would take."""
    rows = pivot(document["rows"], ["model"], "K", "ratio")
    yield Table("Time of a sweep over what its arithmetic takes at the aspect model's rate", rows)


def linked_speed(document: Document) -> Iterator[Table]:
    """Cost of ties to neighbours."""
    yield Table("Seconds of a sweep, 20news", document["sweeps"])


def stability(document: Document) -> Iterator[Table]:
    """Spread over seeds, for every corpus and way of fitting."""
    rows = []
    for key in dict.fromkeys((row["corpus"], row["model"]) for row in document["rows"]):
        own = only(document["rows"], corpus=key[0], model=key[1])
        at_one = all(row["T"] == 1.0 for row in own)
        energy = [row["free energy"] for row in own]
        rows.append(
            {"corpus": key[0], "model": key[1], "seeds": len(own)}
            | {"mean free energy": mean(energy) if at_one else None}
            | {"its sd": spread(energy) if at_one else None}
            | {"perplexity": mean(row["perplexity"] for row in own)}
            | {"worst": max(row["perplexity"] for row in own)}
            | {"alike": own[0].get("alike"), "seconds": mean(row["seconds"] for row in own)}
        )
    yield Table("Ten per cent of the tokens held out", rows)


def untempered(document: Document) -> Iterator[Table]:
    """Means over seeds of every way to T = 1, and where mixtures of documents stop."""
    values = ("free energy", "perplexity", "T", "CPU s", "CPU s, held out")
    rows = means(document["rows"], ("corpus", "K", "method"), values)
    # The differences stand in the third decimal.
    rows = [{**row, "free energy": f"{row['free energy']:.3f}"} for row in rows]
    yield Table("Clusters, means over seeds; free energy is in nats a token at T = 1", rows)
    keys = ("corpus", "documents", "K", "T", "first transition", "distinct", "mean largest weight")
    more = ("perplexity", "at the end", "without topics", "CPU s")
    yield Table(
        "Mixtures of documents, stopped by unseen ones", pick(document["mixtures"], *keys, *more)
    )


SECTIONS = (
    Section(
        "Quality at equal K",
        (
            Part(
                "quality",
                "Every model gets the same documents, words and number of topics, and its usual "
                "settings. Perplexity is of the second half of unseen documents, from the topics "
                "alone; stability is the cosine of matched topics over pairs of seeds. First "
                "stand predictions **without any topic**, by the same protocol: the unigram "
                "distribution, and that mixed with the words of the given half, by a share that "
                "validation documents choose (g, or n / (n + mu) for n given words). Words come "
                "in bursts, which no topic model here knows: where the second row is lower than "
                "all others, perplexity tells topic models apart, but is no proof that topics are "
                "needed to predict. Agreement with labels: AMI and ARI are corrected for chance; "
                "homogeneity is the share of the labels that topics tell, completeness the share "
                "of the topics that labels tell. NMI is over the larger entropy: fifty pure "
                "topics of five labels reach log 5 / log 50 = 0.41 at most, so it serves only to "
                "compare models with as many topics.",
                quality,
            ),
        ),
    ),
    Section(
        "Time to quality",
        (
            Part(
                "time_to_quality",
                "Seconds until isotherm's held-out perplexity is at the level that a peer ends "
                "with, next to the seconds of that peer. Scoring is not counted. BigARTM with its "
                "regularisers and BERTopic are not raced: the first ends above BigARTM without, "
                "which is raced, the second takes several times the CPU seconds of any other "
                "(Quality at equal K).",
                time_to_quality,
            ),
        ),
    ),
    Section(
        "How many topics?",
        (
            Part(
                "levels",
                'A fit with `n_components="auto"` is at its default level: the largest number of '
                "topics that are found again when the documents are dealt into halves; `levels` "
                "are those that `at` goes to. Next to it stand programs that come to a number by "
                "themselves, and programs that are told how many labels there are; there ours is "
                "the level of that number or, where there is none, a cut. Topics are those of "
                "`AspectModel`, which documents mix; clusters those of `OneSidedClustering`, one "
                "to a document, as labels are: they are judged by labels. A label is not a topic: "
                "the error says how far the number is off, AMI and what follows how well the "
                "largest topic of a document agrees with its label. Reproducibility is the mean of "
                "`reproducibility_` over the topics of the default level; that level is chosen by "
                "the same halves, so this is no test of it. Real topics are there in both halves "
                "of the documents; the test is the cosine of separate fits of that number to each "
                "of two other halves, by the same protocol for ours and all others. The docstrings "
                "and the groups drawn from 20 newsgroups were not looked at while the rule of the "
                "default level was made; the weighting of clusters was chosen looking at all "
                "collections, and at eight more draws of newsgroups. The cost is a ratio of CPU "
                "seconds within one run, next to the load of the machine; a fit without levels "
                'grows until more topics do not predict better (`"predict"`).',
                levels,
                title="How many, and are they real?",
            ),
            Part(
                "topic_numbers",
                "The number of topics is unknown to all, but for the rows that say that they are "
                "cut to the labels or told their number. Agreement with labels is compared by "
                "AMI, as NMI depends on how many topics there are; where that of a rival is "
                "missing, its NMI less 0.05 is what it has at least. isotherm grows until more "
                'topics do not predict better (`"predict"`; above are those of `"auto"`), a '
                "hierarchical Dirichlet process draws its number, and a grid pays for every "
                "number it tries.",
                topic_numbers,
                title="Numbers of topics",
            ),
            Part(
                "growing",
                "The growing fit next to the best of five fixed numbers of its own model, which "
                "costs the time of all five.",
                growing,
                title="Growing",
            ),
            Part(
                "trees",
                "AMI with coarse labels: of a growing run cut to as many topics as there are "
                "labels, next to a fit of that number, and of the branches of its trees, without "
                "fitting anything again. What is in the wrong branch is misplaced.",
                trees,
                title="Cuts and trees",
            ),
        ),
    ),
    Section(
        "How large is a topic?",
        (
            Part(
                "shares",
                "Shares of topics (`weights_`) with P(a) tempered, as is the default, with an "
                "untempered one (`temper_prior=False`), and of the tempered fit again with weights "
                "folded in at T = 1, its topics as they are. `moved` is the total variation "
                "between these shares and those of the fit. Perplexity is of a tenth of the "
                "documents, half of whose tokens are given; the cosine is that of matched topics "
                "of two halves of the documents; AMI and ARI are those of the largest topic of a "
                "document with its label, with as many topics as labels. Planted topics have "
                "shares that are known: six in documents that have one main topic each, and 34 in "
                "documents that mix the topics of a default fit to Reuters stories, with shares "
                "that fall off like 1 / rank^0.8 and with equal ones. Total variation is from the "
                "true shares, after topics are matched; a topic is found where the cosine is above "
                "0.8. Targets say what would speak for tempering: better prediction, topics found "
                "again, shares nearer the truth.",
                shares,
                title="Shares of topics",
            ),
        ),
    ),
    Section(
        "Memory and growth",
        (
            Part(
                "growth",
                "Non-zeros, topics and vocabulary grow one at a time; every fit runs in a fresh "
                "process whose peak the system counts. An exponent of 1 is linear growth.",
                growth,
                title="Growth of seconds and memory",
            ),
            Part(
                "scaling",
                "The cost of a sweep alone, over 25 sizes.",
                scaling,
                title="Growth of a sweep",
            ),
        ),
    ),
    Section(
        "Kernels",
        (
            Part(
                "kernels",
                "A sweep of the aspect model next to an iteration of scikit-learn's NMF "
                "(Kullback-Leibler) and a sweep of tomotopy's LDA on the same counts.",
                kernels,
                title="Sweeps",
            ),
            Part(
                "family_speed", "The other dyadic models, each next to its own work.", family_speed
            ),
            Part(
                "linked_speed",
                "Models that tie documents to their neighbours.",
                linked_speed,
                title="Sweeps with neighbours",
            ),
        ),
    ),
    Section(
        "Stability",
        (
            Part(
                "stability",
                "Annealed fits against EM from random starts. Both that end at T = 1 minimise the "
                "same free energy; `alike` is the cosine of matched topics over pairs of seeds.",
                stability,
            ),
            Part(
                "untempered",
                "Hot, an untempered P(c) lets the largest clusters take all rows, and a cooling "
                "may end worse than EM that was never hot. Each way ends at T = 1, where the free "
                "energy (lower is better) is that of one model; perplexity is of a tenth of the "
                "tokens, and where held-out tokens choose a temperature, from the fit that they "
                "chose. And a mixture of documents must not stop while hardly any document has a "
                "topic; `at the end` is its perplexity when it is cooled to T = 1. It is stopped "
                "by the density of whole unseen documents, another measure than perplexity from "
                "half of their tokens: the best of one need not be the best of the other.",
                untempered,
                title="Untempered clusters and mixtures of documents",
            ),
        ),
    ),
)
