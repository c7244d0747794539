"""The one exception and the one warning of isotherm.

Every message says what was given, what is allowed, and what to do.
"""

import sys
import warnings

__all__ = ["IsothermError", "IsothermWarning", "memory_limit", "unloaded", "warn"]

# Lines of these packages are not the user's: scikit-learn wraps methods and calls them.
NOT_THE_USERS = ("isotherm", "sklearn", "joblib")

# What is said of libraries that could not be mapped into memory, and what under a limit besides.
NO_ROOM = ("failed to map segment", "cannot allocate memory", "unable to allocate")
UNREADABLE = "shared object"


def with_way(message: str, way: str) -> str:
    """The message with one more thing to do, before its full stop."""
    stop = "." if message.endswith(".") else ""
    return f"{message.removesuffix('.')}{way}{stop}" if way else message


class IsothermError(ValueError):
    """Input or settings that cannot be used; the message says what to do.

    Parameters
    ----------
    message : str
    parameter : str, optional
        The parameter that this is about, by the name that it has in Python.
    also : tuple of str
        Other parameters that the message names.
    in_python : str
        The end of the message, if it helps nobody but callers from Python. Those who have other
        names for parameters, such as the command line, put their own advice there.

    Attributes
    ----------
    message : str
        Without `in_python`.
    parameter, also, in_python
        As given.
    """

    def __init__(
        self,
        message: str = "",
        *,
        parameter: str | None = None,
        also: tuple[str, ...] = (),
        in_python: str = "",
    ) -> None:
        super().__init__(with_way(message, in_python))
        self.message = message
        self.parameter = parameter
        self.also = also
        self.in_python = in_python


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


def memory_limit() -> str:
    """The limit of this process's memory and what to do about it; empty where there is none."""
    try:
        import resource
    except ImportError:  # not on this system, or no room for it
        return ""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return ""
    return (
        f"memory is limited to {limit / 1e6:,.0f} MB (ulimit -v): raise the limit, or lift it "
        "with ulimit -v unlimited"
    )


def unloaded(error: BaseException) -> str | None:
    """What to say where libraries could not be loaded for want of memory; None if it was not that.

    Under a limit they say all sorts of things, even that a file of theirs is missing.
    """
    if isinstance(error, ModuleNotFoundError):
        return None
    said, limit = str(error).lower(), memory_limit()
    maybe = isinstance(error, ImportError | SystemError) or UNREADABLE in said
    short = isinstance(error, MemoryError) or any(one in said for one in NO_ROOM)
    if not (short or (limit and maybe)):
        return None
    todo = limit or "end other programs, or use a machine with more memory"
    return f"there is not enough memory to load the libraries that isotherm needs; {todo}"
