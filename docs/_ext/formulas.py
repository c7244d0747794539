"""LaTeX to MathML, by latex2mathml; what is here adds the little that our pages use and it lacks.

What it does not understand it would show as text: that is an error here.
"""

from __future__ import annotations

import re

from latex2mathml.converter import convert

TAG = re.compile(r"\\tag\{([^}]*)\}")
# Names of functions and a space after them, which MathML leaves to the writer.
FUNCTION = r"<m[io][^>]*>(?:log|exp|min|max|arg|det|ln|sup|argmax|argmin|var|diag|tr|KL)</m[io]>"
APPLIED = re.compile(rf"({FUNCTION})(?=<m(?:i|n|sub|sup|subsup|frac|sqrt|row)\b)")
THIN = '<mspace width="0.167em" />'
# What latex2mathml writes for \log_2 x or \max_k x: the name with a subscript, then the argument.
APPLIED_BELOW = re.compile(
    rf"(<m(?:sub|under|sup)>{FUNCTION}(?:<m[ion][^>]*>[^<]*</m[ion]>"
    r"|<mrow>(?:(?!<mrow>).)*?</mrow>)</m(?:sub|under|sup)>)"
    r"(?=<m(?:i|n|sub|sup|subsup|frac|sqrt|row)\b)"
)


def mathml(latex: str, *, display: bool) -> str:
    """One `<math>` element; ValueError for LaTeX that would be shown as text."""
    text = " ".join(latex.split())
    # `split` is the environment of two columns that latex2mathml lays out as `aligned`.
    text = re.sub(r"\\(begin|end)\{(aligned|align\*?|gathered)\}", r"\\\1{split}", text)
    if r"\\" in text and r"\begin{" not in text:
        text = rf"\begin{{split}} {text} \end{{split}}"
    text = re.sub(r"\\operatorname\*?\{([^}]*)\}", lambda m: _operator(m[1]), text)
    try:
        made = convert(text, display="block" if display else "inline")
    except Exception as reason:
        raise ValueError(f"{latex!r}: {reason!r}") from reason
    if "\\" in made or re.search(r">&(?:amp;)?<", made):
        unknown = re.findall(r"\\\w*|&", re.sub(r"<[^>]*>", " ", made))
        raise ValueError(f"{latex!r}: {', '.join(unknown) or 'a sign'} was not understood")
    made = APPLIED.sub(rf"\1{THIN}", made)
    return APPLIED_BELOW.sub(rf"\1{THIN}", made)


def _operator(name: str) -> str:
    return rf"\mathrm{{{name}}}" if len(name) == 1 else rf"\operatorname{{{name}}}"
