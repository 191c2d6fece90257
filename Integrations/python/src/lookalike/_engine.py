"""Prints, local features and thumbnails of images."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike._worker import HasWorker, ImageError, ImageSource, LookalikeError, Worker, encoded

__all__ = ["Computed", "Engine", "ImageError", "ImageSource", "LookalikeError"]


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


class Engine(HasWorker):
    """Makes feature prints of images, on all cores.

    The engine is a process, `lookalike worker`, that is started once: loading the model takes a moment, and an image
    some milliseconds. One thread at a time uses an engine; several engines can be used beside each other.

        with Engine() as engine:
            prints = engine.embed(paths)
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
            arguments += ["--model", os.fspath(model)]
        if jobs is not None:
            arguments += ["--jobs", str(jobs)]
        if max_megapixels is not None:
            arguments += ["--max-megapixels", str(max_megapixels)]
        self._worker = Worker(arguments)

    @property
    def dimension(self) -> int:
        """The number of components of a print."""
        return int(self._worker.greeting["dimension"])

    @property
    def model(self) -> tuple[str, str]:
        """The name of the model, and the SHA-256 of its file. Only prints of one model can be compared."""
        model = self._worker.greeting["model"]
        return model["name"], model["digest"]

    def embed(self, images: Iterable[ImageSource]) -> NDArray[np.float32]:
        """Returns the prints of images, one row each, in order.

        The distance of two prints is that of their vectors: 0 for the same image, at most 2.

        Args:
            images: paths, bytes of image files, arrays of 8-bit pixels (height, width, channels), or images of Pillow.

        Raises:
            ImageError: for the first image that cannot be used; see `compute` to go on with the others.
            LookalikeError: if the engine fails.
        """
        prints: list[NDArray[np.float32]] = []
        for result in self.compute(images):
            if isinstance(result, ImageError):
                raise result
            prints.append(result.print)
        return np.stack(prints) if prints else np.empty((0, self.dimension), np.float32)

    def compute(
        self, images: Iterable[ImageSource], *, local_features: bool = False, thumbnail: int | None = None
    ) -> Iterator[Computed | ImageError]:
        """Yields what a catalog stores of each image, in order, or the error of one that cannot be used.

        Images are taken from the iterable as they are needed, so there may be any number of them.

        Args:
            images: as for `embed`.
            local_features: whether to extract local features, which verify matches.
            thumbnail: the long side of a thumbnail in pixels; None for none.

        Raises:
            LookalikeError: if the engine fails.
        """
        header: dict[str, Any] = {"request": "embed"}
        if local_features:
            header["localFeatures"] = True
        if thumbnail:
            header["thumbnail"] = thumbnail

        def requests() -> Iterator[tuple[dict[str, Any], bytes]]:
            for image in images:
                path, data = encoded(image)
                yield ({**header, "path": path} if path is not None else header), data

        for answer, payload in self._worker.answers(requests()):
            yield self._result(answer, payload)

    @staticmethod
    def _result(answer: dict[str, Any], payload: bytes) -> Computed | ImageError:
        error = answer.get("error")
        if error:
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

    def close(self) -> None:
        """Ends the engine's process. A second call does nothing."""
        self._worker.close()
