"""A file with the prints of any number of images, which grows in chunks and stays usable when a run is interrupted."""

from __future__ import annotations

import fcntl
import json
import os
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike._errors import ImageError, LookalikeError

# The header has the same length for any number of rows, so that it can be written again.
_HEADER_BYTES = 128


@dataclass(frozen=True)
class PrintReport:
    """What `Engine.embed_to` did."""

    added: int
    """The number of rows that were added."""
    unchanged: int
    """The number of images that had a row already."""
    problems: tuple[ImageError, ...]
    """The images without a row: which, and why."""


def stamp(path: str) -> list[int] | None:
    """The size of a file, and when it was changed; None if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns]


class PrintFile:
    """A NumPy file with a row of float32 per image, and a file of JSON lines beside it with a line per row.

    A row is there once its line is: what an interrupted run has written beyond that is written over.
    """

    def __init__(self, path: str, model: str, dimension: int) -> None:
        self.images: dict[str, list[int] | None] = {}
        """The stamp of each."""
        self._count = 0
        self._model, self._dimension = model, dimension
        lines_path = os.path.splitext(path)[0] + ".jsonl"
        if lines_path == path:
            raise ValueError(f"{path}: has the name of the lines beside it; use one that ends with .npy")
        # Made if they are not there, and not emptied if they are.
        self._rows, self._lines = (
            os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT, 0o666), "r+b") for name in (path, lines_path)
        )
        try:
            fcntl.flock(self._lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read_lines(path, lines_path)
            self._rows.truncate(self._end_of_rows())
            self._write_header()
        except BlockingIOError:
            self.close()
            raise LookalikeError(f"{path}: another run writes it") from None
        except BaseException:
            self.close()
            raise

    def _read_lines(self, path: str, lines_path: str) -> None:
        end = 0
        for line in self._lines.readlines():
            if not line.endswith(b"\n"):
                break
            entry = json.loads(line)
            if entry.get("model") != self._model:
                raise LookalikeError(f"{path}: has prints of another model; remove it, and {lines_path}")
            self.images[entry["image"]] = entry.get("stamp")
            self._count += 1
            end += len(line)
        self._lines.seek(end)
        self._lines.truncate()
        if self._count > 0 and os.fstat(self._rows.fileno()).st_size < self._end_of_rows():
            raise LookalikeError(f"{path}: has fewer rows than {lines_path} has lines; remove both")
        # They would be written over. Without lines, an interrupted run leaves a header of no rows, or not even that.
        if self._count == 0 and self._rows.read(_HEADER_BYTES).strip(b"\0") not in (b"", self._header()):
            raise LookalikeError(f"{path}: is there, without {lines_path} that names its rows; remove it")

    def append(self, images: dict[str, list[int] | None], prints: list[NDArray[np.float32]]) -> None:
        """Adds a row per image, which has its stamp from before it was read."""
        self._rows.seek(self._end_of_rows())
        self._rows.write(np.stack(prints).astype("<f4").tobytes())
        self._rows.flush()
        entries = ({"image": image, "model": self._model, "stamp": stamp} for image, stamp in images.items())
        lines = [json.dumps(entry) + "\n" for entry in entries]
        self._lines.write("".join(lines).encode())
        self._lines.flush()
        self.images.update(images)
        self._count += len(images)
        self._write_header()

    def close(self) -> None:
        self._rows.close()
        self._lines.close()

    def _end_of_rows(self) -> int:
        return _HEADER_BYTES + self._count * self._dimension * 4

    def _header(self) -> bytes:
        header = {"descr": "<f4", "fortran_order": False, "shape": (self._count, self._dimension)}
        start = b"\x93NUMPY\x01\x00" + struct.pack("<H", _HEADER_BYTES - 10)
        return start + repr(header).encode().ljust(_HEADER_BYTES - 11) + b"\n"

    def _write_header(self) -> None:
        self._rows.seek(0)
        self._rows.write(self._header())
        self._rows.flush()
