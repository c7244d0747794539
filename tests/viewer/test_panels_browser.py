"""Panels of the explorer in a real browser: linked views, keys, search, slider, hostile text."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm.viewer.container import pack, unpack
from support.browser import SIZE
from viewer.synthetic import DOUBTFUL, SOLID, synthetic

N = 400
FORMULA = '=1+"2", or so'
BLANK = {
    **{"hover": -1, "document": -1, "selected": None, "topic": -1, "node": -1, "word": -1},
    **{"matches": None, "query": "", "stage": 3, "map": 0, "color": "topic", "size": "none"},
    **{"tab": "topics", "mode": "move", "theme": "auto", "playing": False},
}


@pytest.fixture(scope="module")
def parts() -> dict[str, bytes]:
    """A made-up collection; the words of topic 5 have the most lift where they are rarest."""
    made = synthetic(N)
    topics = unpack(made["points"]).meta["topics"]
    words = [word for word, _ in topics[5]["words"]]
    topics[5]["lift"] = [[word, 30.0 - at] for at, word in enumerate(reversed(words))]
    documents = unpack(made["documents"])
    titles = [*documents.strings["titles"][:9], FORMULA, *documents.strings["titles"][10:]]
    made["documents"] = pack(documents.meta, documents.arrays, {"titles": titles})
    return changed(made, (), {"topics": topics})


@pytest.fixture(scope="module")
def told(parts: dict[str, bytes]) -> dict[str, Any]:
    """What the parts say, by name."""
    return {name: unpack(block) for name, block in parts.items()}


@pytest.fixture(scope="module")
def shown(open_explorer: Any, parts: dict[str, bytes]) -> Any:
    return open_explorer(parts)


@pytest.fixture
def page(shown: Any) -> Any:
    """The page as it opens, without anything chosen."""
    shown.emulate_media(color_scheme="light")
    shown.evaluate(
        "state => { document.querySelector('dialog')?.close(); document.activeElement?.blur();"
        " for (const box of document.querySelectorAll('input[type=search]')) {"
        "   box.value = ''; box.dispatchEvent(new Event('input')); }"
        " isotherm.store.set({ ...state, hidden: new Set() }); }",
        BLANK,
    )
    frame(shown)
    frame(shown)
    yield shown
    assert shown.problems == []


def frame(page: Any) -> None:
    """Lets the store tell its listeners."""
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))")


def give(page: Any, **patch: Any) -> None:
    page.evaluate(
        "patch => { if (patch.selected) patch.selected = Uint32Array.from(patch.selected);"
        " isotherm.store.set(patch); }",
        patch,
    )
    frame(page)


def state(page: Any, key: str) -> Any:
    return page.evaluate(
        "key => { const value = isotherm.store.state[key];"
        " return value instanceof Set || ArrayBuffer.isView(value) ? [...value] : value; }",
        key,
    )


def lit(page: Any) -> str:
    return str(page.locator(".lit-told").inner_text())


def drawn(page: Any, selector: str) -> list[str]:
    return list(page.locator(selector).all_inner_texts())


# Linked views -----------------------------------------------------------------------------------


def test_a_topic_chosen_in_the_list_is_lit_everywhere(page: Any, told: dict[str, Any]) -> None:
    topics = told["points"].meta["topics"]
    heaviest = int(np.argmax([topic["size"] for topic in topics]))
    page.locator("#body-topics .list-row").first.click()
    frame(page)
    members = np.flatnonzero(told["points"].arrays["topic"] == heaviest)
    assert state(page, "topic") == heaviest
    assert lit(page) == f"{len(members)} of {N} documents of “{topics[heaviest]['name']}”"
    assert page.locator("#live").inner_text() == lit(page)
    assert page.locator(".topic-title h2").inner_text() == topics[heaviest]["name"]
    first = int(told["documents"].arrays["typical"][heaviest, 0])
    title = told["documents"].strings["titles"][first]
    assert page.locator(".topic-one .doc-title").first.inner_text() == title
    page.locator(".topic-one .list-row").first.click()
    frame(page)
    assert state(page, "document") == first
    assert page.locator("h2.document-title").inner_text() == title
    assert page.locator("#tab-document").get_attribute("aria-selected") == "true"


def test_pointing_at_a_title_points_at_its_place(page: Any) -> None:
    give(page, topic=2)
    row = page.locator(".topic-one .list-row").nth(1)
    row.hover()
    frame(page)
    hovered = state(page, "hover")
    title = row.locator(".doc-title").inner_text()
    assert page.evaluate("i => isotherm.data.title(i)", hovered) == title
    page.locator("#heading").hover()
    frame(page)
    assert state(page, "hover") == -1


def test_words_are_ordered_by_what_they_tell_probability_and_lift(
    page: Any, told: dict[str, Any]
) -> None:
    give(page, topic=5)
    topic = told["points"].meta["topics"][5]
    names = drawn(page, ".topic-one > section:nth-of-type(1) .bar-name")
    assert names == [word for word, _ in topic["words"]]
    page.locator("#relevance").evaluate(
        "slider => { slider.value = 0; slider.dispatchEvent(new Event('input')); }"
    )
    frame(page)
    names = drawn(page, ".topic-one > section:nth-of-type(1) .bar-name")
    assert names[:5] == [word for word, _ in topic["lift"][:5]]
    page.locator("#relevance").evaluate(
        "slider => { slider.value = 1; slider.dispatchEvent(new Event('input')); }"
    )
    frame(page)
    names = drawn(page, ".topic-one > section:nth-of-type(1) .bar-name")
    assert names[:5] == [word for word, _ in topic["frequent"][:5]]
    button = page.get_by_role("button", name="telling")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    frame(page)
    names = drawn(page, ".topic-one > section:nth-of-type(1) .bar-name")
    assert names == [word for word, _ in topic["words"]]


def test_topics_and_nodes_say_how_reproducible_they_are(page: Any, told: dict[str, Any]) -> None:
    first, second = (one["reproducibility"] for one in told["points"].meta["topics"][:2])
    assert (first, second) == (DOUBTFUL, SOLID)
    give(page, topic=0)
    assert "reproducible 0.41: only in this sample" in page.locator(".topic-title").inner_text()
    page.evaluate("() => { isotherm.data.tree.reproducibility = [0.5]; }")
    give(page, topic=-1, tab="tree")
    assert page.locator("#node-0 .reproducible").inner_text() == "0.50"
    page.evaluate("() => { isotherm.data.tree.reproducibility = []; }")
    give(page, tab="topics")
    page.get_by_label("Find a topic by its words").fill(told["points"].meta["topics"][0]["name"])
    frame(page)
    shown = page.locator(".topics-all .reproducible.doubtful")
    assert shown.inner_text() == "0.41"
    page.get_by_label("Find a topic by its words").fill("")
    frame(page)


def test_a_word_shows_its_spread_over_topics_and_nodes(page: Any, told: dict[str, Any]) -> None:
    words, points = told["words"], told["points"]
    give(page, topic=5)
    row = page.locator(".topic-one .bar-row").first
    word = row.locator(".bar-name").inner_text()
    row.click()
    frame(page)
    w = words.strings["words"].index(word)
    assert state(page, "word") == w
    here = slice(*words.arrays["spread.start"][w : w + 2])
    share = words.arrays["spread.share"][here] / 255
    topic = words.arrays["spread.topic"][here]
    best = points.meta["topics"][topic[np.argmax(share)]]["name"]
    assert page.locator(".word-card .bar-name").first.inner_text() == best
    assert page.locator(".word-card .bar-text").first.inner_text() == f"{share.max():.0%}".replace(
        "%", " %"
    )
    give(page, tab="tree")
    root = page.locator("#node-0 .node-share").inner_text()
    assert float(root.split()[0]) == pytest.approx(100 * share.sum(), abs=1)
    node = points.meta["topics"][topic[np.argmax(share)]]["node"]
    given = page.locator(f"#node-{node} .node-share").inner_text()
    assert float(given.split()[0]) == pytest.approx(100 * share.max(), abs=0.6)
    page.locator(".word-card").get_by_text("Find documents").click()
    page.locator("#body-search .list-row").first.wait_for()
    assert state(page, "query") == word
    assert state(page, "matches")["known"] == [word]


def test_a_selection_tells_what_it_is_made_of(page: Any, told: dict[str, Any]) -> None:
    chosen = np.flatnonzero(told["points"].arrays["topic"] == 13)[:10].tolist()
    give(page, selected=chosen)
    assert lit(page) == f"10 of {N} documents selected in the map"
    names = drawn(page, ".lit-inside .bars >> nth=0 >> .bar-name")
    assert names == [told["points"].meta["topics"][13]["name"]]
    own = [word for word, _ in told["points"].meta["topics"][13]["words"]]
    assert set(drawn(page, ".lit-inside .word")) <= set(own)
    assert len(drawn(page, ".lit-inside .word")) == 12
    assert page.locator(".lit-inside .list").get_attribute("aria-label") == "Selected documents"
    page.keyboard.press("Escape")
    frame(page)
    assert state(page, "selected") is None
    assert not page.locator(".lit-bar").is_visible()


def test_the_list_of_what_is_lit_can_be_saved(page: Any, told: dict[str, Any]) -> None:
    give(page, selected=[0, 1, 4, 9])
    with page.expect_download() as waiting:
        page.get_by_label("Save the list as CSV").click()
    text = Path(waiting.value.path()).read_text("utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    titles = told["documents"].strings["titles"]
    assert rows[0] == ["number", "title", "topic"]
    assert [row[:2] for row in rows[1:4]] == [[str(i + 1), titles[i]] for i in (0, 1, 4)]
    assert rows[4][:2] == ["10", "'" + FORMULA]


# Search and documents ---------------------------------------------------------------------------


def ask(page: Any, text: str) -> None:
    page.keyboard.press("/")
    page.locator("#query").fill(text)
    page.keyboard.press("Enter")
    page.locator(".search-told p").first.wait_for()
    frame(page)


def test_search_lights_what_it_finds_and_says_why(page: Any, told: dict[str, Any]) -> None:
    ask(page, "kernel3 wavelet7 unheardof")
    matches = state(page, "matches")
    found = {hit["document"] for hit in matches["hits"]}
    texts = told["texts"].strings["texts"]
    has = {
        i
        for i, text in enumerate(texts)
        if {"kernel3", "wavelet7"} & set(re.findall(r"\w+", text.lower()))
    }
    assert found == has
    assert lit(page) == f"{len(has)} of {N} documents found"
    assert "unheardof" in page.locator(".search-told").inner_text()
    titles = drawn(page, "#body-search .doc-title")
    assert titles[0] == page.evaluate("i => isotherm.data.title(i)", matches["hits"][0]["document"])
    marks = set(drawn(page, "#body-search .list-row >> nth=0 >> .mark"))
    assert marks
    assert marks <= {"kernel3", "wavelet7"}
    assert "inside this page" in page.locator("#body-search").inner_text()
    page.keyboard.press("Escape")
    frame(page)
    assert state(page, "matches") is None
    assert page.locator("#query").input_value() == ""


def test_search_without_a_hit_says_so(page: Any) -> None:
    ask(page, "qwertyuiop")
    assert page.locator(".search-told").inner_text().startswith("No document has any of that")
    assert lit(page).startswith("0 of")


def test_words_of_a_text_have_the_colour_of_their_topic(page: Any, told: dict[str, Any]) -> None:
    i = 20
    give(page, document=i, tab="document")
    page.locator(".passage").wait_for()
    text = told["texts"].strings["texts"][i]
    assert page.locator(".passage").inner_text() == text
    words, documents = told["words"], told["documents"]
    topics = told["points"].meta["topics"]
    own = dict(
        zip(
            documents.arrays["shares.topic"][i].tolist(),
            (documents.arrays["shares.weight"][i] / 255).tolist(),
            strict=True,
        )
    )
    ids = {word: w for w, word in enumerate(words.strings["words"])}
    marked = page.locator(".passage .w").all()
    assert [one.inner_text().lower() for one in marked] == [
        word for word in re.findall(r"\w+", text.lower()) if word in ids
    ]
    for one in marked:
        here = slice(*words.arrays["spread.start"][ids[one.inner_text().lower()] :][:2])
        posterior = {
            int(k): share / 255 * (own.get(int(k), 0) + 0.02 / len(topics)) / topics[k]["size"]
            for k, share in zip(
                words.arrays["spread.topic"][here], words.arrays["spread.share"][here], strict=True
            )
        }
        best = max(posterior, key=lambda k: posterior[k])
        assert int(one.get_attribute("data-topic")) == best
        share = posterior[best] / sum(posterior.values())
        told_share = one.evaluate("word => word.style.getPropertyValue('--a')")
        assert float(told_share) == pytest.approx(share, abs=0.006)
    marked[0].click()
    frame(page)
    assert state(page, "word") == ids[marked[0].inner_text().lower()]


def test_the_next_document_is_the_next_one_lit(page: Any) -> None:
    give(page, selected=[30, 40, 50], document=40, tab="document")
    assert "2 of 3 lit" in page.locator("#body-document").inner_text()
    page.keyboard.press("n")
    frame(page)
    assert state(page, "document") == 50
    page.get_by_label("Next document").focus()
    for following in (30, 40):  # the button keeps the focus while the panel is drawn anew
        page.keyboard.press("Enter")
        frame(page)
        assert state(page, "document") == following
    page.keyboard.press("p")
    frame(page)
    assert state(page, "document") == 30


def test_hostile_text_stays_text(page: Any, told: dict[str, Any]) -> None:
    titles = told["documents"].strings["titles"]
    for i in (0, 1):
        give(page, document=i, tab="document", hover=i)
        page.locator(".passage").wait_for()
        assert page.locator("h2.document-title").inner_text() == titles[i]
        assert page.locator("#tooltip strong").text_content() == titles[i]
    give(page, document=0)
    page.locator(".passage").wait_for()
    assert "</script><b>bold?</b>" in page.locator(".passage").inner_text()
    assert page.locator("img, b:not(#tooltip b)").count() == 0
    ask(page, "<img src=x onerror=alert(1)>")
    assert page.locator("img").count() == 0


# Slider and legend ------------------------------------------------------------------------------


def test_the_slider_shows_the_topics_of_its_temperature(page: Any, told: dict[str, Any]) -> None:
    stages = told["points"].meta["stages"]
    page.locator("#temperature").focus()
    page.keyboard.press("Home")
    frame(page)
    frame(page)
    assert state(page, "stage") == 0
    assert drawn(page, "#body-topics .topic-head .name") == [stages[0]["topics"][0]["name"]]
    assert drawn(page, "#legend .legend-entry .name") == [stages[0]["topics"][0]["name"]]
    assert drawn(page, "#legend .legend-entry .number") == [str(N)]
    assert page.locator(".path-said").inner_text() == "T 1.05 · 1 topic"
    page.keyboard.press("ArrowRight")
    frame(page)
    frame(page)
    assert page.locator("#temperature").get_attribute("aria-valuetext") == "T 0.75 · 3 topics"
    assert len(drawn(page, "#legend .legend-entry")) == 3


def test_an_open_topic_follows_the_slider(page: Any, told: dict[str, Any]) -> None:
    stages = told["points"].meta["stages"]
    give(page, topic=20)
    page.keyboard.press("[")
    frame(page)
    parent = next(k for k, topic in enumerate(stages[2]["topics"]) if 20 in topic["finals"])
    assert (state(page, "stage"), state(page, "topic")) == (2, parent)
    members = np.isin(told["points"].arrays["topic"], stages[2]["topics"][parent]["finals"])
    assert lit(page).startswith(f"{members.sum()} of {N}")
    page.keyboard.press("]")
    frame(page)
    assert state(page, "stage") == 3
    assert state(page, "topic") == stages[2]["topics"][parent]["finals"][0]


def test_the_path_runs_by_itself(page: Any) -> None:
    give(page, stage=2)
    page.get_by_label("Run the path").click()
    page.locator("#dock .icon[aria-pressed='false']").wait_for(timeout=5000)
    assert state(page, "stage") == 3
    assert state(page, "playing") is False


def test_charts_mark_transitions_and_the_kept_model(page: Any, told: dict[str, Any]) -> None:
    meta = told["points"].meta
    assert page.locator(".chart-name").all_text_contents() == [
        "Held-out perplexity",
        "Effective topics",
        "Free energy",
    ]
    splits = {t for t in meta["tree"]["temperatures"] if t} | {
        meta["coolings"][0]["first_critical"]
    }
    first = page.locator(".charts svg").first
    assert first.locator(".transition").count() == len(splits)
    assert first.locator(".tick").count() == len(meta["stages"])
    assert first.locator(".kept").count() == 1
    page.get_by_role("group", name="Which cooling").get_by_text("Map").click()
    assert page.locator(".chart-name").all_text_contents()[1] == "Effective nodes"
    page.get_by_role("group", name="Which cooling").get_by_text("Topics").click()
    box = first.bounding_box()
    page.mouse.click(box["x"] + 0.35 * box["width"], box["y"] + 50)
    frame(page)
    assert state(page, "stage") in (1, 2)


def test_the_legend_hides_isolates_and_searches(page: Any, told: dict[str, Any]) -> None:
    give(page, color="column:0")
    names = told["points"].meta["columns"][0]["categories"]
    missing = told["points"].meta["columns"][0]["missing"]
    assert drawn(page, "#legend .legend-entry .name") == [*names, *["not known"] * bool(missing)]
    counts = np.bincount(told["points"].arrays["column0"], minlength=256)
    assert drawn(page, "#legend .legend-entry .number")[:4] == [str(n) for n in counts[:4]]
    row = page.locator("#legend .legend-entry").nth(1)
    row.click()
    frame(page)
    assert state(page, "hidden") == [1]
    page.locator("#legend").get_by_text("All", exact=True).click()
    frame(page)
    assert state(page, "hidden") == []
    row.dblclick()
    frame(page)
    assert sorted(state(page, "hidden")) == [0, 2, 3, 4]
    give(page, color="topic")
    frame(page)
    assert state(page, "hidden") == []
    page.get_by_label("Find in the legend").fill("wavelet")
    frame(page)
    assert len(drawn(page, "#legend .legend-entry")) == 1
    give(page, color="column:1")
    assert page.locator("#legend .gradient").is_visible()


def test_the_legend_has_topics_in_the_order_of_the_tree(page: Any, told: dict[str, Any]) -> None:
    """Whatever the numbers of the topics: related ones stand together, at every stage."""
    kept = page.evaluate(
        "() => { const { topics } = isotherm.data; const kept = topics.map((one) => one.node);"
        " [topics[0].node, topics[23].node] = [kept[23], kept[0]];"
        " isotherm.store.set({ arrived: -1 }); isotherm.store.flush(); return kept; }"
    )
    names = [topic["name"] for topic in told["points"].meta["topics"]]
    page.locator("#legend .list").focus()
    expected = [names[23], *names[1:23], names[0]]
    shown = drawn(page, "#legend .legend-entry .name")
    assert shown == expected[: len(shown)]
    assert len(shown) > 5
    page.evaluate(
        "kept => { kept.forEach((node, k) => (isotherm.data.topics[k].node = node));"
        " isotherm.store.set({ stage: 1 }); isotherm.store.flush(); }",
        kept,
    )
    stage = told["points"].meta["stages"][1]["topics"]
    firsts = [min(topic["finals"]) for topic in stage]
    assert drawn(page, "#legend .legend-entry .name") == [
        stage[k]["name"] for k in np.argsort(firsts, kind="stable")
    ]


# Keys and reach ---------------------------------------------------------------------------------


def test_the_tree_is_walked_by_keys(page: Any, told: dict[str, Any]) -> None:
    tree = told["points"].meta["tree"]
    give(page, tab="tree")
    assert page.locator("[role=treeitem][tabindex='0']").count() == 1
    page.locator("#node-0").focus()
    page.keyboard.press("ArrowRight")
    focused = "() => document.activeElement.dataset.node"
    assert page.evaluate(focused) == "1"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#node-1").get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == "2"
    page.keyboard.press("Enter")
    frame(page)
    assert state(page, "node") == 2
    below = [
        tree["components"][node]
        for node in range(len(tree["parents"]))
        if tree["components"][node] is not None and tree["parents"][tree["parents"][node]] == 2
    ]
    members = np.isin(told["points"].arrays["topic"], below).sum()
    assert lit(page).startswith(f"{members} of {N} documents below")
    assert page.evaluate(focused) == "2"
    page.locator("#node-1").focus()
    page.locator("#body-tree").get_by_text("Unfold").click()
    page.keyboard.press("Escape")
    frame(page)
    assert state(page, "node") == -1


def test_a_long_list_is_walked_by_keys(page: Any) -> None:
    page.locator(".topics-all .list").focus()
    page.keyboard.press("End")
    chosen = page.locator(".topics-all .list-row.active")
    assert chosen.get_attribute("aria-posinset") == "24"
    name = chosen.locator(".name").inner_text()
    page.keyboard.press("Enter")
    frame(page)
    assert page.locator(".topic-title h2").inner_text() == name


def test_keys_reach_tabs_help_and_theme(page: Any) -> None:
    page.locator("#tab-topics").focus()
    page.keyboard.press("ArrowRight")
    frame(page)
    assert state(page, "tab") == "tree"
    assert page.evaluate("() => document.activeElement.id") == "tab-tree"
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    page.keyboard.press("/")
    page.keyboard.type("?")
    assert page.locator("#query").input_value() == "?"
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    page.keyboard.press("t")
    frame(page)
    assert page.locator("html").get_attribute("data-theme") == "dark"
    give(page, theme="auto")
    page.emulate_media(color_scheme="dark")
    frame(page)
    assert state(page, "dark") is True
    page.emulate_media(color_scheme="light")
    frame(page)
    assert page.locator("html").get_attribute("data-theme") == "light"


def test_the_address_tells_what_is_looked_at(page: Any) -> None:
    give(page, topic=6, map=1, color="column:1")
    page.wait_for_url("**#topic=6&map=1&colour=column%3A1")
    page.evaluate("location.hash = '#topic=999&document=12&stage=1&colour=<b>&tab=search'")
    page.locator("#body-search").wait_for()
    assert (state(page, "document"), state(page, "stage"), state(page, "topic")) == (12, 1, -1)
    assert state(page, "color") == "topic"
    page.evaluate("location.hash = '#colour=column:0'")
    page.locator("#legend strong", has_text="Section").wait_for()
    assert state(page, "color") == "column:0"


def test_listeners_hear_of_changes_once_and_only_of_changes(page: Any) -> None:
    heard = page.evaluate(
        "async () => { const { store } = isotherm; const heard = [];"
        " const frames = () => new Promise((go) => requestAnimationFrame(() => setTimeout(go)));"
        " const off = store.on(['hover', 'topic'],"
        "   (changed) => heard.push([...changed].sort().join()));"
        " store.set({ hover: 3 }); store.set({ hover: 4, topic: 1 }); await frames();"
        " store.set({ hover: 4, overlays: { ...store.state.overlays } }); await frames();"
        " off(); store.set({ hover: 5 }); await frames(); return heard; }"
    )
    assert heard == ["hover,topic"]


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        values = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    first, second = sorted((light(one), light(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(page: Any, theme: str) -> None:
    give(page, theme=theme)
    names = ["ink", "soft", "accent", "warm", "panel", "raised", "hover", "wash", "page"]
    colours = page.evaluate(
        "names => { const style = getComputedStyle(document.documentElement);"
        " return Object.fromEntries("
        "   names.map((name) => [name, style.getPropertyValue('--' + name).trim()])); }",
        names,
    )
    for text in ("ink", "soft", "accent", "warm"):
        for behind in ("panel", "raised", "hover", "page"):
            assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    assert contrast(colours["ink"], colours["wash"]) >= 4.5
    assert contrast(colours["accent"], colours["wash"]) >= 4.5


@pytest.mark.parametrize(("wide", "high"), [(320, 568), (900, 620)])
def test_small_screens_have_all_in_reach(page: Any, wide: int, high: int) -> None:
    page.set_viewport_size({"width": wide, "height": high})
    frame(page)
    try:
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
        for part in ("#bar", "#stage", "#panel", "#dock"):
            box = page.locator(part).bounding_box()
            assert 0 <= box["x"] <= wide + 1 - box["width"]
            assert 0 <= box["y"] <= high + 1 - box["height"]
        stage, panel = (page.locator(part).bounding_box() for part in ("#stage", "#panel"))
        assert (panel["y"] >= stage["y"] + stage["height"]) == (wide < 761)
        assert stage["height"] > 150
        page.get_by_role("button", name="Tools of the map").click()
        box = page.locator("#tools").bounding_box()
        assert 0 <= box["x"] <= wide - box["width"]
        page.keyboard.press("Escape")
        assert not page.locator("#tools").is_visible()
    finally:
        page.set_viewport_size(SIZE)
        frame(page)


# Other collections ------------------------------------------------------------------------------


def changed(
    parts: dict[str, bytes], drop: tuple[str, ...], meta: dict[str, Any], **arrays: Any
) -> dict[str, bytes]:
    """The parts without some, with other facts and arrays (None takes an array out)."""
    points = unpack(parts["points"])
    kept = {name: block for name, block in parts.items() if name not in drop}
    table = {**points.arrays, **arrays}
    facts = {**points.meta, **meta, "parts": [*kept]}
    table = {name: values for name, values in table.items() if values is not None}
    return {**kept, "points": pack(facts, table)}


def test_vectors_alone_have_a_page(open_explorer: Any, parts: dict[str, bytes]) -> None:
    coolings = unpack(parts["points"]).meta["coolings"][1:]
    bare = changed(
        parts,
        ("words", "texts", "index"),
        {
            "topics": [],
            "tree": None,
            "n_topics": 0,
            "n_words": 0,
            "stages": [],
            "coolings": coolings,
        },
        **{"topic": None, "map0.topics": None, "map1.topics": None},
    )
    titles = unpack(parts["documents"]).strings["titles"]
    bare["documents"] = pack({}, {}, {"titles": titles})
    page = open_explorer(bare)
    assert drawn(page, "[role=tab]") == ["Search", "Document"]
    assert page.locator("#body-document").inner_text().startswith("No document is open.")
    ask(page, "wavelet")
    assert state(page, "matches")["documents"] is not None
    assert len(state(page, "matches")["hits"]) == min(200, sum("wavelet" in one for one in titles))
    give(page, document=12, tab="document")
    assert page.locator("h2.document-title").inner_text() == titles[12]
    assert not page.locator("#stage #message").is_visible()
    assert page.problems == []


def test_a_broken_page_says_so(open_explorer: Any, parts: dict[str, bytes]) -> None:
    page = open_explorer({**parts, "points": b"no data at all"})
    assert page.locator("#message").inner_text().startswith("This page could not be opened")
    assert not page.locator("#loading").is_visible()
    page.problems.clear()  # it complains, as it should


def test_very_many_topics_and_categories_stay_a_list_in_sight(
    open_explorer: Any, parts: dict[str, bytes]
) -> None:
    rng = np.random.default_rng(0)
    k = 1500
    points = unpack(parts["points"])
    topics = [
        {
            **points.meta["topics"][at % 24],
            "name": f"topic {at}",
            "size": 1 / k,
            "node": None,
            "similar": [],
        }
        for at in range(k)
    ]
    columns = json.loads(json.dumps(points.meta["columns"]))
    columns[0] |= {"categories": [f"label {c}" for c in range(10_000)], "missing": 0}
    many = changed(
        parts,
        ("documents", "texts", "index"),
        {"topics": topics, "n_topics": k, "tree": None, "stages": [], "columns": columns},
        **{
            "topic": rng.integers(0, k, N).astype(np.uint16),
            "column0": rng.integers(0, 10_000, N).astype(np.uint16),
            "map0.topics": rng.random((k, 3)).astype(np.float32),
            "map1.topics": rng.random((k, 2)).astype(np.float32),
        },
    )
    page = open_explorer(many)
    assert 5 < page.locator("#body-topics .list-row").count() < 60
    page.locator(".topics-all .list").focus()
    page.keyboard.press("End")
    assert page.locator(".topics-all .list-row.active").get_attribute("aria-posinset") == str(k)
    give(page, color="column:0")
    assert 5 < page.locator("#legend .list-row").count() < 60
    page.get_by_label("Find in the legend").fill("label 9999")
    frame(page)
    assert drawn(page, "#legend .legend-entry .name") == ["label 9999"]
    assert page.problems == []
