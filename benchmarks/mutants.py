"""Would the tests notice a mistake? Changes one thing in the code at a time and runs its tests.

Places are drawn at random from the modules of some rooms: an operator, a comparison, a condition,
a loop. The tests of the module run first, then those of its room, in a copy of the tree. A change
that no test notices has survived: a test is to be written, or the change shown to make no
difference: mutants.toml has those that make none, and why. `--again` tries survivors of an earlier
run once more. `--revision` draws from another revision and runs its own tests, so that two states
of the tests can be compared:

    python benchmarks/run.py mutants --revision REVISION --write

Needs cosmic-ray (`pip install cosmic-ray`). Kernels are left out: a change in them is compiled for
minutes, and tests hold every one to the reference. A change that makes tests run for ever is
noticed when they have used up their time of the processor, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

from benchmarks.harness import common

ROOT = Path(__file__).resolve().parents[1]
NO_DIFFERENCE = Path(__file__).with_suffix(".toml")
ROOMS = ("models", "anneal", "retrieval", "evaluate")
# Operators that change nothing a test could see, or need arguments.
LEFT_OUT = ("Decorator", "Variable", "no-op", "NumberReplacer", "ExceptionReplacer")
# Seconds of the processor for the tests of a module, and for those of its room; of the clock,
# as many times more, for tests that wait for ever.
LIMIT, WAIT = 600, 6


class Mutant(NamedTuple):
    """One change: the module, and the text of its line before and after."""

    module: str
    line: int
    before: str
    after: str
    code: str

    @property
    def key(self) -> str:
        """What it is, wherever the line has moved to."""
        return f"{self.module}: {self.before.strip()} -> {self.after.strip()}"

    @property
    def room(self) -> str:
        """The folder of the module."""
        return self.module.partition("/")[0]


def unseen_spans(tree: ast.Module) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Begin and end of annotations and messages of errors: nothing a test of results could see."""
    parts: list[Any] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            parts.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            parts += [one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg)]
            parts.append(node.returns)
        elif isinstance(node, ast.Raise):
            parts.append(node)
    return [
        ((one.lineno, one.col_offset), (one.end_lineno, one.end_col_offset))
        for one in parts
        if one is not None
    ]


class Place(NamedTuple):
    """Where something can be changed: the operators that can, each with its count of places."""

    path: Path
    choices: tuple[tuple[str, int], ...]


def places(path: Path) -> list[Place]:
    """All places of a module."""
    import cosmic_ray.plugins as plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    source = path.read_text(encoding="utf-8")
    spans, nodes = unseen_spans(ast.parse(source)), list(ast_nodes(get_ast(source)))
    choices: dict[tuple[Any, ...], list[tuple[str, int]]] = {}
    for name in plugins.operator_names():
        if any(word in name for word in LEFT_OUT):
            continue
        operator, occurrence = plugins.get_operator(name)(), 0
        for node in nodes:
            for start, stop in operator.mutation_positions(node):
                if not any(low <= start < high for low, high in spans):
                    choices.setdefault((start, stop), []).append((name, occurrence))
                occurrence += 1
    return [Place(path, tuple(sorted(one))) for _, one in sorted(choices.items())]


def mutant(place: Place, rng: random.Random, folder: Path) -> Mutant | None:
    """One change at a place; None where it makes no program."""
    import cosmic_ray.plugins as plugins
    from cosmic_ray.mutating import mutate_code

    source = place.path.read_text(encoding="utf-8")
    name, occurrence = rng.choice(place.choices)
    changed = mutate_code(source, plugins.get_operator(name)(), occurrence)
    if changed is None or not _runs(changed):
        return None
    pairs = enumerate(zip(source.splitlines(), changed.splitlines(), strict=False), 1)
    line, (before, after) = next(one for one in pairs if one[1][0] != one[1][1])
    module = place.path.relative_to(folder).as_posix()
    return Mutant(module, line, before, after, changed)


def _runs(code: str) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(code, "changed", "exec")
    except SyntaxError:
        return False
    return True


def drawn(tree: Path, rooms: list[str], number: int, seed: int) -> list[Mutant]:
    """So many changes of all modules of these rooms, drawn without preference.

    A longer draw with the same seed begins with a shorter one.
    """
    rng = random.Random(seed)
    source = tree / "src" / "isotherm"
    paths = [path for room in rooms for path in sorted((source / room).rglob("*.py"))]
    every = [place for path in paths for place in places(path)]
    rng.shuffle(every)
    changes = (mutant(place, rng, source) for place in every)
    return list(itertools.islice((one for one in changes if one is not None), number))


def once_more(tree: Path, earlier: list[list[str]]) -> list[Mutant]:
    """Changes of an earlier run (module, line before, line after), wherever the line is now."""
    found = []
    for module, before, after in earlier:
        source = (tree / "src" / "isotherm" / module).read_text(encoding="utf-8")
        lines = source.splitlines()
        numbers = [number for number, line in enumerate(lines, 1) if line == before]
        if not numbers:
            print(f"gone  {module}\n    {before.strip()}")
        for number in numbers:
            code = "\n".join([*lines[: number - 1], after, *lines[number:], ""])
            found.append(Mutant(module, number, before, after, code))
    return found


def tests_of(module: str, tree: Path) -> list[list[str]]:
    """Tests of a module itself, then of its room."""
    path = Path(module)
    own = Path("tests") / path.parent / f"test_{path.stem}.py"
    return [*([[str(own)]] if (tree / own).exists() else []), [str(Path("tests") / path.parts[0])]]


def passes(tests: list[str], tree: Path) -> bool:
    """Whether tests pass in a copy of the tree, in their time."""
    data = os.environ.get("ISOTHERM_DATA", str(ROOT.parent / "shared" / "data"))
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "ISOTHERM_DATA": data}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=LIMIT * WAIT
        )
    except subprocess.TimeoutExpired:
        return False
    return not done.returncode


def survives(mutant: Mutant, tree: Path) -> bool:
    """Whether all tests pass in a copy of the tree with this change."""
    path = tree / "src" / "isotherm" / mutant.module
    original = path.read_text(encoding="utf-8")
    path.write_text(mutant.code, encoding="utf-8")
    try:
        return all(passes(tests, tree) for tests in tests_of(mutant.module, tree))
    finally:
        path.write_text(original, encoding="utf-8")


def copied(tree: Path, folder: Path) -> Path:
    """A copy of all that tests read."""
    for part in ("src", "tests", "docs", "benchmarks"):
        shutil.copytree(tree / part, folder / part)
    for path in tree.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder / path.name)
    return folder


def extracted(revision: str, folder: Path) -> Path:
    """The tree of a revision."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", revision], cwd=ROOT, check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def harmless() -> dict[str, str]:
    """Why a change makes no difference, by its key; for those that were shown to make none."""
    changes = tomllib.loads(NO_DIFFERENCE.read_text(encoding="utf-8"))["change"]
    return {f"{one['module']}: {one['before']} -> {one['after']}": one["why"] for one in changes}


def rows_of(revision: str, tried: list[Mutant], alive: list[Mutant]) -> list[dict[str, Any]]:
    """A row for each room and one for all: changes, those that make a difference, those noticed."""
    known = harmless()
    every = Counter(one.room for one in tried)
    equal = Counter(one.room for one in alive if one.key in known)
    lives = Counter(one.room for one in alive if one.key not in known)
    return [
        {
            "revision": revision,
            "room": name,
            "changes": sum(every[room] for room in rooms),
            "make no difference": sum(equal[room] for room in rooms),
            "noticed": sum(every[room] - equal[room] - lives[room] for room in rooms),
            "survived": sum(lives[room] for room in rooms),
        }
        for name, rooms in (*((room, [room]) for room in sorted(every)), ("all", [*every]))
    ]


def survivors_of(revision: str, alive: list[Mutant]) -> list[dict[str, Any]]:
    """A row for each survivor, with the reason where it makes no difference."""
    known = harmless()
    return [
        {
            "revision": revision,
            "module": f"{one.module}:{one.line}",
            "before": one.before.strip(),
            "after": one.after.strip(),
            "makes no difference": known.get(one.key, ""),
        }
        for one in alive
    ]


def write(revision: str, tried: list[Mutant], alive: list[Mutant], seed: int) -> None:
    """Put the rows of a revision into the result, beside those of others."""
    path = common.RESULTS / "mutants.json"
    last = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    new = {"rows": rows_of(revision, tried, alive), "survivors": survivors_of(revision, alive)}
    parts = {
        name: [*(row for row in last.get(name, ()) if row["revision"] != revision), *rows]
        for name, rows in new.items()
    }
    common.write_results("mutants", common.machine(seed), **parts)


def line_about(mutant: Mutant, lives: bool) -> str:
    """What became of a change, for the eye."""
    place = f"{'SURVIVED' if lives else 'noticed'}  {mutant.module}:{mutant.line}"
    return f"{place}\n    {mutant.before.strip()}\n    {mutant.after.strip()}"


def survivors(tree: Path, chosen: list[Mutant], jobs: int, scratch: Path) -> list[Mutant]:
    """Changes that all tests pass with; each is printed as it is tried."""
    trees: Queue[Path] = Queue()
    trees.put(first := copied(tree, scratch / "0"))
    for room in sorted({one.room for one in chosen}):
        if not passes([f"tests/{room}"], first):
            sys.exit(f"tests/{room} fails without any change: everything would seem noticed")
    for job in range(1, jobs):  # with the kernels that are compiled now
        trees.put(copied(first, scratch / f"{job}"))

    def tried(mutant: Mutant) -> bool:
        tree = trees.get()
        try:
            return survives(mutant, tree)
        finally:
            trees.put(tree)

    alive: list[Mutant] = []
    with ThreadPoolExecutor(jobs) as pool:
        for number, lives in enumerate(pool.map(tried, chosen)):
            print(f"{number + 1}/{len(chosen)} {line_about(chosen[number], lives)}", flush=True)
            alive += [chosen[number]] * lives
    return alive


def parsed() -> argparse.Namespace:
    """Options as given."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--revision", default="", help="another revision than the files here")
    parser.add_argument("--write", action="store_true", help="put the score into results/")
    parser.add_argument("--out", type=Path, help="survivors as JSON")
    parser.add_argument("--again", type=Path, help="only survivors of this file")
    options = parser.parse_args()
    if options.again and options.write:
        parser.error("--write is for changes that are drawn, not for those of --again")
    return options


def main() -> int:
    options = parsed()
    if importlib.util.find_spec("cosmic_ray") is None:
        print("cosmic-ray is not installed: pip install cosmic-ray")
        return os.EX_UNAVAILABLE
    # Passed on to all tests; this process itself uses hardly any.
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        tree = extracted(options.revision, scratch / "tree") if options.revision else ROOT
        if options.again:
            chosen = once_more(tree, json.loads(options.again.read_text(encoding="utf-8")))
        else:
            chosen = drawn(tree, options.rooms, options.number, options.seed)
        alive = survivors(tree, chosen, options.jobs, scratch)
    revision = options.revision or common.machine()["commit"]
    total = rows_of(revision, chosen, alive)[-1]
    print("; ".join(f"{name}: {value}" for name, value in total.items()))
    if options.out:
        earlier = [[one.module, one.before, one.after] for one in alive]
        options.out.write_text(json.dumps(earlier, indent=1), encoding="utf-8")
    if options.write:
        write(revision, chosen, alive, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
