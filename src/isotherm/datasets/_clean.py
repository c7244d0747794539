"""Prose words of a docstring: markup, code, examples and references are taken out.

The order matters: first whole sections and blocks go, then spans inside a line, then words.
"""

import functools
import re
from collections.abc import Iterator, Mapping

from isotherm.datasets._stopwords import STOP_WORDS

# Sections that list names or literature instead of describing something.
_DROPPED_SECTIONS = frozenset(("references", "see also", "methods", "attributes", "author"))
_UNDERLINE = re.compile(r"\s*([-=~^*#+\"'])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"\s*\.\. (?P<name>[\w:-]+)::|\s*\.\. \[|\s*\.\. _")
# What stands below these is prose; what stands below any other directive is not.
_PROSE_DIRECTIVES = frozenset(("note", "warning", "tip", "seealso", "deprecated"))
# "name : type" opens the description of a parameter in numpydoc.
_PARAMETER = re.compile(r"\s*[*`]*\w[\w*`]*(, *[*`]*\w[\w*`]*)* ?:( .*)?$")
# Parameters that are described in the same words wherever they occur.
_DROPPED_PARAMETERS = re.compile(
    r"\s*(n_jobs|random_state|rng|seed|verbose|copy|copy_X|out|dtype|order|axis|keepdims|where|like"
    r"|subok|overwrite_\w+|check_finite|feature_names_in_|n_features_in_|nan_policy|X|y|self"
    r"|sample_weight|deep|method_mapping|metadata_routing|\*\*?\w+)( ?[:,]|$)"
)
_SPANS = re.compile(
    r"``.*?``"  # literal text
    r"|:[\w:]+:`[^`]*`"  # roles: mathematics, cross references
    r"|`[^`]*`_?"  # names
    r"|\b\w+://\S+|\bwww\.\S+|\bdoi:\S+"  # addresses
    r"|\$[^$]*\$|\\\w+"  # TeX
    r"|\[\S*\]_"  # citations
    r"|\bRead more in the\b",  # a link follows
    re.DOTALL,
)
# Code in running text: operators, digits, underscores, dotted names, calls, inner capitals.
_CODE = re.compile(r"[_\d=<>\\@|^~+%$#&{}]|\w\.\w|\w[(\[]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}|[^\x00-\x7f]")
_WORD = re.compile(r"[a-z]{3,}")


def words(text: str) -> list[str]:
    """Lower-case prose words of a docstring, in order.

    Parameters
    ----------
    text : str
        A docstring, plain or in reStructuredText with numpydoc sections.

    Returns
    -------
    list of str
        Words of three letters or more. Hyphens and slashes part words; whatever holds a digit,
        an underscore, inner capitals or an operator counts as code and is dropped.
    """
    prose = _SPANS.sub(" ", "\n".join(_prose_lines(text.expandtabs())))
    return [word for chunk in prose.split() for word in _words_in(chunk)]


@functools.cache  # few chunks are new, and the patterns are slow
def _words_in(chunk: str) -> tuple[str, ...]:
    return () if _CODE.search(chunk) else tuple(_WORD.findall(chunk.lower()))


@functools.cache
def is_stop_word(word: str) -> bool:
    """Whether a word, or the word it is the plural of, says nothing about the subject."""
    return word in STOP_WORDS or (
        word.endswith("s") and any(singular in STOP_WORDS for singular in _singulars(word))
    )


def _prose_lines(text: str) -> Iterator[str]:
    """Lines of a docstring that are neither markup nor code."""
    lines = text.splitlines()
    headed = False  # inside a numpydoc section with parameters
    dropped = False  # inside a section without prose
    doctest = False  # between a prompt and the next empty line
    block: int | None = None  # indentation of a directive whose body is dropped
    for number, line in enumerate(lines):
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if stripped and _UNDERLINE.match(below) and not _UNDERLINE.match(line):
            title = stripped.lower().rstrip(":")
            dropped = title in _DROPPED_SECTIONS
            headed, doctest, block = True, False, None
            continue
        if not stripped:
            doctest = False
            continue
        if block is not None and indent > block:
            continue
        block = None
        doctest = doctest or stripped.startswith((">>>", "... ", "$ "))
        if dropped or doctest or _UNDERLINE.match(line):
            continue
        directive = _DIRECTIVE.match(line)
        if directive:
            block = None if directive["name"] in _PROSE_DIRECTIVES else indent
            continue
        if headed and _PARAMETER.match(line):
            block = indent if _DROPPED_PARAMETERS.match(line) else None
            continue
        yield line
        if stripped.endswith("::"):
            block = indent


def singular_forms(rows_with: Mapping[str, int]) -> dict[str, str]:
    """Plural -> singular, for the plurals whose singular is in use as well.

    Asking for both forms keeps words such as "axis" or "bias" whole without a dictionary.

    Parameters
    ----------
    rows_with : mapping of str to int
        Number of documents with each word. A singular less than a tenth as common as the plural
        is taken for a slip or another word ("panda", "pandas").
    """
    folds = {}
    for word, rows in rows_with.items():
        if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
            continue
        for singular in _singulars(word):
            if 10 * rows_with.get(singular, 0) >= rows:
                folds[word] = singular
                break
    return folds


def _singulars(word: str) -> Iterator[str]:
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        yield word[:-2]
    if word.endswith("ices"):  # matrices, vertices, indices
        yield word[:-4] + "ix"
        yield word[:-4] + "ex"
    yield word[:-1]
