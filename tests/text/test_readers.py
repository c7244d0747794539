"""Documents of files, folders, tables and Python values."""

import bz2
import gzip
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from isotherm import IsothermError, IsothermWarning, count_words, read_documents
from isotherm.text.problems import KEPT
from isotherm.text.records import Document

RECORDS = [{"id": "a", "year": 1, "text": "one fish"}, {"id": "b", "year": 2, "text": "naïve 中文"}]


def pairs(source: Any, **settings: Any) -> list[tuple[str, str]]:
    return [(document.id, document.text) for document in read_documents(source, **settings)]


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


EXPECTED = [("a", "one fish"), ("b", "naïve 中文")]
JSONL = "".join(json.dumps(record) + "\n" for record in RECORDS)
CSV = 'id,year,text\na,1,"one fish"\nb,2,naïve 中文\n'
TREC = "".join(
    f"<DOC>\n<DOCNO>{r['id']}</DOCNO>\n<HEAD>x</HEAD>\n<TEXT>{r['text']}</TEXT>\n</DOC>\n"
    for r in RECORDS
)
SMART = "".join(f".I {r['id']}\n.T\n{r['text']}\n.W\n{r['text']}\n" for r in RECORDS)
FILES = {
    "x.jsonl": JSONL,
    "x.ndjson": "\n" + JSONL.replace("\n", "\r\n\r\n"),
    "lines.json": JSONL,
    "list.json": json.dumps(RECORDS),
    "mapping.json": json.dumps({r["id"]: r["text"] for r in RECORDS}),
    "inside.json": json.dumps({"version": 1, "documents": RECORDS}),
    "x.csv": CSV,
    "semicolon.csv": CSV.replace(",", ";"),
    "x.tsv": CSV.replace(",", "\t"),
    "x.trec": TREC,
    "trec.txt": "\n" + TREC,
    "x.smart.txt": SMART,
    "x.all": SMART,
}


@pytest.mark.parametrize("name", FILES)
def test_formats_hold_the_same(tmp_path: Path, name: str) -> None:
    assert pairs(write(tmp_path / name, FILES[name])) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("name", FILES)
def test_marked_encodings_are_known(tmp_path: Path, name: str, encoding: str) -> None:
    kind = {"trec.txt": "trec", "x.smart.txt": "smart", "x.all": "smart"}.get(name)
    assert pairs(write(tmp_path / name, FILES[name], encoding), format=kind) == EXPECTED


PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("name", FILES)
def test_compressed_files(tmp_path: Path, name: str, ending: str) -> None:
    path = tmp_path / (name + ending)
    path.write_bytes(PACKED[ending](FILES[name].encode()))
    assert pairs(path) == EXPECTED


def test_zstandard_is_read_or_explained(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(b"(\xb5/\xfd\x04\x00\x01\x00\x00\x99\xe9\xd8Q")
    if sys.version_info < (3, 14):
        with pytest.raises(IsothermError, match=r"Python 3\.14"):
            pairs(path)
    else:
        assert pairs(path) == []


def test_sources_tell_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", "\n" + JSONL)
    found = list(read_documents(path))
    assert [document.source for document in found] == [f"{path}:2", f"{path}:3"]
    assert found[0].fields == {"year": 1}


def test_lines_without_ids_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "x.txt", "first\n\n  \nsecond\rthird")
    assert pairs(path) == [("0", "first"), ("1", "second"), ("2", "third")]


def test_folder(tmp_path: Path) -> None:
    for name in ("b/2.txt", "a/1", "a/.hidden", ".git/x", "c.txt.gz"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        text = name.encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\0")
    documents = read_documents(tmp_path)
    found = [(document.id, document.text, document.fields["folder"]) for document in documents]
    assert found == [
        ("a/1", "a/1", "a"),
        ("b/2.txt", "b/2.txt", "b"),
        ("c.txt.gz", "c.txt.gz", "."),
    ]
    assert [problem.reason for problem in documents.problems] == [
        "is not a text file but a picture"
    ]


def test_real_smart_fields(tmp_path: Path) -> None:
    text = (
        ".I 1\n.T\nflow past\na wing .\n.A\nlee,c.\n.B\nj. 1950\n.W\nflow past a wing .\nit is .\n"
    )
    text += ".I 2\n.T\nheat\n.W\nslabs .\n.I 3\n.T\nalone\n"
    first, second, third = read_documents(write(tmp_path / "cran", text))
    assert first.text == "flow past a wing .\nit is ."
    assert first.fields == {"title": "flow past\na wing .", "author": "lee,c.", "bib": "j. 1950"}
    assert second.text == "heat\nslabs ."
    assert (third.id, third.text.strip()) == ("3", "alone")


def test_trec_without_text_is_all_but_tags(tmp_path: Path) -> None:
    text = "<DOC><DOCNO>7</DOCNO><TITLE>Big <b>news</b></TITLE><BODY>today</BODY></DOC>\n"
    (document,) = read_documents(write(tmp_path / "x.trec", text))
    assert (document.id, document.text.split()) == ("7", ["Big", "news", "today"])


ITEMS: list[tuple[Any, list[tuple[str, str]]]] = [
    (["x", "y"], [("0", "x"), ("1", "y")]),
    ((c for c in "xy"), [("0", "x"), ("1", "y")]),
    ([("a", "x"), (7, "y")], [("a", "x"), ("7", "y")]),
    ([{"docno": 5, "body": "x"}], [("5", "x")]),
    ([Document("d", "x", {}, "")], [("d", "x")]),
    ([{"id": None, "text": "x"}], [("0", "x")]),
    (pd.DataFrame({"text": ["x", "y"], "id": [3, 4]}), [("3", "x"), ("4", "y")]),
    (pl.DataFrame({"note": ["x", "y"], "n": [3, 4]}), [("0", "x"), ("1", "y")]),
    (pl.LazyFrame({"note": ["x"], "n": [3]}), [("0", "x")]),
]


@pytest.mark.parametrize(("source", "expected"), ITEMS, ids=lambda v: str(v)[:30])
def test_python_values(source: Any, expected: list[tuple[str, str]]) -> None:
    assert pairs(source) == expected


def test_paths_as_items(tmp_path: Path) -> None:
    first = write(tmp_path / "1", "one")
    documents = read_documents([first, tmp_path / "missing"])
    assert [(d.id, d.text) for d in documents] == [(str(first), "one")]
    assert "cannot be opened" in documents.problems[0].reason


def test_missing_texts_of_frames_are_problems() -> None:
    documents = read_documents(pd.DataFrame({"text": ["x", None], "id": [1.0, float("nan")]}))
    assert [(d.id, d.text) for d in documents] == [("1", "x")]
    assert str(documents.problems[0]) == "frame:2: no text in 'text'"


def test_column_of_text_is_guessed_and_told() -> None:
    rows = [{"title": "short", "story": "a much longer text"}]
    documents = read_documents(rows)
    assert next(documents).text == "a much longer text"
    assert (documents.text_column, documents.id_column) == ("story", None)
    both = read_documents(rows, text_column=["title", "story"], id_column="title")
    assert next(both)[:2] == ("short", "short\na much longer text")


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
def test_arrow_files(tmp_path: Path, kind: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.Table.from_pylist(RECORDS)
    path = tmp_path / {"parquet": "x.parquet", "feather": "x.feather", "stream": "x.arrow"}[kind]
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    assert pairs(path) == EXPECTED
    assert pairs(table) == EXPECTED


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("x.parquet", "x.arrow"):
        with pytest.raises(IsothermError, match=r"isotherm\[parquet\]"):
            pairs(write(tmp_path / name, "PAR1"))


BROKEN = {
    "x.jsonl": ('{"text": "ok"}\n{"text": \n[1]\n{"body": "x"}\n{"text": 5}\n', [2, 3, 4, 5]),
    "x.json": ('["ok", 3, {"text": null}]', [2, 3]),
    "x.csv": ('id,text\n1,ok\n2\n3,"a"b\n4,x,y\n', [3, 4, 5]),
    "x.trec": (
        "<DOC><TEXT>ok</TEXT></DOC>\nstray\n<DOC>\nx\n<DOC><TEXT>y</DOC>\n<DOC>",
        [2, 3, 5, 6],
    ),
    "x.smart.txt": (".I 1\nlost\n.W\nok\n", [2]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_lines_are_left_out_and_told(tmp_path: Path, name: str) -> None:
    text, lines = BROKEN[name]
    path = write(tmp_path / name, text)
    with pytest.warns(IsothermWarning, match=f"{len(lines)} problem"):
        found = count_words(path)
    assert [problem.line for problem in found.problems] == lines
    assert {problem.file for problem in found.problems} == {str(path)}
    assert found.counts.column_names is not None
    assert found.counts.column_names.tolist() == ["ok"]
    assert found.n_problems == len(lines)
    with pytest.raises(IsothermError, match=rf"{name}:{lines[0]}: "):
        count_words(path, errors="raise")


def test_quote_that_nothing_closes_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", 'text\nok\n"open\nmore\nlast\n')
    documents = read_documents(path)
    assert [document.text for document in documents] == ["ok"]
    assert "begins on line 3" in documents.problems[0].reason


def test_long_fields_are_read_and_the_limit_put_back(tmp_path: Path) -> None:
    import csv

    before = csv.field_size_limit()
    path = write(tmp_path / "x.csv", "text\n" + "word " * 50_000 + "\n")
    assert len(pairs(path)[0][1]) == 250_000
    assert csv.field_size_limit() == before


def test_other_encodings_are_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("gut\nschön\nhübsch\nnaïve\n".encode("latin-1") + "schön\n".encode())
    documents = read_documents(path)
    assert [d.text for d in documents] == ["gut", "schön", "hübsch", "naïve", "schön"]
    assert [(problem.line, problem.file) for problem in documents.problems] == [(2, str(path))]
    assert pairs(path, encoding="latin-1")[1] == ("1", "schön")


@pytest.mark.parametrize("ending", PACKED)
def test_truncated_archives_give_what_they_hold(tmp_path: Path, ending: str) -> None:
    text = "".join(f"line number {i * i}\n" for i in range(20_000))
    packed = PACKED[ending](text.encode())
    path = tmp_path / ("x.txt" + ending)
    path.write_bytes(packed[: len(packed) // 2])
    documents = read_documents(path)
    found = [document.text for document in documents]
    assert found[:-1] == text.splitlines()[: max(0, len(found) - 1)]
    assert len(found) < 20_000
    assert "breaks off" in documents.problems[-1].reason


def test_only_so_many_problems_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", '"ok"\n' + "{\n" * 3000)
    with pytest.warns(IsothermWarning, match="3000 problems"):
        found = count_words(path)
    assert (found.n_problems, len(found.problems)) == (3000, KEPT)


def test_sources_that_cannot_be_are_explained(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    cases: list[tuple[Any, str]] = [
        (tmp_path / "none.csv", "no file or folder"),
        ("text\nwith lines", "give a list"),
        ("\0", "no file or folder"),
        (empty, "gave no documents; it is empty"),
        (write(tmp_path / "e.jsonl", ""), "gave no documents"),
        (write(tmp_path / "bad.jsonl", "{\n"), r"bad.jsonl:1: no valid JSON"),
        (write(tmp_path / "e.docx", "x"), "format of .*e.docx is not known"),
        (write(tmp_path / "numbers.csv", "id,text\n,\n"), "gave no documents"),
        (b"bytes", "bytes"),
        (5, "int"),
        ([], "gave no documents"),
        ([5], "is int"),
        ([b"x"], "is bytes"),
        ({"a"}, "no word is left"),
    ]
    for source, message in cases:
        with pytest.raises(IsothermError, match=message):
            count_words(source)


def test_formats_that_do_not_fit_are_explained(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", JSONL)
    with pytest.raises(IsothermError, match="is a folder"):
        pairs(tmp_path, format="uci")
    with pytest.raises(IsothermError, match="is a file"):
        pairs(path, format="folder")
    with pytest.raises(IsothermError, match="counted already"):
        pairs(path, format="uci")
    assert len(pairs(path, format="lines")) == 2


def test_texts_first_and_records_later() -> None:
    items = ["x", "y", ("a", "z"), {"id": "b", "text": "w", "n": 1}, 5, {"body": "lost"}, "v"]
    documents = read_documents(items)
    found = list(documents)
    assert [(d.id, d.text) for d in found] == [
        ("0", "x"), ("1", "y"), ("a", "z"), ("b", "w"), ("4", "v"),
    ]  # fmt: skip
    assert [d.source for d in found] == ["item:1", "item:2", "item:3", "item:4", "item:7"]
    assert found[3].fields == {"n": 1}
    assert [problem.line for problem in documents.problems] == [5, 6]
