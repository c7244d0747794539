"""One runner for all benchmarks: `python benchmarks/run.py NAME...`, or `all`; `--list` tells them.

A script that fails is told and the next one goes on; the runner then ends with 1. One for which the
machine lacks something, such as a GPU, is told at the end. What there is, what it asks, needs and
takes stands in the table of README.md, in the order in which `all` runs it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
# Scripts that are run once more, for a file of results of its own.
AGAIN = {
    "corpus_map": ("--model", "OneSidedClustering"),
    "cluster": ("--device", "cuda"),
}


class Question(NamedTuple):
    """A line of the table: a script, what it asks, what data it needs, how long it takes."""

    name: str
    asks: str
    needs: str
    takes: str


def questions(readme: Path = FOLDER / "README.md") -> dict[str, Question]:
    """All lines of the table of scripts, by name."""
    found = {}
    for line in readme.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| \n").split(" | ")]
        if len(cells) == 4 and cells[0].startswith("`") and cells[0].endswith(".py`"):
            name = cells[0].strip("`").removesuffix(".py")
            if name == Path(__file__).stem:
                continue
            found[name] = Question(name, cells[1], cells[2].replace("`", ""), cells[3])
    return found


def shown(known: dict[str, Question]) -> str:
    """The list for the eye: three lines for each."""
    return "\n".join(
        f"{one.name}  ({one.takes}; data: {one.needs})\n    {one.asks}" for one in known.values()
    )


def run(name: str, *arguments: str, folder: Path = FOLDER) -> int:
    """Exit code of one script, run in a process of its own."""
    begin, shown = time.monotonic(), " ".join([name, *arguments])
    print(f"== {shown}", flush=True)
    code = subprocess.run([sys.executable, str(folder / f"{name}.py"), *arguments]).returncode
    known = {0: "done", os.EX_UNAVAILABLE: "not run"}
    said = known.get(code, f"FAILED with code {code}")
    print(f"== {shown}: {said} after {time.monotonic() - begin:.0f} s", flush=True)
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts without .py, or: all")
    parser.add_argument("--list", action="store_true", help="what there is")
    options = parser.parse_args()
    known = questions()
    if options.list or not options.names:
        print(shown(known))
        return 0
    if unknown := [name for name in options.names if name not in known and name != "all"]:
        parser.error(f"no benchmark {', '.join(unknown)}; --list shows what there is")
    names = list(known) if "all" in options.names else options.names
    jobs = [job for name in names for job in ((name,), (name, *AGAIN.get(name, ())))]
    codes = {" ".join(job): run(*job) for job in dict.fromkeys(jobs)}
    lacking = [job for job, code in codes.items() if code == os.EX_UNAVAILABLE]
    failed = [job for job, code in codes.items() if code and job not in lacking]
    if lacking:
        print("NOT RUN, see why above:", ", ".join(lacking))
    if failed:
        print("FAILED:", ", ".join(failed))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
