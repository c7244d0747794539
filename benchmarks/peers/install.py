"""Environments of the peers, one for each requirements file in this folder: `make bench-peers`.

An environment is made anew where its requirements have changed. What cannot be installed, or be
imported afterwards, is told with its last words, in the output and in `results/peers.json`; the
others go on. Ends with 0 in any case: a peer that is missing is a result.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.harness import common
from benchmarks.harness.peers import ADAPTERS, ENVIRONMENTS, ROOT, python_of, report

# What has to be importable before an environment counts as made, and what its version is that of.
MODULES = {
    "sklearn": ("sklearn", "scikit-learn"),
    "tomotopy": ("tomotopy", "tomotopy"),
    "gensim": ("gensim.models", "gensim"),
    "bigartm": ("artm", "bigartm10"),
    "enstop": ("enstop", "enstop"),
    "bertopic": ("bertopic", "bertopic"),
}


def environments() -> list[str]:
    """Names of all requirements files."""
    return sorted(path.stem for path in ADAPTERS.glob("*.txt"))


def made(name: str, python: str) -> dict[str, Any]:
    """Row of the report: the environment, its version, or why there is none."""
    wanted, stamp = (ADAPTERS / f"{name}.txt").read_text(), ENVIRONMENTS / name / "made-from.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(ENVIRONMENTS / name, ignore_errors=True)
        if error := _tried([python, "-m", "venv", str(ENVIRONMENTS / name)]):
            return {"environment": name, "version": None, "error": error}
        pip = [str(python_of(name)), "-m", "pip", "install", "--quiet"]
        pip += ["--disable-pip-version-check", "-r", str(ADAPTERS / f"{name}.txt")]
        if error := _tried(pip):
            return {"environment": name, "version": None, "error": error}
    module, package = MODULES.get(name, (name, name))
    if error := _tried([str(python_of(name)), "-c", f"import {module}"]):
        return {"environment": name, "version": None, "error": f"installed, but: {error}"}
    stamp.write_text(wanted)
    ask = f"from importlib import metadata as m; print(m.version({package!r}))"
    said = subprocess.run([str(python_of(name)), "-c", ask], capture_output=True, text=True)
    return {"environment": name, "version": f"{package} {said.stdout.strip()}", "error": None}


def _tried(command: list[str]) -> str | None:
    """None if a command succeeded, else its last words."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    if not done.returncode:
        return None
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    said = " / ".join(lines[-3:]) or f"ended with code {done.returncode}"
    # The report is kept: where things lie on this machine is no part of it.
    return re.sub(r"(file|https?)://[^\s']+", "...", said.replace(str(ROOT), "."))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="some of: " + " ".join(environments()))
    parser.add_argument("--python", default=sys.executable, help="interpreter to make them with")
    options = parser.parse_args()
    if unknown := set(options.names) - set(environments()):
        parser.error(f"no requirements file for {', '.join(sorted(unknown))}")
    info = common.machine()
    rows = {name: row for name, row in report().items() if name in environments()}
    for name in options.names or environments():
        print(f"{name} ...", flush=True)
        rows[name] = made(name, options.python)
        print(f"{name}: {rows[name]['version'] or 'NOT INSTALLED: ' + rows[name]['error']}")
    common.write_results("peers", info, environments=[rows[key] for key in sorted(rows)])


if __name__ == "__main__":
    main()
