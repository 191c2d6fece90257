"""The C interface, `lookalike.h`, by ctypes, which lets other threads of Python run during a call."""

from __future__ import annotations

import _thread
import ctypes
import functools
import os
import sys
from collections.abc import Callable
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from queue import SimpleQueue
from typing import Any, TypeVar

import _lookalike_program

from lookalike._errors import ImageError, LookalikeError
from lookalike._progress import Show

_INTERFACE_VERSION = 2
# The lookalike_error_kind of an image.
_IMAGE = 1


class Matrix(ctypes.Structure):
    """`lookalike_matrix`."""

    _fields_ = (
        ("data", c_void_p),
        ("rows", c_int64),
        ("columns", c_int64),
        ("row_stride", c_int64),
        ("column_stride", c_int64),
        ("type", c_int32),
    )


class Pixels(ctypes.Structure):
    """`lookalike_pixels`."""

    _fields_ = (
        ("data", c_void_p),
        ("width", c_int64),
        ("height", c_int64),
        ("bytes_per_row", c_int64),
        ("format", c_int32),
        ("alpha", c_int32),
    )


class Source(ctypes.Structure):
    """`lookalike_source`."""

    _fields_ = (
        ("path", c_char_p),
        ("bytes", c_char_p),
        ("size", c_size_t),
        ("image", c_void_p),
        ("print", c_void_p),
    )


class Item(ctypes.Structure):
    """`lookalike_item`."""

    _fields_ = (("entity", c_char_p), ("images", POINTER(Source)), ("image_count", c_int64))


_Self = TypeVar("_Self", bound="Handle")


class Handle(c_void_p):
    """A handle of the library, which is freed in the process that opened it, at the end of a `with` or when nothing
    refers to it. As the result of a call it is there before Python runs the handler of a signal."""

    _process: int | None = None
    _free = ""

    def opened(self: _Self) -> _Self:
        """The handle, for this process.

        Raises `LookalikeError` if it could not be opened.
        """
        checked(self)
        self._process = os.getpid()
        return self

    @property
    def is_usable(self) -> bool:
        """Whether this is the process that opened it."""
        return self._process in (None, os.getpid())

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.__del__()

    def __del__(self) -> None:
        if self.value is not None and self.is_usable:
            pointer, self.value = self.value, None
            getattr(library(), self._free)(pointer)


class ModelHandle(Handle):
    _free = "lookalike_model_free"


class CatalogHandle(Handle):
    _free = "lookalike_catalog_free"


class IndexerHandle(Handle):
    _free = "lookalike_indexer_free"


NextItem = ctypes.CFUNCTYPE(c_bool, c_void_p, POINTER(Item))
_IsInterrupted = ctypes.CFUNCTYPE(c_bool, c_void_p)
_ShowProgress = ctypes.CFUNCTYPE(None, c_void_p, c_int64, c_int64)
_MATRIX = POINTER(Matrix)
# The result and the parameters of each function.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "lookalike_interface_version": (c_int32,),
    "lookalike_error": (c_char_p,),
    "lookalike_last_error_kind": (c_int32,),
    "lookalike_set_interrupt": (None, _IsInterrupted, c_void_p),
    "lookalike_set_progress": (None, _ShowProgress, c_void_p),
    "lookalike_string_free": (None, c_void_p),
    "lookalike_exact_search_create": (c_void_p, _MATRIX, c_bool, c_int32),
    "lookalike_exact_search_nearest": (c_bool, c_void_p, _MATRIX, c_int64, c_int32, c_void_p, c_void_p),
    "lookalike_exact_search_free": (None, c_void_p),
    "lookalike_inverted_file_create": (c_void_p, _MATRIX, c_bool, c_int64, c_int32),
    "lookalike_inverted_file_nearest": (c_bool, c_void_p, _MATRIX, c_int64, c_double, c_int32, c_void_p, c_void_p),
    "lookalike_inverted_file_free": (None, c_void_p),
    "lookalike_distances": (c_bool, _MATRIX, _MATRIX, c_int32, c_void_p),
    "lookalike_image_wrap": (c_void_p, POINTER(Pixels)),
    "lookalike_image_read": (c_void_p, c_char_p, c_void_p),
    "lookalike_image_decode": (c_void_p, c_char_p, c_size_t, c_void_p),
    "lookalike_image_size": (c_bool, c_void_p, POINTER(c_int64), POINTER(c_int64)),
    "lookalike_image_resize": (c_bool, c_void_p, c_int64, c_int64, c_void_p),
    "lookalike_image_free": (None, c_void_p),
    "lookalike_model_open": (ModelHandle, c_char_p),
    "lookalike_model_dimension": (c_int64, c_void_p),
    "lookalike_model_digest": (c_char_p, c_void_p),
    "lookalike_model_embed": (c_bool, c_void_p, c_void_p, c_int64, c_int32, c_void_p),
    "lookalike_model_label": (c_void_p, c_void_p, c_void_p, c_int64, c_char_p),
    "lookalike_model_free": (None, c_void_p),
    "lookalike_catalog_open": (CatalogHandle, c_char_p, c_void_p, c_int32),
    "lookalike_catalog_search": (c_void_p, c_void_p, POINTER(Source), c_char_p),
    "lookalike_catalog_info": (c_void_p, c_void_p),
    "lookalike_catalog_list": (c_void_p, c_void_p, c_char_p),
    "lookalike_catalog_facets": (c_void_p, c_void_p, c_char_p),
    "lookalike_catalog_duplicates": (c_void_p, c_void_p, c_char_p),
    "lookalike_catalog_thumbnail": (c_void_p, c_void_p, c_char_p, c_int64, POINTER(c_size_t)),
    "lookalike_catalog_evaluate": (c_void_p, c_void_p, NextItem, c_void_p, c_char_p),
    "lookalike_catalog_free": (None, c_void_p),
    "lookalike_indexer_open": (IndexerHandle, c_char_p, c_void_p, c_char_p),
    "lookalike_indexer_index": (c_void_p, c_void_p, NextItem, c_void_p, c_char_p),
    "lookalike_indexer_index_path": (c_void_p, c_void_p, c_char_p, c_char_p),
    "lookalike_folder_images": (c_void_p, c_char_p),
    "lookalike_indexer_update": (c_bool, c_void_p, c_char_p),
    "lookalike_indexer_remove": (c_bool, c_void_p, c_char_p),
    "lookalike_indexer_free": (None, c_void_p),
    "lookalike_catalog_merge": (c_void_p, c_char_p, c_void_p, POINTER(c_char_p), c_int64),
    "lookalike_catalog_import": (c_void_p, c_char_p, c_void_p, c_char_p, c_char_p, c_char_p, c_char_p),
}


@functools.cache
def library() -> ctypes.CDLL:
    """The library, which is opened by the first call.

    Raises `LookalikeError` if there is none, or one of another version.
    """
    loaded = _open()
    try:
        for name, (result, *parameters) in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, parameters
        version = loaded.lookalike_interface_version()
    except AttributeError as error:
        raise LookalikeError(f"the library of Lookalike is of another version: {error}") from error
    if version != _INTERFACE_VERSION:
        raise LookalikeError(f"the library of Lookalike has the interface {version}, not {_INTERFACE_VERSION}")
    return loaded


def _open() -> ctypes.CDLL:
    """Opens $LOOKALIKE_LIBRARY, the library that a wheel carries, the one beside the program, or the system's."""
    name = "liblookalike.dylib" if sys.platform == "darwin" else "liblookalike.so"
    named = os.environ.get("LOOKALIKE_LIBRARY")
    places = [named] if named else [os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)]
    if not named:
        try:
            places.append(os.path.join(os.path.dirname(os.path.realpath(_lookalike_program.find())), name))
        except FileNotFoundError:
            pass
    try:
        return ctypes.CDLL(next((place for place in places if os.path.exists(place)), named or name))
    except OSError as error:
        raise LookalikeError(
            f"the library of Lookalike cannot be opened ({error}): install a wheel that carries it, "
            "or set LOOKALIKE_LIBRARY"
        ) from error


def checked(result: Any, subject: str = "") -> Any:
    """The result of a call, which failed if it is false or null; `subject` is its image."""
    if not result:
        words = library().lookalike_error().decode(errors="replace")
        if library().lookalike_last_error_kind() == _IMAGE:
            raise ImageError(subject or "image", words.removeprefix(f"{subject}: "))
        raise LookalikeError(words)
    return result


def answer(result: Any, subject: str = "", size: Callable[[], int] = lambda: -1) -> bytes:
    """The string that a call returns, which failed if it is null; or as many bytes."""
    pointer = checked(result, subject)
    try:
        return ctypes.string_at(pointer, size())
    finally:
        library().lookalike_string_free(pointer)


def interruptible(
    call: Callable[[], Any],
    feed: Callable[[Callable[[], None]], None] = lambda poll: None,
    end: Callable[[], None] = lambda: None,
    show: Show | None = None,
) -> Any:
    """The result of a long call of the library, which is made in another thread, while `feed` runs here: signals are
    handled in the main thread alone, between instructions of Python. An exception here, such as `KeyboardInterrupt`,
    ends the call, and is raised when it has ended. `end` says to what waits for `feed` that it has ended so. `show` is
    called here with how far the call is, in `feed` when that calls its argument."""
    results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
    # Whether to make the call: an interrupt may come before it is known that the other thread has started.
    gate: SimpleQueue[bool] = SimpleQueue()
    # For an interrupt that comes when the result has been taken, and is lost.
    ended: SimpleQueue[None] = SimpleQueue()
    # What is done, and of how many; None at the end.
    steps: SimpleQueue[tuple[int, int | None] | None] = SimpleQueue()
    is_last = False
    interrupts: list[bool] = []
    is_interrupted = _IsInterrupted(lambda _: bool(interrupts))
    keep_step = _ShowProgress(lambda _, done, total: steps.put((done, None if total < 0 else total)))

    def work() -> None:
        library().lookalike_set_interrupt(is_interrupted, None)
        if show is not None:
            library().lookalike_set_progress(keep_step, None)
        try:
            results.put((call() if gate.get() else None, None))
        except BaseException as error:
            results.put((None, error))
        steps.put(None)
        ended.put(None)

    def poll(wait: bool = False) -> None:
        nonlocal is_last
        while not is_last and (wait or not steps.empty()):
            step = steps.get()
            if step is None:
                is_last = True
            elif show is not None:
                show(*step)

    is_to_call = False
    try:
        _thread.start_new_thread(work, ())
        is_to_call = True
        gate.put(True)
        feed(poll)
        poll(wait=True)
        value, error = results.get()
    except BaseException:
        interrupts.append(True)
        gate.put(False)
        end()
        if is_to_call:
            ended.get()
        raise
    if error is not None:
        raise error
    return value
