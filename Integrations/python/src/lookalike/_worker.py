"""The protocol of `lookalike worker`, version 1; the article “From a folder to many machines” describes it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import tempfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar, Union

import _lookalike_program
import numpy as np
from numpy.typing import NDArray

PROTOCOL = 1

ImageSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, NDArray[np.uint8], Any]
"""An image: the path of a file, the bytes of a file, an array of 8-bit pixels, or an object with such an array, such as
an image of Pillow."""


class LookalikeError(Exception):
    """The program failed, or answers what it should not."""


class ImageError(Exception):
    """An image that cannot be used. `subject` is its path, or “image”; `reason` says why."""

    def __init__(self, subject: str, reason: str) -> None:
        super().__init__(f"{subject}: {reason}")
        self.subject = subject
        self.reason = reason


def run(arguments: list[str]) -> tuple[int, str]:
    """Runs the program to its end, and returns its exit status, 0 or 3, and its output.

    Raises `LookalikeError` with the program's message for any other status.
    """
    result = subprocess.run(
        [_lookalike_program.find(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if result.returncode not in (0, 3):
        raise LookalikeError(_message(result.stderr, result.returncode))
    return result.returncode, result.stdout.decode()


def _message(errors: bytes, status: int | None) -> str:
    words = errors.decode(errors="replace").strip()
    return words.removeprefix("Error: ") or f"the program “lookalike” ended with status {status}"


def encoded(image: ImageSource) -> tuple[str | None, bytes]:
    """The path of an image, or the bytes of a file with it."""
    if isinstance(image, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(image))
        return path, b""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return None, bytes(image)
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or 0 in pixels.shape:
        raise TypeError(
            "an image is a path, bytes, or 8-bit pixels (height, width, channels), "
            f"not an array of {pixels.dtype} with the shape {pixels.shape}"
        )
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    if channels not in (1, 2, 3, 4):
        raise TypeError(f"an image has 1 to 4 channels, not {channels}")
    return None, _png(pixels.reshape(pixels.shape[0], pixels.shape[1] * channels), channels)


def _png(rows: NDArray[np.uint8], channels: int) -> bytes:
    """A PNG file without compression, which costs about as much as a copy of the pixels."""
    height = rows.shape[0]
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    # A byte before each row says how it is predicted: not at all.
    filtered = np.zeros((height, rows.shape[1] + 1), np.uint8)
    filtered[:, 1:] = rows

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))

    header = struct.pack(">IIBBBBB", rows.shape[1] // channels, height, 8, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(filtered.tobytes(), 0))
        + chunk(b"IEND", b"")
    )


class Worker:
    """A process of `lookalike worker`. One thread at a time uses it."""

    def __init__(self, arguments: list[str]) -> None:
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [_lookalike_program.find(), "worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=1 << 16,
        )
        self._is_used = False
        try:
            self.greeting, _ = self._read()
        except LookalikeError:
            self.close()
            raise
        if self.greeting.get("protocol") != PROTOCOL:
            self.close()
            raise LookalikeError(f"the program speaks version {self.greeting.get('protocol')} of the protocol, not 1")

    def close(self) -> None:
        """Ends the process."""
        for stream in (self._process.stdin, self._process.stdout):
            try:
                if stream:
                    stream.close()
            except BrokenPipeError:
                pass
        self._process.wait()
        self._errors.close()

    def answers(self, requests: Iterable[tuple[dict[str, Any], bytes]]) -> Iterator[tuple[dict[str, Any], bytes]]:
        """The answer of each request in order. Requests are taken as far ahead as the worker allows."""
        if self._is_used:
            raise LookalikeError("an engine answers one iteration at a time; use another engine")
        self._is_used = True
        # The worker takes so many requests before anybody reads an answer. With more, both would wait for each other.
        ahead = self.greeting["window"]
        sent: deque[int] = deque()
        number = 0
        try:
            for header, payload in requests:
                while len(sent) >= ahead:
                    yield self._answer(sent)
                number += 1
                sent.append(number)
                self._write({"id": number, **header}, payload)
            self._flush()
            while sent:
                yield self._answer(sent)
        finally:
            # Answers that nobody wants are not to be taken for those of the next requests.
            try:
                if sent:
                    self._flush()
                while sent:
                    self._answer(sent)
            except LookalikeError:
                pass
            self._is_used = False

    def _answer(self, sent: deque[int]) -> tuple[dict[str, Any], bytes]:
        self._flush()
        number = sent.popleft()
        try:
            header, payload = self._read()
        except LookalikeError:
            sent.clear()
            raise
        if header.get("id") != number:
            sent.clear()
            raise LookalikeError(f"the worker answers {header.get('id')} instead of {number}")
        return header, payload

    def _write(self, header: dict[str, Any], payload: bytes) -> None:
        text = json.dumps(header).encode()
        try:
            assert self._process.stdin
            self._process.stdin.write(struct.pack("<II", len(text), len(payload)) + text)
            self._process.stdin.write(payload)
        except (BrokenPipeError, ValueError) as error:
            raise self._failure() from error

    def _flush(self) -> None:
        try:
            assert self._process.stdin
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise self._failure() from error

    def _read(self) -> tuple[dict[str, Any], bytes]:
        assert self._process.stdout
        if self._process.stdout.closed:
            raise LookalikeError("the engine is closed")
        start = self._process.stdout.read(8)
        if len(start) < 8:
            raise self._failure()
        length, size = struct.unpack("<II", start)
        header = self._process.stdout.read(length)
        payload = self._process.stdout.read(size)
        if len(header) < length or len(payload) < size:
            raise self._failure()
        return json.loads(header), payload

    def _failure(self) -> LookalikeError:
        if self._errors.closed:
            return LookalikeError("the engine is closed")
        try:
            status: int | None = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            status = None
        self._errors.seek(0)
        return LookalikeError(_message(self._errors.read(), status))


_Self = TypeVar("_Self", bound="HasWorker")


class HasWorker:
    """What has a process that a `with` statement ends, or the end of the object."""

    def close(self) -> None:
        """Ends the process."""
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # An initializer that fails leaves no process.
        if getattr(self, "_worker", None) is not None:
            self.close()
