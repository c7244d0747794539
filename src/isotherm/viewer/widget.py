"""The explorer as a widget of a notebook; the one place that imports anywidget."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.viewer.explorer import Explorer

__all__ = ["widget"]

SCRIPT = "notebook.js"
# Pixels; less shows nothing of use.
LEAST = 100


def widget(explorer: Explorer, height: int, *, texts: str = "auto", search: bool = True) -> Any:
    """The page of an explorer as a widget whose selection both sides see.

    Parameters
    ----------
    explorer : Explorer
    height : int
        In pixels.
    texts, search
        As in `Explorer.save_html`.

    Returns
    -------
    anywidget.AnyWidget
        With the traits `selected`, a list of row numbers, and `height`.
    """
    kind = _kind()
    page = explorer.html(texts=texts, search=search)
    return kind(explorer.n_documents, _page=page, _title=explorer.title, height=height)


@cache
def _kind() -> Any:
    """The class of the widget; made when it is asked for, since its base may not be there."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise IsothermError(
            "a widget needs anywidget, which is not installed; pip install 'isotherm[notebook]', "
            "or evaluate the explorer itself, which shows the page without a selection"
        ) from error

    class ExplorerWidget(anywidget.AnyWidget):
        """A page in a notebook; `selected` follows the map and leads it."""

        _esm = (resources.files("isotherm.viewer") / SCRIPT).read_text("utf-8")
        _page = traitlets.Unicode().tag(sync=True)
        _title = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(680, min=LEAST).tag(sync=True)
        selected = traitlets.List(traitlets.Int()).tag(sync=True)

        def __init__(self, n_rows: int, *, _page: str, _title: str, height: int) -> None:
            self._n_rows = n_rows
            super().__init__(_page=_page, _title=_title, height=height)

        @traitlets.validate("selected")
        def _rows(self, proposal: Any) -> list[int]:
            """Rows that exist, each once and in order; also of what the page says."""
            rows = sorted(set(proposal["value"]))
            if rows and not 0 <= rows[0] <= rows[-1] < self._n_rows:
                raise traitlets.TraitError(
                    f"selected has {rows[0]} to {rows[-1]}; rows are numbered 0 to "
                    f"{self._n_rows - 1}"
                )
            return rows

    return ExplorerWidget
