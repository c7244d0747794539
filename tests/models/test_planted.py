"""What was planted is found: by annealing from every start, by plain EM from few."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from isotherm.anneal.engine import ADAPTIVE_RELAXATION, NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import Noisy
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from support.corpora import Planted, admixture, matched, mixture_of_unigrams
from support.models import begin, fitted, place

DOUBLE = Cpu("float64")
# As the document mixture is annealed by its author: plain sweeps, cooled by 10 %.
THOROUGH = Annealer(Exponential(0.9, 1.0, margin=0.98), NO_RELAXATION, start=Noisy(0.1), tol=2e-8)
CORPORA = {
    "A": mixture_of_unigrams((400, 200), 10, (20, 100), 0.3),
    "B": mixture_of_unigrams((600, 400), 20, (20, 100), 0.3),
}


@pytest.mark.parametrize("planted", CORPORA.values(), ids=CORPORA.keys())
def test_annealed_topics_are_those_of_the_true_labels(planted: Planted) -> None:
    data = place(planted.counts, DOUBLE)
    model = Document(planted.table.shape[1])
    best, _ = fitted(model, data, begin(model, data, planted.truth()), 1.0, 100, tol=0.0)
    target = best.trace[-1].free_energy
    plain = Annealer(Fixed(1.0), NO_RELAXATION, start=Noisy(1.0), tol=0.0)
    annealed, em = [], []
    for seed in range(3):
        annealed.append(THOROUGH.run(model, data, np.random.default_rng(seed)))
        em.append(plain.run(model, data, np.random.default_rng(seed)).trace[-1].free_energy)
    energies = [fit.trace[-1].free_energy for fit in annealed]
    assert energies == pytest.approx([target] * 3, abs=20.0)
    assert np.mean(em) > target + 1000.0
    assert max(energies) < min(em)
    assert all(fit.temperature == 1.0 for fit in annealed)


@pytest.mark.parametrize(
    "relaxation", [ADAPTIVE_RELAXATION, NO_RELAXATION], ids=["relaxed", "plain"]
)
@pytest.mark.parametrize(
    ("model", "concentration"),
    # Weights that are not tempered let a cluster starve now and then where clusters share little.
    [(Cluster(5), 1.0), (Cluster(5, temper_prior=True), 0.1)],
    ids=["alike", "apart"],
)
def test_planted_clusters_are_found_from_every_start(
    model: Cluster, concentration: float, relaxation: Relaxation
) -> None:
    planted = mixture_of_unigrams((80, 50), 5, (60, 60), concentration)
    annealer = Annealer(Exponential(0.93), relaxation)
    data = place(planted.counts, DOUBLE)
    plain = Annealer(Fixed(1.0), start=Noisy(1.0))
    scores, em_scores = [], []
    for seed in range(10):
        for run, found in ((annealer, scores), (plain, em_scores)):
            fit = run.run(model, data, np.random.default_rng(seed))
            labels = fit.state.rows[0].posterior.argmax(axis=1)
            found.append(adjusted_rand_score(planted.labels, labels))
    assert scores == [1.0] * 10
    assert 0.6 < np.mean(em_scores) < 0.95


def test_planted_aspects_are_found() -> None:
    counts, topics = admixture(200, 60, 4, 300, alpha=0.1, sparse=0.1)
    data = place(counts, DOUBLE)
    annealer = Annealer(Exponential(0.93), tol=1e-8, max_sweeps=500)
    for seed in range(2):
        fit = annealer.run(Aspect(4), data, np.random.default_rng(seed))
        found = fit.state.params.word_topic
        assert matched(found.T, topics).max() <= 0.02
        assert found.sum(axis=0) == pytest.approx(np.ones(4))
