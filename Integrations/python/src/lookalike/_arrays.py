"""Nearest neighbors and distances of rows of arrays, and resizing of pixels, in this process."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike._images import pixel_array
from lookalike._library import Matrix, checked, library
from lookalike._model import resized, wrapped
from lookalike._values import finite_number, whole_number

__all__ = ["ExactSearch", "InvertedFile", "Neighbors", "distances", "resize"]

_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float16): 1, np.dtype(np.int8): 2}
_MOST_THREADS = 1024
_LARGEST_SIDE = 65_535
_MOST_PIXELS = 1 << 28
# An interrupt waits for a call: calls are of so many queries, and of so many products.
_QUERIES_AT_ONCE = 256
_PRODUCTS_AT_ONCE = 1 << 35


class Neighbors(NamedTuple):
    """The nearest rows of queries: a line per query, nearest first; a single line for a query with one axis."""

    rows: NDArray[np.int64]
    """Indices of rows."""
    distances: NDArray[np.float32]
    """Euclidean distances."""


def _array(name: str, values: Any) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} have a mask, which would be ignored; use its filled(…)")
    array = np.asarray(values)
    if array.dtype not in _TYPES:
        raise TypeError(f"{name} are of float32, float16 or int8, not {array.dtype}; convert them with astype")
    return array


def _matrix(name: str, values: Any) -> NDArray[Any]:
    array = _array(name, values)
    if array.ndim != 2:
        raise ValueError(f"{name} are an array with two axes, not with the shape {array.shape}")
    return array


def _described(array: NDArray[Any]) -> Matrix:
    """The caller keeps the array while this is in use."""
    # A stride of 0 has another meaning in C; an array of one row or column may have any stride.
    if 0 in array.strides or array.shape[0] < 2 or array.shape[1] < 2:
        array = np.ascontiguousarray(array)
    described = Matrix(
        array.ctypes.data if array.size else None, *array.shape, *(array.strides if array.size else (0, 0))
    )
    described.type = _TYPES[array.dtype]
    described.array = array
    return described


def _threads(threads: int | None) -> int:
    count = 0 if threads is None else whole_number("threads", threads)
    if threads is not None and not 1 <= count <= _MOST_THREADS:
        raise ValueError(f"threads is {count}, not 1 to {_MOST_THREADS}")
    return count


class _Rows:
    """Rows that are searched, by a handle of the library."""

    def __init__(
        self, kind: str, rows: Any, copy: bool | None, threads: int | None, create: Callable[..., int]
    ) -> None:
        array = _matrix("rows", rows)
        is_usable = array.flags.c_contiguous and array.dtype != np.int8 and array.flags.aligned
        if copy is False and not is_usable:
            raise ValueError("rows of int8, and rows with gaps, have to be copied; leave copy out")
        in_place = is_usable and (not array.flags.writeable if copy is None else not copy)
        self.shape: tuple[int, int] = array.shape
        """The number of rows, and of their components."""
        self._threads = _threads(threads)
        described = _described(array)
        self._handle = checked(create(ctypes.byref(described), in_place, self._threads))
        self._kept = described.array if in_place else None
        free = getattr(library(), f"lookalike_{kind}_free")
        # An exit of Python waits for nobody who searches.
        weakref.finalize(self, free, self._handle).atexit = False

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.shape[0]} rows with {self.shape[1]} components>"

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be pickled; pickle the rows, and make it of them again")

    def _nearest(self, queries: Any, k: int, call: Callable[..., bool]) -> Neighbors:
        array = _array("queries", queries)
        is_one = array.ndim == 1
        array = _matrix("queries", array[np.newaxis] if is_one else array)
        if array.shape[1] != self.shape[1]:
            raise ValueError(f"the queries have {array.shape[1]} components, and the rows have {self.shape[1]}")
        k = min(whole_number("k", k), len(self))
        found = np.empty((len(array), k), np.int64), np.empty((len(array), k), np.float32)
        for part in _parts(len(array), _QUERIES_AT_ONCE):
            described = _described(array[part])
            rows, distances = (output[part].ctypes.data for output in found)
            checked(call(self._handle, ctypes.byref(described), k, rows, distances))
        return Neighbors(*(output[0] for output in found)) if is_one else Neighbors(*found)


def _parts(count: int, size: int) -> Iterator[slice]:
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


class ExactSearch(_Rows):
    """The nearest rows of queries, by comparing all of them: none is missed.

        search = lookalike.ExactSearch(prints)
        rows, distances = search.nearest(queries, k=10)

    Any number of threads share it. After a fork the child may go on with it.
    """

    def __init__(self, rows: Any, *, copy: bool | None = None, threads: int | None = None) -> None:
        """A search of rows.

        Args:
            rows: an array of float32, float16 or int8 with the shape (rows, components), of any strides. The norm of
                a row is 0, or 2⁻⁵⁰ to 2⁶⁰.
            copy: by default, rows that may be written to are copied, and those that may not be, such as those of
                `numpy.load(path, mmap_mode="r")`, are used in place. With False, contiguous float32 or float16 rows
                are used in place, and must not change while the search is there: its answers would be wrong. Besides,
                a search takes a byte per component.
            threads: the most threads to compute on; by default all that have nothing else to do.

        Raises:
            LookalikeError: for numbers that are not finite or too large, or without the library.
            TypeError, ValueError: for arrays of other types or shapes.
        """
        super().__init__("exact_search", rows, copy, threads, library().lookalike_exact_search_create)

    def nearest(self, queries: Any, k: int = 10, *, threads: int | None = None) -> Neighbors:
        """Returns the `k` nearest rows of each query by Euclidean distance, ties in the order of the rows.

        Args:
            queries: an array of float32, float16 or int8: a line per query, or one query.
            k: the number of rows; all of them if there are fewer.
            threads: the most threads to compute on; by default as the search was made.
        """
        count = self._threads if threads is None else _threads(threads)

        def call(handle: int, described: Any, k: int, rows: int, distances: int) -> bool:
            found: bool = library().lookalike_exact_search_nearest(handle, described, k, count, rows, distances)
            return found

        return self._nearest(queries, k, call)


class InvertedFile(_Rows):
    """The nearest rows of queries, of which a few may be missing: rows are divided into lists, and a search reads a
    small part of them. From some 100,000 rows on it is faster than `ExactSearch`.

        index = lookalike.InvertedFile(prints)
        rows, distances = index.nearest(queries, k=10, recall=0.99)

    Any number of threads share it. After a fork the child may go on with it.
    """

    def __init__(
        self, rows: Any, *, lists: int | None = None, copy: bool | None = None, threads: int | None = None
    ) -> None:
        """An index of rows.

        Args:
            rows: as those of `ExactSearch`, and so is `copy`.
            lists: the number of lists; by default 2 √rows.
            threads: the most threads to compute on; by default all that have nothing else to do.
        """
        count = 0 if lists is None else whole_number("lists", lists)
        if lists is not None and count < 1:
            raise ValueError("lists is 0; there is at least one")

        def create(described: Any, in_place: bool, threads: int) -> int:
            handle: int = library().lookalike_inverted_file_create(described, in_place, count, threads)
            return handle

        super().__init__("inverted_file", rows, copy, threads, create)

    def nearest(self, queries: Any, k: int = 10, *, recall: float = 0.99, threads: int | None = None) -> Neighbors:
        """Returns rows near to each query, nearest first; their distances are exact.

        Args:
            queries: an array of float32, float16 or int8: a line per query, or one query.
            k: the number of rows; all of them if there are fewer.
            recall: the share of the nearest rows to find, 0 to 1; with 1 all rows are compared, and so they are with a
                query that is longer than the rows.
            threads: the most threads to compute on; by default as the index was made.
        """
        share = finite_number("recall", recall)
        if not 0 <= share <= 1:
            raise ValueError(f"recall is {share}, not 0 to 1")
        count = self._threads if threads is None else _threads(threads)

        def call(handle: int, described: Any, k: int, rows: int, distances: int) -> bool:
            found: bool = library().lookalike_inverted_file_nearest(handle, described, k, share, count, rows, distances)
            return found

        return self._nearest(queries, k, call)


def distances(a: Any, b: Any, *, threads: int | None = None) -> NDArray[np.float32]:
    """Returns the Euclidean distances between all rows of two arrays, with the shape (rows of a, rows of b).

        distances = lookalike.distances(queries, prints)

    They are right to some four digits.

    Args:
        a, b: arrays of float32, float16 or int8 with as many columns.
        threads: the most threads to compute on; by default all that have nothing else to do.
    """
    a, b = _matrix("the first rows", a), _matrix("the second rows", b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"the first rows have {a.shape[1]} components, and the second ones have {b.shape[1]}")
    found = np.empty((len(a), len(b)), np.float32)
    count, second = _threads(threads), _described(b)
    for part in _parts(len(a), max(_QUERIES_AT_ONCE, _PRODUCTS_AT_ONCE // max(1, b.size))):
        first = _described(a[part])
        checked(
            library().lookalike_distances(ctypes.byref(first), ctypes.byref(second), count, found[part].ctypes.data)
        )
    return found


def resize(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Returns an image of another size, antialiased, with the shape (height, width, 3); that of a gray one is (height,
    width). Transparent pixels are composited over white.

        small = lookalike.resize(pixels, (640, 480))

    Args:
        image: an array of uint8 with the shape (height, width) or (height, width, channels): gray, gray and alpha, RGB
            or RGBA. It is not copied unless pixels have gaps.
        size: the width and the height in pixels.
    """
    source = pixel_array(image)
    width, height = (whole_number("a side", side) for side in size)
    for shape in (source.shape[1::-1], (width, height)):
        if min(shape) < 1 or max(shape) > _LARGEST_SIDE or shape[0] * shape[1] > _MOST_PIXELS:
            raise ValueError(
                f"an image of {shape[0]} × {shape[1]} pixels: its sides are 1 to {_LARGEST_SIDE}, "
                "with at most 2²⁸ pixels"
            )
    with wrapped(source) as handle:
        result = resized(handle, width, height)
    return result[:, :, 0].copy() if source.ndim == 2 or source.shape[2] < 3 else result
