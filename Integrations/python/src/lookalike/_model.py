"""Prints of arrays, made by the library in this process: no pixels are copied to another one."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike._errors import LookalikeError
from lookalike._images import encoded, is_print, plain_pixels
from lookalike._library import Pixels, Source, answer, checked, library

# lookalike_pixel_format by the number of channels.
_FORMATS = {1: 0, 3: 1, 4: 2}


class Model:
    """A model that is open in this process, for any number of threads. Not after a fork: see `is_usable`."""

    def __init__(self, path: str | None) -> None:
        self._handle = library().lookalike_model_open(None if path is None else os.fsencode(path)).opened()
        self.dimension = int(library().lookalike_model_dimension(self._handle))
        self.digest = library().lookalike_model_digest(self._handle).decode()

    @property
    def is_usable(self) -> bool:
        """Whether this is the process that opened it."""
        return bool(self._handle.is_usable)

    def label(self, images: Iterable[Any], options: bytes) -> list[Any]:
        """The labels of images, as `lookalike_model_label` describes them."""
        with contextlib.ExitStack() as stack:
            handles = [stack.enter_context(image_handle(image, self._handle)) for image in images]
            pointers = (ctypes.c_void_p * len(handles))(*handles)
            found = answer(library().lookalike_model_label(self._handle, pointers, len(handles), options))
        return list(json.loads(found))

    def embed(self, images: list[NDArray[np.uint8]], threads: int) -> NDArray[np.float32]:
        """The prints of arrays as `pixel_array` returns them, a row each; on all cores with 0 threads."""
        prints = np.empty((len(images), self.dimension), np.float32)
        with contextlib.ExitStack() as stack:
            handles = [stack.enter_context(wrapped(image)) for image in images]
            pointers = (ctypes.c_void_p * len(handles))(*handles)
            checked(library().lookalike_model_embed(self._handle, pointers, len(handles), threads, prints.ctypes.data))
        return prints


@contextlib.contextmanager
def wrapped(image: NDArray[np.uint8]) -> Iterator[Any]:
    """A handle of the library of an array as `pixel_array` returns it."""
    # What the library reads; alive as long as the handle.
    rows = _rows(image)
    height, width = rows.shape[:2]
    channels = 1 if rows.ndim == 2 else rows.shape[2]
    pixels = Pixels(rows.ctypes.data, width, height, rows.strides[0], _FORMATS[channels], 0)
    handle = checked(library().lookalike_image_wrap(ctypes.byref(pixels)))
    try:
        yield handle
    finally:
        library().lookalike_image_free(handle)


@contextlib.contextmanager
def image_handle(image: Any, model: Any = None) -> Iterator[Any]:
    """A handle of the library of any image; files have the size that a model needs, or their own.

    Raises:
        ImageError: if the image cannot be used.
        TypeError: for what is no image.
    """
    pixels = plain_pixels(image)
    if pixels is not None:
        with wrapped(pixels) as handle:
            yield handle
        return
    path, data = encoded(image)
    if path is not None:
        handle = checked(library().lookalike_image_read(path.encode(), model), path)
    else:
        handle = checked(library().lookalike_image_decode(data, len(data), model), "image")
    try:
        yield handle
    finally:
        library().lookalike_image_free(handle)


def image_size(handle: Any) -> tuple[int, int]:
    """The width and the height of an image in pixels."""
    width, height = ctypes.c_int64(), ctypes.c_int64()
    checked(library().lookalike_image_size(handle, ctypes.byref(width), ctypes.byref(height)))
    return width.value, height.value


def resized(handle: Any, width: int, height: int) -> NDArray[np.uint8]:
    """The pixels of an image in RGB, with another size."""
    pixels = np.empty((height, width, 3), np.uint8)
    checked(library().lookalike_image_resize(handle, width, height, pixels.ctypes.data))
    return pixels


@contextlib.contextmanager
def sources(images: list[Any]) -> Iterator[Any]:
    """Images and prints as an array of what the library takes.

    Raises:
        ImageError: if an image cannot be used.
        TypeError: for what is no image.
    """
    array = (Source * len(images))()
    with contextlib.ExitStack() as stack:
        for source, image in zip(array, images):
            if is_print(image):
                numbers = np.ascontiguousarray(image, np.float32)
                stack.callback(len, numbers)
                source.print, source.size = numbers.ctypes.data, len(numbers)
                continue
            pixels = plain_pixels(image)
            if pixels is None:
                path, data = encoded(image)
                if path is None:
                    source.bytes, source.size = data, len(data)
                else:
                    source.path = path.encode()
            else:
                source.image = stack.enter_context(wrapped(pixels))
        yield array


def _rows(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The image with the pixels of a row side by side, in a format of the library."""
    if image.ndim == 3 and image.shape[2] == 2:
        return np.concatenate([image[:, :, :1].repeat(3, axis=2), image[:, :, 1:]], axis=2)
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[:, :, 0]
    channels = 1 if image.ndim == 2 else image.shape[2]
    row, pixel, *channel = image.strides
    is_packed = row >= channels * image.shape[1] and pixel == channels and channel in ([], [1])
    return image if is_packed else np.ascontiguousarray(image)


def opened(path: str | None, digest: str) -> Model | None:
    """The model of a file, or the default one; None without the library, or if it finds another model."""
    try:
        model = Model(path)
    except LookalikeError:
        return None
    return model if model.digest == digest else None
