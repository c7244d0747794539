"""Parquet, Feather and Arrow files, read and written; the one place that imports pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from isotherm.errors import IsothermError
from isotherm.text.records import Record

# Rows in memory at a time.
BATCH = 4096


def write_parquet(path: Path, columns: Mapping[str, object], name: Path) -> None:
    """Write columns by name, all of one length, to a path; errors call it by another name."""
    _needed("pyarrow", name, "write the table as .csv or .json")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(dict(columns)), path)


def parquet_records(path: Path) -> Iterator[Record]:
    """One record to a row of a Parquet file, numbered from 1 on."""
    _needed("pyarrow", path)
    import pyarrow.parquet

    def batches() -> Iterator[Any]:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=BATCH)

    return _records(batches(), path)


def arrow_records(path: Path) -> Iterator[Record]:
    """One record to a row of a Feather or Arrow file or stream, numbered from 1 on."""
    _needed("pyarrow", path)
    import pyarrow.ipc

    def batches() -> Iterator[Any]:
        with pyarrow.OSFile(str(path)) as source:
            try:
                file = pyarrow.ipc.open_file(source)
            except pyarrow.ArrowInvalid:
                source.seek(0)
                yield from pyarrow.ipc.open_stream(source)
                return
            for i in range(file.num_record_batches):
                yield file.get_batch(i)

    return _records(batches(), path)


def _records(batches: Iterator[Any], path: Path) -> Iterator[Record]:
    number = 0
    try:
        for batch in batches:
            names = batch.schema.names
            if len(set(names)) != len(names):
                raise ValueError(f"columns have the same name: {sorted(names)!r:.100}")
            for values in batch.to_pylist():
                number += 1
                yield Record(number, {str(name): value for name, value in values.items()})
    except GeneratorExit:
        raise
    # A damaged file may fail anywhere in Arrow, in any way.
    except Exception as error:
        if isinstance(error, IsothermError):
            raise
        raise IsothermError(
            f"{path} cannot be read after row {number} ({type(error).__name__}: {error!s:.200}); "
            "it is damaged or of another format. Write it again, or give format=.",
            parameter="format",
        ) from error


def _needed(package: str, path: Path, other: str = "save the table as .jsonl or .csv") -> None:
    try:
        __import__(package)
    except ImportError as error:
        raise IsothermError(
            f"{path} needs {package}, which is not installed; pip install isotherm[parquet], or "
            f"{other}."
        ) from error
