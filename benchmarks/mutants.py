"""Would the tests notice a mistake? Changes one thing in the code at a time and runs its tests.

Places are drawn at random from the modules of some rooms: an operator, a comparison, a condition,
a loop. The tests of the module run first, then those of its room, in a copy of the tree. A change
that no test notices has survived: a test is to be written, or the change shown to make no
difference. `--again` tries the survivors of an earlier run once more.

Needs cosmic-ray (`pip install cosmic-ray`). Kernels are left out: a change in them is compiled for
minutes. Writes nothing but the file of `--out`.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("models", "anneal", "retrieval", "evaluate")
# Operators that change nothing a test could see, or need arguments.
LEFT_OUT = ("Decorator", "Variable", "no-op", "NumberReplacer", "ExceptionReplacer")
# Seconds for the tests of a module, and for those of its room.
LIMIT = 900


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


def mutant(place: Place, rng: random.Random) -> Mutant | None:
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
    module = place.path.relative_to(ROOT / "src" / "isotherm").as_posix()
    return Mutant(module, line, before, after, changed)


def _runs(code: str) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(code, "changed", "exec")
    except SyntaxError:
        return False
    return True


def drawn(rooms: list[str], number: int, seed: int) -> list[Mutant]:
    """So many changes of all modules of these rooms, drawn without preference."""
    rng = random.Random(seed)
    source = ROOT / "src" / "isotherm"
    paths = [path for room in rooms for path in sorted((source / room).rglob("*.py"))]
    every = [place for path in paths for place in places(path)]
    rng.shuffle(every)
    changes = (mutant(place, rng) for place in every)
    return list(itertools.islice((one for one in changes if one is not None), number))


def tests_of(module: str) -> list[list[str]]:
    """Tests of a module itself, then of its room."""
    path = Path(module)
    own = Path("tests") / path.parent / f"test_{path.stem}.py"
    return [*([[str(own)]] if (ROOT / own).exists() else []), [str(Path("tests") / path.parts[0])]]


def survives(mutant: Mutant, tree: Path) -> bool:
    """Whether all tests pass in a copy of the tree with this change."""
    path = tree / "src" / "isotherm" / mutant.module
    original = path.read_text(encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    path.write_text(mutant.code, encoding="utf-8")
    try:
        for tests in tests_of(mutant.module):
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
            try:
                done = subprocess.run(
                    command, cwd=tree, env=environment, capture_output=True, timeout=LIMIT
                )
            except subprocess.TimeoutExpired:
                return False
            if done.returncode:
                return False
        return True
    finally:
        path.write_text(original, encoding="utf-8")


def copied(folder: Path) -> Path:
    """A copy of all that tests read."""
    for part in ("src", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / part, folder / part)
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder / path.name)
    return folder


def line_about(mutant: Mutant, lives: bool) -> str:
    """What became of a change, for the eye."""
    place = f"{'SURVIVED' if lives else 'noticed'}  {mutant.module}:{mutant.line}"
    return f"{place}\n    {mutant.before.strip()}\n    {mutant.after.strip()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS))
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="survivors as JSON")
    parser.add_argument("--again", type=Path, help="only survivors of this file")
    options = parser.parse_args()
    if importlib.util.find_spec("cosmic_ray") is None:
        print("cosmic-ray is not installed: pip install cosmic-ray")
        return os.EX_UNAVAILABLE
    chosen = drawn(options.rooms, options.number, options.seed)
    if options.again:
        wanted = set(json.loads(options.again.read_text(encoding="utf-8")))
        chosen = [one for one in chosen if one.key in wanted]
    alive: list[Mutant] = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        trees: Queue[Path] = Queue()
        for job in range(options.jobs):
            trees.put(copied(Path(scratch) / f"{job}"))

        def tried(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                return survives(mutant, tree)
            finally:
                trees.put(tree)

        for number, lives in enumerate(pool.map(tried, chosen)):
            print(f"{number + 1}/{len(chosen)} {line_about(chosen[number], lives)}", flush=True)
            alive += [chosen[number]] * lives
    print(f"{len(chosen) - len(alive)} of {len(chosen)} changes noticed")
    if options.out:
        options.out.write_text(json.dumps([one.key for one in alive], indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
