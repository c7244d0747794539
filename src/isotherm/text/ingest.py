"""`count_words`: whatever holds words to `Counts`, and a report of what was met on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotherm._markup import Part, page
from isotherm.data import convert
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.tokens import Rows
from isotherm.text import arrays, bags
from isotherm.text.counting import Counted, count_texts, named
from isotherm.text.kinds import BAGS
from isotherm.text.opening import start_of
from isotherm.text.options import CountOptions
from isotherm.text.problems import SHOWN, Problem, Problems
from isotherm.text.reading import Reading, Taken
from isotherm.text.scripts import Census
from isotherm.text.selecting import Selected, select
from isotherm.text.sources import format_of, read_documents

__all__ = ["Ingestion", "count_words"]


@dataclass(frozen=True, eq=False)
class Ingestion:
    """Counts of a collection, and what happened on the way to them.

    Attributes
    ----------
    counts : Counts, (I, J)
        One row for each document, in the order read, named `row_names`; one column for each word.
    problems : tuple of Problem
        What could not be read: file, line, reason. The first 1000 of `n_problems`.
    format : str
        What the source was taken for.
    text_column, id_column : str, tuple of str, or None
        Where texts and names were taken from.
    n_documents, n_empty : int
        Rows, and those of them without any word that counts.
    n_problems, n_dropped_words, n_unknown_words : int
        Problems; words that the limits or the vocabulary left out; those of the latter alone.
    n_unknown_tokens : float
        How often words outside of a fixed vocabulary were met.
    fields : tuple of mapping, or None
        What else each document's record holds, if it was to be kept.
    texts : tuple of str, or None
        The texts, if they were to be kept.
    read : tuple of Taken
        What was read as what: format, columns, numbers of files and documents, the first document.
    skipped : tuple of Problem
        Files and folders that were passed over, and why; the first 1000 of `n_skipped`.
    notes : tuple of str
        What else there is to know: names that repeat, characters that are no part of words.
    report : str
        `read`, `skipped` and `notes` in lines to print.
    """

    counts: Counts
    problems: tuple[Problem, ...]
    format: str
    text_column: str | Sequence[str] | None
    id_column: str | None
    n_documents: int
    n_empty: int
    n_problems: int
    n_dropped_words: int
    n_unknown_words: int
    n_unknown_tokens: float
    fields: tuple[Mapping[str, object], ...] | None = None
    texts: tuple[str, ...] | None = None
    read: tuple[Taken, ...] = ()
    skipped: tuple[Problem, ...] = ()
    n_skipped: int = 0
    notes: tuple[str, ...] = ()
    report: str = ""

    def _repr_html_(self) -> str:
        rows = [(one.file, one.line, one.reason) for one in self.problems]
        said = f"problems, {self.n_problems} in all"
        shown = [Part(("file", "line", "reason"), rows, said)] if rows else []
        return page(repr(self), *shown) + self.counts._repr_html_()

    def __repr__(self) -> str:
        return (
            f"Ingestion({self.counts!r}, format={self.format!r}, {self.n_empty} empty rows, "
            f"{self.n_dropped_words} words dropped, {self.n_problems} problems)"
        )


def count_words(
    source: object,
    *,
    lowercase: bool = True,
    tokens: str | None = None,
    token_pattern: str | None = None,
    tokenizer: Callable[[str], Iterable[str]] | None = None,
    min_length: int = 2,
    stop_words: str | PathLike[str] | Iterable[str] | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    max_features: int | None = None,
    ngrams: tuple[int, int] = (1, 1),
    stemmer: str | None = None,
    vocabulary: str | PathLike[str] | Iterable[str] | None = None,
    names: str | PathLike[str] | Iterable[str] | None = None,
    format: str | None = None,
    text_column: str | Sequence[str] | None = None,
    id_column: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    errors: str = "report",
    keep: str | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Ingestion:
    """Counts of the words of each document of a collection.

    Words are runs of at least `min_length` letters, digits and underscores, in lower case: those of
    scikit-learn's CountVectorizer. Rows are in the order of the source, columns of the alphabet.

    Parameters
    ----------
    source : path, data frame, iterable, matrix or Counts
        Documents as `read_documents` takes them, or a table that is counted already: UCI bag of
        words, lda-c, Vowpal Wabbit, Matrix Market, .npz, .npy, or a matrix. Its words stay as are.
    tokens : {None, "words", "multilingual"}
        "multilingual" counts pairs of neighboring characters of scripts without spaces between
        words, words with their marks, and emoji; slower. "words" is the rule above for any text;
        None is the same, and an error where a large part of the text is not for that rule.
    lowercase, token_pattern, tokenizer, min_length
        What a word is; a regular expression or a function from text to words is slower, and runs in
        one thread.
    stop_words : "english", path, iterable of str, or None
        Words that do not count, taken out before runs and stems are formed.
    min_df, max_df : int or float
        Fewest and most documents of a word: an int is a number, a float a share of them.
    max_features : int, optional
        Keep so many of the most frequent words.
    ngrams : (int, int)
        Shortest and longest run of words that makes a column.
    stemmer : {None, "porter", "english"}
    vocabulary : path or iterable of str, optional
        The columns; other words are counted in `n_unknown_tokens` alone.
    names : path or iterable of str, optional
        Words of a table that has none; looked for beside its file if not given.
    format, text_column, id_column, header, encoding, errors
        As in `read_documents`.
    keep : {None, "fields", "texts"}
        Whether to keep what else the records hold, or that and the texts.
    n_jobs : int, optional
        Threads; all available cores by default. One with `token_pattern` or `tokenizer`.
    progress : callable, optional
        Called with the number of documents done, about once for each million characters.

    Examples
    --------
    >>> found = count_words(["The cat sat.", "The dog sat, the cat ran."], stop_words=["the"])
    >>> found.counts.column_names.tolist()
    ['cat', 'dog', 'ran', 'sat']
    """
    options = CountOptions(
        lowercase=lowercase, tokens=tokens, token_pattern=token_pattern, tokenizer=tokenizer,
        min_length=min_length, stop_words=stop_words, min_df=min_df, max_df=max_df,
        max_features=max_features, ngrams=ngrams, stemmer=stemmer, vocabulary=vocabulary,
        names=names, format=format, text_column=text_column, id_column=id_column, header=header,
        encoding=encoding, errors=errors, keep=keep, n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    return ingest(source, options)


def ingest(source: object, options: CountOptions) -> Ingestion:
    """The same as `count_words`, with all settings as one value."""
    kind = _table_format(source, options.format)
    if kind is None:
        return _count_documents(source, options)
    return _count_table(source, kind, options)


def _count_documents(source: object, options: CountOptions) -> Ingestion:
    if options.names is not None:
        raise IsothermError(
            "names= is for tables that are counted already; use vocabulary=.",
            parameter="names",
            also=("vocabulary",),
        )
    documents = read_documents(
        source,
        format=options.format,
        text_column=options.text_column,
        id_column=options.id_column,
        header=options.header,
        encoding=options.encoding,
        errors=options.errors,
    )
    held, census = _Held(options.keep), Census()
    counted = count_texts(held.texts_of(documents), options, options.progress, census)
    reading = documents.reading
    if not held.ids:
        raise _no_documents(source, reading)
    if options.is_checked and options.split is None:
        census.check()
    notes = census.notes() if options.is_checked else []
    chosen = _selected(counted, options, documents.noted, notes)
    columns = documents.text_column, documents.id_column
    found = _ingestion(chosen, held, documents.format, columns, documents.noted)
    return _reported(found, reading, source, [*_repeated(held.ids), *notes])


def _reported(found: Ingestion, reading: Reading, source: object, notes: list[str]) -> Ingestion:
    """The same with what was read as what."""
    folder = Path(source) if isinstance(source, str | PathLike) else None
    return replace(
        found,
        read=tuple(reading.taken),
        skipped=tuple(reading.skipped),
        n_skipped=reading.n_skipped,
        notes=tuple(notes),
        report="\n".join([*reading.lines(folder), *notes]),
    )


def _repeated(ids: list[str]) -> list[str]:
    """What to say of names that several documents have."""
    more = len(ids) - len(set(ids))
    if not more:
        return []
    name, number = Counter(ids).most_common(1)[0]
    noun = "document repeats" if more == 1 else "documents repeat"
    return [f"{more:,} {noun} the name of another one ({name!r}: {number:,} times)"]


class _Held:
    """What is kept of the documents that go by: their names, and more on demand."""

    def __init__(self, keep: str | None) -> None:
        self.ids: list[str] = []
        self.fields: list[Mapping[str, object]] | None = None if keep is None else []
        self.texts: list[str] | None = [] if keep == "texts" else None

    def texts_of(self, documents: Any) -> Iterator[str]:
        """The texts, while the rest is kept."""
        for document in documents:
            self.ids.append(document.id)
            if self.fields is not None:
                self.fields.append(document.fields)
            if self.texts is not None:
                self.texts.append(document.text)
            yield document.text


def _table_format(source: object, format: str | None) -> str | None:
    """Format of a table that is counted already, None for documents."""
    if isinstance(source, Counts) or sparse.issparse(source):
        return "matrix"
    if isinstance(source, np.ndarray) and (source.ndim == 2 or source.dtype.kind in "biufc"):
        return "matrix"
    kind = format_of(source, format)
    return kind if kind in BAGS else None


def _count_table(source: Any, kind: str, options: CountOptions) -> Ingestion:
    held, encoding, problems = _Held(options.keep), options.encoding, Problems(options.errors)
    names = None if options.names is None else arrays.read_names(options.names, encoding)
    if kind == "matrix":
        bag = _memory_bag(source)
    else:
        bag = _file_bag(Path(source), kind, names, encoding, problems)
    matrix = _checked_matrix(bag.matrix, source, kind)
    labels = names or bag.names or [str(j) for j in range(matrix.shape[1])]
    if len(labels) != matrix.shape[1]:
        raise IsothermError(
            f"there are {len(labels)} names for {matrix.shape[1]} columns; give one for each.",
            parameter="names",
        )
    held.ids = bag.row_names or [str(i) for i in range(matrix.shape[0])]
    if held.fields is not None:
        held.fields = [{}] * len(held.ids) if bag.fields is None else list(bag.fields)
    held.texts = None
    rows = Rows(matrix.indptr, matrix.indices, matrix.data)
    if options.stopped:
        rows, labels = _without(rows, labels, options.stopped)
    chosen = _selected(named(rows, labels), options, problems)
    return _ingestion(chosen, held, kind, (None, None), problems)


def _file_bag(
    path: Path, kind: str, names: list[str] | None, encoding: str, problems: Problems
) -> bags.Bag:
    found = None
    if names is None and kind != "vw":
        names, found = arrays.find_names(path, encoding)
        if names is not None and len(set(names)) != len(names):
            problems.add(str(found), 0, "holds a name twice; columns are numbered instead")
            names = None
    if kind in ("npz", "npy"):
        read = arrays.npz_bag if kind == "npz" else arrays.npy_bag
        return read(path, names)
    parse = {
        "uci": bags.uci_bag,
        "ldac": bags.ldac_bag,
        "vw": bags.vw_bag,
        "matrix-market": bags.matrix_market_bag,
    }[kind]
    return parse(path, names, encoding, problems)


def _memory_bag(source: object) -> bags.Bag:
    if not isinstance(source, Counts):
        return bags.Bag(source)
    names = None if source.column_names is None else [str(n) for n in source.column_names]
    ids = None if source.row_names is None else [str(n) for n in source.row_names]
    return bags.Bag(source.matrix, names, ids)


def _checked_matrix(matrix: object, source: object, kind: str) -> sparse.csr_array:
    try:
        return convert.csr(matrix)
    except IsothermError as error:
        if kind == "matrix":
            raise
        raise IsothermError(f"{source}: {error}") from error


def _without(rows: Rows, names: list[str], stop: frozenset[str]) -> tuple[Rows, list[str]]:
    """The table without the columns of stop words."""
    stays = np.array([name not in stop for name in names])
    number = np.cumsum(stays) - 1
    entries = stays[rows.indices]
    before = np.concatenate([[0], np.cumsum(entries)])
    left = Rows(before[rows.indptr], number[rows.indices[entries]], rows.counts[entries])
    return left, [name for name, stay in zip(names, stays, strict=True) if stay]


def _selected(
    counted: Counted, options: CountOptions, problems: Problems, notes: Sequence[str] = ()
) -> Selected:
    """The columns that stay; where none does, what could not be read may be the reason."""
    try:
        return select(counted, options)
    except IsothermError as error:
        more = f" What could not be read: {problems.summary()}." if problems.total else ""
        more += "".join(f" {note[:1].upper()}{note[1:]}." for note in notes)
        if not more:
            raise
        raise IsothermError(f"{error}{more}", parameter=error.parameter, also=error.also) from error


def _ingestion(
    chosen: Selected,
    held: _Held,
    kind: str,
    columns: tuple[str | Sequence[str] | None, str | None],
    problems: Problems,
) -> Ingestion:
    problems.warn("the source")
    ids, labels = convert.object_array(held.ids), convert.object_array(chosen.names)
    counts = Counts._trusted(chosen.matrix, ids, labels)
    return Ingestion(
        counts=counts,
        problems=tuple(problems.kept),
        format=kind,
        text_column=columns[0],
        id_column=columns[1],
        n_documents=counts.n_rows,
        n_empty=int((np.diff(counts.matrix.indptr) == 0).sum()),
        n_problems=problems.total,
        n_dropped_words=chosen.dropped_words,
        n_unknown_words=chosen.unknown_words,
        n_unknown_tokens=chosen.unknown_tokens,
        fields=None if held.fields is None else tuple(held.fields),
        texts=None if held.texts is None else tuple(held.texts),
    )


def _no_documents(source: object, reading: Reading) -> IsothermError:
    found = reading.problems.summary()
    path = Path(source) if isinstance(source, str | PathLike) else None
    what = f"the {type(source).__name__}" if path is None else str(source)
    blank = path is None or not path.is_file() or not start_of(path).strip()
    reason = "it is empty" if blank else "no document is in it, or none below its header"
    if found:
        reason = f"all that it holds could not be read: {found}"
    others = [one for one in reading.skipped if one not in reading.problems.kept]
    if others:
        more = f"; and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
        reason += f". Passed over: {'; '.join(map(str, others[:SHOWN]))}{more}"
    return IsothermError(
        f"{what[:200]} gave no documents; {reason}. Give text, or format= if it was taken for "
        "something else.",
        parameter="format",
    )
