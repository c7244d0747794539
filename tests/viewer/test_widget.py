"""The widget of a notebook: traits in Python, and the frame in a real browser."""

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Explorer, IsothermError
from isotherm.viewer.widget import SCRIPT, _kind

HOSTILE = '</iframe></script><img src=x onerror="parent.document.title=1"> "quotes"'

# A notebook as far as a widget sees it: a model with values and listeners.
HOST = """<!doctype html><meta charset="utf-8"><body><div id="cell"></div>
<script type="module">
const values = %s;
const listeners = {};
const model = {
  get: (name) => values[name],
  set(name, value) {
    values[name] = value;
    (listeners[`change:${name}`] ?? []).forEach((f) => f());
  },
  save_changes() { window.saved.push(structuredClone(values.selected)); },
  on: (name, f) => { (listeners[name] ??= []).push(f); },
  off: (name, f) => { listeners[name] = listeners[name].filter((one) => one !== f); },
};
window.saved = [];
window.model = model;
const url = URL.createObjectURL(new Blob([%s], { type: "text/javascript" }));
const { default: widget } = await import(url);
window.takeDown = widget.render({ model, el: document.getElementById("cell") });
window.listeners = listeners;
</script>"""


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    places = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    names = [HOSTILE, *(f"point {i}" for i in range(1, 200))]
    return Explorer.of_vectors(places, names=names, title=HOSTILE)


# In Python ----------------------------------------------------------------------------------------


def test_traits(explorer: Explorer) -> None:
    traitlets = pytest.importorskip("traitlets")
    pytest.importorskip("anywidget")
    widget = explorer.widget(height=500)
    assert (widget.selected, widget.height) == ([], 500)
    assert widget._page == explorer.html()
    assert widget._title == HOSTILE
    assert {"selected", "height", "_page", "_esm"} <= set(widget.keys)
    seen: list[Any] = []
    widget.observe(lambda change: seen.append(change["new"]), "selected")
    widget.selected = [5, 3, 3]
    assert widget.selected == [3, 5]
    # What the page says comes the same way.
    widget.set_state({"selected": [7]})
    assert seen == [[3, 5], [7]]
    for wrong in ([200], [-1], ["a"], [1.5]):
        with pytest.raises(traitlets.TraitError):
            widget.selected = wrong
    assert widget.selected == [7]
    with pytest.raises(traitlets.TraitError):
        widget.height = 5
    assert explorer.widget(texts="none").height == 680


def test_what_is_missing_is_named(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    _kind.cache_clear()
    with pytest.raises(IsothermError, match=r"isotherm\[notebook\]"):
        explorer.widget()


def test_static_page_of_a_notebook(explorer: Explorer) -> None:
    shown = explorer._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert "<img" not in shown


# In the browser -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def notebook(open_page: Any, explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A page that holds the widget; two rows were selected before it was shown."""
    values = {"_page": explorer.html(), "_title": HOSTILE, "height": 400, "selected": [2, 9]}
    script = resources.files("isotherm.viewer").joinpath(SCRIPT).read_text("utf-8")
    # No end of the script may stand in it.
    told = [json.dumps(one).replace("<", "\\u003c") for one in (values, script)]
    path: Path = tmp_path_factory.mktemp("notebook") / "host.html"
    path.write_text(HOST % tuple(told), encoding="utf-8")
    page = open_page(path)
    page.wait_for_selector("iframe")
    return page


@pytest.fixture
def inner(notebook: Any) -> Any:
    """The page inside the frame."""
    frame = next(one for one in notebook.frames if one.parent_frame is not None)
    frame.wait_for_selector("body[data-complete], body[data-error]")
    assert frame.evaluate("() => document.body.dataset.error") is None
    return frame


def until(page: Any, expression: str, wanted: Any) -> None:
    """Wait for a value; the page has its own policy, so that the test asks again and again."""
    found = None
    for _ in range(200):
        found = page.evaluate(expression)
        if found == wanted:
            return
        page.wait_for_timeout(25)
    assert found == wanted


SELECTED = "() => [...(isotherm.store.state.selected ?? [])]"


def test_selections_go_both_ways(notebook: Any, inner: Any) -> None:
    until(inner, SELECTED, [2, 9])
    assert notebook.evaluate("saved") == []  # nothing was said back
    inner.evaluate("() => isotherm.store.set({ selected: Uint32Array.from([4, 5]) })")
    until(notebook, "saved", [[4, 5]])
    assert notebook.evaluate("model.get('selected')") == [4, 5]
    notebook.evaluate("model.set('selected', [7, 1])")
    until(inner, SELECTED, [1, 7])
    notebook.evaluate("model.set('selected', [])")
    until(inner, "() => isotherm.store.state.selected", None)
    notebook.wait_for_timeout(200)
    assert notebook.evaluate("saved") == [[4, 5]]
    notebook.evaluate("model.set('height', 300)")
    assert notebook.evaluate("document.querySelector('iframe').offsetHeight") == 300


def test_only_the_right_window_is_heard(notebook: Any, inner: Any) -> None:
    before = notebook.evaluate("saved.length")
    notebook.evaluate("window.postMessage({ kind: 'isotherm explorer', selected: [3] }, '*')")
    inner.evaluate(
        "() => { window.postMessage({ kind: 'isotherm explorer', selected: [3] }, '*');"
        " parent.postMessage({ kind: 'something else', selected: [3] }, '*');"
        " parent.postMessage({ kind: 'isotherm explorer', selected: ['<b>'] }, '*');"
        " parent.postMessage({ kind: 'isotherm explorer', selected: [-1] }, '*');"
        " parent.postMessage('isotherm explorer', '*'); }"
    )
    send = "m => document.querySelector('iframe').contentWindow.postMessage(m, '*')"
    for wrong in ([200], [1.5], ["0"], "0", None):
        notebook.evaluate(send, {"kind": "isotherm explorer", "selected": wrong})
    notebook.wait_for_timeout(300)
    assert notebook.evaluate("saved.length") == before
    assert inner.evaluate("() => isotherm.store.state.selected") is None


def test_the_frame_reaches_nothing_around_it(notebook: Any, inner: Any) -> None:
    assert inner.evaluate("() => window.origin") == "null"
    reach = "() => { try { return parent.document.title } catch (error) { return error.name } }"
    assert inner.evaluate(reach) == "SecurityError"
    assert notebook.evaluate("document.title") == ""
    assert notebook.evaluate("document.querySelector('iframe').title") == HOSTILE
    assert notebook.evaluate("document.querySelectorAll('img').length") == 0


def test_a_widget_that_is_taken_down_is_silent(notebook: Any, inner: Any) -> None:
    notebook.evaluate("takeDown()")
    before = notebook.evaluate("saved.length")
    inner.evaluate("() => isotherm.store.set({ selected: Uint32Array.from([8]) })")
    notebook.wait_for_timeout(300)
    assert notebook.evaluate("saved.length") == before
    assert notebook.evaluate("Object.values(listeners).flat().length") == 0
