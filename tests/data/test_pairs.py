"""Tables of pairs: files, frames and tuples become counts; broken lines are named."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, IsothermError
from isotherm.data.pairs import keep_frequent, read_pairs

PAIRS = [("old", "man", 3), ("old", "house", 1), ("red", "house", 2), ("old", "man", 1)]


def written(path: Path, text: str) -> Path:
    if path.suffix.lower() == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def assert_is_table(counts: Counts) -> None:
    assert list(counts.row_names) == ["old", "red"]
    assert list(counts.column_names) == ["house", "man"]
    np.testing.assert_array_equal(counts.matrix.toarray(), [[1, 4], [2, 0]])


@pytest.mark.parametrize(
    ("name", "mark"),
    [("p.tsv", "\t"), ("p.txt", "\t"), ("p.csv", ","), ("p.tsv.gz", "\t"), ("P.CSV.GZ", ",")],
)
@pytest.mark.parametrize("header", ["", "adjective{0}noun{0}count\n"])
def test_files(tmp_path: Path, name: str, mark: str, header: str) -> None:
    lines = "".join(mark.join(map(str, pair)) + "\n" for pair in PAIRS)
    path = written(tmp_path / name, header.format(mark) + lines)
    assert_is_table(read_pairs(path))
    assert_is_table(read_pairs(str(path)))


def test_pairs_without_counts_count_once(tmp_path: Path) -> None:
    path = written(tmp_path / "p.tsv", "old\tman\nold\tman\n\nred\thouse\t\n".replace("\t\n", "\n"))
    np.testing.assert_array_equal(read_pairs(path).matrix.toarray(), [[0, 2], [1, 0]])


def test_quotation_marks_mean_something_between_commas_only(tmp_path: Path) -> None:
    commas = read_pairs(written(tmp_path / "p.csv", '"old, grey",man,2\n'))
    assert list(commas.row_names) == ["old, grey"]
    tabs = read_pairs(written(tmp_path / "p.tsv", '"old\tman\t2\n'))
    assert list(tabs.row_names) == ['"old']


def test_named_columns_of_a_file(tmp_path: Path) -> None:
    text = "id,noun,n,adjective\n1,man,3,old\n2,house,1,old\n3,house,2,red\n4,man,1,old\n"
    path = written(tmp_path / "p.csv", text)
    assert_is_table(read_pairs(path, left="adjective", right="noun", count="n"))
    with pytest.raises(IsothermError, match=r"p\.csv has the columns .*'id', 'noun'.* 'verb' is"):
        read_pairs(path, left="verb", right="noun")


def test_byte_order_mark_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_bytes(b"\xef\xbb\xbfold\tman\t3\n")
    assert list(read_pairs(path).row_names) == ["old"]


def test_tuples_and_counts() -> None:
    assert_is_table(read_pairs(PAIRS))
    assert_is_table(read_pairs(iter(PAIRS)))
    counts = Counts.from_triples(PAIRS)
    assert read_pairs(counts) is counts


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: str) -> None:
    module = pytest.importorskip(library)
    frame = module.DataFrame(
        {
            "adjective": [pair[0] for pair in PAIRS],
            "noun": [pair[1] for pair in PAIRS],
            "n": [pair[2] for pair in PAIRS],
        }
    )
    assert_is_table(read_pairs(frame))
    assert_is_table(read_pairs(frame, left="adjective", right="noun", count="n"))
    assert read_pairs(frame[["adjective", "noun"]]).total == 4
    turned = read_pairs(frame, left="noun", right="adjective", count="n")
    np.testing.assert_array_equal(turned.matrix.toarray(), [[1, 2], [4, 0]])
    with pytest.raises(IsothermError, match="the frame has 1 columns; pairs are two labels"):
        read_pairs(frame[["noun"]])
    with pytest.raises(IsothermError, match="'verb' is not a column of the frame"):
        read_pairs(frame, left="verb", right="noun")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("old", "1 field instead of 2 or 3"),
        ("old\tman\t1\tx", "4 fields instead of 2 or 3"),
        ("old\t \t1", "an empty label"),
        ("old\tman\tmany", "the count 'many' is no finite number of at least 0"),
        ("old\tman\t-1", "the count '-1' is no finite"),
        ("old\tman\tnan", "the count 'nan' is no finite"),
        ("old\tman\tinf", "the count 'inf' is no finite"),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: str, fault: str) -> None:
    path = written(tmp_path / "p.tsv", f"a\tb\t1\n\nc\td\t2\n{line}\n")
    with pytest.raises(IsothermError, match=rf"p\.tsv: 1 of the lines .* line 4: {fault}"):
        read_pairs(path)


def test_many_broken_lines_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "p.tsv", "a\tb\t1\n" + "x\n" * 9)
    with pytest.raises(IsothermError, match=r"9 of the lines .*line 6: .*; and 4 more\. Correct"):
        read_pairs(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.tsv", b"", "holds no pairs"),
        ("p.tsv", b"a\tb\tcount\n", "holds no pairs"),
        ("p.xlsx", b"a\tb\n", r"ends in '\.xlsx'; tables of pairs are \.tsv"),
        ("p", b"a\tb\n", "ends in 'nothing'; tables"),
        ("p.tsv.gz", b"a\tb\n", "cannot be read: Not a gzipped file"),
        ("p.tsv", b"\xff\xfe\n", "is no UTF-8 text"),
        ("p.csv", b'a,"b\n', r"line 1: unexpected end of data"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(IsothermError, match=message):
        read_pairs(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match=r"missing\.tsv cannot be read: .*No such file"):
        read_pairs(tmp_path / "missing.tsv")


def test_counts_of_a_mapping_are_read() -> None:
    table = {("old", "man"): 4, ("old", "house"): 1, ("red", "house"): 2}
    assert_is_table(read_pairs(table))
    assert_is_table(read_pairs(Counter(pair[:2] for pair in PAIRS for _ in range(pair[2]))))


@pytest.mark.parametrize(
    ("table", "names", "message"),
    [
        (5, {}, "got int; give the path"),
        (PAIRS, {"left": "a"}, "name both sides"),
        (PAIRS, {"count": "a"}, "name both sides"),
        (PAIRS, {"left": "a", "right": "b"}, "list has no names"),
        ([("a", "b", "c", "d")], {}, "Item 0 is"),
        ({"ab": 2}, {}, "A key of the mapping is 'ab'"),
        ({("a", "b", 3): 2}, {}, r"A key of the mapping is \('a', 'b', 3\)"),
        ([], {}, "No pairs were given"),
    ],
)
def test_other_input_is_refused(table: Any, names: dict[str, str], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        read_pairs(table, **names)


def test_rare_labels_are_left_out_until_none_is_left() -> None:
    # Dropping column 2 takes row 1 below the limit, and that takes column 1 below it.
    counts = Counts(np.array([[3, 1, 0], [0, 2, 1], [3, 0, 0]]), list("abc"), list("xyz"))
    kept = keep_frequent(counts, 3)
    assert list(kept.row_names) == ["a", "c"]
    assert list(kept.column_names) == ["x"]
    assert keep_frequent(counts, 1) is counts
    # Labels that never occur go in any case, others only if they are too rare.
    thin = Counts(np.array([[0.3, 0, 0], [0, 0, 0], [0, 0, 2]]), list("abc"), list("xyz"))
    kept = keep_frequent(thin, 0)
    assert list(kept.row_names) == ["a", "c"]
    assert list(kept.column_names) == ["x", "z"]
    with pytest.raises(IsothermError, match=r"min_count=9 leaves nothing .*up to 4 and .*up to 6"):
        keep_frequent(counts, 9)


def test_sizes_of_the_adjectives_and_nouns(shared_data: Path) -> None:
    counts = read_pairs(shared_data / "adjnoun" / "pairs.tsv.gz")
    assert (counts.shape, counts.total) == ((5921, 6762), 42397)
    for least, shape, total in ((2, (2627, 3418), 36160), (5, (1089, 1451), 27215)):
        kept = keep_frequent(counts, least)
        assert (kept.shape, kept.total) == (shape, total)
