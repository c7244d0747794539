"""Critical temperatures: what is predicted is what happens."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import block_diag

from isotherm import _nested
from isotherm.anneal import critical
from isotherm.anneal.critical import (
    component_split,
    component_splits,
    critical_temperatures,
    first_critical,
)
from isotherm.anneal.engine import Annealer
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.start import Noisy, state_of
from isotherm.anneal.trace import State
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.base import distinct_components
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.models.own_words import AspectOwnWords
from support.corpora import TOY
from support.models import (
    Array,
    Local,
    aspect_start,
    begin,
    cluster_start,
    place,
    poisson_counts,
    sweep,
    sweeps,
)

COUNTS = poisson_counts(7)
DATA = place(COUNTS)
MARGINAL = COUNTS.sum(axis=0) / COUNTS.sum()
MODELS = {
    "aspect": Aspect(2),
    "aspect-tempered-prior": Aspect(2, temper_prior=True),
    "cluster": Cluster(2),
    "cluster-tempered-prior": Cluster(2, temper_prior=True),
    "cluster-pseudo-counts": Cluster(4, pseudo_count=60.0),
    "cluster-fixed-weights": Cluster(3, fixed_weights=True),
    "document": Document(3),
    "document-stepwise": Document(3, stepwise=True),
    "document-pseudo-counts": Document(4, pseudo_count=60.0),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


def merged(model: Any, data: Local, temperature: float) -> State:
    """All components on the one-component solution."""
    marginal = data.summary.column_totals / data.summary.total
    start = begin(model, data, np.repeat(marginal[:, None], model.n_components, axis=1))
    return sweep(model, data, start, temperature)[0]


def growth(
    model: Any,
    data: Local,
    state: State,
    twins: Array,
    temperature: float,
    steps: int,
    direction: Array | None = None,
) -> float:
    """Factor by which a sweep multiplies a tiny difference between twin components.

    The difference starts along `direction` (J,), a relative change, or anywhere, and is scaled
    back to its first size after each sweep.
    """
    signs = np.where(np.arange(len(twins)) % 2 == 0, 1.0, -1.0)
    signs -= signs.mean()
    table = state.params.word_topic.copy()
    if direction is None:
        direction = np.random.default_rng(0).standard_normal(len(table))
    change = table[:, twins] * direction[:, None]
    change -= table[:, twins] * change.sum(axis=0)
    size = 1e-5 * table.max()
    table[:, twins] += change * signs * size / np.abs(change).max()
    moved = state._replace(params=state.params._replace(word_topic=table))
    factor = float("nan")
    for _ in range(steps):
        before = spread(moved, twins)
        after, _ = sweep(model, data, moved, temperature)
        factor = spread(after, twins) / before
        moved = shrunk(after, twins, factor)
    return factor


def spread(state: State, twins: Array) -> float:
    table = state.params.word_topic[:, twins]
    return float(np.linalg.norm(table - table.mean(axis=1, keepdims=True)))


def shrunk(state: State, twins: Array, factor: float) -> State:
    """State in which twins differ by 1 / factor of what they did, in parameters and rows."""

    def one(field: Array) -> Array:
        scaled = field.copy()
        mean = field[..., twins].mean(axis=-1, keepdims=True)
        scaled[..., twins] = mean + (field[..., twins] - mean) / factor
        return scaled

    rows = tuple(_nested.apply(one, row) for row in state.rows)
    return State(_nested.apply(one, state.params), rows, state.extra)


def critical_change(model: Any, data: Local, state: State, temperature: float, c: int) -> Array:
    """Relative change of a component along its critical direction."""
    p = state.params.word_topic[:, c]
    direction = component_split(model, data, state, temperature, c).direction
    return direction / np.sqrt(np.where(p > 0, p, 1.0))


def twinned(state: State, c: int) -> tuple[State, Array]:
    """State with component c cut into two halves, and the indices of these."""
    K = len(state.params.weight)
    order = np.append(np.arange(K), c)
    halves = np.ones(K + 1)
    halves[[c, K]] = 0.5
    params = _nested.take(state.params, order)
    shares = {
        name: getattr(params, name) * halves for name in params._fields if name != "word_topic"
    }
    rows = tuple(
        _nested.apply(lambda a: a * halves, _nested.take(row, order)) for row in state.rows
    )
    return State(params._replace(**shares), rows, state.extra), np.array([c, K])


def test_a_split_neither_grows_nor_dies_at_the_critical_temperature(model: Any) -> None:
    t_c = first_critical(model, DATA)
    state, twins = merged(model, DATA, t_c), np.arange(model.n_components)
    direction = critical_change(model, DATA, state, t_c, 0)
    assert growth(model, DATA, state, twins, t_c, 40, direction) == pytest.approx(1.0, abs=3e-6)


def test_any_split_ends_in_the_critical_direction(model: Any) -> None:
    t_c = first_critical(model, DATA)
    state, twins = merged(model, DATA, t_c), np.arange(model.n_components)
    assert growth(model, DATA, state, twins, t_c, 300) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("ratio", [0.8, 0.95, 1.1, 1.5])
def test_a_split_grows_by_the_ratio_of_the_temperatures(model: Any, ratio: float) -> None:
    zero = model.zero_temperature
    t_c = first_critical(model, DATA)
    temperature = zero + ratio * (t_c - zero)
    state, twins = merged(model, DATA, temperature), np.arange(model.n_components)
    direction = critical_change(model, DATA, state, temperature, 0)
    found = growth(model, DATA, state, twins, temperature, 40, direction)
    if getattr(model, "stepwise", False):  # weights lag behind, but the side is the same
        assert (found > 1.0) == (ratio < 1.0)
    else:
        assert found == pytest.approx(1.0 / ratio, abs=1e-4)


@pytest.mark.parametrize("model", [Aspect(2), Cluster(2)], ids=["aspect", "cluster"])
def test_components_of_a_settled_state_split_where_predicted(model: Any) -> None:
    t_c = first_critical(model, DATA)
    temperature = 1.0 + 0.6 * (t_c - 1.0)
    state, _ = sweeps(model, DATA, begin(model, DATA), temperature, 2000)
    assert len(distinct_components(*model.components(state.params))) == 2
    for c in range(2):
        predicted = component_split(model, DATA, state, temperature, c).temperature
        both, twins = twinned(state, c)
        direction = critical_change(model, DATA, state, temperature, c)
        found = growth(model, DATA, both, twins, temperature, 40, direction)
        assert found == pytest.approx(predicted / temperature, abs=1e-3)


@pytest.mark.parametrize("temperature", [1.0, 1.2, 1.5])
def test_own_words_take_their_tokens_from_what_splits(temperature: float) -> None:
    """Halves of a settled aspect part as the curvature says, in which repeats have less weight."""
    model, data = AspectOwnWords(2), place(COUNTS + 6.0 * np.eye(*COUNTS.shape))
    state, _ = sweeps(model, data, merged(model, data, temperature), temperature, 300)
    assert 0.05 < float(state.params.own[0]) < 0.9
    predicted = component_split(model, data, state, temperature, 0).temperature
    direction = critical_change(model, data, state, temperature, 0)
    found = growth(model, data, state, np.arange(2), temperature, 40, direction)
    assert found == pytest.approx(predicted / temperature, abs=1e-4)
    without = component_split(Aspect(2), data, merged(Aspect(2), data, 1.0), 1.0, 0).temperature
    assert predicted < without - 0.01


def test_one_component_above_and_more_below(model: Any) -> None:
    zero = model.zero_temperature
    u = first_critical(model, DATA) - zero
    counted = []
    for ratio in (1.05, 0.9):
        annealer = Annealer(Fixed(zero + ratio * u), start=Noisy(0.1), tol=1e-12, max_sweeps=600)
        fit = annealer.run(model, DATA, np.random.default_rng(0))
        counted.append(len(distinct_components(*model.components(fit.state.params))))
        assert counted[-1] == fit.trace[-1].n_effective
    assert counted[0] == 1
    assert counted[1] > 1


def test_the_first_transition_does_not_depend_on_where_it_is_asked(model: Any) -> None:
    """One component has all of every row, whatever the temperature: at T = 0 as well."""
    hot = model.hot()
    state = state_of(hot, DATA, hot.collapsed(DATA.summary, np.float64))
    expected = first_critical(model, DATA)
    for temperature in (0.5, 1.0, 1.0 + hot.zero_temperature, 7.0, 1e4):
        split = component_split(hot, DATA, state, temperature, 0)
        assert split.temperature == pytest.approx(expected, rel=1e-9)


def test_topics_with_pseudo_counts_split_later() -> None:
    n, a, K = COUNTS.sum(), 200.0, 4
    lam = first_critical(Document(K), DATA) - 1.0
    assert first_critical(Document(K, a), DATA) == pytest.approx(1.0 + lam * n / (n + a * K))
    assert first_critical(Cluster(K, a), DATA) == pytest.approx(lam * n / (n + a * K))
    state = merged(Document(K, a), DATA, 1.5)
    t_c = 1.0 + lam * n / (n + a * K)
    direction = critical_change(Document(K, a), DATA, state, t_c, 0)
    found = growth(Document(K, a), DATA, state, np.arange(4), t_c, 40, direction)
    assert found == pytest.approx(1.0, abs=3e-6)


def test_aspects_split_between_one_and_two() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(2, 9, 2))
        counts = rng.poisson(rng.gamma(0.3, 3.0, shape)) + np.eye(*shape, dtype=int)
        assert 1.0 <= first_critical(Aspect(2), place(counts)) <= 2.0 + 1e-12


def test_counts_in_separate_parts_split_at_two() -> None:
    counts = np.zeros((7, 6))
    counts[:4, :2] = poisson_counts(1)[:4, :2] + 1
    counts[4:, 2:] = poisson_counts(2)[6:9, :4] + 1
    assert first_critical(Aspect(2), place(counts)) == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("n", [1.0, 7.0, 40.0])
def test_two_documents_without_a_common_word(n: float) -> None:
    data = place(np.diag([n, n]))
    assert first_critical(Document(2), data) == pytest.approx(n + 1.0)
    assert first_critical(Cluster(2), data) == pytest.approx(n)
    assert first_critical(Aspect(2), data) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "counts",
    [
        np.outer([1.0, 2.0, 5.0], [3.0, 1.0, 2.0, 4.0, 1.0]),
        np.array([[1.0, 2.0, 3.0, 4.0]]),
        np.array([[3.0], [5.0]]),
        np.outer([1.0, 0.0, 2.0], [1.0, 3.0]),
    ],
    ids=["proportional", "one-row", "one-column", "two-columns"],
)
def test_nothing_splits_where_all_rows_are_proportional(counts: Array) -> None:
    data = place(counts)
    assert first_critical(Document(2), data) == pytest.approx(1.0, abs=1e-12)
    assert first_critical(Cluster(2), data) == pytest.approx(0.0, abs=1e-12)
    # s2 is the root of what rounds to zero.
    assert first_critical(Aspect(2), data) == pytest.approx(1.0, abs=1e-6)


def test_rows_of_equal_length_split_at_most_at_their_length() -> None:
    n = 40
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(n, rng.dirichlet(np.full(9, 0.4))) for _ in range(30)])
    data = place(counts)
    s2 = first_critical(Aspect(2), data) - 1.0
    t_c = first_critical(Cluster(2), data)
    assert t_c == pytest.approx(n * s2**2, rel=1e-9)
    assert t_c <= n
    assert first_critical(Document(2), data) == pytest.approx(1.0 + t_c, rel=1e-12)
    separate = place(np.kron(np.eye(2), [[n / 2, n / 2], [n / 4, 3 * n / 4]]))
    assert first_critical(Cluster(2), separate) == pytest.approx(n)


@pytest.mark.parametrize("c", [0.25, 3.0, 1000.0])
def test_scaling_the_counts_scales_the_temperature_of_rows(c: float) -> None:
    scaled = place(c * COUNTS)
    lam = first_critical(Cluster(2), DATA)
    assert first_critical(Cluster(2), scaled) == pytest.approx(c * lam)
    assert first_critical(Document(2), scaled) == pytest.approx(1.0 + c * lam)
    assert first_critical(Aspect(2), scaled) == pytest.approx(first_critical(Aspect(2), DATA))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy tells of overflows first
def test_counts_beyond_single_precision_are_refused() -> None:
    data = place(1e37 * poisson_counts(), Cpu("float32"))
    with pytest.raises(IsothermError, match="not finite; check the counts for extreme values"):
        first_critical(Cluster(2), data)


def test_the_trivial_direction_is_projected_out() -> None:
    trivial = np.linalg.norm(TOY / np.sqrt(TOY.sum(axis=0)), 2) ** 2
    assert trivial == pytest.approx(20.4, abs=0.05)
    assert first_critical(Cluster(2), place(TOY)) == pytest.approx(10.3, abs=0.05)
    state = merged(Cluster(1), place(TOY), 5.0)
    direction = component_split(Cluster(1), place(TOY), state, 5.0, 0).direction
    # Orthogonal to sqrt(p): probabilities keep their sum.
    assert direction @ np.sqrt(TOY.sum(axis=0)) == pytest.approx(0.0, abs=1e-8)


def test_blocks_and_row_weights_do_not_matter(model: Any) -> None:
    cut = place(COUNTS, bounds=[0, 1, 5, 6, len(COUNTS)])
    weight = 1.0 + np.arange(len(COUNTS)) % 3
    heavy = place(COUNTS, weight=weight)
    copies = place(np.repeat(COUNTS, weight.astype(int), axis=0))
    assert first_critical(model, cut) == pytest.approx(first_critical(model, DATA), rel=1e-10)
    assert first_critical(model, heavy) == pytest.approx(first_critical(model, copies), rel=1e-10)
    states = [sweeps(model, data, begin(model, data), 1.5, 10)[0] for data in (DATA, cut)]
    found = [
        critical_temperatures(model, data, state, 1.5)
        for data, state in zip((DATA, cut), states, strict=True)
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-7)


def test_single_precision_is_close(model: Any) -> None:
    single = place(COUNTS, Cpu("float32"))
    assert first_critical(model, single) == pytest.approx(first_critical(model, DATA), rel=1e-5)


def aspect_matrix(model: Aspect, state: State, c: int, temperature: float) -> Array:
    """R / sqrt(P(x|a) P(y|a)) - sqrt(P(x|a) P(y|a)), dense, where both are positive."""
    params, table = state.params, state.rows[0].table
    p_row, p_column = table / params.row_mass, params.word_topic
    prior = params.weight ** (1 / temperature if model.temper_prior else 1.0)
    q = prior * (p_row[:, None] * p_column) ** (1 / temperature)
    total = q.sum(axis=2)
    share = COUNTS * np.divide(q[:, :, c], total, out=np.zeros_like(total), where=total > 0)
    scale = np.sqrt(np.outer(p_row[:, c], p_column[:, c]))
    share /= COUNTS.sum() * params.weight[c]
    return np.divide(share, scale, out=np.zeros_like(share), where=scale > 0) - scale


def cluster_matrix(state: State, c: int, alpha: float) -> Array:
    """sqrt(q) (n - n(x) p_c) / sqrt(n_c + alpha p), dense, where the column occurs."""
    q = state.rows[0].posterior[:, c]
    n_c = q @ COUNTS + alpha * MARGINAL
    seen = n_c > 0
    n_c = n_c[seen]
    left = COUNTS[:, seen] - np.outer(COUNTS.sum(axis=1), n_c / n_c.sum())
    return np.sqrt(q)[:, None] * left / np.sqrt(n_c)


def test_components_agree_with_a_dense_solve(model: Any) -> None:
    state, _ = sweeps(model, DATA, begin(model, DATA), 1.2, 1500)
    weight, _ = model.components(state.params)
    for c in np.flatnonzero(weight > 1e-6):
        found = component_split(model, DATA, state, 1.2, int(c)).temperature
        if isinstance(model, Aspect):
            matrix = aspect_matrix(model, state, c, 1.2)
            assert found == pytest.approx(1.0 + np.linalg.norm(matrix, 2), rel=1e-8)
            assert 1.0 <= found <= 2.0
        else:
            matrix = cluster_matrix(state, c, model.pseudo_count)
            lam = np.linalg.norm(matrix, 2) ** 2
            assert found == pytest.approx(model.zero_temperature + lam, rel=1e-8)


def test_a_component_knows_its_own_rows_only() -> None:
    # Two groups of rows over separate words: each splits by what is inside it.
    inner = poisson_counts(11, (10, 7))
    counts = np.block([[inner, np.zeros((10, 7))], [np.zeros((10, 7)), np.tile(inner[0], (10, 1))]])
    data = place(counts)
    table = np.stack([counts[:10].sum(axis=0), counts[10:].sum(axis=0)], axis=1)
    state, _ = sweeps(Cluster(2), data, begin(Cluster(2), data, table / table.sum(axis=0)), 1.0, 3)
    found = [component_split(Cluster(2), data, state, 1.0, c).temperature for c in range(2)]
    # The empty row of the first group belongs to both clusters and to no word.
    assert found[0] == pytest.approx(first_critical(Cluster(2), place(inner)), rel=1e-9)
    assert found[1] == pytest.approx(0.0, abs=1e-9)


def test_symmetric_counts_hide_no_direction() -> None:
    # Lanczos starts from a fixed vector; it must not be orthogonal to the answer by symmetry.
    ring = np.eye(8) * 5 + np.roll(np.eye(8), 1, axis=1) * 3
    for counts in (ring, ring + ring.T, np.eye(4), np.kron(np.eye(4), np.ones((2, 2)))):
        t_c = first_critical(Aspect(2), place(counts))
        p = np.sqrt(np.outer(counts.sum(axis=1), counts.sum(axis=0))) / counts.sum()
        matrix = counts / counts.sum() / p - p
        assert t_c == pytest.approx(1.0 + np.linalg.norm(matrix, 2), rel=1e-9)


def test_toy_components_below_the_first_transition_split_later() -> None:
    data = place(TOY)
    for model, start, temperature in (
        (Aspect(2), aspect_start(2), 1.25),
        (Cluster(2), cluster_start(), 8.0),
    ):
        state, _ = sweeps(model, data, start, temperature, 1500)
        found = critical_temperatures(model, data, state, temperature)
        assert len(found) == 2
        assert (found < temperature).all()


def test_first_transition_of_the_press_corpus(shared_data: Path) -> None:
    counts = Counts(sparse.load_npz(shared_data / "ap" / "counts.npz"))
    data = Local.place(counts, Cpu("float64"))
    # The mean document length, 262, is what comes out without the projection.
    assert first_critical(Document(20), data) == pytest.approx(1 + 87.2, abs=0.05)


@pytest.mark.parametrize("model", [Aspect(3), Cluster(3), Cluster(3, 7.0, temper_prior=True)])
@pytest.mark.parametrize("bounds", [None, [0, 5, 6, 18]])
def test_all_components_at_once_agree_with_one_by_one(model: Any, bounds: Any) -> None:
    data = place(poisson_counts(), bounds=bounds, weight=np.arange(18) % 3)
    state = sweeps(model, data, begin(model, data), 1.1, 5)[0]
    found = component_splits(model, data, state, 1.1, np.arange(3))
    assert found.components.tolist() == [0, 1, 2]
    for c in range(3):
        alone = component_split(model, data, state, 1.1, c)
        assert found.temperatures[c] == pytest.approx(alone.temperature, rel=2e-3)
        assert abs(found.directions[:, c] @ alone.direction) > 0.98


def test_components_that_are_known_to_be_stable_cost_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Aspect(3)
    data = place(poisson_counts(), weight=np.arange(18) % 3)
    state = sweeps(model, data, begin(model, data), 1.1, 5)[0]
    exact = component_splits(model, data, state, 1.1, np.arange(3)).temperatures
    one, two, _ = np.argsort(-exact)
    widths, product = [], critical._product

    def counted(data: Any, deviations: Any, x: Array) -> Array:
        widths.append(x.shape[1])
        return np.asarray(product(data, deviations, x))

    monkeypatch.setattr(critical, "_product", counted)
    monkeypatch.setattr(critical, "EXACT", 1e-9)  # no end after one cycle
    threshold = float(exact[[one, two]].mean())
    found = component_splits(model, data, state, 1.1, np.arange(3), threshold)
    assert widths[: critical.CYCLE] == [3] * critical.CYCLE
    assert set(widths[critical.CYCLE :]) == {1}
    assert found.temperatures[one] == pytest.approx(exact[one], rel=2e-3)
    assert (np.delete(found.temperatures, one) < threshold).all()


# Islands ---------------------------------------------------------------------------------------


def with_island(counts: Array, length: float = 1.0) -> Array:
    """The counts and a row of eight columns that no other row has."""
    wide = np.zeros((len(counts) + 1, counts.shape[1] + 8))
    wide[:-1, :-8] = counts
    wide[-1, -8:] = length
    return wide


MANY_ROWS = (
    np.random.default_rng(3)
    .poisson(
        np.kron(np.random.default_rng(4).dirichlet(np.full(30, 0.5), 5) * 40, np.ones((60, 1)))
    )
    .astype(float)
)


@pytest.mark.parametrize(
    ("model", "length"), [(Aspect(2), 1.0), (Cluster(2), 500.0)], ids=["aspect", "cluster"]
)
def test_a_foreign_row_does_not_set_the_first_transition(model: Any, length: float) -> None:
    plain, island = place(MANY_ROWS), place(with_island(MANY_ROWS, length), bounds=[0, 40, 301])
    expected = first_critical(model, plain)
    hot = model.hot()
    state = state_of(hot, island, hot.collapsed(island.summary, np.float64))
    alone = component_split(hot, island, state, 1.0, 0)
    # The mode of the row alone: of aspects T = 2, of clusters nearly all of its tokens.
    assert alone.temperature > 1.2 * expected
    assert (alone.direction[-8:] ** 2).sum() > 0.7
    again = first_critical(model, island)
    assert again == pytest.approx(expected, rel=0.02)
    passed = component_splits(hot, island, state, 1.0, np.zeros(1, int), least=np.full(1, 0.01))
    assert passed.temperatures[0] == pytest.approx(again, rel=0.02)
    assert (passed.directions[-8:] ** 2).sum() < 0.01


def test_two_halves_split_at_two_whatever_islands_there_are() -> None:
    zero = np.zeros_like(MANY_ROWS)
    halves = np.block([[MANY_ROWS, zero], [zero, MANY_ROWS]])
    data = place(with_island(with_island(halves)))
    assert first_critical(Aspect(2), data) == pytest.approx(2.0)
    model = Aspect(1)
    state = state_of(model, data, model.collapsed(data.summary, np.float64))
    split = component_splits(model, data, state, 2.0, np.zeros(1, int), 1.9, np.full(1, 0.1))
    assert split.temperatures == pytest.approx([2.0])
    signs = np.sign(split.directions[:, 0])
    assert abs(signs[:30].sum()) == abs(signs[30:60].sum()) == 30
    assert signs[0] == -signs[30]


@pytest.mark.parametrize("model", [Aspect(2), Cluster(2)], ids=["aspect", "cluster"])
@pytest.mark.parametrize(
    "lengths",
    [(50,), (500,), (1100,), (300, 300), tuple(range(20, 320, 30))],
    ids=["4 %", "a quarter", "nearly half", "two", "ten"],
)
@pytest.mark.parametrize("common", [0.0, 1.0], ids=["foreign", "one word in common"])
def test_a_long_foreign_row_sets_no_first_transition(
    model: Any, lengths: tuple[int, ...], common: float
) -> None:
    counts, expected = MANY_ROWS, first_critical(model, place(MANY_ROWS))
    for length in lengths:
        counts = with_island(counts, length)
        counts[-1, MANY_ROWS.sum(axis=0).argmin()] = common
    data = place(counts, bounds=[0, 40, 299, len(counts)])
    assert first_critical(model, data) == pytest.approx(expected, rel=0.006)
    hot = model.hot()
    state = state_of(hot, data, hot.collapsed(data.summary, np.float64))
    # What is told of a component at any later state.
    told = critical_temperatures(hot, data, state, 1.0)
    assert told == pytest.approx([expected], rel=0.006)


@pytest.mark.parametrize("model", [Aspect(1), Cluster(1)], ids=["aspect", "cluster"])
def test_rows_are_centered_where_all_are_there(model: Any) -> None:
    counts = MANY_ROWS * np.linspace(1, 9, len(MANY_ROWS))[:, None].round()  # of many lengths
    data, k = place(counts), Cpu("float64")
    state = state_of(model, data, model.collapsed(data.summary, np.float64))
    block, one = data.blocks[0], np.zeros(1, int)
    found = model.deviation(state.params, state.rows[0], block, 1.5, one, k)
    rows, tokens = found.sums(block, k)
    assert rows / tokens == pytest.approx(found.centre)
    shares = found.tokens()[:, 0] / found.tokens().sum()
    assert shares == pytest.approx(counts.sum(axis=1) / counts.sum())
    members = found.members(block)
    assert members == pytest.approx(np.full((len(counts), 1), members[0, 0]))


@pytest.mark.parametrize("longest", [10, 500])
def test_rows_with_words_of_their_own_are_a_topic_however_long_one_is(longest: int) -> None:
    own = np.random.default_rng(5).multinomial(40, np.full(8, 1 / 8), 10)
    counts = block_diag(MANY_ROWS, np.vstack([own, np.full((1, 8), longest)]))
    assert first_critical(Aspect(2), place(counts)) == pytest.approx(2.0)


def test_long_rows_of_a_topic_are_not_set_aside_with_odd_ones(shared_data: Path) -> None:
    # Two abstracts stand alone in modes above that of the first topic. Below it others seem to,
    # and without these the topic would split at 57.5.
    data = place(sparse.load_npz(shared_data / "medline" / "counts.npz"))
    assert first_critical(Cluster(2), data) == pytest.approx(58.606, abs=0.001)


def test_a_row_of_weight_two_is_two_rows() -> None:
    counts = with_island(MANY_ROWS, 60.0)
    weight = np.ones(len(counts))
    weight[-1] = 2.0
    twice = place(np.vstack([counts, counts[-1:]]))
    heavy = Local.place(Counts(counts), Cpu("float64"), weight=weight)
    assert first_critical(Aspect(2), twice) == pytest.approx(2.0)
    assert first_critical(Aspect(2), heavy) == pytest.approx(2.0)


def test_few_rows_are_all_topics() -> None:
    # Of a dozen rows one is no odd one out.
    counts = with_island(MANY_ROWS[::25], 20.0)
    assert len(counts) == 13
    assert first_critical(Aspect(2), place(counts)) == pytest.approx(2.0)


def test_where_there_is_nothing_but_islands_the_highest_is_the_first() -> None:
    data = place(np.eye(200))
    assert first_critical(Aspect(2), data) == pytest.approx(2.0)
