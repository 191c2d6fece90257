"""Conditions on entities as expressions."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field as _field
from typing import Any

import numpy as np

from lookalike._values import finite_number, plain, text

__all__ = ["Condition", "Field", "field", "has_code", "near"]

# Of a number in a condition.
_MOST_SIGNS = 15


@dataclass(frozen=True)
class Condition:
    """What has to hold of an entity, as a text; `field`, `near` and `has_code` make conditions, too.

        cheap = (lookalike.field("price") < 20) & ~lookalike.Condition("type = single")
        catalog.search("photo.jpg", where=cheap)

    `a & b`, `a | b` and `~a` are conditions. Comparisons stand in parentheses beside these operators, which bind more
    tightly in Python.
    """

    text: str
    """The condition as the command takes it."""
    _joint: str = _field(default="", repr=False, compare=False)
    """“and” or “or” between parts, “one” for a single part; empty if that is not known."""

    def __and__(self, other: Condition) -> Condition:
        return _joined("and", self, other)

    def __or__(self, other: Condition) -> Condition:
        return _joined("or", self, other)

    def __invert__(self) -> Condition:
        return Condition(f"not {_part(self, 'not')}", "one")

    def __bool__(self) -> bool:
        raise TypeError("a condition is neither true nor false: use &, | and ~, not “and”, “or”, “not” or a < b < c")

    def __str__(self) -> str:
        return self.text


def _joined(word: str, a: Condition, b: Condition) -> Condition:
    if not isinstance(b, Condition):
        return NotImplemented
    return Condition(f"{_part(a, word)} {word} {_part(b, word)}", word)


def _part(condition: Condition, word: str) -> str:
    if condition._joint in ("one", word):
        return condition.text
    return f"({condition.text})" if condition.text.strip() else "everything"


class Field:
    """A field of entities, whose comparisons are conditions; `field` makes it.

    A text is compared as a text. Numbers and dates are compared by what they mean: 9.9 finds “9.90”, and a date all
    times of its day. The order of texts is that of the dates that they are.
    """

    def __init__(self, name: str) -> None:
        self.name = text("the name of a field", name)

    def __repr__(self) -> str:
        return f"field({self.name!r})"

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self.isin([value])

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return ~self.isin([value])

    def __lt__(self, value: Any) -> Condition:
        return self._is(f"< {_operand(value)}")

    def __le__(self, value: Any) -> Condition:
        return self._is(f"<= {_operand(value)}")

    def __gt__(self, value: Any) -> Condition:
        return self._is(f"> {_operand(value)}")

    def __ge__(self, value: Any) -> Condition:
        return self._is(f">= {_operand(value)}")

    __hash__ = None  # type: ignore[assignment]

    def between(self, low: Any, high: Any) -> Condition:
        """The field is a number or a date from `low` to `high`, with both."""
        return self._is(f"in {_operand(low)}..{_operand(high)}")

    def isin(self, values: Iterable[Any]) -> Condition:
        """The field is one of the values."""
        if isinstance(values, str):
            raise TypeError(f"the values of isin are several, not the text {values!r}")
        pairs = [(value, _operand(value)) for value in values]
        condition = self._is(f"= {pairs[0][1]}" if len(pairs) == 1 else f"in ({', '.join(each for _, each in pairs)})")
        # Of so many signs, a number without quotes is taken for a code, and compared as a text alone.
        for operand in (each for value, each in pairs if len(each) > _MOST_SIGNS and _is_exact(value)):
            condition |= self._is(f"in {operand}..{operand}")
        return condition

    def startswith(self, prefix: str) -> Condition:
        """The field starts with a text."""
        return self._is(f"starts with {_quoted(prefix)}")

    def contains(self, part: str) -> Condition:
        """The field has a text anywhere in it."""
        return self._is(f"contains {_quoted(part)}")

    def exists(self) -> Condition:
        """The field has a value."""
        return Condition(f"exists {_quoted(self.name)}", "one")

    def _is(self, comparison: str) -> Condition:
        return Condition(f"{_quoted(self.name)} {comparison}", "one")


def field(name: str) -> Field:
    """A field of entities: “id”, “type”, “title”, “subtitle”, “label”, or the name of an attribute.

    where = (field("price") < 20) & field("type").isin(["album", "single"]) & ~field("sold").exists()
    """
    return Field(name)


def near(
    latitude: float, longitude: float, *, kilometers: float, fields: tuple[str, str] = ("latitude", "longitude")
) -> Condition:
    """The entity is at most so far from a point of the earth; `fields` are its latitude and longitude in degrees."""
    numbers = [finite_number(*pair) for pair in (("latitude", latitude), ("longitude", longitude))]
    distance = finite_number("kilometers", kilometers)
    by = ", ".join(map(_quoted, fields))
    return Condition(f"within {distance} km of ({numbers[0]}, {numbers[1]}) by ({by})", "one")


def has_code(*codes: str) -> Condition:
    """The entity has one of the product codes among its attributes, however both are written."""
    return Condition(f"has code in ({', '.join(map(_quoted, codes))})", "one")


def condition_text(where: str | Condition) -> str:
    """A condition as the library takes it."""
    return text("where", where.text if isinstance(where, Condition) else where)


def _quoted(value: Any) -> str:
    return '"' + text("a text of a condition", value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _is_exact(value: Any) -> bool:
    """Whether the library compares a number with no other one that is near: one of 64 bits, or of few digits."""
    if isinstance(value, (int, np.integer, decimal.Decimal)) and not isinstance(value, bool):
        is_whole = value == int(value)
        return -(1 << 63) <= value < 1 << 63 if is_whole else len(value.normalize().as_tuple().digits) <= _MOST_SIGNS
    return isinstance(value, (float, np.floating))


def _operand(value: Any) -> str:
    """A value as conditions have it: numbers and dates without quotes, by what they mean."""
    stored = plain(value, "the value of a condition")
    if stored is None or isinstance(stored, (list, dict)):
        raise TypeError(f"the value of a condition is a text, a number or a date, not {value!r}; see also exists()")
    if isinstance(stored, bool):
        return str(stored).lower()
    numbers_and_dates = (int, np.integer, decimal.Decimal, datetime.date, np.datetime64)
    is_plain = isinstance(value, numbers_and_dates) or not isinstance(stored, str)
    return str(stored) if is_plain else _quoted(stored)
