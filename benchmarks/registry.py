"""Every benchmark there is: what it asks, and what it needs and takes.

A new one is a module in a folder and an entry here. `run.py` runs what is listed, in this order;
the tables of README.md and the commands on the page docs/benchmarks.md are made of it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parent / "README.md"


class Benchmark(NamedTuple):
    """A module `folder/name.py`, and what stands about it in the tables (Markdown)."""

    name: str
    folder: str
    question: str
    data: str
    takes: str  # time on two cores
    needs: str = ""  # besides the extra `bench`
    again: tuple[str, ...] = ()  # arguments of a second run, for results of its own

    @property
    def path(self) -> str:
        """The file, below `benchmarks/`."""
        return f"{self.folder}/{self.name}.py".lstrip("/")

    @property
    def module(self) -> str:
        """What `python -m` runs."""
        return ".".join(["benchmarks", *self.path.removesuffix(".py").split("/")])


# What measures, in the order in which `run.py all` runs it.
BENCHMARKS = (
    Benchmark(
        "kernels",
        "speed",
        "How fast is a sweep of the aspect model, next to scikit-learn's NMF and tomotopy's LDA? "
        "How much memory does it hold?",
        data="`20news`, or a stand-in",
        takes="4 minutes",
    ),
    Benchmark(
        "scaling",
        "speed",
        "Is the cost of a sweep linear in non-zeros × components?",
        data="none",
        takes="1 minute",
    ),
    Benchmark(
        "quality",
        "quality",
        "Quality at equal K: perplexity of unseen documents, coherence, diversity, stability "
        "over ten seeds, labels found, next to a prediction without topics and to NMF, "
        "MiniBatchNMF, LDA by three programs, PLSA by two, LSI and BERTopic",
        data="`cranfield`, `ap`, `reuters`, `20news`",
        needs="`make bench-peers`",
        takes="90 minutes",
    ),
    Benchmark(
        "time_to_quality",
        "quality",
        "Seconds until ours predicts unseen documents as well as each peer does at its end, on "
        "one thread and two",
        data="`cranfield`, `ap`, `reuters`, `20news`",
        needs="`make bench-peers`",
        takes="27 minutes",
    ),
    Benchmark(
        "stability",
        "quality",
        "Does every seed give the same good answer? Annealed fits against EM from random starts",
        data="`cranfield`, `ap`, `20news`",
        takes="10 minutes",
    ),
    Benchmark(
        "untempered",
        "quality",
        "Do clusters with an untempered P(c) end no worse than plain EM and a naive cooling by "
        "the same equations? Where does a mixture of documents stop?",
        data="`cranfield`, `20news`, `reuters`, `ap`",
        takes="10 minutes",
    ),
    Benchmark(
        "cranfield",
        "papers",
        "Perplexity relative to the unigram model for all models, next to Table 2 of Hofmann & "
        "Puzicha (1998)",
        data="`cranfield`",
        takes="6 minutes",
    ),
    Benchmark(
        "adjective_noun",
        "papers",
        "Perplexity of adjective-noun pairs for all models, next to Table 4 of Hofmann & Puzicha "
        "(1998)",
        data="`adjnoun`",
        takes="5 minutes",
    ),
    Benchmark(
        "biclusters",
        "quality",
        "Clusters of postings and words at once, next to scikit-learn's SpectralCoclustering; "
        "what a two-sided sweep costs",
        data="`20news`",
        takes="2 minutes",
    ),
    Benchmark(
        "family_speed",
        "speed",
        "What does a sweep of each dyadic model cost, next to its arithmetic at the rate of the "
        "aspect model?",
        data="`cranfield`",
        takes="1 minute",
    ),
    Benchmark(
        "growing",
        "quality",
        "Is the number of components found? Planted numbers; text next to the best of five fixed "
        "numbers and the time of all five",
        data="`cranfield`, `ap`, `20news`",
        takes="15 minutes",
    ),
    Benchmark(
        "trees",
        "quality",
        "Is a cut as good as a fit of that number, and are topics where a reader looks for them "
        "in the tree?",
        data="`cranfield`, `medline`, `reuters`, `20news`, `yahoo-k1b`",
        takes="5 minutes",
    ),
    Benchmark(
        "over_relaxation",
        "speed",
        "How many sweeps does over-relaxation save, next to what theory and separate programs say?",
        data="`cranfield`",
        takes="3 minutes",
    ),
    Benchmark(
        "neighbors",
        "speed",
        "What does the exact graph of neighbours cost, and what do approximate searches find of "
        "it?",
        data="`20news`",
        takes="1 minute, 3 with pynndescent",
    ),
    Benchmark(
        "gtm_robustness",
        "maps",
        "Does every start give the same good map? Annealed GTM against EM from random starts, by "
        "schedule",
        data="`oil-flow`, `maccs`",
        takes="6 minutes for `oil-flow`, more for `maccs`",
    ),
    Benchmark(
        "gtm_speed",
        "speed",
        "How fast is an EM iteration of the map next to ugtm's, how does its cost grow, how much "
        "memory does a large fit take?",
        data="`maccs`",
        takes="4 minutes",
    ),
    Benchmark(
        "map_quality",
        "maps",
        "How good and how repeatable is a map? GTM next to PCA, t-SNE, UMAP and ugtm",
        data="`oil-flow`, scikit-learn's digits",
        takes="12 minutes",
    ),
    Benchmark(
        "map_places",
        "maps",
        "Does the picture of a map show its grid? Rows placed over its nodes and over its whole "
        "sheet, in one, two and three dimensions",
        data="`oil-flow`, `maccs`, `ap`, scikit-learn's digits, docstrings",
        takes="4 minutes",
    ),
    Benchmark(
        "corpus_map",
        "maps",
        "How should topics enter a map of documents? Neighbourhoods kept and labels found, for "
        "every way",
        data="`ap`, `20news`, docstrings",
        takes="5 minutes",
        again=("--model", "OneSidedClustering"),
    ),
    Benchmark(
        "document_mixture",
        "quality",
        "How much likelihood does annealing the document mixture gain over the best of ten EM "
        "runs (Choi 2012, ch. 4)?",
        data="`ap`",
        takes="8 minutes",
    ),
    Benchmark(
        "linked_speed",
        "speed",
        "What do ties to neighbours cost? Sweeps of LapPLSI, LTM and DTM next to the aspect "
        "model; a whole fit of DTM",
        data="`20news`",
        takes="2 minutes",
    ),
    Benchmark(
        "semi_supervised",
        "quality",
        "Few labels, many documents: what do neighbours add to topics? LapPLSI, LTM and DTM next "
        "to PLSA, LDA, NMF, PCA and counts (Huh & Fienberg 2010); with `--collection yahoo-k1b` "
        "their Figure 2, and with `--strengths` how strong ties should be: results of their own",
        data="`20news`, `yahoo-k1b`, `reuters`",
        takes="30 minutes; 5 for either option with 2 draws and `--labels 1 5`",
    ),
    Benchmark(
        "retrieval",
        "quality",
        "Is the default search ahead of tf-idf, BM25 and LSI where nobody tunes it? What do "
        "topics add, next to Table 3 of Hofmann & Puzicha (1998)?",
        data="`medline`, `cranfield`, `reuters`, `20news`, `ap`",
        takes="10 minutes",
    ),
    Benchmark(
        "recommend",
        "quality",
        "Are held-out items of users found, next to popularity, item neighbours and SVD?",
        data="made",
        takes="1 minute",
    ),
    Benchmark(
        "segmentation",
        "quality",
        "How many sites of a mosaic of textures are wrong, from random EM to multiscale EM with "
        "a Potts prior, and how many posteriors does that take?",
        data="`brodatz`",
        takes="2 minutes",
    ),
    Benchmark(
        "clustering_projection",
        "quality",
        "Clusters over shared topics (`PCP`, `TTMM`): labels found and perplexity of unseen "
        "documents by every definition, next to LDA, pLSI, NMF and k-means, and to Yu et al. "
        "(2005); with `--many`, a result of its own: more clusters than topics, and the paper's "
        "case study",
        data="`20news`, `reuters`",
        takes="10 minutes, 20 for `--many --seeds 2`",
    ),
    Benchmark(
        "ingestion",
        "speed",
        "How fast are words counted, next to scikit-learn's CountVectorizer on the same texts?",
        data="`20news`, `ap`",
        takes="3 minutes",
    ),
    Benchmark(
        "gpu",
        "speed",
        "Sweeps, whole fits and maps on a GPU, next to the measured rates of a copy, of gathers "
        "from its cache and of products; how far from the CPU; what bfloat16 costs in quality",
        data="none",
        needs="an NVIDIA GPU and the extra `gpu`",
        takes="2 minutes",
    ),
    Benchmark(
        "out_of_core",
        "scale",
        "What does a sweep over counts on the disk cost, next to one in memory, and how much "
        "memory do both take?",
        data="none",
        takes="1 minute",
    ),
    Benchmark(
        "stepwise",
        "scale",
        "Do batches of rows pay? Looks at the data, E-steps and seconds until held-out "
        "perplexity is that of the full fit",
        data="`20news`, or a stand-in",
        takes="5 minutes",
    ),
    Benchmark(
        "cluster",
        "scale",
        "What does a sweep on two Dask workers cost, next to two threads of this process?",
        data="none",
        needs="the extra `cluster`; with `--device cuda` an NVIDIA GPU and the extra `gpu`",
        takes="1 minute",
        again=("--device", "cuda"),
    ),
    Benchmark(
        "plan",
        "scale",
        "How long and how large? A formula for sweeps, its error on sizes it was not fitted to, "
        "and what it says of PubMed and of a billion documents",
        data="none",
        takes="1 minute",
    ),
    Benchmark(
        "explorer",
        "scale",
        "10,000 to a million points in a browser without a graphics card: bytes and seconds of "
        "the file, first picture, dragging, hovering; the explorer next to plotly's scatter3d "
        "and deck.gl",
        data="none",
        needs="Chromium, playwright, plotly and pydeck",
        takes="12 minutes",
    ),
    Benchmark(
        "topic_numbers",
        "quality",
        "How many topics? Planted numbers and labelled documents: growing fits next to a "
        "hierarchical Dirichlet process, a grid of NMFs and BERTopic",
        data="`20news`, `reuters`",
        needs="`make bench-peers`",
        takes="15 minutes",
    ),
    Benchmark(
        "levels",
        "quality",
        "How many topics are there, are they real? The default level next to labels and planted "
        "numbers, topics of two halves of the documents, the words shown, and what levels cost; "
        "next to a hierarchical Dirichlet process, BERTopic, LDA, NMF and k-means of tf-idf",
        data="`20news`, `reuters`, `yahoo-k1b`, `ap`, docstrings",
        needs="`make bench-peers`",
        takes="40 minutes",
    ),
    Benchmark(
        "shares",
        "quality",
        "How large is a topic? Shares with a tempered P(a), an untempered one and weights at "
        "T = 1: next to planted ones, and what each way predicts, finds again and knows of labels",
        data="`reuters`, `20news`, `yahoo-k1b`, `ap`",
        takes="3 minutes",
    ),
    Benchmark(
        "growth",
        "scale",
        "How do seconds of a sweep and peak memory grow with non-zeros, topics and vocabulary, "
        "next to four other programs?",
        data="none",
        needs="`make bench-peers`",
        takes="15 minutes",
    ),
    Benchmark(
        "paper_numbers",
        "papers",
        "Numbers of the papers that no other script measures: sizes of data, a critical "
        "temperature, where annealing stops, what annealing is worth in components",
        data="`cranfield`, `ap`, `adjnoun`, `oil-flow`",
        takes="1 minute",
    ),
    Benchmark(
        "paper_classifiers",
        "papers",
        "Two figures of the papers: is DTM touchy about neighbours and step (Huh & Fienberg "
        "2010), and do ten topics of PCP serve a classifier (Yu et al. 2005)?",
        data="`20news`, `reuters`",
        takes="2 minutes",
    ),
)

# What compares, guards or writes; run by name alone.
TOOLS = (
    Benchmark(
        "smoke",
        "speed",
        "Has a headline ratio fallen? Kernel against NMF, time to quality against tomotopy, "
        "stability against EM; code 1 if one is below its floor, and no file (`make "
        "bench-smoke`)",
        data="`ap`, `cranfield`",
        takes="1 minute",
    ),
    Benchmark(
        "mutants",
        "",
        "Would the tests notice a mistake? Changes one thing in the models, the engine, the "
        "search or the measures at a time and runs their tests; a file with `--write`",
        data="none",
        needs="cosmic-ray",
        takes="60 minutes for a hundred changes",
    ),
    Benchmark(
        "papers",
        "page",
        "Every table and figure of the five papers with a number in it, beside ours?",
        data="none",
        takes="a second",
    ),
    Benchmark(
        "page",
        "page",
        "What do all results say on one page?",
        data="none",
        takes="a second",
    ),
    Benchmark(
        "quotes",
        "page",
        "Do the guides still say what the results say? `page/quotes.toml` has sentences of them "
        "with a measured figure, and a test holds them to it; a new one is to be added there.",
        data="none",
        takes="a second",
    ),
    Benchmark(
        "same_fits",
        "",
        "Do two versions of the library fit the same numbers, to the bit? `--against REVISION` "
        "names every attribute that differs, and no file",
        data="none",
        takes="1 minute",
    ),
)

KNOWN = {one.name: one for one in (*BENCHMARKS, *TOOLS)}


def table(listed: tuple[Benchmark, ...]) -> str:
    """A table of README.md."""
    rows = ["| file | question | data | needs | on two cores, about |"]
    rows.append("| --- | --- | --- | --- | --- |")
    for one in listed:
        cells = [f"`{one.path}`", one.question, one.data, one.needs, one.takes]
        rows += ["| " + " | ".join(cells) + " |"]
    return re.sub(r"\|  (?=\|)", "| ", "\n".join(rows))


def written(readme: str) -> str:
    """README.md with its two tables as they are here; ValueError where it lacks their markers."""
    for name, listed in (("benchmarks", BENCHMARKS), ("tools", TOOLS)):
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, found, rest = readme.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"README.md lacks the line {end if found else begin}")
        readme = f"{before}{begin}\n\n{table(listed)}\n\n{end}{after}"
    return readme
