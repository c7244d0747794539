"""Tables that are counted already."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from isotherm import Counts, IsothermError, IsothermWarning, count_words

TABLE = np.array([[2, 0, 1], [0, 4, 0], [0, 0, 0]])
NAMES = ["cat", "bee", "ant"]
UCI = "3\n3\n3\n1 1 2\n1 3 1\n2 2 4\n"
LDAC = "2 0:2 2:1\n1 1:4\n0\n"
VW = "1 d1|text cat:2 ant\n-1 2.0 'd2 |text bee:1 |more bee:3\n|text\n"


def table_of(source: Any, **settings: Any) -> tuple[list[str], np.ndarray]:
    counts = count_words(source, **settings).counts
    assert counts.column_names is not None
    return counts.column_names.tolist(), counts.matrix.toarray()


def write(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def check(source: Any, **settings: Any) -> None:
    """The table with its columns in the order of the alphabet."""
    names, table = table_of(source, **settings)
    assert names == ["ant", "bee", "cat"]
    np.testing.assert_array_equal(table, TABLE[:, ::-1])


@pytest.mark.parametrize(
    ("table", "vocab"),
    [
        ("docword.x.txt", "vocab.x.txt"),
        ("docword.x.txt.gz", "vocab.x.txt"),
        ("docword.x.txt", "vocab.x.txt.gz"),
        ("docword.x.txt", "vocab.txt"),
    ],
)
def test_uci(tmp_path: Path, table: str, vocab: str) -> None:
    path = write(tmp_path / table, UCI)
    write(tmp_path / vocab, "\n".join(NAMES) + "\n")
    check(path)


@pytest.mark.parametrize(
    ("name", "text"), [("x.ldac", LDAC), ("x.dat", LDAC), ("x.txt", UCI), ("x.data", UCI)]
)
def test_tables_are_known_by_their_first_lines(tmp_path: Path, name: str, text: str) -> None:
    check(write(tmp_path / name, text), names=NAMES)


def test_ldac_of_real_data(tmp_path: Path, shared_data: Path) -> None:
    matrix = sparse.csr_array(sparse.load_npz(shared_data / "ap" / "counts.npz"))
    rows = np.split(np.stack([matrix.indices, matrix.data]), matrix.indptr[1:-1], axis=1)
    lines = [f"{len(r[0])} " + " ".join(f"{w}:{n}" for w, n in r.T.tolist()) for r in rows]
    path = write(tmp_path / "ap.dat", "\n".join(lines) + "\n")
    found = count_words(path, names=shared_data / "ap" / "vocab.txt")
    beside = count_words(shared_data / "ap" / "counts.npz")
    assert found.format == "ldac"
    assert (found.counts.matrix != beside.counts.matrix).nnz == 0
    assert found.counts.shape == (2246, 10473)
    assert found.counts.total == 435838
    assert found.counts.column_names is not None
    assert beside.counts.column_names is not None
    assert found.counts.column_names.tolist() == beside.counts.column_names.tolist()


def test_names_beside_a_part_of_a_collection(shared_data: Path) -> None:
    found = count_words(shared_data / "20news" / "four-groups-counts.npz", stop_words="english")
    assert found.counts.column_names is not None
    assert "bike" in found.counts.column_names
    assert "the" not in found.counts.column_names


def test_vowpal_wabbit(tmp_path: Path) -> None:
    path = write(tmp_path / "x.vw", VW)
    check(path)
    found = count_words(path, keep="fields")
    assert found.counts.row_names is not None
    assert found.counts.row_names.tolist() == ["d1", "d2", "2"]
    assert found.fields == ({"label": "1"}, {"label": "-1"}, {"label": ""})
    assert found.n_empty == 1


@pytest.mark.parametrize("kind", ["real", "integer", "pattern"])
def test_matrix_market(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.mtx"
    scipy.io.mmwrite(path, sparse.coo_array(TABLE), field=kind, comment="made here")
    expected = TABLE > 0 if kind == "pattern" else TABLE
    names, table = table_of(path, names=NAMES)
    np.testing.assert_array_equal(table, expected[:, ::-1])
    assert names == ["ant", "bee", "cat"]


def test_symmetric_matrix_market(tmp_path: Path) -> None:
    square = np.array([[1, 2, 0], [2, 0, 3], [0, 3, 5]])
    path = tmp_path / "x.mtx"
    scipy.io.mmwrite(path, sparse.coo_array(square), symmetry="symmetric")
    assert "symmetric" in path.read_text()
    np.testing.assert_array_equal(table_of(path)[1], square)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_scipy_files(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x.npz"
    sparse.save_npz(path, sparse.coo_array(TABLE).asformat(form))
    check(path, names=NAMES)


def test_numpy_files_and_memory(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", TABLE)
    np.savez_compressed(tmp_path / "x.npz", counts=TABLE, note=np.array([1.0]))
    for source in (tmp_path / "x.npy", tmp_path / "x.npz", TABLE, sparse.csc_array(TABLE)):
        check(source, names=NAMES)
    counts = Counts(TABLE, row_names=["p", "q", "r"], column_names=NAMES)
    check(counts)
    found = count_words(counts)
    assert found.counts.row_names is not None
    assert found.counts.row_names.tolist() == ["p", "q", "r"]


def test_columns_without_names_are_numbered() -> None:
    wide = np.ones((2, 11))
    assert table_of(wide)[0] == sorted(str(j) for j in range(11))


def test_settings_apply_to_tables() -> None:
    counts = Counts(np.array([[1, 2, 0], [1, 0, 3]]), column_names=["the", "Rare", "bee"])
    assert table_of(counts, stop_words=["the"])[0] == ["Rare", "bee"]
    assert table_of(counts, min_df=2)[0] == ["the"]
    assert table_of(counts, max_features=1)[0] == ["bee"]
    found = count_words(counts, vocabulary=["bee", "new"])
    np.testing.assert_array_equal(found.counts.matrix.toarray(), [[0, 0], [3, 0]])
    assert found.n_unknown_tokens == 4


def test_fractions_stay() -> None:
    assert count_words(np.array([[0.5, 0.25]])).counts.total == 0.75


BROKEN = [
    ("docword.x.txt", UCI + "1 9 1\n0 1 1\n1 1\nx\n1 1 -1\n1 1 nan\n1.5 1 1\n", range(7, 14)),
    ("x.ldac", LDAC + "2 0:1\n1 3:1\n1 x:1\n1 0:-1\n1 0 1\n", range(4, 9)),
    ("x.vw", VW + "no bar\n1 |t a:x\n1 |t :3\n1 |t a:-1\n1 |t a:inf\n", range(4, 9)),
]


@pytest.mark.parametrize(("name", "text", "lines"), BROKEN)
def test_broken_lines_are_left_out(tmp_path: Path, name: str, text: str, lines: Any) -> None:
    path = write(tmp_path / name, text)
    names = None if name == "x.vw" else NAMES
    with pytest.warns(IsothermWarning, match="problems"):
        found = count_words(path, names=names)
    assert sorted(problem.line for problem in found.problems if problem.line != 3) == list(lines)
    np.testing.assert_array_equal(found.counts.matrix.toarray(), TABLE[:, ::-1])
    with pytest.raises(IsothermError, match=rf"{name}:\d+: "):
        count_words(path, names=names, errors="raise")


def test_missing_entries_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "docword.x.txt", UCI.replace("2 2 4\n", ""))
    with pytest.warns(IsothermWarning, match="announces 3 entries, but 2"):
        count_words(path)


HUGE = [
    ("docword.x.txt", "99999999999999999999\n3\n1\n1 1 1\n", "rows for 1 entries"),
    ("docword.x.txt", "2000000000\n3\n1\n1 1 1\n", "rows for 1 entries"),
    ("docword.x.txt", "1\n2000000000\n1\n1 1 1\n", "no names"),
    ("x.ldac", "1 99999999999:1\n", "not one of 0"),
    (
        "x.mtx",
        "%%MatrixMarket matrix coordinate real general\n1 4000000000 1\n1 1 1\n",
        "no names",
    ),
    ("x.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", "begins with"),
    ("x.mtx", "%%MatrixMarket matrix coordinate complex general\n", "begins with"),
    ("x.mtx", "%%MatrixMarket matrix coordinate real general\n", "no line with the numbers"),
    ("docword.x.txt", "3\nx\n", "no UCI bag"),
    ("x.npz", "no zip", "cannot be read"),
    ("x.npy", "no array", "cannot be read"),
]


@pytest.mark.parametrize(("name", "text", "message"), HUGE)
def test_tables_that_cannot_be_are_explained(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(IsothermError, match=message):
        count_words(write(tmp_path / name, text))


def test_huge_shapes_in_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    one = np.array([1])
    np.savez(path, format=np.array(b"coo"), shape=[2**40, 3], row=[0], col=[0], data=one)
    with pytest.raises(IsothermError, match="rows for 1 entries"):
        count_words(path)
    np.savez(path, format=np.array(b"coo"), shape=[3, 2**40], row=[0], col=[0], data=one)
    with pytest.raises(IsothermError, match="no names"):
        count_words(path)
    np.savez(path, counts=np.array([{}], dtype=object))
    with pytest.raises(IsothermError, match="cannot be read"):
        count_words(path)


def test_names_that_do_not_fit_are_explained(tmp_path: Path) -> None:
    path = write(tmp_path / "docword.x.txt", UCI)
    for names, message in [
        (["a"], "3 columns, but 1 names"),
        (["a", "a", "b"], "twice"),
        ("nowhere.txt", "not a file"),
        (5, "names is int"),
    ]:
        with pytest.raises(IsothermError, match=message):
            count_words(path, names=names)
    with pytest.raises(IsothermError, match="names for 3 columns"):
        count_words(TABLE, names=["a"])
    with pytest.raises(IsothermError, match="Negative"):
        count_words(-TABLE)
