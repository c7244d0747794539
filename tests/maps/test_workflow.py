import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from isotherm import (
    GTM,
    PCP,
    AspectModel,
    Counts,
    DocumentMixture,
    Fixed,
    IsothermError,
    MappedCorpus,
    OneSidedClustering,
    map_corpus,
)
from isotherm.maps.workflow import FLOOR, SMOOTHING, TRANSFORMS

GROUPS, DOCUMENTS, WORDS = 3, 12, 5
NAMES = [f"word{j}" for j in range(GROUPS * WORDS)]
LABELS = np.repeat(np.arange(GROUPS), DOCUMENTS)


def corpus(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    sharp = np.kron(np.eye(GROUPS, dtype=int), np.ones((DOCUMENTS, WORDS), int))
    return rng.poisson(0.3 + 6.0 * sharp)


def small(dimensions: int = 2) -> GTM:
    return GTM(dimensions, n_nodes=5, n_basis=3, schedule=Fixed(1.0), random_state=0)


@pytest.fixture(scope="module")
def found() -> MappedCorpus:
    counts = Counts(corpus(), column_names=NAMES)
    return map_corpus(counts, n_topics=GROUPS, gtm=small(), labels=LABELS)


def test_what_belongs_together_is_near_in_the_map(found: MappedCorpus) -> None:
    places = found.map.coordinates
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(distance, np.inf)
    assert_array_equal(LABELS[distance.argmin(axis=1)], LABELS)
    assert np.abs(places).max() < 1.0 + 2.0 / 19.0 + 1e-9


def test_shapes_and_contents(found: MappedCorpus) -> None:
    plain = found.map
    n_rows = GROUPS * DOCUMENTS
    assert plain.coordinates.shape == (n_rows, 2)
    assert plain.topic_weights.shape == (n_rows, GROUPS)
    assert_allclose(plain.topic_weights.sum(axis=1), 1.0)
    assert_array_equal(plain.tokens, corpus().sum(axis=1))
    assert_allclose(plain.topic_sizes, found.topics.weights_)
    assert plain.grid_shape == (5, 5)
    assert_array_equal(plain.nodes, found.gtm.nodes_)
    assert_array_equal(plain.magnification, found.gtm.magnification())
    assert plain.top_words == tuple(map(tuple, found.topics.top_words(10)))
    assert plain.labels == tuple(LABELS.tolist())
    assert plain.names[3] == "row 3"
    assert plain.texts is None
    assert plain.topics_cooling.trace == found.topics.trace_
    assert plain.topics_cooling[1:] == (
        found.topics.first_critical_,
        found.topics.temperature_,
        "components",
    )
    assert plain.map_cooling.trace == found.gtm.trace_
    assert plain.map_cooling.parts == "nodes"
    assert repr(plain) == "CorpusMap(36 documents, 3 topics, 2-D map of 5 x 5 nodes, 3 labels)"


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_topics_lie_among_the_documents_that_are_about_them(
    found: MappedCorpus, transform: str
) -> None:
    again = map_corpus(corpus(), topics=found.topics, gtm=small(), transform=transform).map
    assert again.topic_coordinates.shape == (GROUPS, 2)
    for k, place in enumerate(again.topic_coordinates):
        near = np.argsort(np.linalg.norm(again.coordinates - place, axis=1))[:5]
        assert_array_equal(again.topic_weights[near].argmax(axis=1), k)


def test_placing_again_gives_the_same_places(found: MappedCorpus) -> None:
    assert_allclose(found.place(corpus()), found.map.coordinates, atol=1e-12)
    assert_allclose(found.place(corpus()[5:7]), found.map.coordinates[5:7], atol=1e-9)


def test_vectors_are_what_the_transform_says(found: MappedCorpus) -> None:
    counts = Counts(corpus())
    weights, topics = found.map.topic_weights, found.topics
    logs = np.log(weights + FLOOR)
    table = (1 - SMOOTHING) * topics.components_ + SMOOTHING * topics.unigram_
    fit = corpus() @ np.log(table).T / corpus().sum(axis=1, keepdims=True)
    expected = {
        "raw": weights,
        "sqrt": weights**0.5,
        "clr": logs - logs.mean(axis=1, keepdims=True),
        "log-likelihood": fit - fit.mean(axis=1, keepdims=True),
    }
    assert expected.keys() == TRANSFORMS.keys()
    for name, vectors in expected.items():
        assert_allclose(TRANSFORMS[name](weights, counts, topics), vectors, rtol=1e-6, atol=1e-9)
    plain = map_corpus(corpus(), topics=topics, gtm=small(), transform="clr")
    assert plain.map.transform == "clr"
    assert_allclose(plain.map.coordinates, plain.gtm.transform(expected["clr"]), atol=1e-9)


@pytest.mark.parametrize(
    ("topics", "transform"),
    [
        (AspectModel(GROUPS, random_state=0), "sqrt"),
        (OneSidedClustering(GROUPS, random_state=0), "log-likelihood"),
        (DocumentMixture(GROUPS, validation_fraction=0, random_state=0), "log-likelihood"),
    ],
)
def test_hard_proportions_do_not_make_a_map_of_few_places(topics: object, transform: str) -> None:
    found = map_corpus(corpus(), topics=topics, gtm=small()).map  # type: ignore[arg-type]
    assert found.transform == transform
    assert len(np.unique(found.coordinates.round(9), axis=0)) > 2 * GROUPS


def test_empty_documents_have_no_place_and_are_marked(found: MappedCorpus) -> None:
    given = np.vstack([np.zeros_like(corpus()[:1]), corpus()])
    with_empty = map_corpus(given, n_topics=GROUPS, gtm=small()).map
    assert_array_equal(np.flatnonzero(with_empty.empty), [0])
    assert np.isnan(with_empty.coordinates[0]).all()
    assert np.isfinite(with_empty.coordinates[1:]).all()
    assert np.isfinite(with_empty.topic_coordinates).all()
    assert_allclose(with_empty.topic_weights.sum(axis=1), 1.0)
    assert "37 documents (1 empty)" in repr(with_empty)
    assert_array_equal(np.isnan(found.place(given)).all(axis=1), with_empty.empty)
    assert np.isnan(found.place(given[:1])).all()


def test_an_empty_document_changes_nothing_for_the_others(found: MappedCorpus) -> None:
    given = np.vstack([corpus(), np.zeros_like(corpus()[:1])])
    with_empty = map_corpus(given, topics=found.topics, gtm=small()).map
    assert_allclose(with_empty.coordinates[:-1], found.map.coordinates, atol=1e-9)


def test_words_that_the_topics_never_saw_say_nothing() -> None:
    given = np.hstack([corpus(), np.zeros((len(LABELS), 1), int)])
    found = map_corpus(given, n_topics=GROUPS, gtm=small())
    strange, mixed = np.zeros_like(given[0]), given[4].copy()
    strange[-1] = mixed[-1] = 9
    places = found.place(np.stack([strange, mixed]))
    assert np.isnan(places[0]).all()
    assert np.isfinite(places[1]).all()
    by_words = map_corpus(given, topics=found.topics, gtm=small(), transform="log-likelihood")
    # What is known of the row has not changed.
    assert_allclose(by_words.place(mixed[None])[0], by_words.map.coordinates[4], atol=1e-9)
    assert map_corpus(
        np.stack([strange, mixed]), topics=found.topics, gtm=found.gtm
    ).map.tokens.tolist() == [0, corpus()[4].sum()]


def test_fitted_estimators_are_used_as_they_are(found: MappedCorpus) -> None:
    before = found.topics.components_.copy(), found.gtm.centres_.copy()
    again = map_corpus(corpus(1), topics=found.topics, gtm=found.gtm)
    assert again.topics is found.topics
    assert again.gtm is found.gtm
    assert_array_equal(found.topics.components_, before[0])
    assert_array_equal(found.gtm.centres_, before[1])
    assert_allclose(again.map.coordinates, found.place(corpus(1)))


def test_defaults_and_seed() -> None:
    first, second = (map_corpus(corpus(), n_topics=2, n_dimensions=1) for _ in range(2))
    assert isinstance(first.topics, AspectModel)
    assert first.map.topic_weights.shape[1] == 2
    assert first.map.grid_shape == (40,)
    assert_array_equal(first.map.coordinates, second.map.coordinates)
    other = map_corpus(corpus(), n_topics=2, n_dimensions=1, random_state=1)
    assert np.abs(other.map.coordinates - first.map.coordinates).max() > 1e-6


def test_three_dimensions() -> None:
    found = map_corpus(corpus(), n_topics=GROUPS, gtm=small(3)).map
    assert found.coordinates.shape == (len(LABELS), 3)
    assert found.topic_coordinates.shape == (GROUPS, 3)
    assert found.grid_shape == (5, 5, 5)
    assert len(found.magnification) == 125


def test_names_labels_and_texts_are_kept_as_plain_values(found: MappedCorpus) -> None:
    n_rows = len(LABELS)
    counts = Counts(corpus(), row_names=[f"d{i}" for i in range(n_rows)])
    labels = [np.str_("a"), np.int64(3), float("nan"), None, 1.5, True, (1, 2)]
    labels += ["b"] * (n_rows - len(labels))
    models = {"topics": found.topics, "gtm": found.gtm}
    kept = map_corpus(counts, **models, labels=labels, texts=[5] * n_rows).map
    assert kept.names[:2] == ("d0", "d1")
    assert kept.labels is not None
    assert kept.labels[:8] == ("a", 3, None, None, 1.5, True, "(1, 2)", "b")
    assert [type(one) for one in kept.labels[:2]] == [str, int]
    assert kept.texts == ("5",) * n_rows
    named = map_corpus(counts, **models, names=range(n_rows)).map
    assert named.names[:2] == ("0", "1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"transform": "log"}, "it must be one of 'sqrt', 'raw', 'clr', 'log-likelihood', or None"),
        ({"n_topics": 1}, "a single topic"),
        ({"n_topics": 0}, "n_components=0"),
        ({"n_dimensions": 4}, "n_components=4"),
        ({"topics": GTM()}, "give an estimator for counts"),
        ({"topics": PCP(2, 2)}, "its rows have clusters in place of topics"),
        ({"topics": AspectModel(2), "n_topics": 2}, "n_topics=2 and topics are both given"),
        ({"gtm": GTM(), "n_dimensions": 2}, "n_dimensions=2 and gtm are both given"),
        ({"gtm": AspectModel(2)}, "give an estimator such as GTM"),
        ({"labels": [1, 2]}, "labels has 2 entries for 36 rows"),
        ({"names": ["a"]}, "names has 1 entries for 36 rows"),
        ({"texts": []}, "texts has 0 entries for 36 rows"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        map_corpus(corpus(), **settings)  # type: ignore[arg-type]


def test_fitted_map_without_its_topics_is_refused(found: MappedCorpus) -> None:
    with pytest.raises(IsothermError, match="give those topics as well"):
        map_corpus(corpus(), gtm=found.gtm)


def test_one_document_is_no_map(found: MappedCorpus) -> None:
    with pytest.raises(IsothermError, match="1 of 1 documents have tokens"):
        map_corpus(corpus()[:1], topics=found.topics)
