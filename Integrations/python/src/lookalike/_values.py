"""Values of Python, NumPy and tables as JSON; a value that is absent in a table is absent there, too."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import operator
import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

_UTC = datetime.timezone(datetime.timedelta(0))

# The first whole number whose successor is no float.
_ROUNDED = 1 << 53

# What a catalog's manifest takes for a URL; others are paths.
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|data:[^,]*,")


def absolute_path(path: str | os.PathLike[str]) -> str:
    """A path that does not depend on the working directory. URLs stay, so that errors can tell what they are."""
    text = os.fsdecode(path)
    return text if URL.match(text) else os.path.abspath(text)


def whole_number(name: str, value: Any) -> int:
    """A count of 0 or more."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}") from None
    if not 0 <= number < 1 << 63:
        raise ValueError(f"{name} is {number}; it is 0 or more, and has 63 bits")
    return number


def finite_number(name: str, value: Any) -> float:
    """A number with or without a fraction."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} is a number, not {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is a number, not {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} is {number}, which is no finite number")
    return number


def text(name: str, value: Any) -> str:
    """A text, such as one of NumPy."""
    value = value.value if isinstance(value, enum.Enum) else value
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} has half of a surrogate pair, which is no text: {value!r}") from None
    if "\0" in value:
        raise ValueError(f"{name} contains a NUL character: {value!r}")
    return str(value)


def rows(table: Any, keeps: Callable[[str, Any], bool] = lambda key, value: False) -> Iterator[dict[str, Any]]:
    """The rows of a table of pandas, polars or PyArrow, or of an iterable of mappings, as JSON objects.

    Of a table, texts of several labels or images are divided as those of a .csv manifest. A value stays as it is if
    `keeps` says so of it and its key.

    Raises `TypeError` for what is no table, and for a value that has no JSON.
    """
    separators: dict[str, str] = {}
    # What has a name in an index of pandas is a column, too: its rows would not have it.
    if names := [name for name in getattr(getattr(table, "index", None), "names", ()) if name is not None]:
        table = table.reset_index(names)
    narrow = _narrow_columns(table)
    for method, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        if hasattr(table, method) and not isinstance(table, Mapping):
            table = getattr(table, method)(*arguments)
            separators = {"labels": "[;|]", "label": "[;|]", "images": "[|]"}
            break
    if isinstance(table, (str, bytes, Mapping)) or not isinstance(table, Iterable):
        raise TypeError(f"entities are an iterable of mappings or a table, not {_kind(table)}")
    for number, row in enumerate(table):
        # The rows of pandas: those of `iterrows` have keys, those of `itertuples` have fields.
        row = row._asdict() if hasattr(row, "_asdict") else row
        if not hasattr(row, "keys"):
            raise TypeError(f"entity {number}, counted from 0, is a mapping, not {_kind(row)}")
        values = dict(row)
        for key, kind in narrow.items():
            if key in values:
                values[key] = _narrowed(values[key], kind)
        kept = {key: values.pop(key) for key in list(values) if keeps(key, values[key])}
        stored = plain(values, f"entity {number}, counted from 0") | kept
        for key, value in stored.items():
            if isinstance(value, str) and (separator := separators.get(key.lower())):
                stored[key] = _divided(value, separator)
        yield stored


def _divided(text: str, separator: str) -> list[str]:
    """The parts of a field of a .csv manifest: those of an array in JSON, or with signs between."""
    try:
        parts = json.loads(text) if text.startswith("[") else None
    except ValueError:
        parts = None
    return parts if parts is not None else [part.strip() for part in re.split(separator, text) if part.strip()]


def _narrow_columns(table: Any) -> dict[Any, Any]:
    """The columns of numbers of 32 or 16 bits, of which libraries make numbers of 64 bits with other digits, also in
    lists and structures.

    Raises `TypeError` for two columns of one name, of which libraries keep one.
    """
    if hasattr(table, "dtypes") and hasattr(table, "columns"):
        types = list(zip(table.columns, table.dtypes))
    elif hasattr(table, "schema") and hasattr(table.schema, "names"):
        types = list(zip(table.schema.names, table.schema.types))
    else:
        return {}
    for name, count in Counter(name for name, _ in types).items():
        if count > 1:
            raise TypeError(f"the table has {count} columns “{name}”; rename them")
    narrow = {}
    for name, kind in types:
        # Categories of pandas have a type of their own.
        words = _FLOATS.findall(str(getattr(getattr(kind, "categories", None), "dtype", kind)).lower())
        if len(set(words)) == 1 and words[0] in _NARROW:
            narrow[name] = _NARROW[words[0]]
    return narrow


def _narrowed(value: Any, kind: Any) -> Any:
    """A value with the numbers in it as they were."""
    if isinstance(value, float):
        return kind(value)
    if isinstance(value, list):
        return [_narrowed(each, kind) for each in value]
    return {key: _narrowed(each, kind) for key, each in value.items()} if isinstance(value, dict) else value


# Types of numbers, as PyArrow, polars and pandas write them within types of lists, too.
_FLOATS = re.compile(r"\b(?:halffloat|float|float16|float32|float64|double)\b")
_NARROW = {"float32": np.float32, "float": np.float32, "float16": np.float16, "halffloat": np.float16}


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def plain(value: Any, name: str) -> Any:
    """What `json` writes of a value; None if it is absent. `name` says in errors where it is."""
    if isinstance(value, np.ndarray):
        # Not “tolist”, which makes numbers of dates, and other digits of numbers of 32 bits.
        value = list(value) if value.ndim else value[()]
    if isinstance(value, enum.Enum) and isinstance(value, (str, int, float)):
        # A text or a number, as `json` writes it.
        value = value.value
    if value is None or _is_pandas_absent(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        # As a text it keeps its digits.
        return int(value) if -(1 << 63) <= value < 1 << 63 else str(int(value))
    if isinstance(value, (float, np.floating, decimal.Decimal)):
        return _plain_number(value, name)
    if isinstance(value, datetime.datetime):
        # Zones of long ago have seconds, which no format has.
        offset = value.utcoffset()
        is_odd = offset is not None and offset.total_seconds() % 60 != 0
        return (value.astimezone(_UTC) if is_odd else value).isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{name}: the name of an attribute is a text, not {key!r}")
        pairs = ((str(key), plain(part, f"{name}: “{key}”")) for key, part in value.items())
        return {key: part for key, part in pairs if part is not None}
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        parts = (plain(part, name) for part in value)
        return [part for part in parts if part is not None]
    raise TypeError(f"{name} is {_kind(value)}, which cannot be stored; use a text, a number, a date or a list")


def is_absent(value: Any) -> bool:
    """Whether `plain` takes a value for absent."""
    try:
        return plain(value, "") is None
    except TypeError:
        return False


def _is_pandas_absent(value: Any) -> bool:
    """Whether a value is pandas.NA or pandas.NaT, without pandas."""
    return type(value).__name__ in ("NAType", "NaTType") and type(value).__module__.startswith("pandas.")


def _plain_number(value: Any, name: str) -> Any:
    # A signaling NaN of Decimal is not to be compared.
    if value.is_nan() if isinstance(value, decimal.Decimal) else value != value:
        return None
    if isinstance(value, decimal.Decimal):
        if value.is_finite():
            # As a text it keeps its digits.
            return format(value, "f")
    elif math.isfinite(value):
        # The shortest decimal: 0.1 of 32 bits is 0.1, not 0.10000000149011612. Of a whole number that is another one,
        # and the library compares whole numbers of 64 bits exactly.
        if value == np.floor(value):
            whole = float(value)
            return int(whole) if _ROUNDED <= abs(whole) < 1 << 63 else whole
        return float(value) if isinstance(value, float) else float(str(value))
    raise TypeError(f"{name} is {value}, which cannot be stored; use a finite number")
