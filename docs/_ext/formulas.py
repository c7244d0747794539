"""LaTeX to MathML, by latex2mathml; what is here adds the little that our pages use and it lacks.

What it does not understand it would show as text: that is an error here.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from latex2mathml.converter import convert

TAG = re.compile(r"\\tag\{([^}]*)\}")
SPACE = "http://www.w3.org/1998/Math/MathML"
FUNCTIONS = set("log exp min max arg det ln sup argmax argmin var diag tr KL".split())
LINES = {"math", "mrow", "mtd", "mstyle"}  # elements with any number of parts, side by side
CLOSING = {")", "]", "}", "|", "∣", "‖"}
OPENING = {"(", "[", "{", "|", "∣", "‖"}

ET.register_namespace("", SPACE)


def mathml(latex: str, *, display: bool) -> str:
    """One `<math>` element; ValueError for LaTeX that would be shown as text."""
    text = " ".join(latex.split())
    # `split` is the environment of two columns that latex2mathml lays out as `aligned`.
    text = re.sub(r"\\(begin|end)\{(aligned|align\*?|gathered)\}", r"\\\1{split}", text)
    if r"\\" in text and r"\begin{" not in text:
        text = rf"\begin{{split}} {text} \end{{split}}"
    text = re.sub(r"\\operatorname\*", r"\\operatorname", text)
    try:
        made = convert(text, display="block" if display else "inline")
    except Exception as reason:
        raise ValueError(f"{latex!r}: {reason!r}") from reason
    made = re.sub(r"&(?!#?\w+;)", "&amp;", made)
    root = ET.fromstring(made)
    shown = "".join(root.itertext())
    if unknown := re.findall(r"\\\w*|&", shown):
        raise ValueError(f"{latex!r}: {', '.join(unknown)} was not understood")
    _space(root)
    return ET.tostring(root, encoding="unicode")


def _space(element: ET.Element) -> None:
    """Set names of functions apart, which MathML leaves to the writer."""
    for part in element:
        _space(part)
    if _kind(element) not in LINES:
        return
    parts = list(element)
    for i in range(len(parts) - 1, -1, -1):
        if not _is_function(parts[i]):
            continue
        if i + 1 < len(parts) and _is_ordinary(parts[i + 1], OPENING):
            element.insert(i + 1, _thin())
        if i and (_is_ordinary(parts[i - 1], CLOSING) or _text(parts[i - 1]) in CLOSING):
            element.insert(i, _thin())


def _kind(element: ET.Element) -> str:
    return element.tag.removeprefix(f"{{{SPACE}}}")


def _text(element: ET.Element) -> str:
    return (element.text or "").strip() if _kind(element) == "mo" else ""


def _is_function(element: ET.Element) -> bool:
    if _kind(element) in {"msub", "msup", "munder", "mover"}:
        element = element[0]
    return _kind(element) in {"mi", "mo"} and element.text in FUNCTIONS


def _is_ordinary(element: ET.Element, fences: set[str]) -> bool:
    """Whether it is a letter, a number or built of them, rather than a sign or a fence."""
    if _is_function(element) or _kind(element) in {"mo", "mspace"}:
        return False
    first = element[0] if len(element) and _kind(element) in LINES | {"msup", "msub"} else element
    return fences is CLOSING or _text(first) not in fences


def _thin() -> ET.Element:
    return ET.Element(f"{{{SPACE}}}mspace", width="0.167em")
