import pytest

from isotherm.datasets._clean import is_stop_word, singular_forms, words
from isotherm.datasets._stopwords import BOILERPLATE, ENGLISH

NUMPYDOC = """
    Smooth a noisy curve.

    .. versionadded:: 1.2
       The moving variant.

    Parameters
    ----------
    width, height : int, optional
        Breadth of the kernel.
    random_state : int
        Seed of the dice.
    n_jobs : int
        Workers of the pool.

    Returns
    -------
    ndarray

    .. note:: ignored
       Edges are mirrored.

    .. math::

        kernel = gauss

    See Also
    --------
    median : Another smoother.

    References
    ----------
    .. [1] Savitzky, Golay

    Examples
    --------
    Draw a sine wave:

    >>> smooth(sine)
    array of floats

    It looks calm::

        plot = figure

    Afterwards.
"""


def test_sections_directives_and_examples_are_dropped() -> None:
    assert (
        words(NUMPYDOC)
        == (
            "smooth noisy curve breadth the kernel ndarray edges are mirrored draw sine wave "
            "looks calm afterwards"
        ).split()
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fast Fourier", ["fast", "fourier"]),
        ("well-known and/or (linear)", ["well", "known", "and", "linear"]),
        ("an FFT of two", ["fft", "two"]),
        ("snake_case CamelCase x1 f(x) a.b [1]_ 3.5 n=2 HTMLParser", []),
        ("see ``literal text`` and :func:`some name` or `name`", ["see", "and"]),
        ("visit https://example.org/page or www.example.org", ["visit"]),
        (r"the \alpha level $x_{one}$ here", ["the", "level", "here"]),
        ("Note: width : matters", ["note", "width", "matters"]),
        ("don't stop", ["don", "stop"]),
        ("naïve words", ["words"]),
        ("Title\n=====\nprose", ["prose"]),
        (">>> call()\noutput\n\nprose", ["prose"]),
        ("$ make run\n\nprose", ["prose"]),
        ("Read more in the :ref:`guide`.", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_stop_words_cover_their_plurals() -> None:
    assert all(is_stop_word(word) for word in ("the", "array", "arrays", "parameters", "copies"))
    assert not any(is_stop_word(word) for word in ("matrix", "topic", "mean", "axis"))


def test_stop_lists_are_clean() -> None:
    assert not ENGLISH & BOILERPLATE
    assert all(word.isalpha() and word.islower() for word in ENGLISH | BOILERPLATE)
    assert min(map(len, ENGLISH | BOILERPLATE)) >= 3


def test_plurals_fold_into_singulars_in_use() -> None:
    common = ("matrix", "vertex", "query", "box", "spline", "axis", "class", "bias", "basis")
    rows_with = dict.fromkeys(common, 5) | dict.fromkeys(
        ("matrices", "vertices", "queries", "boxes", "splines", "pandas", "news"), 20
    )
    rows_with["panda"] = 1
    assert singular_forms(rows_with) == {
        "matrices": "matrix",
        "vertices": "vertex",
        "queries": "query",
        "boxes": "box",
        "splines": "spline",
    }
