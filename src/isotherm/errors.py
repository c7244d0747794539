"""The one exception and the one warning of isotherm.

Every message says what was given, what is allowed, and what to do.
"""

import sys
import warnings

__all__ = ["IsothermError", "IsothermWarning", "warn"]

# Lines of these packages are not the user's: scikit-learn wraps methods and calls them.
NOT_THE_USERS = ("isotherm", "sklearn", "joblib")


class IsothermError(ValueError):
    """Input or settings that cannot be used; the message says what to do."""


class IsothermWarning(UserWarning):
    """A result that can be used, but not without a second look."""


def warn(message: str) -> None:
    """Warn in the line of the user, however many calls of isotherm and scikit-learn lie between."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and _package(frame.f_globals) in NOT_THE_USERS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, IsothermWarning, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
