"""What the tests share: images, catalogs, and processes."""

from __future__ import annotations

import importlib.util
import os
import pickle
import signal
import tempfile
import traceback
import unittest
from collections.abc import Callable
from typing import Any

import lookalike
import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
COVERS = os.path.join(ROOT, "Examples/Demo/covers")
QUERIES = os.path.join(ROOT, "Examples/Demo/queries")


def covers(count: int | None = None) -> list[str]:
    names = sorted(name for name in os.listdir(COVERS) if name.endswith(".jpg"))
    return [os.path.join(COVERS, name) for name in names[:count]]


def drawn(seed: int, shape: tuple[int, ...] = (120, 160, 3)) -> np.ndarray:
    """Blocks of colors."""
    random = np.random.default_rng(seed)
    small = random.integers(0, 256, (shape[0] // 20, shape[1] // 20, *shape[2:]), np.uint8)
    return np.kron(small, np.ones((20, 20, *(1 for _ in shape[2:])), np.uint8))


def has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


class CatalogCase(unittest.TestCase):
    """A test with a folder, and a catalog in it that nothing is in yet."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.catalog = lookalike.Catalog(os.path.join(self.folder, "catalog"))
        self.addCleanup(self.catalog.close)


class SharedCatalogCase(unittest.TestCase):
    """Tests with a folder, and a catalog in it that all of a class share."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.catalog = lookalike.Catalog(os.path.join(cls.folder, "catalog"))
        cls.addClassCleanup(cls.catalog.close)


class Child:
    """A forked process that calls a function."""

    def __init__(self, function: Callable[[], Any]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(reading)
                # One that waits forever is ended, so that the test fails.
                signal.alarm(300)
                try:
                    result = function()
                except BaseException:
                    result = traceback.format_exc()
                with os.fdopen(writing, "wb") as file:
                    pickle.dump(result, file)
            finally:
                os._exit(0)
        os.close(writing)
        self._reading = reading

    def result(self) -> Any:
        with os.fdopen(self._reading, "rb") as file:
            data = file.read()
        _, status = os.waitpid(self.pid, 0)
        if not data:
            raise AssertionError(f"the child has no result, and ended with {os.waitstatus_to_exitcode(status)}")
        return pickle.loads(data)
