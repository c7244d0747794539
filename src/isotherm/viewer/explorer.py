"""The explorer: a corpus, its maps, topics, tree and annealing as one page."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

from isotherm.anneal.stages import Stage, Stages
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.format.atomic import replacing
from isotherm.maps.corpus import CorpusMap
from isotherm.maps.workflow import MappedCorpus
from isotherm.viewer import gather, page
from isotherm.viewer.container import Part, pack
from isotherm.viewer.format import SHARE_STEPS, TextsMeta
from isotherm.viewer.parts.words import index_part

if TYPE_CHECKING:
    from isotherm.estimators.counts import CountEstimator


__all__ = ["Explorer"]

TEXTS = ("auto", "whole", "openings", "none")
# Characters of all texts up to which "auto" keeps them whole, and of an opening.
WHOLE, OPENING = 8_000_000, 300
# Characters of a page up to which a notebook shows it, and the height that it has there.
SHOWN, HEIGHT = 30_000_000, 680


class DocumentText(TypedDict):
    """What there is to read of a document; topics are pairs of number and share."""

    index: int
    id: str | None
    title: str
    text: str | None
    fields: dict[str, object]
    topics: list[list[int | float]]


@dataclass(frozen=True, eq=False, repr=False)
class Explorer:
    """A corpus to look at in a browser; made by `Explorer.of` or `Explorer.of_vectors`.

    The page shows the maps, the topics, their tree, and how all of it was annealed, and searches
    the documents. `save_html` writes it as one file that needs nothing else; in a notebook it is
    shown where it is evaluated.

    Attributes
    ----------
    title : str
    points, documents : Part
        What the page is told of the collection, and of each document.
    words : Part or None
    counts : Counts or None
        What is searched.
    texts : list of str or None
    ids : list of str or None
        Names of the rows in the counts.
    fields : mapping of column to values

    Examples
    --------
    >>> import numpy as np
    >>> from isotherm import Explorer, map_corpus
    >>> blocks = np.kron(np.eye(3), np.full((200, 5), 6.0)) + 1.0
    >>> X = np.random.default_rng(0).poisson(blocks)
    >>> explorer = Explorer.of(map_corpus(X, n_topics=3), counts=X, title="Three blocks")
    >>> explorer
    Explorer('Three blocks', 600 documents, 3 topics, maps: 2-D)
    """

    title: str
    points: Part
    documents: Part
    words: Part | None
    counts: Counts | None
    texts: list[str] | None
    ids: list[str] | None
    fields: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        maps: CorpusMap | MappedCorpus | Sequence[CorpusMap | MappedCorpus],
        *,
        model: CountEstimator | None = None,
        counts: object = None,
        title: str = "Map of documents",
        subtitle: str = "",
        names: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        labels: Sequence[object] | None = None,
        columns: Mapping[str, object] | None = None,
        stages: Stages | Sequence[Stage] | None = None,
        nouns: Mapping[str, str] | None = None,
    ) -> Self:
        """Explorer of a corpus by one or several maps of the same topics.

        Parameters
        ----------
        maps : CorpusMap, MappedCorpus, or sequence of them
            What `map_corpus` returns. The first one is shown first. With a `MappedCorpus` documents
            can be placed as they were at earlier stages.
        model : fitted estimator, optional
            The topics that the maps were made of: adds words with their probabilities, similar
            topics, the tree, and stages. That of a `MappedCorpus` by default.
        counts : counts (I, J), optional
            What the topics were fitted to: adds search, coherence, and stages document by document.
        title, subtitle : str
        names, texts, labels : sequence of length I, optional
            Title, text and label of each document; by default those of the first map.
        columns : mapping of name to sequence of length I, optional
            What else to colour and size documents by: numbers and dates are continuous, all else
            are categories.
        stages : Stages, optional
            What a fit with a fixed number of topics kept on its way; see `isotherm.Stages`.
        nouns : mapping, optional
            What things are called: "row", "rows", "column", "columns", "component", "components".
        """
        given = gather.Given(names, texts, labels, columns or {}, nouns or {}, title, subtitle)
        return cls(*gather.of_maps(maps, model, counts, stages, given))

    @classmethod
    def of_vectors(
        cls,
        maps: object,
        vectors: object = None,
        *,
        title: str = "Map",
        subtitle: str = "",
        names: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        labels: Sequence[object] | None = None,
        columns: Mapping[str, object] | None = None,
        nouns: Mapping[str, str] | None = None,
    ) -> Self:
        """Explorer of vectors: places without topics.

        Parameters
        ----------
        maps : fitted GTM, coordinates (I, 2) or (I, 3), or sequence of them
        vectors : (I, D), optional
            What a GTM is to place.
        title, subtitle, names, texts, labels, columns, nouns
            As in `of`.

        Examples
        --------
        >>> import numpy as np
        >>> from isotherm import Explorer
        >>> places = np.random.default_rng(0).normal(size=(100, 3))
        >>> Explorer.of_vectors(places, columns={"height": places[:, 2]})
        Explorer('Map', 100 points, maps: 3-D)
        """
        given = gather.Given(names, texts, labels, columns or {}, nouns or {}, title, subtitle)
        return cls(*gather.of_places(maps, vectors, given))

    @property
    def n_documents(self) -> int:
        """Number of documents I."""
        return int(self.points.meta["n_documents"])

    def parts(
        self, live: bool = False, *, texts: str = "auto", search: bool = True
    ) -> dict[str, bytes]:
        """Blocks of data by name, "points" first.

        Parameters
        ----------
        live : bool
            For a page that asks a server for texts and searches.
        texts, search
            As in `save_html`; of no matter where `live`.
        """
        return dict(self._packed(live, texts, search))

    def document(self, index: int) -> DocumentText:
        """What there is to read of a document, in values of JSON."""
        if not 0 <= index < self.n_documents:
            raise IsothermError(
                f"document {index} is asked for; they are numbered 0 to {self.n_documents - 1}"
            )
        titles = self.documents.strings.get("titles")
        shares = self.documents.arrays
        topics = []
        if "shares.topic" in shares:
            both = zip(
                shares["shares.topic"][index].tolist(),
                shares["shares.weight"][index].tolist(),
                strict=True,
            )
            topics = [[k, weight / SHARE_STEPS] for k, weight in both if weight]
        return {
            "index": index,
            "id": None if self.ids is None else self.ids[index],
            "title": "" if titles is None else titles[index],
            "text": None if self.texts is None else self.texts[index],
            "fields": {name: gather.plain(values[index]) for name, values in self.fields.items()},
            "topics": topics,
        }

    def save_html(
        self, path: str | os.PathLike[str], *, texts: str = "auto", search: bool = True
    ) -> Path:
        """Path of the page that was written: one file that works from disk, offline.

        Parameters
        ----------
        path : str or path
            Folders are made where they are missing; an older page is replaced in one step.
        texts : {"auto", "whole", "openings", "none"}
            What the file holds of the texts: "auto" all of them while they have no more than
            8,000,000 characters, else their openings.
        search : bool
            Whether the file holds an index of words, for which `counts` are needed.
        """
        blocks = self._packed(False, texts, search)
        final = Path(path)
        final.parent.mkdir(parents=True, exist_ok=True)
        with (
            replacing(final) as unfinished,
            unfinished.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(page.pieces(blocks, self.title))
        return final

    def html(self, *, texts: str = "auto", search: bool = True) -> str:
        """The page as text; see `save_html`."""
        return page.page(self._packed(False, texts, search), self.title)

    def widget(self, height: int = HEIGHT, *, texts: str = "auto", search: bool = True) -> Any:
        """The page as a widget of a notebook, whose `selected` rows Python and the map share.

        Needs `pip install 'isotherm[notebook]'`. An explorer that is evaluated by itself is shown
        as well, but tells nothing.

        Parameters
        ----------
        height : int
            In pixels.
        texts, search
            As in `save_html`.
        """
        from isotherm.viewer.widget import widget

        return widget(self, height, texts=texts, search=search)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which can reach nothing around it."""
        text = self.html()
        if len(text) > SHOWN:
            said = f"{self!r}: too large to be shown here; write it by save_html and open that."
            return f"<p>{html.escape(said)}</p>"
        return (
            f'<iframe srcdoc="{html.escape(text)}" sandbox="allow-scripts allow-downloads" '
            f'title="{html.escape(self.title)}" width="100%" height="{HEIGHT}" '
            'style="border:0"></iframe>'
        )

    def __repr__(self) -> str:
        meta = self.points.meta
        nouns = meta["nouns"]
        shown = [repr(self.title), f"{self.n_documents:,} {nouns['rows']}"]
        if meta["n_topics"]:
            shown.append(f"{meta['n_topics']} {nouns['components']}")
        shown.append("maps: " + ", ".join(one["name"] for one in meta["maps"]))
        return f"Explorer({', '.join(shown)})"

    def _packed(self, live: bool, texts: str, search: bool) -> Iterator[tuple[str, bytes]]:
        """Blocks in the order of the file, each made when it is asked for."""
        if texts not in TEXTS:
            raise IsothermError(
                f"texts={texts!r}; it must be one of {', '.join(map(repr, TEXTS))}",
                parameter="texts",
            )
        rest = {"documents": self.documents}
        if self.words is not None:
            rest["words"] = self.words
        if not live:
            found = self._texts(texts)
            if found is not None:
                rest["texts"] = found
            if search and self._index is not None:
                rest["index"] = self._index
        meta = {**self.points.meta, "live": live, "parts": ["points", *rest]}
        return (
            (name, pack(*part))
            for name, part in {"points": self.points._replace(meta=meta), **rest}.items()
        )

    @cached_property
    def _index(self) -> Part | None:
        return None if self.counts is None or self.words is None else index_part(self.counts)

    def _texts(self, kept: str) -> Part | None:
        if self.texts is None or kept == "none":
            return None
        whole = kept == "whole" or (kept == "auto" and sum(map(len, self.texts)) <= WHOLE)
        texts = self.texts if whole else [opening(text) for text in self.texts]
        meta: TextsMeta = {"whole": whole}
        return Part(meta, {}, {"texts": texts})


def opening(text: str) -> str:
    """The first words of a text."""
    if len(text) <= OPENING:
        return text
    return (text[:OPENING].rpartition(" ")[0] or text[:OPENING]) + " …"
