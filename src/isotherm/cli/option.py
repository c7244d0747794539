"""What an option of a verb is; `options` is the table of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any

from isotherm.cli.readers import at_least


def _same(value: object) -> object:
    return value


@dataclass(frozen=True)
class Option:
    """An option of a verb.

    Attributes
    ----------
    flags : str
        As they are written, "-o --out"; the first long one is its name.
    help : str
    read : callable
        From a text to the value.
    default : object
    choices, metavar, is_required
        As argparse has them.
    is_flag : bool
        Whether it is given without a value; `is_switch` is one that has an opposite as well.
    group : str, optional
        Heading of the help that it stands below.
    in_files : bool
        Whether configuration files may have it.
    saved : type, optional
        Type that it has in `run.json`; an option that does not decide the result has none.
    field : str
        The setting of `CountOptions` that it gives.
    is_rule : bool
        Whether it says what a word is: new texts are counted in the same way.
    in_python : callable
        From the value here, or in `run.json`, to that of the field.
    named : tuple of str
        Other parameters that messages of the library may name.
    way : str
        What messages advise instead of what helps in Python alone.
    """

    flags: str
    help: str
    read: Callable[[str], object] = str
    default: Any = None
    choices: tuple[object, ...] | None = None
    metavar: str | None = None
    is_required: bool = False
    is_flag: bool = False
    is_switch: bool = False
    group: str | None = None
    in_files: bool = True
    saved: type | UnionType | None = None
    field: str = ""
    is_rule: bool = False
    in_python: Callable[[Any], object] = _same
    named: tuple[str, ...] = ()
    way: str = ""

    @property
    def long(self) -> list[str]:
        """Its long flags, also those that switch it off."""
        flags = [flag for flag in self.flags.split() if flag.startswith("--")]
        return [*flags, *(f"--no-{flag[2:]}" for flag in flags if self.is_switch)]

    @property
    def flag(self) -> str:
        """How messages call it."""
        return self.long[0]

    @property
    def name(self) -> str:
        """Its name among the parsed options."""
        return self.flag[2:].replace("-", "_")

    @property
    def parameters(self) -> tuple[str, ...]:
        """What it is called in messages of the library."""
        return (self.field, *self.named) if self.field else self.named


LEVEL = Option(
    "--level",
    "the level of the run with so many topics",
    read=at_least(1),
    metavar="N",
    named=("level",),
)
