"""The one exception and the one warning of isotherm.

Every message says what was given, what is allowed, and what to do.
"""

__all__ = ["IsothermError", "IsothermWarning"]


class IsothermError(ValueError):
    """Input or settings that cannot be used; the message says what to do."""


class IsothermWarning(UserWarning):
    """A result that can be used, but not without a second look."""
