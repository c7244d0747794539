r"""Writing that the usual rule of words does not fit: no spaces, marks within words, emoji.

The usual rule is `\w\w+`, that of scikit-learn. Chinese, Japanese or Thai come out as whole phrases
by it, Hindi falls apart at its vowels, and emoji vanish. A `Census` sees how much of that there is;
`multilingual` is a rule that knows of it.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isotherm.errors import IsothermError
from isotherm.kernels.cpu.tokens import is_word_character

# Scripts that put no spaces between words.
UNSPACED = (
    (0x0E01, 0x0E4E), (0x0E81, 0x0ECE), (0x1000, 0x109F), (0x1780, 0x17D3), (0x3005, 0x3007),
    (0x3041, 0x30FF), (0x3100, 0x312F), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x323AF),
)  # fmt: skip
EMOJI = (
    (0x231A, 0x231B), (0x23E9, 0x23FA), (0x2600, 0x27BF), (0x2B50, 0x2B50), (0x2B55, 0x2B55),
    (0x1F004, 0x1F004), (0x1F0CF, 0x1F0CF), (0x1F300, 0x1F3FA), (0x1F400, 0x1FAFF),
)  # fmt: skip
FLAGS = (0x1F1E6, 0x1F1FF)
# Marks are looked for up to here; beyond are pictures of signs and private planes.
LAST_MARK = 0x1E94A
# More than this share of a script without spaces, in runs longer than words are, is refused.
SHARE, RUN = 0.2, 4.0
# More than this share of letters with marks that part words is refused.
MARKED = 0.1
OTHER, LETTER, PHRASE, MARK, SIGN = range(5)
EXAMPLE = 10


class Census:
    """How many characters of each kind the texts have; only those that are not ASCII are read."""

    def __init__(self) -> None:
        self.numbers = np.zeros(5, np.int64)
        self.runs = 0
        self.ascii = 0
        self.examples = {PHRASE: "", MARK: ""}

    def add(self, texts: Iterable[str]) -> None:
        """Count the characters of some texts."""
        parts = []
        for text in texts:
            if text.isascii():
                self.ascii += len(text)
            else:
                parts.append(text)
        if not parts:
            return
        joined = "\0".join(parts)
        codes = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
        kinds = _kinds()[codes]
        self.numbers += np.bincount(kinds, minlength=5)
        phrase = kinds == PHRASE
        if phrase.any():
            # A mark belongs to the letter before it.
            goes_on = np.concatenate([[False], (phrase | (kinds == MARK))[:-1]])
            starts = phrase & ~goes_on
            self.runs += int(starts.sum())
            self._example(PHRASE, joined, int(phrase.argmax()))
        if self.numbers[MARK]:
            self._example(MARK, joined, max(0, int((kinds == MARK).argmax()) - 1))

    def _example(self, kind: int, text: str, at: int) -> None:
        if not self.examples[kind]:
            self.examples[kind] = (text[at : at + EXAMPLE].split() or [""])[0]

    @property
    def letters(self) -> int:
        """About how many letters there are."""
        return int(self.ascii + self.numbers[LETTER] + self.numbers[PHRASE])

    def check(self) -> None:
        """Refuse texts that the usual rule would misread for the greater part."""
        letters, phrase, mark = self.letters, int(self.numbers[PHRASE]), int(self.numbers[MARK])
        todo = "give tokens='multilingual' to count {}, or tokens='words' to have it so."
        in_python = ", or tokenizer= for a rule of your own"
        if phrase > SHARE * letters and phrase > RUN * max(1, self.runs):
            raise IsothermError(
                f"{phrase / letters:.0%} of the letters are of scripts without spaces between "
                f"words ({self.examples[PHRASE]!r}): whole phrases would be taken for words; "
                + todo.format("pairs of neighboring characters there"),
                parameter="tokens",
                in_python=in_python,
            )
        if mark > MARKED * letters:
            raise IsothermError(
                f"{mark:,} marks stand within words ({self.examples[MARK]!r}) and would cut them "
                "into pieces; " + todo.format("words with their marks"),
                parameter="tokens",
                in_python=in_python,
            )

    def notes(self) -> list[str]:
        """What was not counted as its readers may expect."""
        said = []
        if self.numbers[PHRASE] and self.numbers[PHRASE] > RUN * self.runs:
            said.append(
                f"{self.numbers[PHRASE]:,} characters of scripts without spaces between words "
                f"stand in phrases that were taken for words ({self.examples[PHRASE]!r})"
            )
        if self.numbers[MARK]:
            said.append(
                f"{self.numbers[MARK]:,} marks within words cut them ({self.examples[MARK]!r})"
            )
        if self.numbers[SIGN]:
            said.append(f"{self.numbers[SIGN]:,} emoji were not counted")
        return [f"{one}; tokens='multilingual' counts them" for one in said]


@functools.cache
def _kinds() -> NDArray[np.uint8]:
    """Kind of each code point, (0x110000,)."""
    from isotherm.kernels.cpu.tokens import word_code_points

    kinds = word_code_points().astype(np.uint8)
    for first, last in UNSPACED:
        kinds[first : last + 1] *= PHRASE
    kinds[_marks()] = MARK
    for first, last in (*EMOJI, FLAGS):
        kinds[first : last + 1] = SIGN
    return kinds


@functools.cache
def _marks() -> list[int]:
    """Code points of marks that no rule of words counts as letters."""
    codes = range(0x300, LAST_MARK + 1)
    is_mark = (code for code in codes if unicodedata.category(chr(code))[0] == "M")
    # What chooses the form of a sign before it is no part of a word.
    return [code for code in is_mark if not (0xFE00 <= code <= 0xFE0F or code == 0x20E3)]


def multilingual(min_length: int) -> Callable[[str], list[str]]:
    """A rule of words for all scripts, as a function from a text to its words.

    Runs of letters with their marks; of scripts without spaces, all pairs of neighboring characters
    of a run, or the one that stands alone; emoji.

    Parameters
    ----------
    min_length : int
        Letters of the shortest word of scripts with spaces.
    """
    find, units = _patterns()

    def split(text: str) -> list[str]:
        words: list[str] = []
        for match in find(text):
            word, phrase = match["word"], match["phrase"]
            if word is not None:
                if len(word) >= min_length and sum(map(is_word_character, word)) >= min_length:
                    words.append(word)
            elif phrase is not None:
                parts = units(phrase)
                pairs = [first + second for first, second in itertools.pairwise(parts)]
                words += pairs or parts
            else:
                words.append(match[0].replace("\ufe0f", ""))
        return words

    return split


@functools.cache
def _patterns() -> tuple[Any, Any]:
    """Functions that find pieces of a text, and characters of a phrase."""
    marks = _class(_spans(_marks()))
    letters = _class(
        _spans(
            code
            for first, last in UNSPACED
            for code in range(first, min(last, 0xFFFF) + 1)
            if chr(code).isalnum()
        )
        + [span for span in UNSPACED if span[0] > 0xFFFF]
    )
    emoji = _class(EMOJI)
    unit = f"[{letters}][{marks}]*"
    sign = rf"[{emoji}]\ufe0f?[\U0001f3fb-\U0001f3ff]?"
    pieces = re.compile(
        rf"(?P<phrase>(?:{unit})+)|(?P<word>(?:(?![{letters}])\w[{marks}]*)+)"
        rf"|[{_class([FLAGS])}]{{2}}|{sign}(?:\u200d{sign})*"
    )
    return pieces.finditer, re.compile(unit).findall


def _spans(codes: Iterable[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for code in sorted(codes):
        if spans and spans[-1][1] == code - 1:
            spans[-1] = (spans[-1][0], code)
        else:
            spans.append((code, code))
    return spans


def _class(spans: Iterable[tuple[int, int]]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)
