"""Catalogs: index, search, change, merge; in this process, by the library."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import struct
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookalike._closing import Closing
from lookalike._conditions import Condition, condition_text
from lookalike._engine import several
from lookalike._errors import ImageError, LookalikeError
from lookalike._images import ImageSource, held, is_in_memory
from lookalike._library import Handle, NextItem, answer, checked, interruptible, library
from lookalike._model import sources
from lookalike._progress import Progress, Show, count, shown
from lookalike._results import Duplicate, DuplicateGroup, DuplicateGroups, Entities, Match, Matches
from lookalike._values import absolute_path, finite_number, is_absent, plain, rows, text, whole_number

__all__ = ["Catalog", "Decision", "Evaluation", "Figures", "IndexReport", "Note"]

# A condition that is longer takes long to read, and is a mistake.
_LONGEST_OPTIONS = 1 << 20
# Items that are made before the library takes one.
_ITEMS_AHEAD = 16


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
    notes: tuple[Note, ...] = ()
    """What was done otherwise than one may expect, such as how many files of a folder were left out."""


@dataclass(frozen=True)
class Note:
    """What an index run did otherwise than one may expect."""

    subject: str
    text: str


@dataclass(frozen=True)
class Figures:
    """How well labeled queries were answered: shares of those with a target; None where there are none."""

    queries: int
    """The number of queries with a target."""
    recall_at_1: float | None
    recall_at_10: float | None
    target_share: float | None
    """The mean share of a query's targets among as many first matches."""
    candidate_recall_at_20: float | None
    """The recall of the first stage, which the second cannot exceed; None for a search by prints."""
    accepted: float | None
    """Queries whose first match is right and accepted."""
    wrong: float | None
    """Queries whose first match is wrong and accepted."""


@dataclass(frozen=True)
class Decision:
    """What a smallest confidence accepts: shares of first matches."""

    confidence: float
    accepted: float | None
    """Of queries with a target, those that are right."""
    wrong: float | None
    """Of queries with a target, those that are wrong."""
    false_accepts: float | None
    """Of queries without a target, those with a match that is accepted."""


@dataclass(frozen=True)
class Evaluation:
    """The figures of labeled queries."""

    all: Figures
    groups: dict[str, Figures]
    absent_queries: int
    """The number of queries without a target, among them those that were searched again with `leave_out`."""
    false_accepts: float | None
    """The share of them with a match that was accepted."""
    micro_average_precision: float | None
    """1 if one threshold separates all right first matches from all wrong ones."""
    recall_at_95_precision: float | None
    calibration_error: float | None
    decisions: tuple[Decision, ...]
    """What confidences of 0.1 to 0.9 accept."""
    recommended: Decision | None
    """The smallest confidence that accepts no more than the wanted share of absent queries."""
    problems: tuple[ImageError, ...]
    """Queries that could not be evaluated, or whose targets the catalog lacks."""


class Catalog(Closing):
    """A folder of entities with the prints and local features of their images.

        catalog = Catalog("catalog/")
        catalog.index([{"id": "slow-meridian", "image": "front.jpg", "title": "Slow Meridian"}])
        matches = catalog.search("photo.jpg")

    Everything is done in this process, by the library. Searches see what is indexed meanwhile, and a catalog that was
    made anew at the same path. Any number of threads share a catalog, and other threads of Python run during a call;
    `await asyncio.to_thread(catalog.search, photo)` does not block an event loop. An interrupt leaves the catalog
    usable. After a fork, the child can open catalogs only if its parent has used neither catalogs, nor engines, nor
    arrays: calls are a `LookalikeError` otherwise, so start such processes by “spawn” or “forkserver”. A copy that was
    pickled opens the catalog anew.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        model: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
    ) -> None:
        """A catalog in a folder. Nothing is read or made yet.

        Args:
            path: the folder; `index` makes a catalog that is not there.
            model: the model file of a new catalog, the default model without it; a catalog keeps its model.
            jobs: the number of threads; all cores by default.
        """
        self.path = os.path.abspath(text("path", os.fsdecode(path)))
        self._jobs = 0 if jobs is None else whole_number("jobs", jobs)
        self._model_path = None if model is None else os.path.abspath(os.fsencode(model))
        self._handle: Handle | None = None

    def __getstate__(self) -> tuple[str, int, bytes | None]:
        return self.path, self._jobs, self._model_path

    def __setstate__(self, state: tuple[str, int, bytes | None]) -> None:
        self.path, self._jobs, self._model_path = state
        self._handle = None

    def search(
        self,
        image: ImageSource,
        *,
        limit: int = 10,
        effort: str = "standard",
        where: str | Condition | None = None,
        min_confidence: float | None = None,
        codes: Iterable[str] = (),
        texts: Iterable[str] = (),
    ) -> Matches:
        """Returns the entities that an image shows, surest first.

            for match in catalog.search("photo.jpg", where="year < 2000"):
                print(match.id, match.confidence)

        Args:
            image: a path, the bytes of an image file, a file object, an array of 8-bit pixels, an image of Pillow, or a
                print: a row that `Engine.embed` returns.
            limit: the maximum number of matches.
            effort: “prints” compares prints alone, “standard” verifies candidates by local features.
            where: only entities that satisfy a condition, such as `price < 20 and type = "album"`, or
                `(field("price") < 20) & (field("type") == "album")`.
            min_confidence: replaces the default decision, which accepts matches from 0.5.
            codes: the texts of barcodes in the image: entities that have one of them as an attribute are matches.
            texts: lines of text in the image: entities whose title has their words are matches.

        Raises:
            ImageError: if the image cannot be used.
            LookalikeError: if the catalog cannot be searched, or the condition cannot be read.
            TypeError: for what is no image, or an option of another type.
            ValueError: for an option that has no such value.
        """
        return self._search(image, _search_options(limit, effort, where, min_confidence, codes, texts), image)

    def search_all(
        self,
        images: ImageSource | Iterable[ImageSource],
        *,
        limit: int = 10,
        effort: str = "standard",
        where: str | Condition | None = None,
        min_confidence: float | None = None,
    ) -> Iterator[Matches | ImageError]:
        """Yields the matches of each image in order, or the error of one that cannot be used; several at a time.

            for path, result in zip(paths, catalog.search_all(paths)):
                print(path, result if isinstance(result, ImageError) else [match.id for match in result])

        Images are taken from the iterable as they are needed; a folder is all images below it, in the order of their
        paths. The arguments are those of `search`, and so are the errors that end all searches: `LookalikeError`,
        `TypeError` and `ValueError`.
        """
        return self._search_all(images, _search_options(limit, effort, where, min_confidence))

    def _search_all(self, images: Any, options: bytes) -> Iterator[Matches | ImageError]:
        workers = self._jobs or os.cpu_count() or 1
        searches: deque[Future[Matches]] = deque()

        def next_result() -> Matches | ImageError:
            try:
                return searches.popleft().result()
            except ImageError as error:
                return error

        pool = ThreadPoolExecutor(workers, thread_name_prefix="lookalike")
        try:
            # The rows of an array of floats are prints.
            are_prints = isinstance(images, np.ndarray) and images.dtype.kind == "f"
            for image in images if are_prints else several(images):
                try:
                    searches.append(pool.submit(self._search, held(image), options, _path_alone(image)))
                except (ImageError, TypeError) as error:
                    searches.append(Future())
                    searches[-1].set_exception(error)
                if len(searches) >= 2 * workers:
                    yield next_result()
            while searches:
                yield next_result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def search_words(
        self,
        words: str,
        image: ImageSource | None = None,
        *,
        weight: float = 0.5,
        limit: int = 10,
        where: str | Condition | None = None,
    ) -> Matches:
        """Returns the entities that words describe, nearest first; for a catalog whose model reads texts.

            lamps = catalog.search_words("a red lamp", where="price < 100")

        Args:
            words: what the entities show.
            image: what they are to resemble as well.
            weight: that of the words beside the image, 0 to 1.
            limit: the maximum number of entities; all of them have a place in the order.
            where: only entities that satisfy a condition.

        Raises:
            ImageError: if the image cannot be used.
            LookalikeError: if the catalog cannot be searched by words.
        """
        options = {"words": text("words", words), "limit": whole_number("limit", limit)}
        if image is not None:
            options["wordsWeight"] = finite_number("weight", weight)
        return self._search(image, _options(options, where), image)

    def similar(self, id: str | int, *, limit: int = 10, where: str | Condition | None = None) -> Matches:
        """Returns the entities that resemble another one most, nearest first, without itself.

            for match in catalog.similar("slow-meridian", limit=5):
                print(match.id, match.distance)

        Raises:
            LookalikeError: for an unknown id, or if the catalog cannot be searched.
        """
        return self._search(None, _options({"similarTo": _id(id), "limit": whole_number("limit", limit)}, where))

    def _search(self, image: ImageSource | None, options: bytes, query: ImageSource | None = None) -> Matches:
        """`query` is the image that a notebook shows."""
        handle = self._catalog()
        search = library().lookalike_catalog_search
        if image is None:
            found = answer(search(handle, None, options))
        else:
            with sources([image]) as (source,):
                subject = os.fsdecode(source.path or b"image")
                found = answer(search(handle, ctypes.byref(source), options), subject)
        # A file object is at its end.
        return Matches(map(_match, json.loads(found)["results"]), self, None if hasattr(query, "read") else query)

    def entities(
        self,
        where: str | Condition | None = None,
        *,
        words: str | None = None,
        ids: str | int | Iterable[str | int] | None = None,
        limit: int | None = None,
    ) -> Entities:
        """Returns entities: all of them, those that satisfy a condition, have words, or have some ids.

            cheap = catalog.entities("price < 20")
            book = catalog.entities("has code 978-3-16-148410-0")
            live = catalog.entities(words="live at")

        Args:
            where: a condition, as for `search`.
            words: words of the title, the subtitle or the labels; the last one may be incomplete. The best match comes
                first; without it, the entities are in the catalog's order.
            ids: the ids, in whose order the entities are returned, without unknown ones, or a single one; instead of
                the others.
            limit: the maximum number of entities.

        Raises:
            LookalikeError: if the catalog or the condition cannot be read.
        """
        options: dict[str, Any] = {} if limit is None else {"limit": whole_number("limit", limit)}
        if words is not None:
            options["text"] = text("words", words)
        if ids is not None:
            options["ids"] = _ids(ids)
        found = answer(library().lookalike_catalog_list(self._catalog(), _options(options, where)))
        return Entities(json.loads(found), self)

    def thumbnail(self, id: str | int, image: int = 0) -> bytes:
        """Returns the thumbnail of an entity's image, counted from 0: a JPEG file.

        Raises:
            LookalikeError: if there is none, or the catalog cannot be read.
        """
        handle, size = self._catalog(), ctypes.c_size_t()
        find = library().lookalike_catalog_thumbnail
        place = whole_number("image", image)
        return answer(find(handle, _id(id).encode(), place, ctypes.byref(size)), size=lambda: size.value)

    def facets(
        self, *fields: str, where: str | Condition | None = None, words: str | None = None
    ) -> dict[str, dict[str, int]]:
        """Returns how many entities have each value of some fields, the most frequent first.

            years = catalog.facets("year", where='type = "album"')["year"]

        Args:
            fields: “type”, “title”, “subtitle”, “label”, or names of attributes.
            where: only entities that satisfy a condition.
            words: only those that have these words, as for `entities`.

        Raises:
            LookalikeError: if no entity has such an attribute, or the catalog or the condition cannot be read.
        """
        options: dict[str, Any] = {"by": [text("a field", field) for field in fields]}
        if words is not None:
            options["text"] = text("words", words)
        facets = answer(library().lookalike_catalog_facets(self._catalog(), _options(options, where)))
        return {
            facet["field"]: {each["value"]: each["count"] for each in facet["values"]} for facet in json.loads(facets)
        }

    def duplicates(self, where: str | Condition | None = None) -> DuplicateGroups:
        """Returns the groups of entities whose images have the same picture.

            for group in catalog.duplicates():
                print(group.reference.id, [(each.id, each.difference) for each in group.duplicates])

        Images are not read: what was indexed is compared. Nothing is removed.

        Raises:
            LookalikeError: if the catalog or the condition cannot be read.
        """
        handle, condition = self._catalog(), None if where is None else condition_text(where).encode()
        groups = json.loads(interruptible(lambda: answer(library().lookalike_catalog_duplicates(handle, condition))))
        return DuplicateGroups(
            (
                DuplicateGroup(_duplicate(group["reference"]), tuple(map(_duplicate, group["duplicates"])))
                for group in groups
            ),
            self,
        )

    def evaluate(
        self,
        queries: str | os.PathLike[str] | Iterable[Mapping[str, Any]],
        *,
        effort: str = "standard",
        leave_out: bool = False,
        max_false_accepts: float | None = None,
        progress: Progress = False,
    ) -> Evaluation:
        """Searches for labeled queries, and returns how many are answered right.

            result = catalog.evaluate([{"query": "photo.jpg", "target": "slow-meridian"}, …], max_false_accepts=0.01)
            matches = catalog.search("photo.jpg", min_confidence=result.recommended.confidence)

        Args:
            queries: mappings with an image as the `query`, and the id of what it shows as the `target`, None if that is
                not in the catalog, or several ids as `targets`; perhaps with a `group`, for which the figures are
                counted, too. Or a file of such lines of JSON, whose paths are relative to it; or its folder, with
                `queries.jsonl`.
            effort: as for `search`.
            leave_out: whether to search for each query again as if the catalog did not have its targets, to measure
                false accepts.
            max_false_accepts: the share of the queries without a target that the recommended confidence may accept.
            progress: True for a bar of `tqdm`, or a function that is called with the number of queries that are done,
                and of all, or None.

        Raises:
            LookalikeError: if the catalog cannot be searched, or the file cannot be read.
            TypeError: for a query that is no mapping.
        """
        options: dict[str, Any] = {"effort": _effort(effort), "leaveOut": bool(leave_out)}
        if max_false_accepts is not None:
            options["falseAccepts"] = finite_number("max_false_accepts", max_false_accepts)
        given = _labeled_queries(queries) if isinstance(queries, (str, os.PathLike)) else queries
        handle = self._catalog()
        with shown(progress) as show:
            items = _Items(rows(given, _is_label), "query", _take_query, show, count(given))
            call = library().lookalike_catalog_evaluate
            return _evaluation(json.loads(items.run(lambda give: call(handle, give, None, _options(options)))), items)

    def index(
        self,
        source: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | Any,
        *,
        local_features: bool | None = None,
        thumbnails: int | None = None,
        prune: bool = False,
        progress: Progress = False,
    ) -> IndexReport:
        """Indexes what is new or changed in a folder of images, a manifest, or entities.

            report = catalog.index(pandas.read_csv("covers.csv"))
            for problem in report.problems:
                print(problem)

        Args:
            source: a folder, a `.csv` or `.jsonl` manifest, or entities: a table of pandas, polars or PyArrow, or
                mappings, with an `id` and an `image` or `images`, and perhaps `type`, `title`, `subtitle` and
                `labels`. Images are those that `search` takes, prints among them. Other keys are attributes: texts,
                numbers, dates and lists, those of NumPy and pandas, too. An empty text, None, NaN, NA and NaT are
                absent. An iterator is read as it is indexed, so it may have any number of images in memory, and what
                was indexed before an error of it stays.
            local_features: whether to extract local features; by default as the command does.
            thumbnails: the long side of thumbnails in pixels, 0 for none.
            prune: whether to remove entities whose images are gone.
            progress: True for a bar of `tqdm`, or a function that is called with the number of images that are done,
                and of all, or None.

        Returns:
            How many entities were added, updated and unchanged, and what could not be indexed. A problem of an entity
            names its number, counted from 0.

        Raises:
            LookalikeError: if the catalog cannot be written or the source cannot be read.
            TypeError: for a value that cannot be stored.
        """
        options: dict[str, Any] = {"prune": True} if prune else {}
        if self._jobs:
            options["jobs"] = self._jobs
        indexer_options: dict[str, Any] = {}
        if local_features is not None:
            indexer_options["localFeatures"] = bool(local_features)
        if thumbnails is not None:
            indexer_options["thumbnails"] = whole_number("thumbnails", thumbnails)
        with shown(progress) as show:
            if isinstance(source, (str, os.PathLike)):
                path = os.fsencode(absolute_path(source))
                index = library().lookalike_indexer_index_path
                with self._indexer(indexer_options) as indexer:
                    return _report(interruptible(lambda: answer(index(indexer, path, _options(options))), show=show))
            if not isinstance(source, Iterator):
                # So that a value that cannot be stored is an error before anything is indexed.
                for _ in rows(source, _is_image):
                    pass
            table = rows(source, _is_image)
            items = _Items(table, "entity", _take_images, show, count(source))
            with self._indexer(indexer_options) as indexer:
                call = library().lookalike_indexer_index
                report = _report(items.run(lambda give: call(indexer, give, None, _options(options))))
        return replace(report, problems=tuple(map(items.explained, report.problems)))

    def update(self, entities: Iterable[Mapping[str, Any]] | Any) -> None:
        """Changes the metadata of entities: all of them, or none if one is unknown.

            catalog.update([{"id": "slow-meridian", "title": "Slow Meridian (Live)", "price": None}])

        Args:
            entities: mappings or a table as for `index`, without images. Keys that are absent stay as they are; an
                empty text, None, NaN, NA and NaT remove.

        Raises:
            LookalikeError: if an id is unknown, or the catalog cannot be written.
            TypeError: for a value that cannot be stored.
        """
        changes = [
            {key: None if is_absent(value) else value for key, value in row.items()}
            for row in rows(entities, lambda key, value: is_absent(value))
        ]
        self._require()
        with self._indexer({}) as indexer:
            checked(library().lookalike_indexer_update(indexer, _line(changes)))

    def remove(self, ids: str | int | Iterable[str | int]) -> None:
        """Removes entities. If an id is unknown, nothing is removed.

            catalog.remove(["slow-meridian"])

        Args:
            ids: the ids of the entities, or a single one.

        Raises:
            LookalikeError: if an id is unknown, or the catalog cannot be written.
        """
        names = _line(list(dict.fromkeys(_ids(ids))))
        self._require()
        with self._indexer({}) as indexer:
            checked(library().lookalike_indexer_remove(indexer, names))

    def merge(self, *catalogs: str | os.PathLike[str] | Catalog) -> None:
        """Adds the entities of other catalogs, which have the same model. The last one has the last word on an id.

            Catalog("all/").merge("part-1/", "part-2/")

        Args:
            catalogs: catalogs, or their folders.

        Raises:
            LookalikeError: if a catalog cannot be merged, or something of one is damaged; the message names it.
        """
        others = [other.path if isinstance(other, Catalog) else absolute_path(other) for other in catalogs]
        paths = (ctypes.c_char_p * len(others))(*map(os.fsencode, others))
        merge, model = library().lookalike_catalog_merge, self._model()
        report = _report(interruptible(lambda: answer(merge(os.fsencode(self.path), model, paths, len(others)))))
        if report.problems:
            raise LookalikeError("; ".join(map(str, report.problems)))

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
            files: list[bytes | None] = [os.fsencode(os.path.join(folder, name)) for name in ("prints.npy", "entities")]
            np.save(os.path.join(folder, "prints.npy"), np.ascontiguousarray(prints, dtype="<f4"))
            with open(os.path.join(folder, "entities"), "wb") as file:
                for number, entity in enumerate(rows(entities)):
                    try:
                        file.write(_line(entity) + b"\n")
                    except UnicodeEncodeError:
                        raise LookalikeError(f"entity {number}, counted from 0: {_HALF}") from None
            for name, records in (("local-features", local_features), ("thumbnails", thumbnails)):
                path = os.path.join(folder, name)
                files.append(None if records is None else os.fsencode(path))
                if records is not None:
                    with open(path, "wb") as file:
                        for record in records:
                            file.write(struct.pack("<I", len(record or b"")) + (record or b""))
            take, model = library().lookalike_catalog_import, self._model()
            report = _report(interruptible(lambda: answer(take(os.fsencode(self.path), model, *files))))
        if report.problems:
            raise LookalikeError("; ".join(map(str, report.problems)))

    def close(self) -> None:
        """Closes the catalog's files, when calls that are under way have ended; a later call opens them again."""
        self._handle = None

    def _catalog(self) -> Handle:
        """The open catalog."""
        handle = self._handle
        if handle is None or not handle.is_usable:
            # Two threads may open it at the same time: one of both handles is kept.
            handle = library().lookalike_catalog_open(os.fsencode(self.path), None, self._jobs).opened()
            self._handle = handle
        return handle

    def _require(self) -> None:
        """Raises `LookalikeError` if the catalog is not there, or not any more: an indexer would make one."""
        self.entities(limit=1)

    def _indexer(self, options: dict[str, Any]) -> Handle:
        """The catalog, open for changes until the handle is let go."""
        path, model = os.fsencode(self.path), self._model()
        opened: Handle = library().lookalike_indexer_open(path, model, _options(options)).opened()
        return opened

    def _model(self) -> Handle | None:
        """The model of a new catalog; None for the default model."""
        return library().lookalike_model_open(self._model_path).opened() if self._model_path else None


class _Items:
    """The rows of a run: one thread reads them and makes items of them, and another one takes them for the library.
    Both wait for queues that are written in C: an interrupt leaves no lock that nobody opens."""

    def __init__(
        self,
        table: Iterator[dict[str, Any]],
        name: str,
        take: Callable[[dict[str, Any]], list[Any]],
        show: Show | None,
        total: int | None,
    ) -> None:
        """`take` takes the images in memory from a row, whose number problems have after `name`."""
        # The first error comes before a catalog is made.
        self._rows = itertools.chain(list(itertools.islice(table, 1)), table)
        self._name, self._take_images = name, take
        # What is done is what the library has taken; it says itself what it has stored.
        self._show = None if show is None else lambda done, _: show(done, total)
        # A text, images, and what keeps these; None at the end.
        self._items: SimpleQueue[tuple[bytes | None, Any, contextlib.ExitStack] | None] = SimpleQueue()
        self._places: SimpleQueue[None] = SimpleQueue()
        for _ in range(_ITEMS_AHEAD):
            self._places.put(None)
        # The item that the library reads.
        self._given: tuple[bytes | None, Any, contextlib.ExitStack] = (None, None, contextlib.ExitStack())
        self._is_ended = False
        # Why the library gets no text of an entity, by what it calls that.
        self._reasons: dict[str, str] = {}

    def run(self, call: Callable[[Any], Any]) -> bytes:
        """The answer of a function that takes the items."""
        give = NextItem(self._give)

        def work() -> bytes:
            try:
                return answer(call(give))
            finally:
                self._is_ended = True
                self._places.put(None)
                while not self._items.empty():
                    self._take(self._items.get())

        found: bytes = interruptible(work, self._feed, lambda: self._items.put(None), self._show)
        return found

    def explained(self, problem: ImageError) -> ImageError:
        """A problem that the library tells, with the reason that is known here."""
        return ImageError(problem.subject, self._reasons.get(problem.subject, problem.reason))

    def _feed(self, poll: Callable[[], None]) -> None:
        for number, row in enumerate(self._rows):
            self._places.get()
            poll()
            if self._is_ended:
                break
            self._items.put(self._item(row, f"{self._name} {number}, counted from 0"))
        self._items.put(None)

    def _item(self, row: dict[str, Any], name: str) -> tuple[bytes | None, Any, contextlib.ExitStack]:
        stack = contextlib.ExitStack()
        try:
            images = self._take_images(row)
            line = _line(row)
            return line, stack.enter_context(sources(list(map(held, images)))), stack
        except UnicodeEncodeError:
            self._reasons[name] = _HALF
        except ImageError as error:
            self._reasons[name] = str(error)
        return None, None, stack

    def _give(self, _: Any, item: Any) -> bool:
        """Called by the library."""
        next_item = self._items.get()
        self._places.put(None)
        self._take(next_item)
        if next_item is None:
            return False
        line, images, _ = next_item
        item.contents.entity = line
        if images:
            item.contents.images, item.contents.image_count = images, len(images)
        return True

    def _take(self, item: tuple[bytes | None, Any, contextlib.ExitStack] | None) -> None:
        """Keeps an item in the place of the one before, which nobody reads any more."""
        self._given[2].close()
        self._given = item or (None, None, contextlib.ExitStack())


_HALF = "has half of a surrogate pair, which is no text"


def _take_images(row: dict[str, Any]) -> list[Any]:
    """The images of an entity, unless all of them are paths."""
    images: list[Any] = []
    if any(_is_image(key, row[key]) for key in ("image", "images") if key in row):
        for key in ("image", "images"):
            value = row.pop(key, None)
            images += value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    elif isinstance(row.get("images"), str):
        row["images"] = [row["images"]]
    return images


def _take_query(row: dict[str, Any]) -> list[Any]:
    """The image of a labeled query, unless it is a path."""
    if _is_label("target", row.get("target", "")):
        row["target"] = None
    if is_in_memory(row.get("query")):
        image, row["query"] = row["query"], "image"
        return [image]
    return []


def _is_label(key: str, value: Any) -> bool:
    """Whether a value of a labeled query is an image in memory, or a target that says that there is none."""
    return key == "query" and is_in_memory(value) or key == "target" and plain(value, "target") is None


def _is_image(key: str, value: Any) -> bool:
    """Whether a value of a row is an image in memory, or a list with one."""
    if key not in ("image", "images"):
        return False
    return any(map(is_in_memory, value)) if isinstance(value, (list, tuple)) else is_in_memory(value)


def _id(value: Any) -> str:
    return str(value) if isinstance(value, (int, np.integer)) else text("an id", value)


def _ids(ids: Any) -> list[str]:
    """Ids, or a single one: the characters of a text are none."""
    return [_id(ids)] if isinstance(ids, (str, int, np.integer)) else list(map(_id, ids))


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _options(options: dict[str, Any], where: str | Condition | None = None) -> bytes:
    if where is not None:
        options["where"] = condition_text(where)
    line = _line(options)
    if len(line) > _LONGEST_OPTIONS:
        raise ValueError(f"the request has {len(line)} bytes of text; it may have {_LONGEST_OPTIONS}")
    return line


def _search_options(
    limit: int,
    effort: str,
    where: str | Condition | None,
    min_confidence: float | None,
    codes: Iterable[str] = (),
    texts: Iterable[str] = (),
) -> bytes:
    options: dict[str, Any] = {"limit": whole_number("limit", limit), "effort": _effort(effort)}
    if min_confidence is not None:
        options["minConfidence"] = finite_number("min_confidence", min_confidence)
        if not 0 <= options["minConfidence"] <= 1:
            raise ValueError(f"min_confidence is {min_confidence}; it is 0 to 1")
    for name, values in (("codes", codes), ("texts", texts)):
        if isinstance(values, str):
            raise TypeError(f"{name} are several texts, not the text {values!r}")
        options[name] = [text(f"one of the {name}", value) for value in values]
    return _options(options, where)


def _effort(effort: str) -> str:
    if text("effort", effort) not in ("prints", "standard"):
        raise ValueError(f"effort is “prints” or “standard”, not {effort!r}")
    return effort


def _path_alone(image: ImageSource) -> ImageSource | None:
    """The image if it is a path: pixels are not kept with all matches of many images."""
    return image if isinstance(image, (str, os.PathLike)) else None


def _problems(answer: Mapping[str, Any]) -> tuple[ImageError, ...]:
    return tuple(ImageError(each["subject"], each["reason"]) for each in answer["problems"])


def _report(output: bytes) -> IndexReport:
    counts = json.loads(output)
    return IndexReport(
        counts["added"],
        counts["updated"],
        counts["unchanged"],
        _problems(counts),
        tuple(counts.get("removed", ())),
        tuple(Note(each["subject"], each["text"]) for each in counts.get("notes", ())),
    )


def _labeled_queries(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The labeled queries of a file of JSON lines, or of `queries.jsonl` in a folder."""
    file = os.path.join(path, "queries.jsonl") if os.path.isdir(path) else os.fspath(path)
    try:
        with open(file, "rb") as lines:
            return [_query(line, f"{file}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    except OSError as error:
        raise LookalikeError(f"{file} cannot be read: {error.strerror}") from error


def _query(line: bytes, place: str) -> dict[str, Any]:
    try:
        query = json.loads(line)
        return {**query, "query": os.path.join(os.path.dirname(place), query["query"])}
    except (KeyError, TypeError, ValueError) as error:
        words = 'is no query such as {"query": "a.jpg", "target": "id"}'
        raise LookalikeError(f"{place}: {words}: {error}") from error


def _evaluation(answer: Mapping[str, Any], items: _Items) -> Evaluation:
    def figures(found: Mapping[str, Any]) -> Figures:
        shares = ("recallAt1", "recallAt10", "targetShare", "candidateRecallAt20", "accepted", "wrong")
        return Figures(found["queries"], *map(found.get, shares))

    def decision(found: Mapping[str, Any]) -> Decision:
        return Decision(found["confidence"], *map(found.get, ("accepted", "wrong", "falseAccepts")))

    return Evaluation(
        all=figures(answer["all"]),
        groups={name: figures(each) for name, each in answer["groups"].items()},
        absent_queries=answer["absentQueries"],
        false_accepts=answer.get("falseAccepts"),
        micro_average_precision=answer.get("microAveragePrecision"),
        recall_at_95_precision=answer.get("recallAt95Precision"),
        calibration_error=answer.get("calibrationError"),
        decisions=tuple(map(decision, answer["decisions"])),
        recommended=decision(answer["recommended"]) if answer.get("recommended") else None,
        problems=tuple(map(items.explained, _problems(answer))),
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
        image_index=result.get("imageIndex", 0),
    )


def _duplicate(entity: Mapping[str, Any]) -> Duplicate:
    return Duplicate(
        entity["id"], entity["image"], entity.get("title"), entity.get("difference"), entity.get("distance")
    )
