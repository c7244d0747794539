"""Formulas as MathML, made when the site is built: pages need no script, font or network.

Every browser of the last years shows MathML by itself, and screen readers read it.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from formulas import TAG, mathml
from sphinx.application import Sphinx
from sphinx.util import logging

log = logging.getLogger(__name__)


def _converted(writer: Any, node: nodes.Element, latex: str, *, display: bool) -> str:
    try:
        return mathml(latex, display=display)
    except ValueError as reason:
        log.warning("formula %s", reason, location=node, type="mathml")
        return f"<code>{writer.encode(latex)}</code>"


def visit_inline(writer: Any, node: nodes.math) -> None:
    """A formula within a line."""
    writer.body.append(_converted(writer, node, node.astext(), display=False))
    raise nodes.SkipNode


def visit_display(writer: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own, its number at the right."""
    latex, tags = node.astext(), TAG.findall(node.astext())
    number = ", ".join(f"({tag})" for tag in tags)
    if node.get("number"):
        number = f"({node['number']})"
    ids = "".join(f'<span id="{name}"></span>' for name in node.get("ids", ()))
    made = _converted(writer, node, TAG.sub("", latex), display=True)
    label = f'<span class="eqno">{number}</span>' if number else ""
    writer.body.append(f'<div class="formula">{ids}{made}{label}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
