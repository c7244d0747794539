"""What is read as what: recognized or refused, never guessed in silence."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from isotherm import Counts, Ingestion, IsothermError, IsothermWarning, count_words, read_documents
from isotherm.data.stored import StoredCounts
from isotherm.format.atomic import PAGE_MARK
from isotherm.text.headers import has_header

TEXTS = [
    "Prices of wheat went up after the export tax was cut",
    "Never mind the weather, we shall sail tomorrow at dawn",
    "A new season begins and the team has a new coach at last",
    "The quick brown fox jumps over the lazy dog again and again",
]


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def quiet(source: Any, **settings: Any) -> Ingestion:
    with pytest.warns(IsothermWarning):
        return count_words(source, **settings)


def lines(texts: list[str], **more: Any) -> str:
    return "".join(json.dumps({"text": text, **more}) + "\n" for text in texts)


def table(rows: list[list[Any]], delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


# Folders ------------------------------------------------------------------------------------------


def test_a_folder_of_json_lines_holds_all_their_documents(tmp_path: Path) -> None:
    for i in range(3):
        write(tmp_path / "corpus" / f"part{i}.jsonl", lines(TEXTS, kind="x"))
    whole = write(tmp_path / "whole.jsonl", lines(TEXTS * 3))
    found, expected = count_words(tmp_path / "corpus"), count_words(whole)
    assert (found.counts.matrix != expected.counts.matrix).nnz == 0
    assert list(found.counts.column_names) == list(expected.counts.column_names)
    assert list(found.counts.row_names)[3:5] == ["part0.jsonl:4", "part1.jsonl:1"]
    (one,) = found.read
    assert (one.format, one.n_files, one.n_documents, one.text_column) == ("jsonl", 3, 12, "text")
    head, columns, first = found.report.splitlines()
    assert head == "12 documents from 3 files of JSON lines"
    assert columns == "  text from 'text'; names: file and line; fields: kind"
    assert first == f"  part0.jsonl:1: {TEXTS[0]}"
    assert max(map(len, found.report.splitlines())) < 80


def test_every_file_of_a_folder_is_read_as_what_it_is(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    write(tmp_path / "a.jsonl", lines(TEXTS))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines(TEXTS).encode()))
    write(tmp_path / "c.json", json.dumps([{"body": text} for text in TEXTS]))
    write(tmp_path / "d.csv", table([["titel", "inhalt"], *([i, t] for i, t in enumerate(TEXTS))]))
    write(tmp_path / "e.tsv", table([["id", "text"], ["x", "one, two"]], "\t"), "utf-16")
    pd.DataFrame({"text": TEXTS}).to_parquet(tmp_path / "f.parquet")
    write(tmp_path / "g.html", "<html><title>Big</title><script>var x</script><p>s<b>hip</b></p>")
    write(tmp_path / "h.xml", "<?xml version='1.0'?><r><i>in</i>side<p><![CDATA[ out ]]></p></r>")
    write(tmp_path / "part-00000", lines(TEXTS))
    write(tmp_path / "trec.txt", "<DOC><DOCNO>T</DOCNO><TEXT>some</TEXT></DOC>\n" * 2)
    write(tmp_path / "z" / "note.md", "plain\ntext")
    write(tmp_path / "z" / "empty.txt", "")
    write(tmp_path / ".DS_Store", "\0")
    found = count_words(tmp_path)
    assert {(one.format, one.text_column): one.n_documents for one in found.read} == {
        ("jsonl", "text"): 12,
        ("json", "body"): 4,
        ("csv", "inhalt"): 4,
        ("csv", "text"): 1,
        ("parquet", "text"): 4,
        ("html", "text"): 2,
        ("trec", "text"): 2,
        ("text", None): 2,
    }
    assert found.n_documents == 31
    assert {"big", "ship", "inside", "out", "plain"} <= set(found.counts.column_names)
    assert not {"html", "var", "br"} & set(found.counts.column_names)
    assert "1 hidden file or folder not read" in found.report
    assert "2 documents from 2 text files, one document each (.txt 1, .md 1)" in found.report
    assert "z/empty.txt" not in found.report
    assert found.notes == ("1 document repeats the name of another one ('T': 2 times)",)


@pytest.mark.parametrize("own", ["run", "unfinished", "stored"])
def test_what_isotherm_wrote_is_passed_over(own: str, tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "some words")
    counts = Counts([[1, 2]])
    counts.save(tmp_path / "a.counts")
    write(tmp_path / "page.html", f"<!doctype html><html>{PAGE_MARK}<p>page")
    beside = '{"counting": null}\n{"id": "a", "title": "t", "fields": {}}\n'
    (tmp_path / "a.counts.documents.jsonl.gz").write_bytes(gzip.compress(beside.encode()))
    folder = tmp_path / "b.run"
    if own == "stored":
        StoredCounts.write(folder, counts)
    else:
        name = {"run": "run.json", "unfinished": "begun.json"}[own]
        write(folder / name, '{"format": "isotherm run"}')
        write(folder / "notes.txt", "words of a run")
    found = count_words(tmp_path)
    assert list(found.counts.row_names) == ["a.txt"]
    assert {Path(one.file).name for one in found.skipped} == {
        "a.counts", "page.html", "b.run", "a.counts.documents.jsonl.gz",
    }  # fmt: skip
    assert found.n_problems == 0
    assert found.report.splitlines()[2] == "4 files or folders passed over"
    for name in ("a.counts", "page.html", "b.run", "a.counts.documents.jsonl.gz"):
        with pytest.raises(IsothermError, match=r"isotherm saved|not documents|not a folder"):
            count_words(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.pdf", b"%PDF-1.4 words", "a PDF file"),
        ("x.jpg", b"\xff\xd8\xff\xe0JFIF words", "a picture"),
        ("x.svg", b"<?xml version='1.0'?>\n<svg><text>word</text></svg>", "a picture"),
        ("x.docx", b"PK\x03\x04words", "office"),
        ("x.txt", "words in sixteen bits".encode("utf-16-le"), "utf-16-le"),
        ("x.bin", b"word\0word" + b"w" * 90, "zero bytes"),
        ("x.txt", "Сегодня хорошая погода".encode("cp1251"), "no Western encoding"),
        ("x.csv", b"1,2\n3,4\n", "no column of text"),
        ("x.csv", b"red,blue\ngreen,cyan\n", "header=True"),
        ("x.jsonl", b"", "is empty"),
        ("docword.x.txt", b"1\n1\n1\n1 1 1\n", "counted already"),
    ],
)
def test_what_is_no_document_is_named(
    name: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    write(tmp_path / "a.txt", "some words")
    (tmp_path / name).write_bytes(content) if name != "a.txt" else None
    documents = read_documents(tmp_path)
    assert [document.id for document in documents] == ["a.txt"]
    (one,) = documents.reading.skipped
    assert reason in one.reason
    assert Path(one.file).name == name


def test_a_format_chooses_among_the_files_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", lines(TEXTS))
    write(tmp_path / "b.txt", "one\ntwo\n")
    write(tmp_path / "c.csv", "id,text\n1,word\n")
    for kind, number, others in (("jsonl", 4, 2), ("lines", 2, 2), ("folder", 3, 0)):
        found = count_words(tmp_path, format=kind)
        assert (found.n_documents, found.n_skipped) == (number, others)


def test_a_column_that_a_file_of_a_folder_lacks_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"body": "one", "text": "two"}\n')
    write(tmp_path / "b.jsonl", '{"text": "three"}\n')
    found = quiet(tmp_path, text_column="body")
    assert list(found.counts.column_names) == ["one"]
    assert "b.jsonl: text_column='body' is not in" in found.report
    with pytest.raises(IsothermError, match="text_column='body' is not in"):
        count_words(tmp_path, text_column="body", errors="raise")


def test_the_guess_of_one_file_is_that_of_the_next(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"x": "the longer one", "y": "short"}\n')
    write(tmp_path / "b.jsonl", '{"x": "short", "y": "the longer one"}\n')
    assert [one.text_column for one in count_words(tmp_path).read] == ["x"]


# Tables -------------------------------------------------------------------------------------------

BODY = [[i, text] for i, text in enumerate(TEXTS, 1)]
CASES: dict[str, tuple[str, int, bool | None]] = {
    "numbers and texts": (table(BODY), 4, False),
    "with a header": (table([["id", "text"], *BODY]), 4, True),
    "semicolons": (table([["Nummer", "Beschreibung"], *BODY], ";"), 4, True),
    "no header, semicolons": (table(BODY, ";"), 4, False),
    "labels": (table([["pos", t] if i % 2 else ["neg", t] for i, t in BODY]), 4, False),
    "Chinese": (
        table([["标题", "内容"], *([f"第{i}", "今天天气很好" * 6] for i in range(4))]),
        4,
        True,
    ),
    "pandas": (table([["", "0", "1"], *([i, text, i] for i, text in BODY)]), 4, True),
    "one column": ("Kommentar\n" + "\n".join(TEXTS), 4, True),
    "one column, no header": ("\n".join(TEXTS), 4, False),
    "sep of Excel": ("sep=;\n" + table([["id", "text"], *BODY], ";"), 4, True),
    "blank lines first": ("\n\n" + table([["id", "text"], *BODY]), 4, True),
    "years": (table([["text", "2019", "2020"], *([t, i, i + 1] for i, t in BODY)]), 4, True),
    "one row of data": ("7,some words of text\n", 1, False),
    "two alike": ("red apple,blue\ngreen pear,cyan\n", 2, None),
    "one row": ("red apple,blue\n", 1, None),
}


@pytest.mark.parametrize("mark", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("case", CASES)
def test_a_header_is_told_by_the_rows_or_asked_for(case: str, mark: str, tmp_path: Path) -> None:
    text, number, header = CASES[case]
    path = write(tmp_path / "x.csv", text, mark)
    if header is None:
        with pytest.raises(IsothermError, match=r"first line, \['red apple', 'blue'\]") as caught:
            count_words(path, tokens="words")
        assert "header=True if it does, header=False" in str(caught.value)
        assert count_words(path, header=False).n_documents == number
        return
    found = count_words(path, tokens="words")
    assert (found.n_documents, found.read[0].header) == (number, header)
    assert found.n_problems == 0
    assert ("without a header" in found.report) is not header
    less = (
        count_words(path, header=not header, text_column=None, tokens="words")
        if number > 1
        else None
    )
    assert less is None or less.n_documents == number + (1 if header else -1)


def test_columns_that_are_named_say_that_there_is_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "red,blue\ngreen,cyan\n")
    assert count_words(path, text_column="blue").n_documents == 1
    found = count_words(path, header=False, text_column="column 2", keep="fields")
    assert found.n_documents == 2
    assert found.fields is not None
    assert found.fields[1] == {"column 1": "green"}


def test_evidence_against_evidence_is_no_answer() -> None:
    assert has_header([["name", "5"], ["Ann", "6"], ["Bob", "7"]]) is None
    assert has_header([["2019-01-02", "x"], ["2019-01-03", "y"]]) is False
    assert has_header([["a", "a"], ["b", "c"]]) is False
    assert has_header([["pos", "fine"], ["neg", "bad"], ["pos", "good"]]) is False


def test_numbers_alone_are_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "id,content,2020-01-01\n1,22,33\n4,55,66\n")
    with pytest.raises(IsothermError, match="has no column of text"):
        count_words(path)
    rows = [{"url": "https://a.example/long/address/of/a/page", "say": "hi you"}]
    assert count_words(rows).text_column == "say"


def test_a_header_alone_is_no_document(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match="below its header"):
        count_words(write(tmp_path / "x.csv", "id,text\n"))


# JSON ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"title": "A", "text": "one", "tags": ["b", "c"]}, ["one"]),
        ({"title": "A", "story": "one of them"}, ["one of them"]),
        ({"headline": "A", "story": "one of them", "tags": ["b", "c"]}, ["one of them"]),
        ({"version": 1, "documents": [{"text": "one"}, {"text": "two"}]}, ["one", "two"]),
        ({"name": "x", "items": [{"text": "one"}]}, ["one"]),
        ({"documents": ["one", "two"]}, ["one", "two"]),
        ({"a": "one", "b": "two"}, ["one", "two"]),
    ],
)
def test_one_object_is_a_document_or_holds_some(
    value: Any, texts: list[str], tmp_path: Path
) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1)):
        path = write(tmp_path / "x.json", text)
        assert [document.text for document in read_documents(path)] == texts


@pytest.mark.parametrize("name", ["x", "x.txt", "x.log"])
def test_json_is_known_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    for text in (lines(TEXTS), json.dumps([{"text": text} for text in TEXTS], indent=1)):
        documents = read_documents(write(tmp_path / name, text))
        assert [document.text for document in documents] == TEXTS
    assert len(list(read_documents(tmp_path / name, format="lines"))) > len(TEXTS)


# Encodings ----------------------------------------------------------------------------------------


def test_what_is_not_utf8_is_read_as_windows_writes_it(tmp_path: Path) -> None:
    text = "Übergröße “quoted” œuvre\nStraße\n"
    path = write(tmp_path / "x.txt", text, "cp1252")
    assert set(quiet(path).counts.column_names) == {"übergröße", "quoted", "œuvre", "straße"}
    write(tmp_path / "f" / "a.txt", text, "cp1252")
    assert "œuvre" in quiet(tmp_path / "f").counts.column_names


def test_damaged_utf8_stays_utf8(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("Сегодня хорошая погода\n".encode() * 3 + "хорошая ".encode() + b"\xd0 word\n")
    assert set(quiet(path).counts.column_names) == {"сегодня", "хорошая", "погода", "word"}
    assert "left out" in quiet(path).problems[0].reason


# Scripts ------------------------------------------------------------------------------------------

CHINESE = "今天天气很好，我们去公园玩。公园里有很多人。"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CHINESE, ["今天", "公园", "园玩"]),
        ("私は昨日新しいカメラを買いました。", ["カメ", "昨日"]),
        ("วันนี้อากาศดีมาก เราไปเที่ยวกัน", ["วัน", "ดีม"]),
        ("हिन्दी भाषा में यह एक वाक्य", ["हिन्दी", "वाक्य"]),
        ("re\u0301el cafe\u0301 e\u0301te\u0301", ["re\u0301el"]),
    ],
)
def test_scripts_that_the_rule_misreads_are_refused(text: str, words: list[str]) -> None:
    with pytest.raises(IsothermError, match="tokens='multilingual' to count"):
        count_words([text])
    assert set(words) <= set(count_words([text], tokens="multilingual").counts.column_names)
    assert count_words([text], tokens="words").counts.n_rows == 1
    # Whoever gives a rule or the columns has decided.
    count_words([text], token_pattern=r"\S+")
    count_words([text], vocabulary=["word"])


def test_characters_that_stand_alone_and_other_words() -> None:
    found = count_words(["iPhone手机壳 的 x ab_1 5G 中"], tokens="multilingual")
    assert list(found.counts.column_names) == ["5g", "ab_1", "iphone", "中", "手机", "机壳", "的"]
    least = count_words(["中 a bc def"], tokens="multilingual", min_length=3)
    assert list(least.counts.column_names) == ["def", "中"]


@pytest.mark.parametrize(
    "text",
    [
        "我 喜欢 公园 。 今天 天气 很 好 。",  # words parted already
        "The paper by 王小明 and 李大华 was cited often in the journals of English",
        "한국어는 단어 사이에 공백이 있습니다",
        "naïve café Übergröße Москва Αθήνα",
        "中文",
    ],
)
def test_ordinary_text_is_counted_as_ever(text: str) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    found = count_words([text])
    assert (
        list(found.counts.column_names)
        == CountVectorizer().fit([text]).get_feature_names_out().tolist()
    )
    assert found.notes == ()


def test_emoji_are_words_or_reported() -> None:
    text = "so good 😀😀 👍🏽 👩‍👩‍👧 ❤️ 🇩🇪"
    found = count_words([text])
    assert list(found.counts.column_names) == ["good", "so"]
    assert found.notes == ("9 emoji were not counted; tokens='multilingual' counts them",)
    assert found.notes[0] in found.report
    every = count_words([text], tokens="multilingual")
    assert dict(zip(every.counts.column_names, every.counts.matrix.toarray()[0], strict=True)) == {
        "so": 1, "good": 1, "😀": 2, "👍🏽": 1, "👩‍👩‍👧": 1, "❤": 1, "🇩🇪": 1,
    }  # fmt: skip
    assert every.notes == ()
    with pytest.raises(IsothermError, match="2 emoji were not counted"):
        count_words(["😀 😀"])


def test_a_few_phrases_are_reported() -> None:
    found = count_words(["many words of English " * 9 + CHINESE])
    assert found.notes[0].startswith("19 characters of scripts without spaces")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokens": "letters"}, "use 'words', 'multilingual'"),
        ({"tokens": "words", "token_pattern": "a"}, "one splits the text"),
        ({"header": "yes"}, "give True, False or None"),
    ],
)
def test_settings_that_cannot_be_are_explained(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        count_words(["a word"], **settings)


def test_zip_archives_of_others_are_no_files_of_isotherm(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a.txt", "words")
    with pytest.raises(IsothermError, match="packed documents, which must be unpacked"):
        count_words(tmp_path / "x.zip")
