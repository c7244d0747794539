import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from isotherm.datasets import Docstrings, load_docstrings
from isotherm.datasets._clean import is_stop_word
from isotherm.datasets._source import read_docs
from isotherm.errors import IsothermError

DIGEST = """
import hashlib, sys
{first}
from isotherm.datasets import load_docstrings
data = load_docstrings(("numpy", "sklearn"))
csr = data.counts.matrix
digest = hashlib.sha256()
for part in (csr.data, csr.indices, csr.indptr):
    digest.update(part.tobytes())
for part in (data.counts.column_names, data.counts.row_names, data.labels, data.sublabels,
             data.names, data.titles, data.texts):
    digest.update("\\0".join(map(str, part)).encode())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def docs() -> Docstrings:
    return load_docstrings()


def write_package(folder: Path, files: dict[str, str]) -> None:
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


def digest(seed: str, first: str) -> str:
    env = os.environ | {"PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", DIGEST.format(first=first)]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_outcome_ignores_hash_seed_and_imports() -> None:
    one = digest("1", "")
    two = digest("2", "import sklearn.cluster, numpy.ma")
    assert len(one) == hashlib.sha256().digest_size * 2
    assert one == two


def test_corpus_has_a_useful_size(docs: Docstrings) -> None:
    assert docs.counts.n_rows >= 4000
    assert 2000 <= docs.counts.n_columns <= 8000
    assert np.all(docs.counts.row_totals > 0)


def test_parts_belong_together(docs: Docstrings) -> None:
    rows = docs.counts.n_rows
    parts = (docs.labels, docs.sublabels, docs.names, docs.titles, docs.texts)
    assert [len(part) for part in parts] == [rows] * 5
    assert docs.counts.row_names is not None
    assert tuple(docs.counts.row_names) == docs.names
    assert len(set(docs.names)) == rows
    assert all(len(text) <= 300 and "\n" not in text for text in docs.texts)
    assert all(docs.titles)


def test_labels_follow_names(docs: Docstrings) -> None:
    assert set(docs.labels) == {"stdlib", "numpy", "scipy", "sklearn"}
    assert min(np.unique(docs.labels, return_counts=True)[1]) >= 300
    assert {"scipy.signal", "sklearn.linear_model", "numpy.linalg", "stdlib.asyncio"} <= set(
        docs.sublabels
    )
    for label, sublabel, name in zip(docs.labels, docs.sublabels, docs.names, strict=True):
        assert sublabel.split(".")[0] == label
        assert f"{name}.".startswith(f"{sublabel}.")


def test_words_are_plain_and_within_limits(docs: Docstrings) -> None:
    names = docs.counts.column_names
    assert names is not None
    assert all(name.isascii() and name.isalpha() and name.islower() for name in names)
    assert [name for name in names if is_stop_word(name)] == []
    assert sorted(names) == list(names)
    rows_with = np.bincount(docs.counts.matrix.indices, minlength=len(names))
    assert rows_with.min() >= 5
    assert rows_with.max() <= 0.2 * docs.counts.n_rows


def test_words_tell_packages_apart(docs: Docstrings) -> None:
    names = docs.counts.column_names
    assert names is not None
    column = {name: j for j, name in enumerate(names)}
    csc = docs.counts.matrix.tocsc()
    for word, label in [
        ("spline", "scipy"),
        ("classifier", "sklearn"),
        ("socket", "stdlib"),
        ("masked", "numpy"),
    ]:
        j = column[word]
        rows = csc.indices[csc.indptr[j] : csc.indptr[j + 1]]
        assert np.mean(docs.labels[rows] == label) > 0.5


def test_short_docstrings_join_their_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        'class Pump:\n    """Moves water uphill."""\n'
        '    def start(self):\n        """Opens the valve and spins the rotor."""\n'
        '    def stop(self):\n        """Brakes the rotor and shuts the valve."""\n'
    )
    write_package(tmp_path / "waterworks", {"__init__.py": "", "pump.py": source})
    monkeypatch.syspath_prepend(tmp_path)
    data = load_docstrings(("waterworks",), min_tokens=8, min_rows=1, max_share=1.0)
    assert data.names == ("waterworks.pump.Pump",)
    assert data.titles == ("Moves water uphill",)
    assert data.counts.column_names is not None
    totals = dict(zip(data.counts.column_names, data.counts.column_totals, strict=True))
    assert totals["valve"] == totals["rotor"] == 2
    assert totals["water"] == 1


def test_private_repeated_and_foreign_docstrings_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = 'def {}():\n    """{}"""\n'
    files = {
        "__init__.py": '"""All about water."""',
        "_setup.py": function.format("hidden", "Private module."),
        "pipes/_bend.py": function.format("bend", "Bends a pipe.")
        + function.format("_melt", "Private function."),
        "pipes/again.py": function.format("bend", "Bends a pipe."),
        "pipes/broken.py": '"""Unfinished."""\ndef (',
        "tests/test_pipes.py": function.format("test_bend", "Checks the bend."),
        "externals/other.py": function.format("other", "Somebody else's."),
        "pipes/_add_newdocs.py": "add_newdoc('waterworks.pipes', 'weld', 'Joins two pipes.')\n"
        '"""unused"""\nadd_newdoc("tap", ("turn", "Turns it."))\n',
    }
    write_package(tmp_path / "waterworks", files)
    monkeypatch.syspath_prepend(tmp_path)
    assert [doc[1:] for doc in read_docs("waterworks")] == [
        ("waterworks", "All about water."),
        ("waterworks.pipes.again.bend", "Bends a pipe."),
        ("waterworks.pipes.tap.turn", "Turns it."),
        ("waterworks.pipes.weld", "Joins two pipes."),
    ]


def test_nothing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(tmp_path / "trap", {"__init__.py": '"""Water."""\nraise RuntimeError'})
    monkeypatch.syspath_prepend(tmp_path)
    assert [doc.text for doc in read_docs("trap")] == ["Water."]
    assert "trap" not in sys.modules


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"packages": "numpy"}, "sequence of different package names"),
        ({"packages": ()}, "sequence of different package names"),
        ({"packages": ("numpy", "numpy")}, "sequence of different package names"),
        ({"packages": ("no_such_package",)}, "'no_such_package' was not found"),
        ({"packages": ("numpy.linalg",)}, "'numpy.linalg' was not found"),
        ({"min_tokens": 0}, "1 or more"),
        ({"min_rows": 0}, "1 or more"),
        ({"max_share": 0.0}, "share in"),
        ({"max_share": 1.5}, "share in"),
        ({"packages": ("numpy",), "min_rows": 10**6}, "lower the minima"),
    ],
)
def test_bad_arguments_are_explained(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        load_docstrings(**arguments)
