"""Fixtures of the browser, for every test here."""

from support.browser import browser, open_explorer, open_page

__all__ = ["browser", "open_explorer", "open_page"]
