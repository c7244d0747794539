"""Bad input of every format: counts or an `IsothermError`, and nothing left behind."""

import bz2
import gzip
import io
import json
import lzma
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from isotherm import Ingestion, IsothermError, IsothermWarning, count_words, read_documents

# Mutations of each file by each kind; the truncations besides.
EACH = 30
# What the formats have to choke on, besides random bytes.
NASTY = [
    b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\n", b"\r", b'"', b"{", b"[" * 2000, b"}", b":",
    b"-1", b"nan", b"1e999", b"9" * 30, b"9" * 5000, b"\xed\xa0\x80", b"<DOC>", b"</DOC>", b"|",
    b"\xf4\x90\x80\x80", b"null", b"\\ud800", b"%%", b",", b";", b"\t", b"'", b"\x1f\x8b",
    b"PK\x03\x04", b".I\n",
]  # fmt: skip

RECORDS = [{"id": i, "text": f"text number {i} of naïve words", "n": [i]} for i in range(4)]
JSONL = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in RECORDS).encode()
CSV = 'id,text\n1,"one, fish"\n2,naïve\n3,more words\n'.encode()
TREC = b"<DOC>\n<DOCNO>a</DOCNO>\n<TEXT>\nsome text\n</TEXT>\n</DOC>\n" * 3
SMART = b".I 1\n.T\ntitle\n.A\nme\n.W\nsome words\n.I 2\n.W\nmore\n"
UCI = b"3\n3\n4\n1 1 2\n1 3 1\n2 2 4\n3 1 1\n"
TABLE = sparse.csr_array(np.array([[2, 0, 1], [0, 4, 0], [1, 1, 1]]))


def arrays() -> dict[str, bytes]:
    npz, npy, mtx, dense = (io.BytesIO() for _ in range(4))
    sparse.save_npz(npz, TABLE)
    np.save(npy, TABLE.toarray())
    scipy.io.mmwrite(mtx, TABLE)
    np.savez(dense, TABLE.toarray())
    return {
        "x.npz": npz.getvalue(),
        "x.npy": npy.getvalue(),
        "x.mtx": mtx.getvalue(),
        "dense.npz": dense.getvalue(),
    }


SEEDS = {
    "x.jsonl": JSONL,
    "x.json": json.dumps(RECORDS).encode(),
    "x.csv": CSV,
    "x.tsv": CSV.replace(b",", b"\t"),
    "x.trec": TREC,
    "smart.txt": SMART,
    "lines.txt": b"one line\nanother\n\nlast",
    "docword.x.txt": UCI,
    "x.ldac": b"2 0:2 2:1\n1 1:4\n3 0:1 1:1 2:1\n",
    "x.vw": b"1 'd |t cat:2 ant\n-1 |t bee:1 |more bee:3\n",
    "x.jsonl.gz": gzip.compress(JSONL),
    "x.csv.bz2": bz2.compress(CSV),
    "x.trec.xz": lzma.compress(TREC),
    "docword.x.txt.gz": gzip.compress(UCI),
    "unknown": SMART,
    **arrays(),
}


def mutations(seed: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """Truncated, flipped, cut, repeated, spliced and foreign forms of a file."""
    cuts = np.unique(np.linspace(0, len(seed) - 1, EACH).astype(int))
    yield from (seed[:cut] for cut in cuts)
    for _ in range(EACH):
        at, to = sorted(int(i) for i in rng.integers(0, len(seed) + 1, 2))
        flipped = bytearray(seed)
        for i in rng.integers(0, len(seed), rng.integers(1, 6)):
            flipped[i] = rng.integers(256)
        yield bytes(flipped)
        yield seed[:at] + seed[to:]
        yield seed[:at] + NASTY[rng.integers(len(NASTY))] + seed[at:]
        yield seed[:at] + rng.bytes(int(rng.integers(1, 40))) + seed[to:]
    yield from (nasty * 3 for nasty in NASTY)


def attempt(source: Any, **options: Any) -> Ingestion | None:
    """The outcome, None for an `IsothermError`; anything else fails the test."""
    begin = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IsothermWarning)
        try:
            found = count_words(source, n_jobs=1, **options)
        except IsothermError as error:
            said = str(error)
        else:
            said = ""
        finally:
            assert time.monotonic() - begin < 20
    if said:
        assert 20 < len(said) < 2000
        return None
    assert found.counts.n_rows == found.n_documents == len(found.counts.row_names)
    assert np.isfinite(found.counts.matrix.data).all()
    assert (found.counts.matrix.data > 0).all()
    return found


def bad_files(name: str) -> list[bytes]:
    """Different files of a format, none of which is the whole one."""
    rng = np.random.default_rng(list(name.encode()))
    return [bad for bad in dict.fromkeys(mutations(SEEDS[name], rng)) if bad != SEEDS[name]]


def test_bad_files_are_so_many() -> None:
    # Of the files alone; what hypothesis makes up comes on top, and so do loaders (tests/io).
    assert sum(len(bad_files(name)) for name in SEEDS) > 3000


@pytest.mark.parametrize("name", SEEDS)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(SEEDS[name])
    assert attempt(path) is not None
    tried = failed = 0
    for bad in bad_files(name):
        path.write_bytes(bad)
        found = attempt(path)
        strict = attempt(path, errors="raise")
        # Who stops at the first problem finds the same where there is none.
        if strict is not None:
            assert found is not None
            assert (found.counts.matrix != strict.counts.matrix).nnz == 0
            assert not found.problems
        tried += 1
        failed += strict is None
    assert tried >= 140
    assert failed > 10 or name == "lines.txt"
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["x.parquet", "x.feather", "x.arrow"])
def test_damaged_arrow_files(tmp_path: Path, name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"id": [1, 2], "text": ["one fish", "two fish"]})
    path = tmp_path / name
    if name == "x.parquet":
        pyarrow.parquet.write_table(table, path)
    elif name == "x.feather":
        pyarrow.feather.write_feather(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    seed = path.read_bytes()
    assert attempt(path) is not None
    for bad in mutations(seed, np.random.default_rng(0)):
        path.unlink()
        path.write_bytes(bad)
        attempt(path)


@pytest.mark.parametrize("name", ["docword.x.txt", "x.ldac", "x.mtx", "x.npz", "x.npy"])
def test_damaged_names(tmp_path: Path, name: str) -> None:
    path, names = tmp_path / name, tmp_path / "vocab.txt"
    path.write_bytes(SEEDS[name])
    for text in (b"", b"a\n", b"a\na\nb\n", b"a\nb\nc\nd\n", b"\xff\n\0\n\n", b"a\nb\nc"):
        names.write_bytes(text)
        attempt(path)
    for packed in (b"", b"no gzip", gzip.compress(b"a\nb\nc\n")[:-4]):
        names.unlink(missing_ok=True)
        (tmp_path / "vocab.txt.gz").write_bytes(packed)
        # An array of numpy's can do without names, and an empty file holds none.
        assert attempt(path) is None or (name == "x.npy" and not packed)


ODD = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.just(object()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.just("text"), st.integers()), inner),
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(ODD)
def test_odd_values(value: Any) -> None:
    # `attempt` fails on any error but ours, and on counts that do not fit together.
    attempt(value)
    attempt([("a", value), {"text": value, "id": value}])
    found = attempt([value, "some words"])
    assert found is None or "words" in found.counts.column_names


@settings(max_examples=300)
@given(st.sampled_from(["x.jsonl", "x.json", "x.csv", "x.txt", "x.trec", "x.vw"]), st.binary())
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    attempt(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = list(read_documents(path, format="smart"))
        except IsothermError:
            found = []
    assert all(isinstance(document.text, str) for document in found)


def test_folder_of_damaged_files(tmp_path: Path) -> None:
    for name, seed in SEEDS.items():
        (tmp_path / name).write_bytes(seed[: len(seed) // 2])
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    found = attempt(tmp_path)
    assert found is not None
    assert found.n_problems > 3
