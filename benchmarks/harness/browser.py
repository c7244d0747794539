"""What a page costs in a browser without a window and without a graphics card.

Software rendering makes all work CPU time, which is counted over the whole tree of processes.
Draw calls of WebGL are watched from outside, in the same way for every page.
"""

from __future__ import annotations

import base64
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
VIEWPORT = {"width": 1400, "height": 900}
DRAGGING = 5.0  # seconds
HOVERS = 8
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

# Frames in which points are drawn, when the first of them was really there (reading a pixel back
# waits for the card), and when an answer to the pointer was on the screen.
PROBE = """(() => {
  const onlooker = { frames: 0, points: [], first: null, moved: 0, answers: [], gl: null };
  window.onlooker = onlooker;
  let last = -1;
  onlooker.wait = () => {
    const gl = onlooker.gl;
    const read = gl.READ_FRAMEBUFFER ?? gl.FRAMEBUFFER;
    const bound = gl.getParameter(gl.READ_FRAMEBUFFER_BINDING ?? gl.FRAMEBUFFER_BINDING);
    gl.bindFramebuffer(read, null);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    gl.bindFramebuffer(read, bound);
  };
  const note = (gl, count) => {
    if (count < 1000) return; // axes, frames, letters
    onlooker.gl = gl;
    const now = document.timeline.currentTime; // the same throughout a frame
    if (now !== last) onlooker.frames = onlooker.points.push(0);
    last = now;
    onlooker.points[onlooker.frames - 1] += count;
    if (onlooker.first !== null) return;
    onlooker.first = 0;
    setTimeout(() => { onlooker.wait(); onlooker.first = performance.now(); });
  };
  // Which argument says how many points, or copies of one, are drawn.
  const calls = {
    drawArrays: 2, drawElements: 1, drawArraysInstanced: 3, drawElementsInstanced: 4,
  };
  for (const kind of [WebGLRenderingContext, WebGL2RenderingContext]) {
    for (const [name, at] of Object.entries(calls)) {
      const plain = kind.prototype[name];
      if (!plain) continue;
      kind.prototype[name] = function (...given) {
        plain.apply(this, given);
        note(this, given[at]);
      };
    }
  }
  addEventListener("pointermove", (event) => (onlooker.moved = event.timeStamp), true);
  onlooker.answer = (title) => onlooker.answers.push([title, performance.now(), onlooker.moved]);
})()"""
# Pixels of a picture whose surroundings are all in bright colours: a point must be there.
COLOURED = """async ([text, box, reach]) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const bright = (x, y) => {
    const at = 4 * (y * image.width + x);
    const colour = data.subarray(at, at + 3);
    return Math.max(...colour) - Math.min(...colour) > 40;
  };
  const found = [];
  for (let y = box.y + 80; y < box.y + box.height - 80; y += 7) {
    for (let x = box.x + 80; x < box.x + box.width - 80; x += 7) {
      let all = true;
      for (let dx = -reach; all && dx <= reach; dx++) {
        for (let dy = -reach; all && dy <= reach; dy++) all = bright(x + dx, y + dy);
      }
      if (all) found.push([x, y]);
    }
  }
  return found;
}"""


class Page(NamedTuple):
    """A page to measure: its file and address, and how to watch it from inside."""

    path: Path
    hash: str  # what follows the name of the file
    element: str  # selector of what is dragged
    ready: str  # JavaScript: whether `watch` can run
    watch: str  # JavaScript: calls onlooker.answer(title) when the pointer is answered


def missing() -> str | None:
    """What is not installed here and has to be; None if nothing."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright (pip install playwright)"
    return None if _chromium() else "chromium"


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


# ---------------------------------------------------------------- processes


def _processes() -> dict[int, tuple[int, float]]:
    """Parent and CPU seconds of every process."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it is gone
        found[int(stat.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / TICKS)
    return found


def _below(pid: int, table: dict[int, tuple[int, float]]) -> Iterator[int]:
    for child, (parent, _) in table.items():
        if parent == pid:
            yield child
            yield from _below(child, table)


def cpu(pid: int | None = None) -> float:
    """CPU seconds of everything that a process, by default this one, has started."""
    table = _processes()
    return sum(table[one][1] for one in _below(os.getpid() if pid is None else pid, table))


def measured_apart(page: Page, limit: float) -> dict[str, Any]:
    """What `measure` finds in a process of its own, as far as it comes until the limit.

    The limit is in CPU seconds of the browser, so that what else the machine does matters little.
    """
    command = [sys.executable, "-m", "benchmarks.harness.browser"]
    words = [*command, json.dumps([str(page.path), *page[1:]]), str(limit)]
    with tempfile.TemporaryDirectory() as folder:
        said, errors = Path(folder) / "said", Path(folder) / "errors"
        with said.open("w") as out, errors.open("w") as complaints:
            child = subprocess.Popen(words, stdout=out, stderr=complaints)
        begin = time.perf_counter()
        while child.poll() is None:
            time.sleep(0.5)
            found = _heard(said)
            so_far = found.get("answer_cpu", found.get("first_cpu", 0.0))
            if cpu(child.pid) > so_far + 1.5 * limit or time.perf_counter() > begin + 8 * limit:
                _end(child)
        found = _heard(said)
        if child.returncode > 0:
            found["error"] = errors.read_text().strip().splitlines()[-1]
    return found


def _heard(said: Path) -> dict[str, Any]:
    """What a child has said so far, in lines of JSON."""
    found: dict[str, Any] = {}
    for line in said.read_text().splitlines(keepends=True):
        found |= json.loads(line) if line.endswith("\n") else {}
    return found


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ends a child and what it has started, each by its number."""
    for pid in [child.pid, *_below(child.pid, _processes())]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it went with the others
    child.wait()


# ---------------------------------------------------------------- measuring


def measure(page: Page, limit: float, say: Callable[..., None]) -> None:
    """Opens the page and says figures as they are found."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        shown = browser.new_page(viewport=VIEWPORT)
        shown.set_default_timeout(1000 * limit)
        shown.add_init_script(PROBE)
        before, begin = cpu(), time.perf_counter()
        shown.goto(page.path.as_uri() + page.hash, wait_until="commit")
        _until(shown, "onlooker.first")
        if cpu() - before > limit:
            return
        say(first_cpu=cpu() - before, first_s=time.perf_counter() - begin)
        box = shown.locator(page.element).bounding_box()
        say(width=box["width"], height=box["height"])
        _first_answer(shown, page, box)
        say(answer_cpu=cpu() - before, answer_s=time.perf_counter() - begin)
        _hover(shown, browser, page, box, limit, say)
        _drag(shown, box, say)
        browser.close()


def _until(shown: Any, condition: str, seconds: float = math.inf) -> bool:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if shown.evaluate(f"() => Boolean({condition})"):
            return True
        time.sleep(0.02)
    return False


def _first_answer(shown: Any, page: Page, box: Any) -> None:
    """Waits until the pointer is answered, going around the middle where points are thick."""
    _until(shown, page.ready)
    shown.evaluate(page.watch)
    answered, step = False, 0
    while not answered:
        step += 1
        far, angle = min(120.0, 6 * math.sqrt(step)), 2.4 * step
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        shown.mouse.move(x + far * math.cos(angle), y + far * math.sin(angle))
        answered = _until(shown, "onlooker.answers.length", 0.2)


def _hover(shown: Any, browser: Any, page: Page, box: Any, limit: float, say: Any) -> None:
    """Milliseconds between a movement of the pointer and its answer."""
    time.sleep(1.0)  # a still picture gets finer for a while
    picture = base64.b64encode(shown.screenshot()).decode()
    other = browser.new_page()
    inside = {key: math.floor(value) for key, value in box.items()}
    places = other.evaluate(COLOURED, [picture, inside, 3])
    other.close()
    shown.bring_to_front()
    waits, tried = [], 0
    for x, y in _spread(places, HOVERS):
        free = f"document.elementFromPoint({x}, {y})?.closest('{page.element}')"
        if not shown.evaluate(f"() => Boolean({free})"):
            continue  # a panel lies over the map
        tried += 1
        shown.evaluate("() => { onlooker.answers.length = 0; }")
        shown.mouse.move(x, y)
        if _until(shown, "onlooker.answers.length", limit / HOVERS):
            _, answered, moved = shown.evaluate("() => onlooker.answers[0]")
            waits.append(answered - moved)
    middle = statistics.median(waits) if waits else None
    say(hovers=tried, answers=len(waits), hover_ms=middle)


def _spread(places: list[Any], number: int) -> list[Any]:
    """So many of the places, in an order that jumps."""
    if not places:
        return []
    step = max(1, int(0.382 * len(places)))
    return [places[(at * step + step // 2) % len(places)] for at in range(number)]


def _drag(shown: Any, box: Any, say: Any) -> None:
    """Frames while the pointer draws circles with its button down."""
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    shown.mouse.move(x, y)
    time.sleep(1.0)
    shown.mouse.down()
    shown.mouse.move(x + 20, y)  # what only starts with a drag is not counted
    shown.evaluate("() => onlooker.wait()")
    start = shown.evaluate("() => onlooker.frames")
    before, begin, step = cpu(), time.perf_counter(), 0
    while time.perf_counter() < begin + DRAGGING:
        step += 1
        angle = step / 12
        shown.mouse.move(x + 120 * math.cos(angle), y + 80 * math.sin(angle))
    shown.evaluate("() => onlooker.wait()")
    spent, wall = cpu() - before, time.perf_counter() - begin
    points = shown.evaluate("start => onlooker.points.slice(start)", start)
    if points:
        frames = len(points)
        say(frames=frames, frame_cpu_ms=1000 * spent / frames, frame_ms=1000 * wall / frames)
        say(fps=frames / wall, drawn=statistics.median(points))
    shown.mouse.up()


if __name__ == "__main__":
    given, seconds = json.loads(sys.argv[1]), float(sys.argv[2])
    measure(
        Page(Path(given[0]), *given[1:]),
        seconds,
        lambda **found: print(json.dumps(found), flush=True),
    )
