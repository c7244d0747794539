"""One runner for all benchmarks: `python benchmarks/run.py NAME...`, or `all`; `--list` names them.

What follows a single name and begins with a dash is for that benchmark: `run.py kernels --quick`. A
benchmark that fails is named and the next one goes on; the runner then ends with 1. One for which
the machine lacks something, such as a GPU, is named at the end. `registry.py` has all that there
are; `--write` puts them into the tables of README.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # to be run from any folder

from benchmarks.registry import BENCHMARKS, KNOWN, README, TOOLS, Benchmark, written  # noqa: E402


def shown(listed: tuple[Benchmark, ...]) -> str:
    """The list for the eye: two lines for each."""
    rows = []
    for one in listed:
        needs = f"; needs: {one.needs}" if one.needs else ""
        facts = f"{one.takes}; data: {one.data}{needs}".replace("`", "")
        rows.append(f"{one.name}  ({facts})\n    {one.question}")
    return "\n".join(rows)


def run(one: Benchmark, *arguments: str) -> int:
    """Exit code of one benchmark, run in a process of its own."""
    begin, job = time.monotonic(), " ".join([one.name, *arguments])
    print(f"== {job}", flush=True)
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", one.module, *arguments]
    code = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}).returncode
    known = {0: "done", os.EX_UNAVAILABLE: "not run"}
    outcome = known.get(code, f"FAILED with code {code}")
    print(f"== {job}: {outcome} after {time.monotonic() - begin:.0f} s", flush=True)
    return code


def run_all(jobs: list[tuple[str, ...]]) -> int:
    """1 if one of them fails; each is a name and arguments."""
    codes = {" ".join(job): run(KNOWN[job[0]], *job[1:]) for job in dict.fromkeys(jobs)}
    lacking = [job for job, code in codes.items() if code == os.EX_UNAVAILABLE]
    failed = [job for job, code in codes.items() if code and job not in lacking]
    if lacking:
        print("NOT RUN, see why above:", ", ".join(lacking))
    if failed:
        print("FAILED:", ", ".join(failed))
    return int(bool(failed))


def jobs_of(names: list[str]) -> list[tuple[str, ...]]:
    """What to run for names: `all` is every benchmark, and some are run twice."""
    listed = [one.name for one in BENCHMARKS] if "all" in names else names
    pairs = [((name,), (name, *KNOWN[name].again)) for name in listed]
    return [job for pair in pairs for job in pair]


def main() -> int:
    given = sys.argv[1:]
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), given))
    rest = given[len(names) :]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks, or: all")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--write", action="store_true", help="write the tables of README.md")
    if unknown := [name for name in names if name not in KNOWN and name != "all"]:
        parser.error(f"no benchmark {', '.join(unknown)}; --list shows what there is")
    if names and rest:
        if len(names) > 1 or names == ["all"]:
            parser.error(f"{rest[0]} is for one benchmark: name a single one")
        return run_all([(names[0], *rest)])
    if names:
        return run_all(jobs_of(names))
    if parser.parse_args(rest).write:
        README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    print(shown(BENCHMARKS), "\nTools, which `all` leaves out:\n", shown(TOOLS), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
