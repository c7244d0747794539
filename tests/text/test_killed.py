"""A process that is killed while it counts words into a file leaves the old file or a whole one."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import isotherm

WORK = """
import sys, isotherm
texts = ["word%d other%d third" % (i % 997, i % 89) for i in range(20_000)]
isotherm.count_words(texts[:5])
print("ready", flush=True)
n = 0
while True:
    n = n % 5 + 1
    isotherm.save(isotherm.count_words(texts[: 4000 * n]).counts, sys.argv[1])
"""


def test_killed_while_counting(tmp_path: Path) -> None:
    path = tmp_path / "counts.isotherm"
    first = isotherm.count_words(["an old file"]).counts
    isotherm.save(first, path)
    sizes = set()
    for i in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", WORK, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.013 + 0.11 * i)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        counts = isotherm.load(path)
        assert isinstance(counts, isotherm.Counts)
        assert counts.n_rows in (1, 4000, 8000, 12_000, 16_000, 20_000)
        assert counts.total == 3 * counts.n_rows
        sizes.add(counts.n_rows)
    assert sizes
