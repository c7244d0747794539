"""Types and format of the page's scripts, where Node is there to check them.

    python tools/check_page.py            what `make lint` runs
    python tools/check_page.py --write    puts the scripts and styles into their format

TypeScript reads the types in the comments of plain JavaScript; nothing is compiled. Both tools are
pinned in `package.json` and installed into `.node/` on first use. Without Node, or without a way to
get the tools, there is one line that says so; if CI is `true`, that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
INSTALLED = ROOT / ".node"
MODULES = INSTALLED / "node_modules"
PINNED = "package.json"
SCRIPTS = ("src/isotherm/viewer/page/**/*.{js,css}", "src/isotherm/viewer/notebook.js")
INSTALL = ("install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")


class MissingError(Exception):
    """What the check would need is not there."""


def main(arguments: list[str]) -> int:
    """0 where all is well or nothing can be checked."""
    try:
        node, npm = program("node"), program("npm")
        install(npm)
    except MissingError as missing:
        print(f"the page of the explorer is not checked: {missing}", flush=True)
        return int(os.environ.get("CI") == "true")
    how = "--write" if "--write" in arguments else "--check"
    settings = str(HERE / "prettier.json")
    formatted = run(
        node, "prettier/bin/prettier.cjs", how, "--log-level=warn", "--config", settings, *SCRIPTS
    )
    if formatted:
        print("make the format right with: python tools/check_page.py --write", flush=True)
    return formatted or run(node, "typescript/bin/tsc", "--project", str(HERE))


def program(name: str) -> str:
    """Path of a program."""
    path = shutil.which(name)
    if path is None:
        raise MissingError(f"there is no {name}; install Node.js with npm")
    return path


def install(npm: str) -> None:
    """Bring the tools of `package.json` into `.node/`, unless they are there."""
    pinned, done = (HERE / PINNED).read_text(encoding="utf-8"), INSTALLED / ".done"
    if done.exists() and done.read_text(encoding="utf-8") == pinned:
        return
    shutil.rmtree(INSTALLED, ignore_errors=True)
    INSTALLED.mkdir()
    shutil.copy(HERE / PINNED, INSTALLED)
    ended = subprocess.run([npm, *INSTALL], cwd=INSTALLED, capture_output=True, text=True)
    if ended.returncode:
        errors = [line for line in ended.stderr.splitlines() if line.startswith("npm error")]
        said = errors[-1] if errors else ended.stderr.strip()[-200:]
        raise MissingError(f"npm could not install its tools ({said})")
    done.write_text(pinned, encoding="utf-8")


def run(node: str, script: str, *arguments: str) -> int:
    """Exit status of one of the tools."""
    return subprocess.run([node, str(MODULES / script), *arguments], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
