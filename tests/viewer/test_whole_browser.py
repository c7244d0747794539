"""The page as its readers meet it: pointing, saving, first pictures, large screens, colours."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from isotherm.viewer.container import pack, unpack
from isotherm.viewer.page import pieces
from viewer.synthetic import synthetic

N = 300
SIZE = {"width": 1280, "height": 720}
N_CATEGORIES = 8
# Machado, Oliveira and Fernandes (2009): how linear RGB looks without one kind of cones.
MISSING_CONES = {
    "red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.fixture(scope="module")
def parts() -> dict[str, bytes]:
    """A made-up collection with a column of as many categories as there are different hues."""
    made = synthetic(N)
    points = unpack(made["points"])
    names = [f"kind {c}" for c in range(N_CATEGORIES)]
    column = {**points.meta["columns"][0], "categories": names, "missing": 0}
    meta = {**points.meta, "columns": [column, *points.meta["columns"][1:]]}
    codes = (np.arange(N) % N_CATEGORIES).astype(np.uint8)
    return {**made, "points": pack(meta, {**points.arrays, "column0": codes})}


@pytest.fixture(scope="module")
def told(parts: dict[str, bytes]) -> dict[str, Any]:
    return {name: unpack(block) for name, block in parts.items()}


@pytest.fixture(scope="module")
def opened(open_explorer: Any, parts: dict[str, bytes]) -> Any:
    return open_explorer(parts, viewport=SIZE)


@pytest.fixture
def page(opened: Any) -> Any:
    state = {"topic": -1, "node": -1, "hover": -1, "document": -1, "map": 1, "tab": "topics"}
    give(opened, **state, color="topic", theme="light")
    yield opened
    assert opened.problems == []


def give(page: Any, **patch: Any) -> None:
    page.evaluate(
        "async (patch) => { isotherm.store.set(patch); isotherm.store.flush();"
        " await isotherm.map.settle(); }",
        patch,
    )


def test_the_pointer_brings_title_topics_and_first_words(page: Any, told: dict[str, Any]) -> None:
    box = page.locator("#map").bounding_box()
    # One that is under the pointer where it is said to be, and that no panel covers.
    i, x, y = page.evaluate(
        "box => { for (let i = 20; i < isotherm.data.n; i++) {"
        " const { x, y, visible } = isotherm.map.project(i);"
        " const top = document.elementFromPoint(box.x + x, box.y + y);"
        " if (visible && top?.className === 'map-surface' && isotherm.map.pick(x, y) === i)"
        "   return [i, box.x + x, box.y + y]; } }",
        box,
    )
    page.mouse.move(x, y)
    page.locator("#tooltip .tip-text").wait_for()
    assert page.locator("#tooltip strong").inner_text() == told["documents"].strings["titles"][i]
    topics = told["points"].meta["topics"]
    strongest = topics[told["points"].arrays["topic"][i]]["name"]
    assert strongest in page.locator("#tooltip .tip-topics").inner_text()
    text = told["texts"].strings["texts"][i]
    assert page.locator("#tooltip .tip-text").inner_text()[:80] == text[:80]
    page.mouse.move(1, 1)


def test_the_picture_is_saved_as_it_is_seen(page: Any, tmp_path: Any) -> None:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save a picture of the map").click()
    assert waiting.value.suggested_filename == "A-made-up-corpus.png"
    waiting.value.save_as(tmp_path / "map.png")
    image = imread(tmp_path / "map.png")
    box = page.locator("#map").bounding_box()
    assert image.shape[:2] == (round(box["height"]), round(box["width"]))
    places = page.evaluate(
        "() => Array.from({ length: isotherm.data.n }, (_, i) => isotherm.map.project(i))"
        ".filter((at) => at.visible).map((at) => [at.y, at.x])"
    )
    rows, columns = np.array(places).astype(int).T
    drawn = np.abs(image[rows, columns, :3] - image[0, 0, :3]).max(axis=1) > 0.05
    assert drawn.mean() > 0.9  # few lie at the rims of letters


def test_a_topic_tells_its_coherence_and_its_kin(page: Any, told: dict[str, Any]) -> None:
    topics = told["points"].meta["topics"]
    give(page, topic=7)
    assert f"coherence {topics[7]['coherence']:.3g}" in page.locator(".topic-one").inner_text()
    chips = page.locator(".topic-one .chips .chip")
    names = chips.locator(".name").all_inner_texts()
    similar = topics[7]["similar"]
    assert names[: len(similar)] == [topics[k]["name"] for k, _ in similar]
    chips.first.click()
    assert page.evaluate("isotherm.store.state.topic") == similar[0][0]


def test_a_branch_lights_the_documents_below_it(page: Any, told: dict[str, Any]) -> None:
    tree = told["points"].meta["tree"]
    node = tree["parents"].index(0)  # the first branch
    below = {node}
    for child, parent in enumerate(tree["parents"]):
        if parent in below:
            below.add(child)
    topics = [tree["components"][n] for n in below if tree["components"][n] is not None]
    expected = np.isin(told["points"].arrays["topic"], topics).sum()
    assert 0 < expected < N
    give(page, tab="tree")
    row = page.locator(f"#node-{node}")
    words = [word for word, _ in tree["words"][node]]
    assert row.get_attribute("title").split() == words
    assert f"T {tree['temperatures'][node]:.3g}" in row.inner_text()
    row.locator(".name").click()
    page.wait_for_selector(f"#node-{node}.chosen")
    assert page.locator(".lit-told").inner_text().startswith(f"{expected} of {N} ")


def test_points_are_seen_before_the_rest_has_come(open_page: Any) -> None:
    parts = synthetic(N, live=True)
    held = []
    site = "http://127.0.0.1:9"

    def answer(route: Any) -> None:
        name = route.request.url.removeprefix(f"{site}/")
        if name.startswith("data/documents"):
            held.append(route)
        elif name:
            route.fulfill(body=parts[name.removeprefix("data/").removesuffix(".bin")])
        else:
            whole = "".join(pieces(None, "A made-up corpus"))
            route.fulfill(body=whole, content_type="text/html; charset=utf-8")

    page = open_page("about:blank")
    page.route(f"{site}/**", answer)
    page.problems.clear()
    page.goto(f"{site}/", wait_until="commit")
    page.wait_for_selector("body[data-ready]")
    for _ in range(200):
        if held:
            break
        page.wait_for_timeout(25)
    assert page.evaluate("() => isotherm.map.stats().drawn") > 0.9 * N
    assert page.evaluate("() => 'complete' in document.body.dataset") is False
    held[0].fulfill(body=parts["documents"])
    page.wait_for_selector("body[data-complete]")
    assert all(problem.startswith(f"request: {site}/") for problem in page.problems)
    page.problems.clear()


def test_a_very_large_screen(opened: Any) -> None:
    """On 3840 by 2160 pixels nothing is lost at the edges, and points are no specks."""
    wide, high = 3840, 2160
    opened.set_viewport_size({"width": wide, "height": high})
    try:
        give(opened, map=1)
        assert opened.evaluate("document.documentElement.scrollWidth") <= wide
        stage, panel, dock = (
            opened.locator(part).bounding_box() for part in ("#stage", "#panel", "#dock")
        )
        assert stage["width"] + panel["width"] == pytest.approx(wide, abs=2)
        assert stage["height"] + dock["height"] > 0.9 * high
        places = opened.evaluate(
            "() => Array.from({ length: isotherm.data.n }, (_, i) => isotherm.map.project(i))"
            ".filter((at) => at.visible).map((at) => [at.x, at.y])"
        )
        assert np.ptp(places, axis=0).max() > 0.7 * stage["height"]
        give(opened, hover=5)
        assert opened.locator(".map-ring").first.bounding_box()["width"] > 12
    finally:
        opened.set_viewport_size(SIZE)
        give(opened, hover=-1)
    assert opened.problems == []


def lightness_and_hue(colour: np.ndarray) -> np.ndarray:
    """Linear RGB as CIE L*a*b* (D65): distances are those that one sees."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ np.clip(colour, 0, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_categories_differ_for_every_kind_of_colour_vision(page: Any, theme: str) -> None:
    give(page, color="column:0", theme=theme)
    found = page.evaluate(
        "() => [...document.querySelectorAll('#legend .legend-entry .dot')]"
        ".map((dot) => getComputedStyle(dot).backgroundColor.match(/[\\d.]+/g).map(Number))"
    )
    colours = np.array(found)[:, :3] / 255
    assert len(colours) == N_CATEGORIES
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    for kind in ({"all": np.eye(3)} | MISSING_CONES).values():
        seen = [lightness_and_hue(np.array(kind) @ one) for one in linear]
        nearest = min(np.linalg.norm(a - b) for a, b in combinations(seen, 2))
        assert nearest > 10  # about 2 can just be told apart side by side
