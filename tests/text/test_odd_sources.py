"""Sources that are not quite what they should be: read as meant, or reported."""

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from isotherm import IsothermError, IsothermWarning, count_words, read_documents

POSIX = pytest.mark.skipif(os.name != "posix", reason="no such files on this system")


def pairs(source: Any, **settings: Any) -> list[tuple[str, str]]:
    return [(document.id, document.text) for document in read_documents(source, **settings)]


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


# Encodings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_only_line_feeds_part_lines(tmp_path: Path, encoding: str) -> None:
    inside = "a\u2028b\x85c\x0bd\x1ce"
    lines = f'{{"text": "{inside.replace(chr(0x0B), "").replace(chr(0x1C), "")}"}}\r\n"two"\n'
    assert len(pairs(written(tmp_path / "x.jsonl", lines, encoding))) == 2
    (first, second) = pairs(written(tmp_path / "x.txt", f"{inside}\r\nlast", encoding))
    assert (first, second) == (("0", inside), ("1", "last"))


def test_encodings_with_another_line_feed(tmp_path: Path) -> None:
    path = written(tmp_path / "x.txt", "one\ntwo\n", "cp500")
    assert pairs(path, encoding="cp500") == [("0", "one"), ("1", "two")]


@pytest.mark.parametrize("encoding", ["idna", "punycode", "undefined", "utf-7"])
def test_encodings_that_fail_in_their_own_way(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"good\n\xff\xfe bad \x80..\n" + b"x" * 100 + b"\n")
    with pytest.warns(IsothermWarning, match="read as cp1252"):
        assert count_words(path, encoding=encoding).n_problems >= 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_do_not_hide_the_format(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path / "cran.all", ".I 7\n.W\nwings\n", encoding)
    assert pairs(path) == [("7", "wings")]


def test_utf16_without_a_mark_is_hinted_at(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", '{"text": "one"}\n', "utf-16-le")
    with pytest.raises(IsothermError, match="needs encoding='utf-16-le'"):
        count_words(path)
    assert pairs(path, encoding="utf-16-le") == [("0", "one")]


# CSV -----------------------------------------------------------------------------------------


def test_row_numbers_of_pandas_are_a_column(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    pd.DataFrame({"id": [5, 6], "text": ["one", "two"]}).to_csv(path)
    documents = list(read_documents(path))
    assert [(d.id, d.text) for d in documents] == [("5", "one"), ("6", "two")]
    assert documents[1].fields == {"column 1": "1"}


def test_commas_in_a_file_of_tabs(tmp_path: Path) -> None:
    assert pairs(written(tmp_path / "x.tsv", "id,text\n7,a b\n")) == [("7", "a b")]
    assert pairs(written(tmp_path / "y.tsv", "id\ttext\n7\ta, b\n")) == [("7", "a, b")]


@pytest.mark.parametrize(
    ("head", "is_data"),
    [("1,some words", True), ("x,-3.5", True), ("id,2019,2020", False), ("name,score", False)],
)
def test_a_first_line_that_looks_like_data_is_data(
    tmp_path: Path, head: str, is_data: bool
) -> None:
    row = ",".join(["more words"] * (head.count(",") + 1))
    documents = read_documents(written(tmp_path / "x.csv", f"{head}\n{row}\n"))
    assert len(list(documents)) == 1 + is_data
    assert documents.reading.taken[0].header != is_data


# TREC ----------------------------------------------------------------------------------------


def test_documents_named_by_their_mark(tmp_path: Path) -> None:
    text = (
        "<DOC id=\"APW_1\" type='story'>\n<HEADLINE>Big</HEADLINE>\n<TEXT>\n<P>\none\n</P>\n"
        "</TEXT>\n</DOC>\n"
    )
    (document,) = read_documents(written(tmp_path / "x.sgml", text))
    assert (document.id, document.text) == ("APW_1", "one")
    assert document.fields == {"headline": "Big", "type": "story"}


def test_documents_on_one_line_and_tags_that_nothing_closes(tmp_path: Path) -> None:
    text = (
        "<DOC><DOCNO> A </DOCNO><BR><TEXT>one</TEXT></DOC><doc>\n<docno>B</docno>\n<text>two\n"
        "<P>three\n</text></doc><DOC><DOCNO>C</DOCNO><HR>four</DOC>\n"
    )
    documents = read_documents(written(tmp_path / "x.trec", text))
    found = [(d.id, d.text.split()) for d in documents]
    assert found == [("A", ["one"]), ("B", ["two", "three"]), ("C", ["C", "four"])]
    assert not documents.problems


def test_docno_is_the_name_and_entities_are_signs(tmp_path: Path) -> None:
    text = (
        "<DOC><DOCNO>LA-1</DOCNO><DOCID>9</DOCID>"
        "<TEXT>AT&amp;T R&D caf&eacute; a &lt; b&hyph;c &#65;</TEXT></DOC>"
    )
    (document,) = read_documents(written(tmp_path / "x.trec", text))
    assert (document.id, document.text) == ("LA-1", "AT&T R&D café a < b c A")


# Folders and other places --------------------------------------------------------------------


@POSIX
def test_what_a_folder_hides_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/fine.txt", "a/locked/lost.txt", ".git/x"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("word")
    (tmp_path / "nowhere.txt").symlink_to(tmp_path / "missing")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "b")
    (tmp_path / "linked.txt").symlink_to(tmp_path / "b" / "fine.txt")
    os.mkfifo(tmp_path / "pipe")
    scan = os.scandir

    def closed(path: Any) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", closed)
    documents = read_documents(tmp_path)
    assert [document.id for document in documents] == ["b/fine.txt", "linked.txt"]
    told = {Path(problem.file).name: problem.reason for problem in documents.problems}
    assert told.keys() == {"nowhere.txt", "elsewhere", "pipe", "locked"}
    assert told["locked"] == "cannot be opened (Permission denied)"
    assert "link" in told["elsewhere"]
    assert "link" in told["nowhere.txt"]


@POSIX
def test_a_pipe_is_refused_not_read_in_part(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.jsonl")
    with pytest.raises(IsothermError, match="write what it holds to a file"):
        count_words(tmp_path / "x.jsonl")


def test_a_folder_that_cannot_be_listed_has_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "x.ldac", "1 0:2\n")
    written(tmp_path / "vocab.txt", "cat\n")
    assert list(count_words(path).counts.column_names) == ["cat"]

    def closed(self: Path) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "iterdir", closed)
    assert list(count_words(path).counts.column_names) == ["0"]


@pytest.mark.parametrize("name", ["x.counts", "x.txt"])
def test_archives_are_no_documents(tmp_path: Path, name: str) -> None:
    found = count_words(["some words"]).counts.save(tmp_path / name)
    for size in (None, 100):
        found.write_bytes(found.read_bytes()[:size])
        with pytest.raises(IsothermError, match="is a zip archive"):
            count_words(found)


# Values --------------------------------------------------------------------------------------


def test_mappings_are_names_and_texts() -> None:
    assert pairs({"a": "one", 2: "two"}) == [("a", "one"), ("2", "two")]
    with pytest.raises(IsothermError, match="other values than texts"):
        pairs({"text": ["one", "two"]})


def test_whole_numbers_among_missing_ones_name_documents() -> None:
    frame = pd.DataFrame({"id": [7, None, 2.5], "text": ["a", "b", "c"]})
    assert pairs(frame) == [("7", "a"), ("1", "b"), ("2.5", "c")]


def test_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    table = pa.table({"text": ["one"]}).append_column("text", pa.array(["two"]))
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(IsothermError, match="columns have the same name"):
        count_words(tmp_path / "x.parquet")


def test_where_numbers_begin_is_said(tmp_path: Path) -> None:
    written(tmp_path / "vocab.txt", "ant\nbee\n")
    ldac = written(tmp_path / "x.ldac", "1 0:1\n1 2:1\n")
    uci = written(tmp_path / "docword.x.txt", "1\n2\n1\n0 1 1\n")
    with pytest.warns(IsothermWarning, match="the first is 0"):
        count_words(ldac)
    with pytest.raises(IsothermError, match=r"no word is left.*docword\.x\.txt:4.*counted from 1"):
        count_words(uci)
