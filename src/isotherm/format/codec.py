"""Values as JSON and arrays, and back: numbers, text, arrays, and the types of a registry.

JSON itself stands for None, bool, int, finite floats, str and list. All else is an object with a
tag under "$". Nothing that is not in the registry can be made by reading: types are looked up by a
short name, never imported.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, NamedTuple, SupportsIndex

import numpy as np
from scipy import sparse

from isotherm._types import Array, Fields, Json
from isotherm.errors import IsothermError
from isotherm.format.archive import MOST_COMPRESSED, SLACK, VALUE

TAG = "$"
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Lone halves of surrogate pairs are no valid UTF-8, but may stand in a str.
HALVES = "surrogatepass"
# Arrays of fewer bytes are written as they are.
SMALL = 4096
# Text of a fixed width takes at most so many bytes each, unless it is longer itself.
WIDE = 4096


class Entry(NamedTuple):
    """How a type is taken apart into named values, and made of them again."""

    kind: type[object]
    fields: Callable[[Any], Fields]
    build: Callable[[Fields], Any]


class Registry:
    """Types by short name: what may be written, and all that can come out of a file."""

    def __init__(self, *kinds: type[object]) -> None:
        self.by_name: dict[str, Entry] = {}
        self.name_of: dict[type[object], str] = {}
        self.enums: dict[str, type[Enum]] = {}
        for kind in kinds:
            self.add(kind.__name__, plain(kind))

    def add(self, name: str, entry: Entry) -> None:
        """Add a type under a name that no other has."""
        if name in self.by_name or entry.kind in self.name_of:
            raise IsothermError(
                f"{name!r} or {entry.kind.__name__} is registered already; every type has one name "
                "and every name one type: choose another name"
            )
        self.by_name[name], self.name_of[entry.kind] = entry, name

    def add_enum(self, kind: type[Enum]) -> None:
        """Add an enumeration under its own name."""
        self.enums[kind.__name__] = kind


def plain(kind: type[object], later: Sequence[str] = ()) -> Entry:
    """Entry of a frozen dataclass or a named tuple: its fields are what its constructor takes.

    Fields that came `later` may be missing in files of earlier versions: they have a default.
    """
    if dataclasses.is_dataclass(kind):
        names = [one.name for one in dataclasses.fields(kind) if one.init]
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = list(kind._fields)
    else:
        raise IsothermError(
            f"{kind.__name__} is neither a dataclass nor a named tuple; say with an Entry how it "
            "is taken apart"
        )

    def fields(value: object) -> Fields:
        return {name: getattr(value, name) for name in names}

    def build(values: dict[str, object]) -> Any:
        missing = set(names) - set(values)
        if not missing <= set(later) or not set(values) <= set(names):
            raise ValueError(f"{kind.__name__} has other fields")
        return kind(**values)

    return Entry(kind, fields, build)


# Writing ---------------------------------------------------------------------------------------


class Writer:
    """Turns values into JSON; the arrays that they hold are collected in `arrays`."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.arrays: dict[str, Array] = {}
        # An array that several values share is written once. Originals are kept: an id is one
        # array's only as long as that lives.
        self._known: dict[int, tuple[Array, Fields]] = {}
        # Names of what is written, by type and numbers of entries along the axes in any order.
        self._alike: dict[tuple[object, ...], list[str]] = {}
        self._n_casts = 0

    def encode(self, value: object, where: str) -> Json:
        """JSON of a value; `where` names it in errors."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {TAG: "float", "value": str(value)}
        if type(value) is list:
            return self._items(value, where)
        if type(value) is tuple:
            return {TAG: "tuple", "items": self._items(value, where)}
        if type(value) is dict:
            return {TAG: "dict", "items": self._named(value, where)}
        if type(value) in self.registry.name_of:
            name = self.registry.name_of[type(value)]
            parts = self.registry.by_name[name].fields(value)
            return {TAG: "object", "type": name, "fields": self._named(parts, where)}
        if isinstance(value, Enum) and self.registry.enums.get(type(value).__name__) is type(value):
            return {TAG: "enum", "type": type(value).__name__, "name": value.name}
        return self._numeric(value, where)

    def _items(self, values: Iterable[object], where: str) -> list[object]:
        return [self.encode(one, f"{where}[{i}]") for i, one in enumerate(values)]

    def _named(self, values: Mapping[str, object], where: str) -> Fields:
        for name in values:
            if type(name) is not str:
                raise _unknown(name, f"a key of {where}")
        return {name: self.encode(one, f"{where}.{name}") for name, one in values.items()}

    def _numeric(self, value: object, where: str) -> Json:
        """JSON of what numpy and scipy hold."""
        if hasattr(value, "on_device"):
            value = np.asarray(value)
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.bool_ | np.integer | np.floating) and value.dtype.itemsize <= 8:
            item = self.encode(value.item(), where)
            return {TAG: "scalar", "dtype": value.dtype.str, "value": item}
        if isinstance(value, np.str_):
            return str(value)
        if type(value) is sparse.csr_array:
            parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
            return {TAG: "csr", "shape": list(value.shape), **self._named(parts, where)}
        if isinstance(value, np.random.Generator):
            return self._generator("generator", value.bit_generator.state, where)
        if isinstance(value, np.random.RandomState):
            return self._generator("random_state", value.get_state(legacy=False), where)
        raise _unknown(value, where)

    def _generator(self, tag: str, state: Mapping[str, object], where: str) -> Json:
        if state.get("bit_generator") not in GENERATORS:
            raise _unknown(state.get("bit_generator"), where)
        return {TAG: tag, "state": self.encode(dict(state), where)}

    def _array(self, value: Array, where: str) -> Json:
        if type(value) is not np.ndarray:
            raise _unknown(value, where)
        if value.dtype.kind in "OU":
            return self._text(value, where)
        if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
            raise _unknown(value, where)
        if id(value) not in self._known:
            # Sums depend on the order in memory, and a resumed run must be the same to the bit.
            order = np.argsort([-abs(s) for s in value.strides], kind="stable").tolist()
            found = self._stored(value if order == sorted(order) else value.transpose(order))
            if order != sorted(order):
                found["axes"] = np.argsort(order).tolist()
            self._known[id(value)] = value, found
        return self._known[id(value)][1]

    def _stored(self, value: Array) -> Fields:
        """How to make an array of one that is written: itself, or one that says the same."""
        if value.nbytes < SMALL:
            return {TAG: "array", "name": self._named_anew(value)}
        short = _narrowed(value)
        key = short.dtype.str, *sorted(short.shape)
        turns = list(itertools.permutations(range(value.ndim))) if value.ndim <= 2 else []
        fitting = (
            (name, turn)
            for name in self._alike.setdefault(key, [])
            for turn in turns
            if _same_bits(self.arrays[name].transpose(turn), short)
        )
        name, turn = next(fitting, (None, range(value.ndim)))
        if name is None:
            name = self._named_anew(short)
            self._alike[key].append(name)
            if short is value:
                return {TAG: "array", "name": name}
        self._n_casts += 1
        return {
            **{TAG: "cast", "name": name, "turn": list(turn), "dtype": value.dtype.str},
            "number": self._n_casts,
        }

    def _named_anew(self, value: Array) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = value
        return name

    def _text(self, value: Array, where: str) -> Json:
        """Strings are their bytes in UTF-8 and where each begins; other labels stay as they are."""
        wide = value.dtype.kind == "U" and value.nbytes > SLACK
        if wide and value.dtype.itemsize > 4 * MOST_COMPRESSED:
            # Short text in wide cells: a file of it would claim to hold far more than its length.
            raise IsothermError(
                f"{where} is an array of {value.dtype}, {value.nbytes >> 20} MB in cells of one "
                "width; turn it into one of dtype=object before saving"
            )
        items = value.ravel().tolist()
        shape = {"shape": list(value.shape), "dtype": value.dtype.str}
        if not all(type(one) is str for one in items):
            return {TAG: "objects", "items": self._items(items, where), **shape}
        parts = [one.encode("utf-8", HALVES) for one in items]
        ends = np.fromiter(itertools.accumulate(map(len, parts), initial=0), np.int64)
        data = np.frombuffer(b"".join(parts), np.uint8)
        return {TAG: "strings", **self._named({"bytes": data, "offsets": ends}, where), **shape}


def _narrowed(value: Array) -> Array:
    """The same numbers in single precision, if all of them are there; else the array itself."""
    if value.dtype != np.float64:
        return value
    with np.errstate(over="ignore", invalid="ignore"):
        short = value.astype(np.float32)
    return short if _same_bits(short.astype(np.float64), value) else value


def _same_bits(one: Array, two: Array) -> bool:
    """Whether arrays of one type have the same shape and the same bits."""
    if one.shape != two.shape:
        return False
    bits = f"u{one.dtype.itemsize}"
    # Nearly all that differ do so at once.
    few = tuple(slice(None, None, max(1, n // 7)) for n in one.shape)
    return all((one[part].view(bits) == two[part].view(bits)).all() for part in (few, ...))


def _unknown(value: object, where: str) -> IsothermError:
    kind = type(value)
    dtype = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    return IsothermError(
        f"{where} is {kind.__module__}.{kind.__qualname__}{dtype}, which files of isotherm do not "
        "hold; they hold numbers, text, arrays of them, and the library's own schedules, starts "
        "and models: set it to one of those (or None) before saving"
    )


# Reading ---------------------------------------------------------------------------------------


class Reader:
    """Turns JSON and arrays back into values; what does not fit raises a plain ValueError or so.

    Whoever reads a file turns that into an `IsothermError` with the name of the file.
    """

    def __init__(
        self, registry: Registry, arrays: Mapping[str, Array], allowed: int | None = None
    ) -> None:
        self.registry, self.arrays = registry, arrays
        self._made: dict[str, Array] = {}
        self._left = math.inf if allowed is None else allowed

    def _spend(self, n_bytes: float) -> None:
        """Refuse what takes more, by what is made so far, than a file of that length may."""
        self._left -= n_bytes
        if self._left < 0:
            raise ValueError("it claims to hold more than a file of its length can")

    def decode(self, given: object) -> Any:
        """Value of the JSON."""
        if isinstance(given, list):
            return [self.decode(one) for one in given]
        if not isinstance(given, dict):
            return given
        tag = given[TAG]
        if tag not in self._TAGS:
            raise ValueError(f"{str(tag)[:40]!r} is no kind of value")
        return self._TAGS[tag](self, given)

    def _float(self, given: Fields) -> float:
        return float({"nan": "nan", "inf": "inf", "-inf": "-inf"}[given["value"]])

    def _tuple(self, given: dict[str, object]) -> tuple[object, ...]:
        return tuple(self._list(given["items"]))

    def _list(self, given: object) -> list[object]:
        if not isinstance(given, list):
            raise ValueError("items are no list")
        return [self.decode(one) for one in given]

    def _dict(self, given: Fields) -> Fields:
        return {str(name): self.decode(one) for name, one in given["items"].items()}

    def _object(self, given: Fields) -> Any:
        entry = self.registry.by_name.get(given["type"])
        if entry is None:
            raise ValueError(f"{str(given['type'])[:40]!r} is no registered type")
        return entry.build({name: self.decode(one) for name, one in given["fields"].items()})

    def _enum(self, given: Fields) -> Enum:
        return self.registry.enums[given["type"]][given["name"]]

    def _scalar(self, given: dict[str, object]) -> Any:
        dtype = np.dtype(_text_of(given["dtype"]))
        value = self.decode(given["value"])
        if dtype.kind not in "biuf" or type(value) not in (bool, int, float):
            raise ValueError("a scalar that is no number")
        return dtype.type(value)

    def _array(self, given: Fields) -> Array:
        array = self.arrays[given["name"]]
        # However often it is named: whoever looks at a value looks at all of that.
        self._spend(array.nbytes)
        if "axes" not in given:
            return array
        # The same array in the same order is the same object again.
        return self._once(f"{given['name']} {given['axes']}", lambda: _turned(array, given["axes"]))

    def _cast(self, given: Fields) -> Array:
        """An array of its own that says what another one says, in another order or type."""
        array, dtype = self.arrays[given["name"]], np.dtype(_text_of(given["dtype"]))
        dtype = dtype.newbyteorder("=")
        if dtype != array.dtype and not (array.dtype == np.float32 and dtype == np.float64):
            raise ValueError(f"an array of {array.dtype} as one of {dtype}")
        self._spend(array.size * dtype.itemsize)

        def made() -> Array:
            other = np.array(_turned(array, given["turn"]), dtype, order="C")
            return other if "axes" not in given else _turned(other, given["axes"])

        return self._once(f"cast {int(given['number'])}", made)

    def _once(self, key: str, make: Callable[[], Array]) -> Array:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _csr(self, given: Fields) -> sparse.csr_array:
        parts = tuple(self.decode(given[name]) for name in ("data", "indices", "indptr"))
        n_rows, n_columns = (int(n) for n in given["shape"])
        if any(part.ndim != 1 for part in parts) or len(parts[2]) != n_rows + 1:
            raise ValueError("a sparse matrix whose parts do not fit")
        matrix = sparse.csr_array(parts, shape=(n_rows, n_columns))
        matrix.check_format(full_check=True)
        return matrix

    def _strings(self, given: Fields) -> Array:
        data, ends = self.decode(given["bytes"]), self.decode(given["offsets"])
        if data.dtype != np.uint8 or ends.dtype != np.int64 or data.ndim != 1 or ends.ndim != 1:
            raise ValueError("text of a wrong type")
        if len(ends) < 1 or ends[0] != 0 or ends[-1] != len(data) or (np.diff(ends) < 0).any():
            raise ValueError("text whose parts do not fit")
        self._spend(len(data) + VALUE * len(ends))
        whole = data.tobytes()
        marks = itertools.pairwise(ends.tolist())
        return self._labels([whole[lo:hi].decode("utf-8", HALVES) for lo, hi in marks], given)

    def _objects(self, given: Fields) -> Array:
        return self._labels(self._list(given["items"]), given)

    def _labels(self, items: list[object], given: Fields) -> Array:
        """Array of the given items, of objects or of text of a fixed width."""
        dtype = np.dtype(_text_of(given["dtype"]))
        longest = max((len(one) for one in items if type(one) is str), default=0)
        if dtype.kind not in "OU" or dtype.itemsize > max(WIDE, 4 * longest):
            raise ValueError("labels of a wrong type")
        self._spend(len(items) * dtype.itemsize)
        flat = np.empty(len(items), dtype)
        for i, item in enumerate(items):
            flat[i] = item
        return flat.reshape([int(n) for n in given["shape"]])

    def _made_generator(self, given: dict[str, object]) -> np.random.Generator:
        state = self.decode(given["state"])
        return np.random.Generator(_bit_generator(state))

    def _made_random_state(self, given: dict[str, object]) -> np.random.RandomState:
        state = self.decode(given["state"])
        made = np.random.RandomState(_bit_generator(state))
        made.set_state(state)
        return made

    _TAGS: ClassVar[dict[str, Callable[..., object]]] = {
        "float": _float,
        "tuple": _tuple,
        "dict": _dict,
        "object": _object,
        "enum": _enum,
        "scalar": _scalar,
        "array": _array,
        "cast": _cast,
        "csr": _csr,
        "strings": _strings,
        "objects": _objects,
        "generator": _made_generator,
        "random_state": _made_random_state,
    }


def _turned(array: Array, axes: Sequence[SupportsIndex]) -> Array:
    return array.transpose([operator.index(axis) for axis in axes])


def _bit_generator(state: Fields) -> Any:
    name = state["bit_generator"]
    if name not in GENERATORS:
        raise ValueError(f"{str(name)[:40]!r} is no bit generator")
    made = getattr(np.random, name)(0)
    made.state = state
    return made


def _text_of(given: object) -> str:
    if type(given) is not str:
        raise ValueError(f"{str(given)[:40]!r} is no text")
    return given
