"""Documents, words and items that are near."""

import numpy as np
import pytest

from isotherm import AspectModel, Counts, SearchIndex
from isotherm.errors import IsothermError
from retrieval.corpus import SUBJECTS, grown, stories


def subject(word: str) -> str:
    return next(name for name, words in SUBJECTS.items() if word in words.split())


@pytest.mark.parametrize("with_topics", [True, False])
def test_nearest_documents_and_words_are_of_the_same_subject(with_topics: bool) -> None:
    index = SearchIndex.of(grown() if with_topics else None, stories())
    for row in (0, 50, 100):
        near = index.similar(row)
        name = index.query(index.counts.matrix[[row]].toarray()).hits[0].name
        kind = index.similar(row, 1)[0].name.rstrip("0123456789")
        assert {one.name.rstrip("0123456789") for one in near} == {kind}
        assert row not in [one.position for one in near]
        assert [one.score for one in near] == sorted((one.score for one in near), reverse=True)
        assert name.startswith(kind)
    assert index.similar("sea3", 5) == index.similar(list(index.counts.row_names).index("sea3"), 5)
    for word in ("ship", "bank", "cow"):
        found = index.similar_words(word, 4)
        assert {subject(one.name) for one in found} == {subject(word)}
        assert word not in [one.name for one in found]
        assert index.counts.column_names[found[0].position] == found[0].name
        assert index.similar_words(f"{word}s", 4) == found


def test_unknown_rows_and_words_are_refused() -> None:
    index = SearchIndex.of(None, stories())
    for call, match in (
        (lambda: index.similar("nobody"), "no row of the index"),
        (lambda: index.similar(120), "document=120"),
        (lambda: index.similar(0, 0), "n=0"),
        (lambda: index.similar_words("zeppelin"), "no word of the index"),
        (lambda: index.recommend("nobody"), "no row of the index"),
    ):
        with pytest.raises(IsothermError, match=match):
            call()


def ratings() -> tuple[Counts, np.ndarray]:
    """Users of three tastes and what each would like, planted."""
    rng = np.random.default_rng(2)
    taste = np.repeat([0, 1, 2], 30)
    likes = rng.random((90, 45)) < np.where(taste[:, None] == np.arange(45) // 15, 0.5, 0.03)
    likes[:, 0] = True
    return Counts(likes, column_names=[f"film {j}" for j in range(45)]), taste


@pytest.mark.parametrize("with_topics", [True, False])
def test_recommended_are_items_of_the_taste_that_the_user_lacks(with_topics: bool) -> None:
    counts, taste = ratings()
    model = AspectModel(3, random_state=0).fit(counts) if with_topics else None
    index = SearchIndex.of(model, counts, stem=False)
    right = 0
    for user in range(0, 90, 10):
        found = index.recommend(user, 5)
        had = set(counts.matrix[[user]].indices.tolist())
        assert not had & {one.position for one in found}
        right += sum(one.position // 15 == taste[user] for one in found)
        seen = index.recommend(user, 45, seen=True)
        assert len(seen) == 45
        assert len(index.recommend(user, 45)) == 45 - len(had)
    assert right >= (40 if with_topics else 34)  # of 45; by chance a third
    scores = index.recommendations([3, 4])
    assert scores.shape == (2, 45)
    best = [one.position for one in index.recommend(4, 3, seen=True)]
    assert best == np.argsort(-scores[1], kind="stable")[:3].tolist()


def test_items_that_are_merged_are_refused() -> None:
    docs = Counts.from_pairs(["a", "a", "b"], ["alien", "heat", "aliens"])
    index = SearchIndex.of(None, docs)
    with pytest.raises(IsothermError, match="stem=False"):
        index.recommend("a")
    assert SearchIndex.of(None, docs, stem=False).recommend("a", 1)[0].name == "aliens"
