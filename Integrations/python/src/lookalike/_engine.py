"""Prints, local features and thumbnails of images."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike._errors import ImageError, LookalikeError
from lookalike._images import ImageSource, encoded, held, is_one_image, plain_pixels
from lookalike._library import answer, library
from lookalike._model import Model, opened
from lookalike._prints import PrintFile, PrintReport, stamp
from lookalike._progress import Progress, count, shown
from lookalike._values import absolute_path, finite_number, text, whole_number
from lookalike._worker import HasWorker, Request, Worker

__all__ = ["Computed", "Engine", "Label"]

# Arrays whose prints are made by one call of the library, which an interrupt waits for.
_IMAGES_AT_ONCE = 16


@dataclass(frozen=True)
class Computed:
    """What a catalog stores of an image."""

    print: NDArray[np.float32]
    """The feature print: a unit vector, near those of similar images."""
    local_features: bytes | None
    """The local features as a catalog stores them; None unless they were asked for."""
    thumbnail: bytes | None
    """A JPEG file; None unless it was asked for."""
    notes: tuple[str, ...]
    """What was ignored in the file, such as a color profile that cannot be used."""


@dataclass(frozen=True)
class Label:
    """A label of an image."""

    label: str
    distance: float
    """The distance between the prints of the image and of the label, 0 to 2."""
    probability: float | None
    """The label's share, or its own probability; None if the model gives none."""


class Engine(HasWorker):
    """Makes feature prints of images, on all cores.

        with Engine() as engine:
            prints = engine.embed(paths)

    The engine is a process, `lookalike worker`: loading the model takes a moment, and an image some milliseconds. Where
    the library is, in the wheel and beside the program, it makes the prints of arrays and of images of Pillow in this
    process, without a copy of their pixels. Any
    number of threads share an engine, and `await asyncio.to_thread(engine.embed, paths)` does not block an event loop.
    After a fork, the child's engine starts a process of its own when it is used; so does an engine that was pickled. A
    process that ends is started again, and its images are computed again, once. An interrupt leaves the engine usable.
    """

    def __init__(
        self,
        *,
        model: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        max_megapixels: float | None = None,
    ) -> None:
        """Starts the engine.

        Args:
            model: a model file; the default model without it.
            jobs: the number of threads; all cores by default.
            max_megapixels: larger images are refused; 268 by default.

        Raises:
            LookalikeError: if the program cannot be started, or the model cannot be used.
        """
        arguments: list[str] = []
        if model is not None:
            arguments += ["--model", os.path.abspath(os.fsdecode(model))]
        if jobs is not None:
            arguments += ["--jobs", str(whole_number("jobs", jobs))]
        if max_megapixels is not None:
            arguments += ["--max-megapixels", str(finite_number("max_megapixels", max_megapixels))]
        self._open(arguments, {})
        self._running_worker()

    def _open(self, arguments: list[str], greeting: dict[str, Any]) -> None:
        super().__init__(arguments)
        self._greeting = greeting
        self._is_closed = False
        options = dict(zip(arguments[::2], arguments[1::2]))
        self._model_path = options.get("--model")
        self._threads = int(options.get("--jobs", "0"))
        self._most_pixels = min(1 << 28, 1e6 * float(options.get("--max-megapixels", "268.435456")))
        self._in_process_model: Model | None = None
        self._has_looked = False

    def __getstate__(self) -> tuple[list[str], dict[str, Any]]:
        return self._arguments, self._greeting

    def __setstate__(self, state: tuple[list[str], dict[str, Any]]) -> None:
        self._open(*state)

    def _running_worker(self) -> Worker:
        if self._is_closed:
            raise LookalikeError("the engine is closed")
        worker = super()._running_worker()
        if self._greeting and self._greeting["model"] != worker.greeting["model"]:
            raise LookalikeError("the model file has changed, and its prints cannot be compared; make another engine")
        self._greeting = worker.greeting
        return worker

    @property
    def dimension(self) -> int:
        """The number of components of a print."""
        return int(self._greeting["dimension"])

    @property
    def model(self) -> tuple[str, str]:
        """The name of the model, and the SHA-256 of its file. Only prints of one model can be compared."""
        model = self._greeting["model"]
        return model["name"], model["digest"]

    def embed(self, images: ImageSource | Iterable[ImageSource], *, progress: Progress = False) -> NDArray[np.float32]:
        """Returns the prints of images, one row each, in order.

            first, second = engine.embed(["a.jpg", PIL.Image.open("b.png")])

        The distance of two prints is that of their vectors: 0 for the same image, at most 2.

        Args:
            images: paths, bytes of image files, file objects, arrays of 8-bit pixels, or images of Pillow; one of them
                is one row. A folder is all images below it, in the order of their paths.
            progress: True for a bar of `tqdm`, or a function that is called with the number of images that are done,
                and of all, or None.

        Raises:
            ImageError: for the first image that cannot be used; see `compute` and `embed_to` to go on with the others.
            LookalikeError: if the engine fails.
            TypeError: for what is no image.
        """
        given = several(images)
        with shown(progress) as show:
            prints = self._prints(given, (lambda done: show(done, count(given))) if show else lambda done: None)
        return np.stack(prints) if prints else np.empty((0, self.dimension), np.float32)

    def _prints(self, images: Iterable[Any], show: Callable[[int], Any]) -> list[NDArray[np.float32]]:
        prints: list[NDArray[np.float32]] = []
        model = self._model_in_process()
        for is_plain, group in itertools.groupby(
            (self._in_process(image, model, isinstance(images, Sequence)) for image in images), lambda pair: pair[0]
        ):
            rest = (image for _, image in group)
            while model and is_plain and (part := list(itertools.islice(rest, _IMAGES_AT_ONCE))):
                prints += list(model.embed(part, self._threads))
                show(len(prints))
            for result in self.compute(rest):
                if isinstance(result, ImageError):
                    if result.subject == "image":
                        raise ImageError(f"image {len(prints)}, counted from 0", result.reason)
                    raise result
                prints.append(result.print)
                show(len(prints))
        return prints

    def label(
        self,
        images: ImageSource | Iterable[ImageSource],
        labels: Iterable[str],
        *,
        template: str = "{}",
        limit: int | None = None,
    ) -> list[list[Label]]:
        """Returns labels for each image, nearest first, by a model that reads texts; it runs in this process.

            engine = lookalike.Engine(model="clip.safetensors")
            ((best, *others),) = engine.label("photo.jpg", ["lamp", "chair"], template="a photo of a {}")

        Args:
            images: as for `embed`.
            labels: what to choose from.
            template: a sentence with {} in the place of the label, as the model was trained with.
            limit: the maximum number of labels per image.

        Raises:
            ImageError: if an image cannot be used.
            LookalikeError: if the model reads no texts, or there is no library.
        """
        model = self._model_in_process()
        if model is None:
            raise LookalikeError("labels need the library of Lookalike, in the process that first used the engine")
        if isinstance(labels, str):
            raise TypeError(f"labels are several texts, not the text {labels!r}")
        names = [text("a label", label) for label in labels]
        options: dict[str, Any] = {"labels": names, "template": text("template", template)}
        if limit is not None:
            options["limit"] = whole_number("limit", limit)
        found: list[list[Label]] = []
        rest = iter(several(images))
        while part := list(map(held, itertools.islice(rest, _IMAGES_AT_ONCE))):
            for row in model.label(part, json.dumps(options).encode()):
                found.append([Label(each["label"], each["distance"], each.get("probability")) for each in row])
        return found

    def _model_in_process(self) -> Model | None:
        """The engine's model, opened by the library once in each process; None without the library."""
        if self._is_closed:
            raise LookalikeError("the engine is closed")
        if not self._has_looked:
            self._has_looked = True
            self._in_process_model = opened(self._model_path, self.model[1])
        model = self._in_process_model
        return model if model and model.is_usable else None

    def _in_process(self, image: Any, model: Model | None, is_kept: bool) -> tuple[bool, Any]:
        """Whether the library makes the print here, and of what; the process of the engine does of other images.

        `is_kept` says that an array stays as it is while others are read.
        """
        pixels = plain_pixels(image) if model else None
        if pixels is None or max(pixels.shape[:2]) > 65_535 or pixels.shape[0] * pixels.shape[1] > self._most_pixels:
            return False, image
        return True, pixels if is_kept else pixels.copy()

    def embed_to(
        self,
        output: str | os.PathLike[str],
        images: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        chunk: int = 1024,
        progress: Progress = False,
    ) -> PrintReport:
        """Writes the prints of any number of images to a NumPy file, and leaves out those that cannot be used.

            report = engine.embed_to("prints.npy", "photos/")
            prints = numpy.load("prints.npy", mmap_mode="r")

        Rows are added in chunks. A file of JSON lines beside it, `prints.jsonl`, names the `image` of each row and the
        `model`. Images that have a row already are left out, so that a run that was interrupted is completed by
        another one, which tries those again that could not be used. Those that were changed since are problems.

        Args:
            output: the NumPy file, of float32; made if it is not there. One run at a time writes it.
            images: a folder, with all images below it, or paths.
            chunk: the number of rows that are added at a time.
            progress: as for `embed`.

        Returns:
            The numbers of rows, and the images that have none, with the reasons.

        Raises:
            LookalikeError: if the engine fails, or the output was made by another model.
            OSError: if the output cannot be written.
        """
        chunk = max(1, whole_number("chunk", chunk))
        file = PrintFile(os.fsdecode(output), self.model[1], self.dimension)
        problems: list[ImageError] = []
        added = unchanged = 0

        def paths() -> Iterator[str]:
            for path in several(images):
                if isinstance(path, (str, os.PathLike)):
                    yield absolute_path(path)
                else:
                    # Such as NaN, where a table has no path.
                    problems.append(ImageError(repr(path), "is no path"))

        # Not all at once: there may be millions.
        rest = paths()
        done, total = 0, count(images) if not isinstance(images, (str, os.PathLike)) else None
        with contextlib.closing(file), shown(progress) as show:
            while part := list(itertools.islice(rest, chunk)):
                paths_of_part = dict.fromkeys(part)
                new = {path: stamp(path) for path in paths_of_part if path not in file.images}
                known = [path for path in paths_of_part if path in file.images]
                changed = [path for path in known if stamp(path) not in (None, file.images[path])]
                reason = f"has changed since its row was made; remove {os.fsdecode(output)} to make all rows anew"
                problems += [ImageError(path, reason) for path in changed]
                unchanged += len(part) - len(new) - len(changed)
                rows = []
                done += len(part) - len(new)
                for path, result in zip(new, self.compute(new)):
                    if isinstance(result, ImageError):
                        problems.append(ImageError(path, result.reason))
                    else:
                        rows.append((path, result.print))
                    done += 1
                    if show:
                        show(done, total)
                if rows:
                    file.append({path: new[path] for path, _ in rows}, [row for _, row in rows])
                added += len(rows)
        return PrintReport(added, unchanged, tuple(problems))

    def compute(
        self,
        images: ImageSource | Iterable[ImageSource],
        *,
        local_features: bool = False,
        thumbnail: int | None = None,
    ) -> Iterator[Computed | ImageError]:
        """Yields what a catalog stores of each image, in order, or the error of one that cannot be used.

            for path, result in zip(paths, engine.compute(paths, local_features=True)):
                if isinstance(result, ImageError):
                    print(result.reason)

        Images are taken from the iterable as they are needed, so there may be any number of them.

        Args:
            images: as for `embed`.
            local_features: whether to extract local features, which verify matches.
            thumbnail: the long side of a thumbnail in pixels, at most 4096; None for none.

        Raises:
            LookalikeError: if the engine fails.
            TypeError: for what is no image.
        """
        header: dict[str, Any] = {"request": "embed"}
        if local_features:
            header["localFeatures"] = True
        if thumbnail:
            header["thumbnail"] = whole_number("thumbnail", thumbnail)
        return self._computed(image_requests(header, several(images)))

    def _computed(self, requests: Iterable[Request | ImageError]) -> Iterator[Computed | ImageError]:
        for result in self._answers(requests):
            yield result if isinstance(result, ImageError) else _result(*result)

    def close(self) -> None:
        """Ends the engine's process. A second call does nothing; others raise `LookalikeError`."""
        self._is_closed = True
        super().close()


def several(images: Any) -> Iterable[Any]:
    """Images as an iterable: those of a folder, or one alone."""
    if isinstance(images, (str, os.PathLike)) and os.path.isdir(images):
        found = answer(library().lookalike_folder_images(os.fsencode(absolute_path(images))))
        return sorted(json.loads(found))
    if is_one_image(images):
        return [images]
    if not isinstance(images, Iterable):
        raise TypeError(f"images are an iterable, an image or a folder, not {type(images).__name__}")
    return images


def image_requests(header: dict[str, Any], images: Iterable[ImageSource]) -> Iterator[Request | ImageError]:
    """A request for each image, or its error."""
    for image in images:
        try:
            path, data = encoded(image)
        except ImageError as error:
            yield error
        else:
            yield ({**header, "path": path} if path is not None else header), data


def _result(answer: dict[str, Any], payload: bytes) -> Computed | ImageError:
    error = answer.get("error")
    if error:
        if error["subject"] == "request":
            raise LookalikeError(f"the request: {error['reason']}")
        return ImageError(error["subject"], error["reason"])
    parts: dict[str, bytes | None] = {}
    offset = 0
    for name in ("print", "localFeatures", "thumbnail"):
        size = answer.get(name)
        parts[name] = None if size is None else payload[offset : offset + size]
        offset += size or 0
    return Computed(
        np.frombuffer(parts["print"] or b"", "<f4").astype(np.float32),
        parts["localFeatures"],
        parts["thumbnail"],
        tuple(answer.get("notes", ())),
    )
