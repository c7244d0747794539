"""Three headline ratios in three minutes: has something become slow, worse or unsteady?

Ends with code 1 and the name of what fell below its floor. Floors are well under what a quiet
machine measures, and CPU seconds are counted rather than those of the clock, so that a busy machine
does not fail. Nothing is written: `kernels.py`, `time_to_quality.py` and `stability.py` measure the
same properly.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import common, completion
from benchmarks.quality import stability
from benchmarks.speed import kernels
from isotherm import AspectModel
from isotherm.kernels.cpu.backend import Cpu

TOPICS = 50
GIBBS_SWEEPS = 300
SEEDS = 4


class Guard(NamedTuple):
    """A ratio that must not fall: how it is measured, and the least it may be."""

    name: str
    measure: Callable[[], float]
    floor: float


def cpu_seconds(call: Callable[[], Any], rounds: int = 1) -> float:
    """Least CPU seconds of a call, all threads added up."""
    taken = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        taken.append(time.process_time() - begin)
    return min(taken)


def kernel_against_nmf(rows: int = 4_000, columns: int = 10_000, K: int = 32) -> float:
    """CPU seconds of an iteration of scikit-learn's NMF over those of a sweep, one thread each."""
    matrix = common.zipf(rows, columns)
    ours = common.developed(matrix, K, Cpu(n_threads=1), sweeps=3)
    sweep = cpu_seconds(lambda: [ours.sweep(1.0) for _ in range(10)], 4) / 10
    # The difference of two fits, so that set-up cancels.
    one, six = (cpu_seconds(lambda n=n: kernels.nmf_fit(matrix, K, n, 1), 2) for n in (1, 6))
    return (six - one) / 5 / sweep


def quality_against_tomotopy(sweeps: int = GIBBS_SWEEPS) -> float:
    """CPU seconds of tomotopy's LDA over those of a fit that predicts as well; 0 if it does not."""
    try:
        import tomotopy
    except ImportError as missing:
        raise SystemExit("this guard needs tomotopy, from the extra 'bench'") from missing
    given = completion.parts(common.counts("ap"), common.SEED)
    AspectModel(2, max_iter=2, random_state=0).fit(given.train)  # compiles
    model = AspectModel(TOPICS, random_state=common.SEED)
    ours = cpu_seconds(lambda: model.fit(given.train))
    rival = tomotopy.LDAModel(k=TOPICS, seed=1, corpus=kernels.lda_corpus(given.train.matrix))
    theirs = cpu_seconds(lambda: rival.train(sweeps, workers=1))
    topics = np.full((TOPICS, given.train.n_columns), 1e-12)
    columns = [int(word.removeprefix("w")) for word in rival.used_vocabs]
    for topic in range(TOPICS):
        topics[topic, columns] = rival.get_topic_word_dist(topic)
    level = completion.score(topics, rival.get_count_by_topics(), given).perplexity
    reached = completion.score(model.components_, model.weights_, given).perplexity
    print(f"  perplexity {reached:.0f}, tomotopy after {sweeps} sweeps {level:.0f}")
    return theirs / ours if reached <= level else 0.0


def steadiness_against_em(seeds: int = SEEDS) -> float:
    """Spread of the free energy over seeds, EM from random starts over annealed fits."""
    table = stability.summary(stability.measure("cranfield", 32, seeds))
    em, annealed, _ = table
    print(f"  free energy: EM {em['mean F']}, annealed {annealed['mean F']}")
    return em["sd F"] / annealed["sd F"]


GUARDS = (
    Guard("NMF iteration / sweep, CPU", kernel_against_nmf, 4.0),
    Guard("tomotopy LDA / fit of no worse quality, CPU", quality_against_tomotopy, 1.5),
    Guard("spread over seeds, EM / annealed", steadiness_against_em, 5.0),
)


def run(guards: tuple[Guard, ...] = GUARDS) -> list[common.Target]:
    """Every guard, measured."""
    found = []
    for guard in guards:
        begin = time.perf_counter()
        found.append(common.Target(guard.name, guard.measure(), low=guard.floor))
        print(f"{guard.name}: {time.perf_counter() - begin:.0f} s", flush=True)
    return found


def main(guards: tuple[Guard, ...] = GUARDS) -> None:
    warnings.filterwarnings("ignore", message="The training result may differ")
    common.print_machine(common.machine())
    found = run(guards)
    common.print_targets(found)
    fallen = [target.name for target in found if not target.met]
    if fallen:
        raise SystemExit("fell below its floor: " + "; ".join(fallen))


if __name__ == "__main__":
    main()
