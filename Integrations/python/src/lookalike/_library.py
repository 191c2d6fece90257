"""The C interface, `lookalike.h`, by ctypes, which lets other threads of Python run during a call."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int32, c_int64, c_void_p
from typing import Any

import _lookalike_program

from lookalike._errors import LookalikeError

_INTERFACE_VERSION = 1


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


_MATRIX = POINTER(Matrix)
# The result and the parameters of each function.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "lookalike_interface_version": (c_int32,),
    "lookalike_error": (c_char_p,),
    "lookalike_exact_search_create": (c_void_p, _MATRIX, c_bool, c_int32),
    "lookalike_exact_search_nearest": (c_bool, c_void_p, _MATRIX, c_int64, c_int32, c_void_p, c_void_p),
    "lookalike_exact_search_free": (None, c_void_p),
    "lookalike_inverted_file_create": (c_void_p, _MATRIX, c_bool, c_int64, c_int32),
    "lookalike_inverted_file_nearest": (c_bool, c_void_p, _MATRIX, c_int64, c_double, c_int32, c_void_p, c_void_p),
    "lookalike_inverted_file_free": (None, c_void_p),
    "lookalike_distances": (c_bool, _MATRIX, _MATRIX, c_int32, c_void_p),
    "lookalike_image_wrap": (c_void_p, POINTER(Pixels)),
    "lookalike_image_resize": (c_bool, c_void_p, c_int64, c_int64, c_void_p),
    "lookalike_image_free": (None, c_void_p),
    "lookalike_model_open": (c_void_p, c_char_p),
    "lookalike_model_dimension": (c_int64, c_void_p),
    "lookalike_model_digest": (c_char_p, c_void_p),
    "lookalike_model_embed": (c_bool, c_void_p, c_void_p, c_int64, c_int32, c_void_p),
    "lookalike_model_free": (None, c_void_p),
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


def checked(result: Any) -> Any:
    """The result of a call, which failed if it is false or null."""
    if not result:
        raise LookalikeError(library().lookalike_error().decode(errors="replace"))
    return result
