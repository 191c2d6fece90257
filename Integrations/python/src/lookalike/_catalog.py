"""Catalogs: index, search, merge."""

from __future__ import annotations

import json
import os
import re
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookalike._engine import image_requests
from lookalike._errors import ImageError, LookalikeError
from lookalike._images import ImageSource
from lookalike._values import absolute_path, finite_number, rows, text, whole_number
from lookalike._worker import HasWorker, Request, run

__all__ = ["Catalog", "IndexReport", "Match"]


@dataclass(frozen=True)
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
    """Where the query shows the image: four corners in the query's pixels, clockwise from the image's top left."""
    mirrored: bool
    """Whether the query shows the image as in a mirror."""
    type: str | None
    title: str | None
    subtitle: str | None
    image: str
    """The path of the entity's image that matches."""


@dataclass(frozen=True)
class IndexReport:
    """What an index run did."""

    added: int
    updated: int
    unchanged: int
    problems: tuple[ImageError, ...]
    """What could not be indexed; everything else was."""
    removed: tuple[str, ...] = ()
    """The ids of entities whose images are gone, with `prune`."""


class Catalog(HasWorker):
    """A folder of entities with the prints and local features of their images.

        catalog = Catalog("catalog/")
        catalog.index([{"id": "slow-meridian", "image": "front.jpg", "title": "Slow Meridian"}])
        matches = catalog.search("photo.jpg")

    Searches keep a process, which the first one starts. It sees what is indexed meanwhile, and a catalog that was made
    anew at the same path. Any number of threads share a catalog, and `await asyncio.to_thread(catalog.search, photo)`
    does not block an event loop. After a fork, the child's searches start a process of their own; so does a catalog
    that was pickled. A process that ends is started again, and its images are searched again, once. An interrupt leaves
    the catalog usable.
    """

    def __init__(self, path: str | os.PathLike[str], *, jobs: int | None = None) -> None:
        """A catalog in a folder. Nothing is read or made yet.

        Args:
            path: the folder; `index` makes a catalog that is not there.
            jobs: the number of threads; all cores by default.
        """
        self.path = os.path.abspath(text("path", os.fsdecode(path)))
        self._jobs = [] if jobs is None else ["--jobs", str(whole_number("jobs", jobs))]
        super().__init__(["--catalog", self.path, *self._jobs])

    def __getstate__(self) -> tuple[str, list[str]]:
        return self.path, self._jobs

    def __setstate__(self, state: tuple[str, list[str]]) -> None:
        self.path, self._jobs = state
        super().__init__(["--catalog", self.path, *self._jobs])

    def search(
        self,
        image: ImageSource,
        *,
        limit: int = 10,
        effort: str = "standard",
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> list[Match]:
        """Returns the entities that an image shows, surest first.

            for match in catalog.search("photo.jpg", where="year < 2000"):
                print(match.id, match.confidence)

        Args:
            image: a path, the bytes of an image file, a file object, an array of 8-bit pixels, or an image of Pillow.
            limit: the maximum number of matches.
            effort: “prints” compares prints alone, “standard” verifies candidates by local features, “thorough”
                verifies more of them.
            where: only entities that satisfy a condition, such as `price < 20 and type = "album"`.
            min_confidence: replaces the default decision, which accepts matches from 0.5.

        Raises:
            ImageError: if the image cannot be used.
            LookalikeError: if the catalog cannot be searched, or the condition cannot be read.
            TypeError: for what is no image, or an option of another type.
            ValueError: for an option that has no such value.
        """
        (result,) = self.search_all([image], limit=limit, effort=effort, where=where, min_confidence=min_confidence)
        if isinstance(result, ImageError):
            raise result
        return result

    def search_all(
        self,
        images: Iterable[ImageSource],
        *,
        limit: int = 10,
        effort: str = "standard",
        where: str | None = None,
        min_confidence: float | None = None,
    ) -> Iterator[list[Match] | ImageError]:
        """Yields the matches of each image in order, or the error of one that cannot be used; several at a time.

            for path, result in zip(paths, catalog.search_all(paths)):
                print(path, result if isinstance(result, ImageError) else [match.id for match in result])

        Images are taken from the iterable as they are needed. The arguments are those of `search`, and so are the
        errors that end all searches: `LookalikeError`, `TypeError` and `ValueError`.
        """
        header: dict[str, Any] = {"request": "search", "limit": whole_number("limit", limit)}
        header["effort"] = text("effort", effort)
        if effort not in ("prints", "standard", "thorough"):
            raise ValueError(f"effort is “prints”, “standard” or “thorough”, not {effort!r}")
        if where is not None:
            header["where"] = text("where", where)
        if min_confidence is not None:
            header["minConfidence"] = finite_number("min_confidence", min_confidence)
            if not 0 <= header["minConfidence"] <= 1:
                raise ValueError(f"min_confidence is {min_confidence}; it is 0 to 1")
        return self._matches(image_requests(header, images))

    def _matches(self, requests: Iterable[Request | ImageError]) -> Iterator[list[Match] | ImageError]:
        def catalog_error(answer: Mapping[str, Any]) -> str:
            # An error of the catalog begins with its path, and is no error of the image.
            reason = str(answer.get("error", {}).get("reason", ""))
            return reason if reason.startswith(f"{self.path}: ") else ""

        def is_outdated(answer: Mapping[str, Any]) -> bool:
            error = catalog_error(answer)
            return "another catalog is at its path" in error or "holds no catalog" in error

        for answer in self._answers(requests, is_outdated):
            if isinstance(answer, ImageError):
                yield answer
                continue
            header, _ = answer
            error = header.get("error")
            if not error:
                yield [_match(result) for result in header["results"]]
            elif catalog_error(header):
                raise LookalikeError(error["reason"])
            elif error["subject"] == "request":
                raise LookalikeError(f"the search: {error['reason']}")
            else:
                yield ImageError(error["subject"], error["reason"])

    def index(
        self,
        source: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | Any,
        *,
        local_features: bool | None = None,
        thumbnails: int | None = None,
        prune: bool = False,
    ) -> IndexReport:
        """Indexes what is new or changed in a folder of images, a manifest, or entities.

            report = catalog.index(pandas.read_csv("covers.csv"))
            for problem in report.problems:
                print(problem)

        Args:
            source: a folder, a `.csv` or `.jsonl` manifest, or entities: a table of pandas, polars or PyArrow, or
                mappings, with an `id` and an `image` or `images` (paths), and perhaps `type`, `title`, `subtitle` and
                `labels`. Other keys are attributes: texts, numbers, dates and lists, those of NumPy and pandas, too. A
                value that is None, NaN, NA or NaT is absent.
            local_features: whether to extract local features; by default as the command does.
            thumbnails: the long side of thumbnails in pixels, 0 for none.
            prune: whether to remove entities whose images are gone.

        Returns:
            How many entities were added, updated and unchanged, and what could not be indexed. A problem of an entity
            names its number, counted from 0.

        Raises:
            LookalikeError: if the catalog cannot be written or the source cannot be read.
            TypeError: for a value that cannot be stored.
        """
        options = ["--catalog", self.path, "--json", *self._jobs]
        if local_features is not None:
            options.append("--local-features" if local_features else "--no-local-features")
        if thumbnails is not None:
            options += ["--thumbnails", str(whole_number("thumbnails", thumbnails))]
        if prune:
            options.append("--prune")
        if isinstance(source, (str, os.PathLike)):
            return _report(run(["index", absolute_path(source), *options]))
        with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
            manifest = os.path.join(folder, "manifest.jsonl")
            problems = _write_lines(manifest, (_with_absolute_paths(entity) for entity in rows(source)))
            report = _report(run(["index", manifest, *options]), manifest)
        return replace(report, problems=(*problems, *report.problems))

    def merge(self, *catalogs: str | os.PathLike[str] | Catalog) -> None:
        """Adds the entities of other catalogs, which have the same model. The last one has the last word on an id.

            Catalog("all/").merge("part-1/", "part-2/")

        Args:
            catalogs: catalogs, or their folders.

        Raises:
            LookalikeError: if a catalog cannot be merged; the message names it.
        """
        paths = [other.path if isinstance(other, Catalog) else absolute_path(other) for other in catalogs]
        run(["catalog", "merge", *paths, "--into", self.path])

    def import_prints(
        self,
        prints: ArrayLike,
        entities: Iterable[Mapping[str, Any]],
        *,
        local_features: Iterable[bytes | None] | None = None,
        thumbnails: Iterable[bytes | None] | None = None,
    ) -> None:
        """Adds entities by prints that were made before with the catalog's model, such as by `Engine.compute`.

            catalog.import_prints(engine.embed(paths), [{"id": path, "image": path} for path in paths])

        Args:
            prints: one row per image.
            entities: one mapping per row with an `id`, or a table, as for `index`; those that follow each other with
                the same id are images of one entity.
            local_features: those of each row, as `Engine.compute` gives them. Without them, the entities are found by
                their prints alone.
            thumbnails: a JPEG file per row, of at most 256 pixels.

        Raises:
            LookalikeError: if a row or an entity cannot be used; nothing is added then.
            TypeError: for a value that cannot be stored.
        """
        with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
            matrix, lines = os.path.join(folder, "prints.npy"), os.path.join(folder, "entities.jsonl")
            np.save(matrix, np.ascontiguousarray(prints, dtype="<f4"))
            problems = _write_lines(lines, rows(entities))
            if problems:
                raise LookalikeError(str(problems[0]))
            options = []
            for option, records in (("--local-features", local_features), ("--thumbnails", thumbnails)):
                if records is not None:
                    path = os.path.join(folder, option[2:])
                    options += [option, path]
                    with open(path, "wb") as file:
                        for record in records:
                            file.write(struct.pack("<I", len(record or b"")) + (record or b""))
            run(["catalog", "import", matrix, "--entities", lines, "--catalog", self.path, *options])

    def entities(self, where: str | None = None) -> list[dict[str, Any]]:
        """Returns the entities in the catalog's order, all or those that satisfy a condition.

            cheap = catalog.entities("price < 20")

        Args:
            where: a condition, as for `search`.

        Raises:
            LookalikeError: if the catalog or the condition cannot be read.
        """
        condition = [] if where is None else [f"--where={text('where', where)}"]
        # Texts have line ends of their own, such as U+2028.
        lines = run(["catalog", "list", self.path, "--json", *condition]).split(b"\n")
        return [json.loads(line) for line in lines if line]

    def remove(self, ids: str | int | Iterable[str | int]) -> None:
        """Removes entities. If an id is unknown, nothing is removed.

            catalog.remove(["slow-meridian"])

        Args:
            ids: the ids of the entities, or a single one.

        Raises:
            LookalikeError: if an id is unknown, or the catalog cannot be written.
        """
        one_or_more = [ids] if isinstance(ids, (str, int, np.integer)) else ids
        plain = (str(each) if isinstance(each, (int, np.integer)) else each for each in one_or_more)
        names = list(dict.fromkeys(text("an id", each) for each in plain))
        # A command has a limited number of arguments.
        parts = [names[start : start + 1000] for start in range(0, len(names), 1000)]
        if len(parts) > 1:
            unknown = set(names) - {entity["id"] for entity in self.entities()}
            if unknown:
                raise LookalikeError(f"{self.path}: has no entity “{min(unknown)}”")
        for part in parts:
            run(["catalog", "remove", self.path, "--", *part])


def _write_lines(path: str, entities: Iterable[Mapping[str, Any]]) -> list[ImageError]:
    """Writes a line of JSON per entity. One that cannot be written has an empty line, and its problem is returned."""
    problems = []
    with open(path, "wb") as file:
        for number, entity in enumerate(entities):
            try:
                file.write(json.dumps(entity, ensure_ascii=False, allow_nan=False).encode())
            except UnicodeEncodeError:
                problems.append(ImageError(_name(number), "has half of a surrogate pair, which is no text"))
            file.write(b"\n")
    return problems


def _name(number: int) -> str:
    return f"entity {number}, counted from 0"


def _with_absolute_paths(entity: dict[str, Any]) -> dict[str, Any]:
    """A manifest's paths are relative to it, those of a caller to the working directory."""
    if entity.get("image"):
        entity["image"] = absolute_path(entity["image"])
    if entity.get("images"):
        paths = entity["images"]
        entity["images"] = [absolute_path(path) for path in ([paths] if isinstance(paths, str) else paths)]
    return entity


def _report(output: bytes, manifest: str = "") -> IndexReport:
    """Reads a report. Problems with lines of a temporary manifest are those of entities."""

    def named(words: str) -> str:
        if not manifest:
            return words
        return re.sub(re.escape(manifest) + r":(\d+)", lambda found: _name(int(found[1]) - 1), words)

    counts = json.loads(output)
    problems = tuple(ImageError(named(each["subject"]), named(each["reason"])) for each in counts["problems"])
    return IndexReport(
        counts["added"], counts["updated"], counts["unchanged"], problems, tuple(counts.get("removed", ()))
    )


def _match(result: Mapping[str, Any]) -> Match:
    outline = result.get("outline")
    return Match(
        id=result["id"],
        confidence=result["confidence"],
        distance=result["distance"],
        inliers=result["inliers"],
        outline=tuple((x, y) for x, y in outline) if outline else None,
        mirrored=bool(result.get("mirrored")),
        type=result.get("type"),
        title=result.get("title"),
        subtitle=result.get("subtitle"),
        image=result["image"],
    )
