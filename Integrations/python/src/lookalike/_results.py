"""What a catalog answers, as lists that notebooks show with their pictures."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from lookalike import _html
from lookalike._errors import ImageError, LookalikeError

if TYPE_CHECKING:
    import pandas

    from lookalike._catalog import Catalog

__all__ = ["Duplicate", "DuplicateGroup", "DuplicateGroups", "Entities", "Match", "Matches"]

# Entities that a notebook shows of a longer list.
_MOST_SHOWN = 60
# What an entity may have besides attributes.
_FIELDS = ("id", "type", "title", "subtitle", "labels", "image", "images")


@dataclasses.dataclass(frozen=True)
class Match:
    """An entity that a query shows."""

    id: str
    confidence: float
    """How sure the match is, 0 to 1."""
    distance: float
    """The least distance of the prints, 0 to 2."""
    inliers: int
    """The number of local features that agree; 0 for a match by its print alone."""
    outline: tuple[tuple[float, float], ...] | None
    """Where the query shows the image: four corners in the query's pixels, clockwise from the image's top left, or the
    box around a thing with depth."""
    mirrored: bool
    """Whether the query shows the image as in a mirror."""
    type: str | None
    title: str | None
    subtitle: str | None
    image: str
    """The path of the entity's image that matches."""
    image_index: int = 0
    """Its place among the entity's images."""


@dataclasses.dataclass(frozen=True)
class Duplicate:
    """An entity of a group of duplicates."""

    id: str
    image: str
    """The path of its first image."""
    title: str | None
    difference: str | None
    """What differs from the reference: “none”, “quality”, “crop”, “mirrored”, “turned”, “mark” or “color”; None for the
    reference."""
    distance: float | None
    """The distance of the prints, 0 to 2; None for the reference."""


@dataclasses.dataclass(frozen=True)
class DuplicateGroup:
    """Entities whose images have the same picture."""

    reference: Duplicate
    """The one that shows most of the picture."""
    duplicates: tuple[Duplicate, ...]
    """The others."""


_Item = TypeVar("_Item")
_Self = TypeVar("_Self", bound="_Results[Any]")


class _Results(list[_Item]):
    """A list that a notebook shows with its pictures; a part of it, such as `results[:3]`, is such a list, too."""

    _columns: tuple[str, ...] = ()

    def __init__(self, items: Iterable[_Item] = (), catalog: Catalog | None = None, query: Any = None) -> None:
        super().__init__(items)
        self._catalog = catalog
        self._query = query

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> _Item: ...
    @overload
    def __getitem__(self: _Self, place: slice, /) -> _Self: ...
    def __getitem__(self, place: Any, /) -> Any:
        found = super().__getitem__(place)
        return type(self)(found, self._catalog, self._query) if isinstance(place, slice) else found

    def __reduce__(self) -> tuple[Any, ...]:
        # Pixels that it was searched with do not come along.
        return type(self), (list(self), self._catalog, self._query if isinstance(self._query, (str, bytes)) else None)

    def to_pandas(self) -> pandas.DataFrame:
        """A table of pandas with a row per entity."""
        import pandas

        rows = list(self._rows())
        return pandas.DataFrame(rows, columns=None if rows else list(self._columns))

    def _rows(self) -> Iterable[dict[str, Any]]:
        raise NotImplementedError

    def _thumbnail(self, id: str, image: int = 0) -> bytes | None:
        try:
            return self._catalog.thumbnail(id, image) if self._catalog else None
        except LookalikeError:
            # Of a catalog that is gone, or was opened before a fork, the rest is shown.
            return None


class Matches(_Results[Match]):
    """Matches, surest first. A notebook shows the query with the outlines of the matches, and their thumbnails.

    For that they keep the image that `search` was given; `list(matches)` does not.
    """

    _columns = tuple(each.name for each in dataclasses.fields(Match))

    def _rows(self) -> Iterable[dict[str, Any]]:
        return ({name: getattr(match, name) for name in self._columns} for match in self)

    def _repr_html_(self) -> str:
        figures = []
        try:
            figures += [] if self._query is None else [_html.outlined(self._query, [each.outline for each in self])]
        except (ImageError, LookalikeError, TypeError):
            # A file that is gone, or a print.
            pass
        for number, match in enumerate(self):
            shown = match.confidence if match.confidence > 0 else match.distance
            words = [match.title, match.subtitle, f"{'confidence' if match.confidence > 0 else 'distance'} {shown:.3g}"]
            thumbnail = self._thumbnail(match.id, match.image_index)
            figures.append(_html.figure(thumbnail, match.id, words, number if match.outline else None))
        return _html.row(figures) if self else _html.row([*figures, "no match"])


class Entities(_Results[dict[str, Any]]):
    """Entities. A notebook shows their thumbnails."""

    _columns = ("id",)

    def _rows(self) -> Iterable[dict[str, Any]]:
        for entity in self:
            attributes = entity.get("attributes", {})
            known = {key: value for key, value in entity.items() if key != "attributes"}
            # As conditions name an attribute that is called as another field, which this entity may not have.
            yield known | {f"attribute.{key}" if key in _FIELDS else key: value for key, value in attributes.items()}

    def _repr_html_(self) -> str:
        figures = [
            _html.figure(
                self._thumbnail(entity["id"]),
                entity["id"],
                [
                    *(entity.get(key) for key in ("type", "title", "subtitle")),
                    *entity.get("labels", ()),
                    *(f"{key}: {value}" for key, value in entity.get("attributes", {}).items()),
                ],
            )
            for entity in self[:_MOST_SHOWN]
        ]
        rest = len(self) - len(figures)
        return _html.row([*figures, f"and {rest} more"] if rest else figures or ["no entity"])


class DuplicateGroups(_Results[DuplicateGroup]):
    """Groups of duplicates. A notebook shows a row of thumbnails per group."""

    _columns = ("group", *(each.name for each in dataclasses.fields(Duplicate)))

    def _rows(self) -> Iterable[dict[str, Any]]:
        for number, group in enumerate(self):
            for each in (group.reference, *group.duplicates):
                yield {"group": number, **{name: getattr(each, name) for name in self._columns[1:]}}

    def _repr_html_(self) -> str:
        return "".join(
            _html.row(
                _html.figure(self._thumbnail(each.id), each.id, [each.title, each.difference or "reference"])
                for each in (group.reference, *group.duplicates)
            )
            for group in self[:_MOST_SHOWN]
        ) or _html.row(["no duplicates"])
