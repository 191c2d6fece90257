"""Catalogs: index, search, merge."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookalike._worker import HasWorker, ImageError, ImageSource, Worker, encoded, run

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

    Searches keep a process, which is started by the first one. It sees what is indexed meanwhile.
    """

    def __init__(self, path: str | os.PathLike[str], *, jobs: int | None = None) -> None:
        """A catalog in a folder. Nothing is read or made yet.

        Args:
            path: the folder; `index` makes a catalog that is not there.
            jobs: the number of threads; all cores by default.
        """
        self.path = os.path.abspath(os.fspath(path))
        self._jobs = [] if jobs is None else ["--jobs", str(jobs)]
        self._worker: Worker | None = None

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

        Args:
            image: a path, the bytes of an image file, an array of 8-bit pixels, or an image of Pillow.
            limit: the maximum number of matches.
            effort: “prints” compares prints alone, “standard” verifies candidates by local features, “thorough”
                verifies more of them.
            where: only entities that satisfy a condition, such as `price < 20 and type = "album"`.
            min_confidence: replaces the default decision, which accepts matches from 0.5.

        Raises:
            ImageError: if the image cannot be used, or an option cannot.
            LookalikeError: if the catalog cannot be searched.
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

        The arguments are those of `search`.
        """
        header: dict[str, Any] = {"request": "search", "limit": limit, "effort": effort}
        if where is not None:
            header["where"] = where
        if min_confidence is not None:
            header["minConfidence"] = min_confidence

        def requests() -> Iterator[tuple[dict[str, Any], bytes]]:
            for image in images:
                path, data = encoded(image)
                yield ({**header, "path": path} if path is not None else header), data

        if self._worker is None:
            self._worker = Worker(["--catalog", self.path, *self._jobs])
        for answer, _ in self._worker.answers(requests()):
            error = answer.get("error")
            if error:
                yield ImageError(error["subject"], error["reason"])
            else:
                yield [_match(result) for result in answer["results"]]

    def index(
        self,
        source: str | os.PathLike[str] | Iterable[Mapping[str, Any]],
        *,
        local_features: bool | None = None,
        thumbnails: int | None = None,
        prune: bool = False,
    ) -> IndexReport:
        """Indexes what is new or changed in a folder of images, a manifest, or entities.

        Args:
            source: a folder, a `.csv` or `.jsonl` manifest, or entities: mappings with an `id` and an `image` or
                `images` (paths), and perhaps `type`, `title`, `subtitle` and `labels`. Other keys are attributes.
            local_features: whether to extract local features; by default as the command does.
            thumbnails: the long side of thumbnails in pixels, 0 for none.
            prune: whether to remove entities whose images are gone.

        Raises:
            LookalikeError: if the catalog cannot be written or the source cannot be read.
        """
        options = ["--catalog", self.path, "--json", *self._jobs]
        if local_features is not None:
            options.append("--local-features" if local_features else "--no-local-features")
        if thumbnails is not None:
            options += ["--thumbnails", str(thumbnails)]
        if prune:
            options.append("--prune")
        if isinstance(source, (str, os.PathLike)):
            return _report(run(["index", os.fspath(source), *options])[1])
        with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
            manifest = os.path.join(folder, "manifest.jsonl")
            with open(manifest, "w", encoding="utf-8") as file:
                for entity in source:
                    file.write(json.dumps(_with_absolute_paths(entity)) + "\n")
            return _report(run(["index", manifest, *options])[1])

    def merge(self, *catalogs: str | os.PathLike[str] | Catalog) -> None:
        """Adds the entities of other catalogs, which have the same model. The last one has the last word on an id.

        Raises:
            LookalikeError: if a catalog cannot be merged; the message names it.
        """
        paths = [other.path if isinstance(other, Catalog) else os.fspath(other) for other in catalogs]
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

        Args:
            prints: one row per image.
            entities: one mapping per row with an `id`; those that follow each other with the same id are images of one
                entity.
            local_features: those of each row, as `Engine.compute` gives them. Without them, the entities are found by
                their prints alone.
            thumbnails: a JPEG file per row, of at most 256 pixels.

        Raises:
            LookalikeError: if a row or an entity cannot be used; nothing is added then.
        """
        with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
            matrix, lines = os.path.join(folder, "prints.npy"), os.path.join(folder, "entities.jsonl")
            np.save(matrix, np.ascontiguousarray(prints, dtype="<f4"))
            with open(lines, "w", encoding="utf-8") as file:
                for entity in entities:
                    file.write(json.dumps(dict(entity)) + "\n")
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

        Raises:
            LookalikeError: if the catalog cannot be read.
        """
        condition = [] if where is None else ["--where", where]
        return [json.loads(line) for line in run(["catalog", "list", self.path, "--json", *condition])[1].splitlines()]

    def remove(self, ids: Iterable[str]) -> None:
        """Removes entities. If an id is unknown, nothing is removed.

        Raises:
            LookalikeError: if an id is unknown, or the catalog cannot be written.
        """
        run(["catalog", "remove", self.path, "--", *ids])

    def close(self) -> None:
        """Ends the process of searches; the next search starts another one."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None


def _with_absolute_paths(entity: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest's paths are relative to it, those of a caller to the working directory."""
    result = dict(entity)
    if result.get("image"):
        result["image"] = os.path.abspath(os.fspath(result["image"]))
    if result.get("images"):
        result["images"] = [os.path.abspath(os.fspath(path)) for path in result["images"]]
    return result


def _report(output: str) -> IndexReport:
    counts = json.loads(output)
    problems = tuple(ImageError(problem["subject"], problem["reason"]) for problem in counts["problems"])
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
