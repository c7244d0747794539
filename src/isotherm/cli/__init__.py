"""The command line: `isotherm VERB ...`, one verb for each thing that is done in one call.

Results go to stdout. Progress goes to stderr and only to a terminal, notes and errors are single
lines there. Exit status: 0 when all went well, 1 when the work failed, 2 when the command line is
wrong, 130 after Ctrl-C. A verb is a module of `verbs` with one function that adds its arguments and
one that does the work; imports wait until then, so that help is quick.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Never

import isotherm
from isotherm.errors import IsothermError, memory_limit, unloaded

PAGE = "docs/command-line.md"
# What to do about errors of the system.
TODO = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "; make room there, or write to another disk"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "; check its rights"),
    errno.EMFILE: "; close some files, or raise the limit",
}


# What each verb is for, in the order in which they are of use; it is done in `verbs/VERB.py`.
VERBS = {
    "count": "count the words of documents",
    "fit": "find the topics of documents, or of their counts",
    "topics": "show the topics of a run",
    "tree": "show how the topics of a run came apart",
    "map": "draw the documents of a run as a map",
    "search": "find documents by words and topics",
    "eval": "say how good the topics of a run are",
    "view": "look at a run in the browser",
    "edit": "rename, merge, split, drop or pin topics of a run, and take that back",
    "name": "ask a language model for names of the topics of a run",
    "export": "write what a run knows as a table for other programs",
    "info": "say what a file or folder is",
    "segment": "segments of an image by texture",
    "demo": "find the topics of Python's docstrings, as an example",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of the given command line, by default that of this process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _done(words)
    except KeyboardInterrupt:
        print("isotherm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (IsothermError, OSError, MemoryError) as error:
        print(f"isotherm: error: {_reason(error)}", file=sys.stderr)
        return 1
    except (ImportError, SystemError) as error:
        said = unloaded(error)
        if said is None:
            raise
        print(f"isotherm: error: {said}", file=sys.stderr)
        return 1


def _done(words: list[str]) -> int:
    from isotherm.cli import console, parser

    verb = words[0] if words else ""
    if verb in ("-h", "--help"):
        print(_help())
        return 0
    if verb == "--version":
        print(f"isotherm {isotherm.__version__}")
        return 0
    if verb not in VERBS:
        _refuse(verb)
    module = import_module(f"isotherm.cli.verbs.{verb}")
    options = parser.parsed(verb, module.add_arguments, words[1:])
    with console.speaking(options):
        status: int | None = module.run(options)
        sys.stdout.flush()
    return status or 0


def _help() -> str:
    about = (isotherm.__doc__ or "").partition("\n")[0]
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:<{width}}  {what}" for name, what in VERBS.items())
    return (
        f"usage: isotherm VERB ...\n\n{about}\n\nverbs:\n{verbs}\n\n"
        "isotherm VERB --help says more of each; isotherm --version is the version.\n\n"
        "for example:\n"
        "  isotherm fit articles.jsonl\n"
        '  isotherm search articles.run "price of oil"'
    )


def _refuse(verb: str) -> Never:
    from isotherm.cli.suggest import did_you_mean

    given = f"there is no verb {verb!r}{did_you_mean(verb, VERBS)}" if verb else "no verb was given"
    print(
        f"isotherm: error: {given}; give one of {', '.join(VERBS)} (isotherm --help)",
        file=sys.stderr,
    )
    raise SystemExit(2)


def _reason(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.errno is None:
        # Errors of the system have a number: this may be one of a library that found no room.
        said = unloaded(error)
        if said is not None:
            return said
    if getattr(error, "errno", None) == errno.ENOMEM:
        error = MemoryError(str(error))
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}{TODO.get(error.errno or 0, '')}"
    from isotherm.cli import console

    said = console.message_of(error) if isinstance(error, IsothermError) else str(error)
    said = " ".join(said.split()) or type(error).__name__
    if isinstance(error, MemoryError) and not said.startswith("there is not enough"):
        less = "fewer topics or segments, words, or pixels need less"
        return f"there is not enough memory ({said}); {memory_limit() or less}"
    return said
