"""The map in a real browser: drawn where the data say, picked, selected, moved and lit."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import label

from isotherm.viewer.container import unpack
from viewer.synthetic import synthetic

N = 300
SIZE = {"width": 960, "height": 620}
DEEP, FLAT = 0, 1
PLAIN = {
    **{"hover": -1, "document": -1, "selected": None, "topic": -1, "node": -1, "matches": None},
    **{"stage": 3, "map": FLAT, "color": "topic", "size": "none", "mode": "move"},
    **{"theme": "light", "tab": "topics"},
    "overlays": {"labels": False, "contours": False, "grid": False, "magnification": False},
}
# The picture of the map as numbers: width, height and RGBA in base64.
PIXELS = """async () => {
  const image = await createImageBitmap(await isotherm.map.screenshot());
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const bytes = context.getImageData(0, 0, image.width, image.height).data;
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return [image.width, image.height, btoa(text)];
}"""


@pytest.fixture(scope="module")
def parts() -> dict[str, bytes]:
    return synthetic(N)


@pytest.fixture(scope="module")
def told(parts: dict[str, bytes]) -> Any:
    """Arrays of the points and of the documents."""
    return {**unpack(parts["points"])[1], **unpack(parts["documents"])[1]}


@pytest.fixture(scope="module")
def opened(open_explorer: Any, parts: dict[str, bytes]) -> Any:
    return open_explorer(parts, viewport=SIZE)


@pytest.fixture
def page(opened: Any) -> Iterator[Any]:
    """The flat map as it opens, nothing over it."""
    give(opened, **PLAIN)
    opened.evaluate("isotherm.store.set({ hidden: new Set() }); isotherm.map.reset()")
    settle(opened)
    yield opened
    assert opened.problems == []


def settle(page: Any) -> None:
    """Waits until the store has told everybody and the map is still."""
    page.evaluate("async () => { isotherm.store.flush(); await isotherm.map.settle(); }")


def give(page: Any, **patch: Any) -> None:
    page.evaluate("patch => isotherm.store.set(patch)", patch)
    settle(page)


def projected(page: Any) -> np.ndarray:
    """x, y, visible (I, 3) of all documents."""
    rows = page.evaluate(
        "() => Array.from({ length: isotherm.data.n }, (_, i) => {"
        " const { x, y, visible } = isotherm.map.project(i); return [x, y, visible ? 1 : 0]; })"
    )
    return np.array([[np.nan if value is None else value for value in row] for row in rows])


def picture(page: Any) -> np.ndarray:
    """The map as it looks, (height, width, 3)."""
    width, height, text = page.evaluate(PIXELS)
    bytes_ = np.frombuffer(base64.b64decode(text), np.uint8)
    return bytes_.reshape(height, width, 4)[:, :, :3].astype(int)


def painted(image: np.ndarray) -> np.ndarray:
    """Which pixels differ from the background (the corner)."""
    return np.asarray(np.abs(image - image[0, 0]).max(axis=2) > 12)


def origin(page: Any) -> np.ndarray:
    box = page.locator("#map").bounding_box()
    return np.array([box["x"], box["y"]])


def apart(places: np.ndarray, least: float) -> np.ndarray:
    """Visible documents that have no other within so many pixels."""
    seen = np.flatnonzero(places[:, 2] == 1)
    gaps = np.hypot(*(places[seen, None, :2] - places[None, seen, :2]).transpose(2, 0, 1))
    np.fill_diagonal(gaps, np.inf)
    return np.asarray(seen[gaps.min(axis=1) > least])


def free(page: Any, places: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Those of the documents that no panel covers."""
    points = (places[documents, :2] + origin(page)).tolist()
    found = page.evaluate(
        "points => points.map(([x, y]) =>"
        " document.elementFromPoint(x, y)?.className === 'map-surface')",
        points,
    )
    return np.asarray(documents[np.array(found)])


@pytest.mark.parametrize("map_number", [DEEP, FLAT])
def test_points_are_drawn_where_the_data_say(page: Any, told: Any, map_number: int) -> None:
    topic = 3
    give(page, map=map_number)
    page.evaluate(
        "k => isotherm.store.set("
        "{ hidden: new Set(isotherm.data.topics.keys().filter((j) => j !== k)) })",
        topic,
    )
    settle(page)
    places = projected(page)
    box = page.locator("#map").bounding_box()
    image = picture(page)
    assert image.shape[:2] == (round(box["height"]), round(box["width"]))
    ink = painted(image)
    own = np.flatnonzero((told["topic"] == topic) & (places[:, 2] == 1))
    assert len(own) > 10
    x, y = places[own, :2].astype(int).T
    assert ink[y, x].all()
    # Nothing but these is drawn (and the thin box around a deep map).
    near = np.zeros_like(ink)
    for dx in range(-8, 9):
        for dy in range(-8, 9):
            inside = (np.clip(y + dy, 0, ink.shape[0] - 1), np.clip(x + dx, 0, ink.shape[1] - 1))
            near[inside] = True
    stray = (ink & ~near).sum()
    assert stray == 0 if map_number == FLAT else stray < 0.01 * ink.size
    others = np.flatnonzero((told["topic"] != topic) & np.isfinite(places[:, 0]))
    assert (places[others, 2] == 0).all()


def test_the_points_have_the_colours_of_their_topics(page: Any, told: Any) -> None:
    places = projected(page)
    image = picture(page)
    alone = apart(places, 14)
    assert len(alone) > 20
    by_topic: dict[int, list[np.ndarray]] = {}
    for i in alone:
        by_topic.setdefault(int(told["topic"][i]), []).append(
            image[int(places[i, 1]), int(places[i, 0])]
        )
    for colours in by_topic.values():
        assert np.ptp(colours, axis=0).max() <= 40  # where in the disc the pixel is
    means = np.array([np.mean(colours, axis=0) for colours in by_topic.values()])
    assert len(np.unique(means.round(-1), axis=0)) > 0.7 * len(means)


@pytest.mark.parametrize("map_number", [DEEP, FLAT])
def test_a_point_is_picked_where_it_is_seen(page: Any, map_number: int) -> None:
    give(page, map=map_number)
    places = projected(page)
    alone = apart(places, 15)[:60]
    assert len(alone) > 8
    picked = page.evaluate(
        "points => points.map(([x, y]) => [[x, y], [x + 4, y + 2], [x - 3, y - 4]]"
        ".map(([a, b]) => isotherm.map.pick(a, b)))",
        places[alone, :2].tolist(),
    )
    assert picked == [[i, i, i] for i in alone.tolist()]
    assert page.evaluate("isotherm.map.pick(-50, -50)") == -1
    hole = np.array([3.0, 3.0])
    assert np.nanmin(np.hypot(*(places[:, :2] - hole).T)) > 15
    assert page.evaluate("isotherm.map.pick(3, 3)") == -1


def test_of_two_at_one_place_the_one_on_top_is_picked(page: Any, told: Any) -> None:
    """In a deep map the nearer one; a hidden one never."""
    give(page, map=DEEP)
    pairs = page.evaluate(
        """() => {
          const found = [];
          for (let i = 0; i < isotherm.data.n; i++) {
            const at = isotherm.map.project(i);
            const top = at.visible ? isotherm.map.pick(at.x, at.y) : i;
            if (top !== i) found.push([i, top, at.w, isotherm.map.project(top).w]);
          }
          return found;
        }"""
    )
    assert len(pairs) > 20
    assert all(top_depth < depth for _, _, depth, top_depth in pairs)
    below, above, *_ = next(p for p in pairs if told["topic"][p[0]] != told["topic"][p[1]])
    page.evaluate("k => isotherm.store.set({ hidden: new Set([k]) })", int(told["topic"][above]))
    settle(page)
    at = projected(page)[below]
    found = page.evaluate("([x, y]) => isotherm.map.pick(x, y)", at[:2].tolist())
    assert found >= 0
    assert told["topic"][found] != told["topic"][above]


def test_the_pointer_hovers_and_a_click_opens(page: Any) -> None:
    places = projected(page)
    i = int(free(page, places, apart(places, 16))[0])
    x, y = (places[i, :2] + origin(page)).tolist()
    page.mouse.move(x, y)
    settle(page)
    settle(page)
    assert page.evaluate("isotherm.store.state.hover") == i
    ring = page.locator(".map-ring").first.bounding_box()
    assert abs(ring["x"] + ring["width"] / 2 - x) < 1.5
    assert abs(ring["y"] + ring["height"] / 2 - y) < 1.5
    page.mouse.click(x, y)
    settle(page)
    assert page.evaluate("isotherm.store.state.document") == i
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20, steps=3)
    settle(page)
    assert page.evaluate("isotherm.store.state.hover") == -1  # a drag is no hover
    page.mouse.up()


def drag(page: Any, path: np.ndarray, key: str | None = None) -> None:
    """Draws a path with the mouse, in pixels of the map."""
    path = path + origin(page)
    if key:
        page.keyboard.down(key)
    page.mouse.move(*path[0])
    page.mouse.down()
    for corner in path[1:]:
        page.mouse.move(*corner)
    page.mouse.up()
    if key:
        page.keyboard.up(key)
    settle(page)


def box_width(page: Any) -> float:
    return float(page.locator("#map").bounding_box()["width"])


def chosen(page: Any) -> list[int]:
    return list(page.evaluate("Array.from(isotherm.store.state.selected ?? [])"))


@pytest.mark.parametrize("map_number", [DEEP, FLAT])
def test_a_box_selects_what_is_inside(page: Any, map_number: int) -> None:
    give(page, map=map_number)
    places = projected(page)
    start, end = np.nanquantile(places[:, :2], [0.4, 0.8], axis=0).round() + 0.5 - origin(page) % 1
    drag(page, np.array([start, (start + end) / 2, end]), key="Shift")
    inside = (places[:, :2] > start).all(axis=1) & (places[:, :2] < end).all(axis=1)
    assert 5 < inside.sum() < N / 2
    assert chosen(page) == np.flatnonzero(inside & (places[:, 2] == 1)).tolist()
    left, top = origin(page)
    page.mouse.click(left + box_width(page) - 4, top + 4)
    settle(page)
    assert page.evaluate("isotherm.store.state.selected") is None


@pytest.mark.parametrize("how", ["Alt", "mode"])
def test_a_lasso_selects_what_is_inside(page: Any, how: str) -> None:
    places = projected(page)
    # A triangle: its box holds points that it does not.
    low, high = np.nanquantile(places[:, :2], [0.1, 0.9], axis=0)
    share = np.array([[0.05, 0], [1, 0.4], [0.2, 1], [0.05, 0]])
    corners = (low + share * (high - low)).round() + 0.5 - origin(page) % 1
    if how == "mode":
        give(page, mode="lasso")
    drag(page, corners, key="Alt" if how == "Alt" else None)
    sides = [
        (b[0] - a[0]) * (places[:, 1] - a[1]) - (b[1] - a[1]) * (places[:, 0] - a[0])
        for a, b in pairwise(corners)
    ]
    inside = np.all(np.array(sides) > 0, axis=0) & (places[:, 2] == 1)
    assert inside.sum() > 5
    assert chosen(page) == np.flatnonzero(inside).tolist()


def test_stages_move_the_points(page: Any, told: Any) -> None:
    def seen() -> np.ndarray:
        return projected(page)[:, :2]

    final = told[f"map{FLAT}.places"].astype(float)
    has = final[:, 0] < 65535
    at_last = seen()
    ones = np.ones(has.sum())
    system = np.column_stack([final[has], ones])
    affine = np.linalg.lstsq(system, at_last[has], rcond=None)[0]
    assert np.abs(system @ affine - at_last[has]).max() < 0.01
    for stage in (1, 0, 2):
        give(page, stage=stage)
        kept = told[f"stage{stage}.map{FLAT}"].astype(float)
        expected = np.column_stack([kept[has], ones]) @ affine
        assert np.abs(seen()[has] - expected).max() < 0.02
    give(page, stage=3)
    assert np.abs(seen()[has] - at_last[has]).max() < 0.01
    x, y = at_last[has].astype(int).T
    ink = painted(picture(page))
    inside = (x >= 0) & (y >= 0) & (x < ink.shape[1]) & (y < ink.shape[0])
    assert ink[y[inside], x[inside]].all()


def test_between_stages_points_are_between_their_places(page: Any, told: Any) -> None:
    """The slider is not jumped but followed, unless the reader wants things to stand still."""
    before = projected(page)[:, :2]
    page.evaluate("isotherm.store.set({ stage: 2 }); isotherm.store.flush()")
    settle(page)
    after = projected(page)[:, :2]
    give(page, stage=3)
    page.emulate_media(reduced_motion="no-preference")
    way = page.evaluate(
        """async () => {
          isotherm.store.set({ motion: true, stage: 2 });
          isotherm.store.flush();
          const i = 10, seen = [];
          const done = isotherm.map.settle();
          let over = false;
          done.then(() => (over = true));
          while (!over) {
            await new Promise((go) => requestAnimationFrame(go));
            seen.push(isotherm.map.project(i).x);
          }
          return seen;
        }"""
    )
    page.emulate_media(reduced_motion="reduce")
    low, high = sorted([before[10, 0], after[10, 0]])
    assert all(low - 0.01 <= x <= high + 0.01 for x in way)
    assert abs(way[-1] - after[10, 0]) < 0.01
    assert len({round(x, 2) for x in way}) > 2


def test_the_card_mixes_stages_as_the_pointer_does(page: Any, told: Any) -> None:
    """Half-way between two stages, too, a point is drawn where it is said to be."""
    give(page, color="column:0", map=DEEP)
    page.evaluate("isotherm.store.set({ hidden: new Set([1, 2, 3, 4]) })")  # few are left
    settle(page)
    page.emulate_media(reduced_motion="no-preference")
    seen = page.evaluate(
        """async (documents) => {
          const gl = document.querySelector(".map-points").getContext("webgl2");
          const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
          const bytes = new Uint8Array(4 * width * height);
          const start = isotherm.map.project(documents[0]).x;
          isotherm.store.set({ motion: true, stage: 1 });
          isotherm.store.flush();
          const shares = [];
          let over = false;
          isotherm.map.settle().then(() => (over = true));
          while (!over) {
            await new Promise((go) => requestAnimationFrame(go));
            gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
            if (!bytes.some((value) => value)) continue; // nothing was drawn in this frame
            const places = documents.map((i) => isotherm.map.project(i));
            const painted = places.map(({ x, y }) =>
              bytes[4 * ((height - 1 - Math.floor(y)) * width + Math.floor(x)) + 3] > 0);
            shares.push([places[0].x - start, painted.filter(Boolean).length / documents.length]);
          }
          return shares;
        }""",
        np.flatnonzero((told["column0"] == 0) & (told["map0.places"][:, 0] < 65535)).tolist(),
    )
    page.emulate_media(reduced_motion="reduce")
    assert len({round(way, 1) for way, _ in seen}) > 2
    assert all(share == 1 for _, share in seen)


def test_the_wheel_zooms_at_the_pointer_and_keys_move(page: Any) -> None:
    places = projected(page)
    i = int(free(page, places, apart(places, 16))[3])
    x, y = (places[i, :2] + origin(page)).tolist()
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    settle(page)
    page.wait_for_timeout(50)
    settle(page)
    closer = projected(page)
    assert np.abs(closer[i, :2] - places[i, :2]).max() < 1  # a wheel tells whole pixels
    both = np.isfinite(places[:, 0])
    spread = np.ptp(closer[both, 0]) / np.ptp(places[both, 0])
    assert 1.2 < spread < 3
    page.evaluate("isotherm.map.focus()")
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert projected(page)[i, 0] - closer[i, 0] == pytest.approx(45, abs=0.1)
    page.keyboard.press("+")
    settle(page)
    assert np.ptp(projected(page)[both, 0]) / np.ptp(closer[both, 0]) == pytest.approx(
        1.3, rel=1e-3
    )
    page.keyboard.press("0")
    settle(page)
    assert np.nanmax(np.abs(projected(page)[:, :2] - places[:, :2])) < 0.05


def test_dragging_turns_a_deep_map_and_moves_a_flat_one(page: Any) -> None:
    for map_number, key in ((FLAT, None), (DEEP, "Control")):
        give(page, map=map_number)
        before = projected(page)
        drag(page, np.array([[500.0, 300], [520, 290], [540, 280]]), key=key)
        middle = np.nanargmin(np.hypot(*(before[:, :2] - np.nanmedian(before[:, :2], axis=0)).T))
        moved = projected(page)[middle, :2] - before[middle, :2]
        assert moved == pytest.approx([40, -20], abs=8)
    page.evaluate("isotherm.map.reset()")
    settle(page)
    before = projected(page)
    drag(page, np.array([[500.0, 300], [540, 300], [600, 300]]))
    after = projected(page)
    steps = (after - before)[np.isfinite(before[:, 0]), 0]
    assert steps.min() < -10  # what is behind goes the other way
    assert steps.max() > 10


def test_a_deep_map_turns_by_itself_while_it_is_asked_to(page: Any) -> None:
    give(page, map=DEEP)

    def travelled(rotate: bool) -> float:
        return float(
            page.evaluate(
                """async (rotate) => {
                  const { map, store } = isotherm;
                  store.set({ overlays: { ...store.state.overlays, rotate } });
                  const frames = map.stats().frames;
                  const before = map.project(0);
                  const begin = performance.now();
                  while (performance.now() - begin < 2000) {
                    await new Promise(requestAnimationFrame);
                    if (map.stats().frames > frames + 5) break;
                  }
                  const after = map.project(0);
                  return Math.hypot(after.x - before.x, after.y - before.y);
                }""",
                rotate,
            )
        )

    assert travelled(True) == 0  # whoever asks for less motion is not turned around
    page.emulate_media(reduced_motion="no-preference")
    assert travelled(True) > 0.2
    travelled(False)
    settle(page)
    page.emulate_media(reduced_motion="reduce")
    assert travelled(False) == 0


def test_two_fingers_zoom_and_move(page: Any) -> None:
    before = projected(page)
    page.evaluate(
        """() => {
          const hand = document.querySelector(".map-surface");
          hand.setPointerCapture = () => {};
          const { left, top } = hand.getBoundingClientRect();
          const send = (type, pointerId, x, y) => hand.dispatchEvent(new PointerEvent(type, {
            pointerId, clientX: left + x, clientY: top + y, pointerType: "touch", bubbles: true,
          }));
          send("pointerdown", 1, 400, 300);
          send("pointerdown", 2, 500, 300);
          send("pointermove", 1, 350, 300);
          send("pointermove", 2, 550, 300);
          send("pointerup", 1, 350, 300);
          send("pointerup", 2, 550, 300);
          delete hand.setPointerCapture;
        }"""
    )
    settle(page)
    after = projected(page)
    seen = np.isfinite(before[:, 0])
    # What was under the fingers still is: a factor of two around the middle between them.
    expected = (before[seen, :2] - [450, 300]) * 2 + [450, 300]
    assert np.abs(after[seen, :2] - expected).max() < 1
    assert page.evaluate("isotherm.store.state.document") == -1


def test_zooming_to_documents_fills_the_map(page: Any, told: Any) -> None:
    for map_number in (FLAT, DEEP):
        give(page, map=map_number)
        own = np.flatnonzero((told["topic"] == 5) & (told[f"map{map_number}.places"][:, 0] < 65535))
        page.evaluate("list => isotherm.map.zoomTo(Uint32Array.from(list))", own.tolist())
        settle(page)
        places = projected(page)
        assert (places[own, 2] == 1).mean() > 0.95
        box = page.locator("#map").bounding_box()
        share = np.ptp(places[own, :2], axis=0) / [box["width"], box["height"]]
        assert share.max() > 0.45
        page.evaluate("isotherm.map.reset()")


def test_a_camera_flies_unless_it_must_stand_still(page: Any) -> None:
    count = """async () => {
      isotherm.map.zoomTo(Uint32Array.from([1, 2, 3, 4]));
      const seen = new Set();
      let over = false;
      isotherm.map.settle().then(() => (over = true));
      while (!over) {
        await new Promise((go) => requestAnimationFrame(go));
        seen.add(isotherm.map.project(1).x.toFixed(2));
      }
      return seen.size;
    }"""
    assert page.evaluate(count) == 1
    page.evaluate("isotherm.map.reset()")
    settle(page)
    page.emulate_media(reduced_motion="no-preference")
    page.evaluate("isotherm.store.set({ motion: true })")
    assert page.evaluate(count) > 2
    page.emulate_media(reduced_motion="reduce")


def test_what_is_lit_keeps_its_colour_and_the_rest_steps_back(page: Any, told: Any) -> None:
    places = projected(page)
    alone = apart(places, 14)
    x, y = places[alone, :2].astype(int).T
    before = picture(page)
    topic = int(np.bincount(told["topic"][alone]).argmax())
    give(page, topic=topic)
    after = picture(page)
    background = before[0, 0]
    strength = [np.abs(image[y, x] - background).max(axis=1) for image in (before, after)]
    lit = told["topic"][alone] == topic
    assert lit.sum() >= 2
    assert (strength[1][lit] >= 0.9 * strength[0][lit]).all()
    assert (strength[1][~lit] < 0.6 * strength[0][~lit]).all()
    assert (strength[1][~lit] > 0).all()


@pytest.mark.parametrize("map_number", [DEEP, FLAT])
def test_lit_points_lie_on_top(page: Any, told: Any, map_number: int) -> None:
    """Wherever a lit document is, a lit one is picked and its colour seen."""
    give(page, map=map_number)
    places = projected(page)
    seen = np.flatnonzero(places[:, 2] == 1)
    pick = "points => points.map(([x, y]) => isotherm.map.pick(x, y))"
    tops = np.array(page.evaluate(pick, places[seen, :2].tolist()))
    covered = told["topic"][seen] != told["topic"][tops]
    topic = int(np.bincount(told["topic"][seen[covered]]).argmax())
    lit = seen[told["topic"][seen] == topic]
    assert (covered & (told["topic"][seen] == topic)).sum() >= 3
    give(page, topic=topic)
    picked = page.evaluate(pick, places[lit, :2].tolist())
    assert (told["topic"][picked] == topic).all()
    image = picture(page)
    x, y = places[lit, :2].astype(int).T
    colours = image[y, x] - image[y, x].mean(axis=1, keepdims=True)
    strength = np.linalg.norm(colours, axis=1)
    hue = np.median(colours, axis=0)
    assert (colours @ hue / np.linalg.norm(hue) > 0.9 * strength).all()
    assert (strength > 0.3 * np.median(strength)).all()


def test_sizes_by_a_column(page: Any, told: Any) -> None:
    alone = apart(projected(page), 30)
    give(page, size="column:2")
    places, ink = projected(page), painted(picture(page))
    values = told["column2"][alone].astype(float)
    areas = [
        ink[max(0, int(y) - 13) : int(y) + 14, max(0, int(x) - 13) : int(x) + 14].sum()
        for x, y in places[alone, :2]
    ]
    known = values < 65535
    assert np.corrcoef(np.sqrt(values[known]), np.sqrt(np.array(areas)[known]))[0, 1] > 0.9


@pytest.mark.parametrize("column", [0, 1])
def test_colours_by_a_column(page: Any, told: Any, column: int) -> None:
    alone = apart(projected(page), 14)
    before = picture(page)
    give(page, color=f"column:{column}")
    places, image = projected(page), picture(page)
    x, y = places[alone, :2].astype(int).T
    colours = image[y, x].astype(float)
    values = told[f"column{column}"][alone]
    assert (np.abs(colours - before[y, x]).max(axis=1) > 20).mean() > 0.5
    if column == 0:
        for value in np.unique(values):
            assert np.ptp(colours[values == value], axis=0).max() <= 40
    else:
        known = values < 65535
        light = colours[known] @ [0.3, 0.6, 0.1]
        assert np.corrcoef(values[known], light)[0, 1] > 0.9


def test_labels_do_not_overlap(page: Any, told: Any) -> None:
    overlays = {**PLAIN["overlays"], "labels": True}
    for map_number, stage in ((FLAT, 3), (DEEP, 3), (FLAT, 1), (DEEP, 0)):
        give(page, map=map_number, stage=stage, overlays=overlays)
        boxes = page.evaluate("isotherm.map.labels()")
        topics = page.evaluate("isotherm.data.topicsAt(isotherm.store.state.stage).length")
        assert min(3, topics) <= len(boxes) <= topics
        for at, a in enumerate(boxes):
            for b in boxes[:at]:
                assert (
                    a["x"] + a["width"] <= b["x"]
                    or b["x"] + b["width"] <= a["x"]
                    or a["y"] + a["height"] <= b["y"]
                    or b["y"] + b["height"] <= a["y"]
                )
    plain = painted(picture(page))
    give(page, overlays=PLAIN["overlays"])
    assert plain.sum() != painted(picture(page)).sum()


def test_contours_and_grid_come_and_go(page: Any) -> None:
    plain = painted(picture(page))
    shares = {}
    for name in ("contours", "grid", "magnification"):
        give(page, overlays={**PLAIN["overlays"], name: True})
        shares[name] = (painted(picture(page)) & ~plain).mean()
    assert 0.001 < shares["contours"] < 0.2
    assert 0.01 < shares["grid"] < 0.3
    assert shares["magnification"] > 0.2
    give(page, overlays=PLAIN["overlays"])
    assert (painted(picture(page)) == plain).all()


def test_the_outer_contour_is_around_nearly_all(page: Any) -> None:
    """Its line is closed, and 95 of 100 documents are inside."""
    page.evaluate("isotherm.map.zoom(0.6)")
    give(page, overlays={**PLAIN["overlays"], "contours": True})
    width, height, text = page.evaluate(
        """() => {
          const { width, height } = document.querySelector(".map-over");
          const context = document.querySelector(".map-over").getContext("2d");
          const { data } = context.getImageData(0, 0, width, height);
          let text = "";
          for (let at = 3; at < data.length; at += 4) text += data[at] > 20 ? "1" : "0";
          return [width, height, text];
        }"""
    )
    line = np.array(list(text)).reshape(height, width) == "1"
    assert 0.002 < line.mean() < 0.2
    areas, _ = label(~np.pad(line, 1))
    places = projected(page)
    x, y = places[places[:, 2] == 1, :2].astype(int).T
    outside = areas[y + 1, x + 1] == areas[0, 0]
    assert outside.mean() < 0.06
    assert (areas == areas[0, 0]).mean() > 0.4


def test_the_picture_comes_back_with_the_card(page: Any) -> None:
    give(page, topic=4)
    before = picture(page)
    page.evaluate(
        """async () => {
          const gl = document.querySelector(".map-points").getContext("webgl2");
          const card = gl.getExtension("WEBGL_lose_context");
          const heard = (type) => new Promise((go) =>
            gl.canvas.addEventListener(type, go, { once: true }));
          const lost = heard("webglcontextlost");
          card.loseContext();
          await lost;
          await isotherm.map.settle();
          const restored = heard("webglcontextrestored");
          setTimeout(() => card.restoreContext());
          await restored;
        }"""
    )
    settle(page)
    page.problems[:] = [one for one in page.problems if "CONTEXT_LOST" not in one]
    assert (picture(page) == before).mean() > 0.999


def test_without_webgl2_a_canvas_draws(open_explorer: Any, parts: Any, told: Any) -> None:
    script = """const real = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
        return kind === "webgl2" ? null : real.call(this, kind, ...more);
      };"""
    page = open_explorer(parts, script=script)
    give(page, **PLAIN)
    assert "WebGL2" in page.locator(".map-message").inner_text()
    places = projected(page)
    x, y = places[places[:, 2] == 1, :2].astype(int).T
    assert painted(picture(page))[y, x].all()
    alone = apart(places, 16)[:20]
    picked = page.evaluate(
        "points => points.map(([x, y]) => isotherm.map.pick(x, y))", places[alone, :2].tolist()
    )
    assert picked == alone.tolist()


def test_a_small_screen_with_fine_pixels(open_explorer: Any, parts: Any) -> None:
    page = open_explorer(parts, viewport={"width": 360, "height": 640}, device_scale_factor=2)
    give(page, **PLAIN)
    image = picture(page)
    box = page.locator("#map").bounding_box()
    assert image.shape[1] == round(2 * box["width"])
    places = projected(page)
    assert (places[:, 2] == 1).mean() > 0.9
    x, y = (2 * places[places[:, 2] == 1, :2]).astype(int).T
    assert painted(image)[y, x].all()
    page.set_viewport_size({"width": 640, "height": 360})
    settle(page)
    page.wait_for_timeout(100)
    settle(page)
    wide = projected(page)
    assert (wide[:, 2] == 1).mean() > 0.9
    assert not np.allclose(wide[:, :2], places[:, :2], equal_nan=True)
