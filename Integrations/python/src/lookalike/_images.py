"""Images as the worker takes them: the path of a file, or the bytes of one."""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from typing import IO, TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from lookalike._errors import ImageError
from lookalike._values import URL, absolute_path

if TYPE_CHECKING:
    from PIL import Image

ImageSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, IO[bytes], NDArray[np.uint8], Any]
"""An image: the path of a file; its bytes, or a file object that is read to its end; an array of uint8 with the shape
(height, width) or (height, width, channels) with gray, gray and alpha, RGB or RGBA; an image of Pillow in any mode,
which is turned by its EXIF orientation and converted by its color profile as a file is."""

# The length of a chunk of PNG has 31 bits.
_MOST_BYTES = (1 << 31) - 1

# The number of the EXIF tag.
_ORIENTATION = 0x0112


def is_one_image(images: Any) -> bool:
    """Whether this is an image, and not several: rows of pixels are not to be taken for images."""
    if isinstance(images, (str, os.PathLike, bytes, bytearray, memoryview)) or _is_of_pillow(images):
        return True
    if hasattr(images, "__array__"):
        # Not an array of NumPy alone: a tensor is an iterable of its rows, too.
        shape = getattr(images, "shape", ())
        return len(shape) == 2 or len(shape) == 3 and shape[2] <= 4
    return hasattr(images, "read")


def is_in_memory(image: Any) -> bool:
    """Whether this is an image that is no path, or a print."""
    if isinstance(image, np.ndarray):
        return image.dtype == np.uint8 and image.ndim in (2, 3) or is_print(image)
    return isinstance(image, (bytes, bytearray, memoryview)) or _is_of_pillow(image) or hasattr(image, "read")


def is_print(image: Any) -> bool:
    """Whether this is a vector of floats, as a row that `Engine.embed` returns."""
    return isinstance(image, np.ndarray) and image.ndim == 1 and image.dtype.kind == "f"


def encoded(image: ImageSource) -> tuple[str | None, bytes]:
    """The path of an image, or the bytes of a file with it.

    Raises:
        ImageError: if the image cannot be used.
        TypeError: for what is no image.
    """
    if isinstance(image, (str, os.PathLike)):
        return _file(os.fsdecode(image))
    if isinstance(image, (bytes, bytearray, memoryview)):
        data = bytes(image)
    elif _is_of_pillow(image):
        data = png(*_pillow_pixels(image))
    elif hasattr(image, "read"):
        data = _contents(image)
    else:
        data = png(pixel_array(image))
    if not data:
        raise ImageError("image", "is empty")
    if len(data) > _MOST_BYTES:
        raise ImageError("image", f"has {len(data)} bytes, more than {_MOST_BYTES}; give its path")
    return None, data


def _file(path: str) -> tuple[str | None, bytes]:
    if not path or "\0" in path:
        # A folder's image whose name is not UTF-8 ends in NUL.
        raise ImageError(path.rstrip("\0") or "image", "its path is empty, contains NUL, or is not UTF-8")
    if URL.match(path):
        raise ImageError(path, "is a URL, and URLs are not downloaded; download the image and give its path")
    path = absolute_path(path)
    try:
        path.encode()
        return path, b""
    except UnicodeEncodeError:
        # A name that is no UTF-8 cannot be in a request.
        try:
            with open(path, "rb") as file:
                return None, file.read()
        except OSError as error:
            raise ImageError(path, f"cannot be read: {error.strerror}") from error


def _contents(file: Any) -> bytes:
    data = file.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"a file object gives bytes, not {type(data).__name__}; open it in the mode “rb”")
    if not data:
        raise ImageError("image", "the file object is at its end; seek to the start of the image")
    return bytes(data)


def pixel_array(image: Any) -> NDArray[np.uint8]:
    expected = "an image is a path, bytes, a file object, an image of Pillow, or an array of uint8 with the shape "
    expected += "(height, width) or (height, width, channels) and 1 to 4 channels"
    interfaces = ("__array__", "__array_interface__", "__array_struct__")
    if not any(hasattr(image, name) for name in interfaces):
        raise TypeError(f"{expected}, not {type(image).__name__}")
    if isinstance(image, np.ma.MaskedArray):
        raise TypeError("an image has a mask, which would be ignored; use its filled(…)")
    pixels = np.asarray(image)
    channels = 1 if pixels.ndim == 2 else pixels.shape[-1] if pixels.ndim == 3 else 0
    if pixels.dtype != np.uint8 or 0 in pixels.shape or not 1 <= channels <= 4:
        raise TypeError(f"{expected}, not an array of {pixels.dtype} with the shape {pixels.shape}")
    return pixels


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


def png(pixels: NDArray[np.uint8], colors: bytes = b"", level: int = 0) -> bytes:
    """A PNG file, by default without compression, which costs about as much as a copy of the pixels.

    `colors` are chunks that say which colors the pixels are.
    """
    height, width = pixels.shape[:2]
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    if height * (width * channels + 1) > _MOST_BYTES * 0.99:
        raise ImageError("image", f"has {width} × {height} pixels; that is too large for a message, give its path")
    # A byte before each row says how it is predicted: not at all.
    filtered = np.zeros((height, width * channels + 1), np.uint8)
    filtered[:, 1:] = pixels.reshape(height, width * channels)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = zlib.compress(filtered.tobytes(), level)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + colors + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def _is_of_pillow(image: Any) -> bool:
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(image, pillow.Image)


def plain_pixels(image: Any) -> NDArray[np.uint8] | None:
    """The pixels of an array, or of an image of Pillow, which are in sRGB; None for other images, and for one that
    Pillow cannot read."""
    if isinstance(image, np.ndarray):
        return pixel_array(image)
    if _is_of_pillow(image):
        try:
            pixels, colors = _pillow_pixels(image)
        except ImageError:
            return None
        return None if colors else pixels
    return None


def held(image: ImageSource) -> ImageSource:
    """An image that stays as it is while an iterator goes on, which may give the same array, or the same image of
    Pillow with its next frame.

    Raises what `encoded` raises.
    """
    if isinstance(image, np.ndarray):
        return image.copy()
    pixels = plain_pixels(image)
    if pixels is not None:
        return pixels
    path, data = encoded(image)
    return data if path is None else image


def _pillow_pixels(image: Any) -> tuple[NDArray[np.uint8], bytes]:
    """The pixels, and the colors that they are as chunks of PNG."""
    from PIL import ImageOps

    try:
        # Pixels are read from the file here.
        image.load()
        # Which copies all pixels, turned or not.
        upright = ImageOps.exif_transpose(image) if image.getexif().get(_ORIENTATION, 1) != 1 else image
        pixels = np.asarray(_with_plain_mode(upright, is_of_file=image.format is not None))
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise ImageError(getattr(image, "filename", "") or "image", f"Pillow cannot read it: {error}") from error
    # Of inks and L*a*b*, the profile is used already.
    return pixels, b"" if image.mode in ("CMYK", "LAB") else _color_chunks(image.info)


def _color_chunks(info: dict[Any, Any]) -> bytes:
    """The colors as Pillow read them from the file, as chunks of PNG; of several the worker takes what counts most."""
    chunks = b""
    if info.get("icc_profile"):
        chunks += _chunk(b"iCCP", b"profile\0\0" + zlib.compress(info["icc_profile"], 1))
    if "srgb" in info:
        chunks += _chunk(b"sRGB", bytes([info["srgb"]]))
    if "gamma" in info:
        chunks += _chunk(b"gAMA", struct.pack(">I", round(info["gamma"] * 100_000)))
    if "chromaticity" in info:
        chunks += _chunk(b"cHRM", struct.pack(">8I", *(round(value * 100_000) for value in info["chromaticity"])))
    return chunks


def _with_plain_mode(image: Image.Image, *, is_of_file: bool) -> Any:
    """The image in one of the modes L, LA, RGB and RGBA, or an array like it."""
    mode = image.mode
    if mode in ("L", "LA", "RGB", "RGBA") and "transparency" not in image.info:
        return image
    if mode in ("CMYK", "LAB"):
        return _managed(image)
    if mode == "F" or mode.startswith("I"):
        return _deep_gray(image, is_of_file=is_of_file)
    # Pillow before 9.1 loses a transparent shade on the way to LA.
    is_gray = mode in ("1", "L", "LA", "La") and "transparency" not in image.info
    has_alpha = mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info
    if mode == "P" and image.palette and image.palette.mode.endswith("A"):
        has_alpha = True
    return image.convert(("LA" if has_alpha else "L") if is_gray else ("RGBA" if has_alpha else "RGB"))


def _managed(image: Image.Image) -> Image.Image:
    """Inks by their profile, if they have one, and L*a*b* by its definition, as sRGB."""
    from PIL import ImageCms

    profile = image.info.get("icc_profile")
    try:
        if image.mode == "LAB":
            source: Any = ImageCms.createProfile("LAB")
        elif profile:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        else:
            return image.convert("RGB")
        managed = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
        assert managed is not None
        return managed
    except ImageCms.PyCMSError:
        if image.mode == "LAB":
            raise
        # A profile that cannot be used is left out, as that of a file.
        return image.convert("RGB")


def _deep_gray(image: Image.Image, *, is_of_file: bool) -> NDArray[np.uint8]:
    """Gray of more than 8 bits: of 16 bits if it comes from a file or has such values, else of 8 bits, as Pillow
    converts an image to these modes."""
    values = np.asarray(image)
    least, most = values.min(), values.max()
    if image.mode == "F":
        # The values of many programs are 0 to 1: they would be black.
        if not (0 <= least and 1 < most <= 255):
            raise TypeError(
                f"an image of mode F has values from 0 to 255, not from {least:g} to {most:g}; convert it to the mode L"
            )
        return np.asarray(image.convert("L"))
    if not (0 <= least and most <= 65535):
        raise TypeError(
            f"an image of mode {image.mode} has values from 0 to 65535, not from {least} to {most}; convert it to L"
        )
    if not is_of_file and most <= 255:
        return values.astype(np.uint8)
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
