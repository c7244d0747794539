"""What notebooks show of values: tables in HTML, all text escaped, without scripts or colours.

Colours and fonts are those of the notebook, light or dark.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

# Rows of a table that are shown; the plain text has all of them.
MOST_ROWS = 100
LEFT, RIGHT = "text-align:left", "text-align:right"


class Part(NamedTuple):
    """A table: its heads, and rows of as many cells; numbers stand to the right.

    Cells are text, or numbers; `title` stands above, `indent` (in steps) before each first cell.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    indent: Sequence[int] = ()


class Description(str):
    """Text that a notebook shows as tables; `parts` are what the text says.

    Printed, written and compared it is a str like any other.
    """

    parts: tuple[str | Part, ...]

    def __new__(cls, text: str, parts: Iterable[str | Part] = ()) -> Self:
        """The text, and the same in parts."""
        made = super().__new__(cls, text)
        made.parts = tuple(parts)
        return made

    def _repr_html_(self) -> str:
        return page(*self.parts)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Lines rather than a quoted string in a terminal of IPython."""
        printer.text(str(self))


def page(*parts: str | Part) -> str:
    """Paragraphs and tables, one below the other."""
    return (
        "<div>"
        + "".join(_paragraph(p) if isinstance(p, str) else _table(p) for p in parts)
        + ("</div>")
    )


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _table(part: Part) -> str:
    rows = list(part.rows[:MOST_ROWS])
    numeric = [
        bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(part.heads))
    ]
    heads = "".join(
        f'<th scope="col" style="{RIGHT if right else LEFT}">{html.escape(head)}</th>'
        for head, right in zip(part.heads, numeric, strict=True)
    )
    steps = [*part.indent[:MOST_ROWS]] or [0] * len(rows)
    body = "".join(
        f"<tr>{''.join(_cells(row, numeric, step))}</tr>"
        for row, step in zip(rows, steps, strict=True)
    )
    title = f'<caption style="{LEFT}">{html.escape(part.title)}</caption>' if part.title else ""
    more = len(part.rows) - len(rows)
    rest = f"<p>… and {more:,} more rows</p>" if more else ""
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cells(row: Sequence[object], numeric: Sequence[bool], step: int) -> Iterable[str]:
    for i, (value, right) in enumerate(zip(row, numeric, strict=True)):
        style = RIGHT if right else LEFT
        if step and not i:
            style = f"{LEFT};padding-left:{1.5 * step + 0.5:g}em"
        yield f'<td style="{style}">{html.escape(_shown(value))}</td>'


def _is_number(value: object) -> bool:
    """Whether it is a number, or one with a unit, such as "6.3 %"."""
    if not isinstance(value, str):
        return isinstance(value, Real)
    return value.endswith("%")


def _shown(value: object) -> str:
    whole = not isinstance(value, Real) or isinstance(value, Integral)
    return str(value) if whole else f"{value:.4g}"
