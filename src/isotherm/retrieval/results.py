"""What a search finds: documents, best first, with the words and topics that brought them up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isotherm._markup import Part, page

__all__ = ["Hit", "Results", "TopicShare", "WordShare"]


class WordShare(NamedTuple):
    """A word that query and document share, and what it adds to the score."""

    word: str
    amount: float


class TopicShare(NamedTuple):
    """A topic that query and document share.

    `model` and `topic` are positions, `amount` is sqrt(P(a|x) P(a|q)) (1 for a topic that both
    are made of alone), `words` are those that tell it from all topics together.
    """

    model: int
    topic: int
    amount: float
    words: tuple[str, ...]


class Hit(NamedTuple):
    """A document that was found.

    Attributes
    ----------
    document : int
        Its position in the index.
    name : str
        Its name in the counts, or else its position.
    score : float
        The sum of all `words`, `through_topics`, `through_spectrum` and `through_feedback`.
    words : tuple of WordShare
        Words of the query that are in the document, the most telling first.
    through_topics : float
        What the document owes to its topics: words that it has not, but might have.
    through_feedback : float
        What it owes to its likeness to the best documents, where the index asks for that.
    topics : tuple of TopicShare
        The topics most shared.
    through_spectrum : float
        What it owes to words that are used where those of the query are; combined scores only.
    """

    document: int
    name: str
    score: float
    words: tuple[WordShare, ...]
    through_topics: float
    through_feedback: float
    topics: tuple[TopicShare, ...]
    through_spectrum: float = 0.0

    def _repr_html_(self) -> str:
        return page(_part([self]))


@dataclass(frozen=True)
class Results:
    """Documents found by a query, best first; a sequence of hits.

    Attributes
    ----------
    hits : tuple of Hit
        Only documents of positive score.
    words : tuple of str
        Words of the query that the index knows.
    unknown : tuple of str
        Words of the query that no column of the index has; they are left out.
    topics : tuple of float
        P(a|q): share of each topic in the query, those of all models side by side and divided by
        their number.
    stopped : tuple of str
        Unknown words that say nothing of a subject, such as "the"; they are not in `unknown`.
    """

    hits: tuple[Hit, ...]
    words: tuple[str, ...]
    unknown: tuple[str, ...]
    topics: tuple[float, ...] = ()
    stopped: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Number of hits."""
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        """Hit of a rank, from 0."""
        return self.hits[rank]

    @property
    def documents(self) -> list[int]:
        """Positions of the documents, best first."""
        return [hit.document for hit in self.hits]

    @property
    def scores(self) -> list[float]:
        """Scores, best first."""
        return [hit.score for hit in self.hits]

    def _head(self) -> list[str]:
        lines = [f"query: {' '.join(self.words) or '(no known word)'}"]
        if self.unknown:
            lines.append(f"unknown words: {' '.join(self.unknown)}")
        return lines + ([f"stop words: {' '.join(self.stopped)}"] if self.stopped else [])

    def _repr_html_(self) -> str:
        return page(*self._head(), *([_part(self.hits)] if self.hits else ["nothing was found"]))

    def __str__(self) -> str:
        lines = self._head()
        for rank, hit in enumerate(self.hits, 1):
            lines.append(f"{rank:3d}. {hit.name}  {hit.score:.3f}  ({_why(hit)})")
            lines.extend(f"       {one.amount:.2f}  {' '.join(one.words)}" for one in hit.topics)
        return "\n".join(lines)


def _why(hit: Hit) -> str:
    """Words and whatever else brought up a hit, with what each adds to its score."""
    words = ", ".join(f"{one.word} {one.amount:.3f}" for one in hit.words)
    parts = [words, f"through topics {hit.through_topics:.3f}"]
    if hit.through_spectrum:
        parts.append(f"through spectrum {hit.through_spectrum:.3f}")
    if hit.through_feedback:
        parts.append(f"through feedback {hit.through_feedback:.3f}")
    return "; ".join(filter(None, parts))


def _topics(hit: Hit) -> str:
    """The topics of a hit, with how much each is shared."""
    return "; ".join(f"{one.amount:.2f} {' '.join(one.words)}" for one in hit.topics)


def _part(hits: Sequence[Hit]) -> Part:
    """A row for each hit, best first."""
    rows = [
        (rank, hit.name, f"{hit.score:.3f}", _why(hit), _topics(hit))
        for rank, hit in enumerate(hits, 1)
    ]
    return Part(("rank", "document", "score", "because of", "topics"), rows)
