"""Prints of arrays, made by the library in this process: no pixels are copied to another one."""

from __future__ import annotations

import ctypes
import os

import numpy as np
from numpy.typing import NDArray

from lookalike._errors import LookalikeError
from lookalike._library import Pixels, checked, library

# lookalike_pixel_format by the number of channels.
_FORMATS = {1: 0, 3: 1, 4: 2}


class Model:
    """A model that is open in this process, for any number of threads. Not after a fork: see `is_usable`."""

    def __init__(self, path: str | None) -> None:
        self._process = os.getpid()
        self._handle = checked(library().lookalike_model_open(None if path is None else os.fsencode(path)))
        self.dimension = int(library().lookalike_model_dimension(self._handle))
        self.digest = library().lookalike_model_digest(self._handle).decode()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) and self.is_usable:
            library().lookalike_model_free(self._handle)

    @property
    def is_usable(self) -> bool:
        """Whether this is the process that opened it."""
        return self._process == os.getpid()

    def embed(self, images: list[NDArray[np.uint8]], threads: int) -> NDArray[np.float32]:
        """The prints of arrays as `pixel_array` returns them, a row each; on all cores with 0 threads."""
        prints = np.empty((len(images), self.dimension), np.float32)
        handles: list[int] = []
        # What the library reads; alive until it has.
        rows = [_rows(image) for image in images]
        try:
            for image in rows:
                height, width = image.shape[:2]
                channels = 1 if image.ndim == 2 else image.shape[2]
                pixels = Pixels(image.ctypes.data, width, height, image.strides[0], _FORMATS[channels], 0)
                handles.append(checked(library().lookalike_image_wrap(ctypes.byref(pixels))))
            pointers = (ctypes.c_void_p * len(handles))(*handles)
            checked(library().lookalike_model_embed(self._handle, pointers, len(handles), threads, prints.ctypes.data))
        finally:
            for handle in handles:
                library().lookalike_image_free(handle)
        return prints


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
