"""Reading and searching the data of a file, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Explorer
from isotherm.viewer.container import Part, pack, unpack
from viewer import corpora
from viewer.synthetic import synthetic

N = 300


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    hostile = ["</script><b>x</b>", "half \ud800", "İstanbul 漢字 😀", "", "nul \x00"]
    names = (hostile * 24)[:120]
    columns = {"length": corpora.counts().row_totals, "part": ["a", None, "<i>"] * 40}
    return Explorer.of(corpora.mapped(2), counts=corpora.counts(), names=names, columns=columns)


@pytest.fixture(scope="module")
def parts(explorer: Explorer) -> dict[str, Part]:
    return {name: unpack(block) for name, block in explorer.parts().items()}


@pytest.fixture(scope="module")
def page(open_explorer: Any, explorer: Explorer) -> Any:
    return open_explorer(explorer.parts())


@pytest.mark.parametrize("name", ["points", "documents", "words", "texts", "index"])
def test_every_array_and_string_is_read_as_it_was_written(
    page: Any, parts: dict[str, Part], name: str
) -> None:
    expected = parts[name]
    found = page.evaluate(
        "async (name) => { const part = await isotherm.source.part(name);"
        " const arrays = {}, strings = {};"
        " for (const [key, values] of part.arrays) arrays[key] = [part.shape(key), [...values]];"
        " for (const [key, table] of part.tables) {"
        "   strings[key] = Array.from(table, (_, i) => table.get(i)); }"
        " return { arrays, strings, meta: part.meta }; }",
        name,
    )
    assert found["meta"] == expected.meta
    assert found["strings"] == expected.strings
    for key, values in expected.arrays.items():
        shape, flat = found["arrays"][key]
        assert shape == list(values.shape)
        np.testing.assert_array_equal(np.array(flat, values.dtype), values.ravel())


def test_what_is_not_there(page: Any) -> None:
    found = page.evaluate(
        "async () => { const { source } = isotherm; const points = await source.part('points');"
        " return [source.live, await source.part('nothing'), points.array('x'), points.shape('x'),"
        " points.strings('x').length, points.strings('x').get(0)]; }"
    )
    assert found == [False, None, None, None, 0, ""]


def test_documents_are_those_of_the_explorer(page: Any, explorer: Explorer) -> None:
    for i in (0, 1, 2, 119):
        found = page.evaluate("i => isotherm.source.document(i)", i)
        expected = explorer.document(i)
        assert found["title"] == expected["title"].replace("\ud800", "�")
        assert found["text"] == expected["text"]
        assert found["whole"] is True
        assert found["topics"] == expected["topics"]
        assert found["fields"].pop("length") == pytest.approx(
            expected["fields"].pop("length"), abs=2e-3
        )
        assert found["fields"] == expected["fields"]


def ranking(X: Any, query: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of 1 + log tf times log(1 + I / df), and their documents, best first."""
    idf = np.log(1 + len(X) / (X > 0).sum(axis=0))
    documents = np.where(X > 0, 1 + np.log(np.maximum(X, 1)), 0) * idf
    asked = np.zeros(X.shape[1])
    for word, count in query.items():
        asked[word] = (1 + np.log(count)) * idf[word]
    norms = np.linalg.norm(documents, axis=1)
    scores = documents @ asked / np.where(norms > 0, norms, 1) / np.linalg.norm(asked)
    order = np.argsort(-scores, kind="stable")
    return scores, order[scores[order] > 0]


def test_search_ranks_by_the_cosine_of_tf_idf(page: Any) -> None:
    counts = corpora.counts()
    names = list(counts.column_names)
    text = "S0W1, s2w3; s2w3 and nothing_known s0w1!"
    found = page.evaluate("text => isotherm.source.search(text, 200)", text)
    words = {names.index("s0w1"): 2, names.index("s2w3"): 2}
    scores, order = ranking(counts.matrix.toarray(), words)
    assert found["known"] == ["s0w1", "s2w3"]
    assert found["unknown"] == ["and", "nothing_known"]
    assert [hit["document"] for hit in found["hits"]] == order.tolist()
    for hit in found["hits"]:
        assert hit["score"] == pytest.approx(scores[hit["document"]])
        assert sum(amount for _, amount in hit["words"]) == pytest.approx(hit["score"])
        assert hit["through_topics"] == 0
    few = page.evaluate("text => isotherm.source.search(text, 5)", text)
    assert few["hits"] == found["hits"][:5]


def test_topics_of_a_query_are_the_mean_of_its_words(page: Any) -> None:
    model, names = corpora.grown(), list(corpora.counts().column_names)
    found = page.evaluate("isotherm.source.search('s1w2 s1w4 s3w0', 3)")
    joint = model.weights_[:, None] * model.components_
    posterior = joint / joint.sum(axis=0)
    mean = posterior[:, [names.index(word) for word in ("s1w2", "s1w4", "s3w0")]].mean(axis=1)
    for k, share in found["topics"]:
        assert share == pytest.approx(mean[k], abs=0.01)
    shares = [share for _, share in found["topics"]]
    assert shares == sorted(shares, reverse=True)
    own = corpora.mapped(2).map.topic_weights[found["hits"][0]["document"]]
    for k, amount in found["hits"][0]["topics"]:
        assert amount == pytest.approx(np.sqrt(own[k] * mean[k]), abs=0.05)


def test_words_are_found_in_the_form_that_the_vocabulary_has(open_explorer: Any) -> None:
    made = synthetic(N)
    words = unpack(made["words"])
    forms = ["vertex", "Bessel", "signal", "query", "classes", "data set", "glass"]
    table = {"words": [*forms, *words.strings["words"][len(forms) :]]}
    page = open_explorer({**made, "words": pack(words.meta, words.arrays, table)})
    for text, known, unknown in [
        ("Vertices", ["vertex"], []),
        ("bessel Bessel", ["Bessel"], ["bessel"]),
        ("signals of queries", ["signal", "query"], ["of"]),
        ("a class", ["classes"], []),
        ("Data set", ["data set"], ["data", "set"]),
        ("gla glas glasses", ["glass"], ["gla", "glas"]),
    ]:
        found = page.evaluate("text => isotherm.source.search(text, 5)", text)
        assert (found["known"], found["unknown"]) == (known, unknown)


def test_words_are_found_by_their_stems_where_the_vocabulary_has_those(open_explorer: Any) -> None:
    made = synthetic(N)
    words = unpack(made["words"])
    n = len(words.strings["words"])
    fill = [f"stem{chr(97 + i // 26)}{chr(97 + i % 26)}o" for i in range(n)]
    plain = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}s" for i in range(n)]
    stems = ["articl", "govern", "countri", "comput"]
    for rest, known in ((fill, stems), (plain, [])):
        table = {"words": [*stems, *rest[len(stems) :]]}
        page = open_explorer({**made, "words": pack(words.meta, words.arrays, table)})
        text = "Article government country computing"
        found = page.evaluate("text => isotherm.source.search(text, 5)", text)
        assert found["known"] == known


@pytest.mark.parametrize("query", ["", "  ", "zzz", "<img src=x onerror=alert(1)>", "\x00"])
def test_queries_that_find_nothing(page: Any, query: str) -> None:
    found = page.evaluate("text => isotherm.source.search(text, 5)", query)
    assert found["hits"] == found["topics"] == found["known"] == []


def test_a_file_without_an_index_has_no_search(open_explorer: Any) -> None:
    made = synthetic(N)
    points = unpack(made["points"])
    kept = ["points", "documents", "words"]
    blocks = {name: made[name] for name in kept}
    blocks["points"] = pack({**points.meta, "parts": kept}, points.arrays)
    page = open_explorer(blocks)
    assert page.evaluate("isotherm.source.search('kernel', 5)") is None
    assert page.evaluate("isotherm.source.document(3).then((found) => found.text)") is None


def test_notebooks_show_the_page_in_a_frame(
    open_page: Any, explorer: Explorer, tmp_path: Path
) -> None:
    path = tmp_path / "notebook.html"
    text = explorer._repr_html_()
    path.write_text(f'<!doctype html><meta charset="utf-8">{text}', encoding="utf-8")
    page = open_page(path)
    frame = page.frame_locator("iframe")
    frame.locator("body[data-complete]").wait_for()
    assert frame.locator("body[data-error]").count() == 0
    assert frame.locator("title").text_content() == explorer.title
    assert page.problems == []
