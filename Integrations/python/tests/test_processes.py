"""Tests of forks, threads, interrupts and ends of the engine's worker: no answer is another one's, and none is waited
for in vain."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import itertools
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import _lookalike_program
import lookalike
import numpy as np
from lookalike._library import library
from support import Child, covers, drawn

IMAGES = [drawn(seed) for seed in range(12)]

# Answers to requests, and ends, as a worker that is killed.
DYING_WORKER = """#!/usr/bin/env python3
import json, os, signal, struct, sys
model = {"name": "x", "digest": "x"}
greeting = json.dumps({"protocol": PROTOCOL, "window": 4, "dimension": 1, "model": model}).encode()
os.write(1, struct.pack("<II", len(greeting), 0) + greeting)
os.read(0, 8)
END
"""


# Four children of a process that has opened no catalog yet, each with a search of its own.
FORKING_PROGRAM = """
import os, sys, lookalike
catalog, paths = lookalike.Catalog(sys.argv[1]), sys.argv[2:]
children = []
for number in range(4):
    child = os.fork()
    if child == 0:
        os._exit(0 if all(catalog.search(path)[0].id == path for path in paths[number % 2:]) else 1)
    children.append(child)
sys.exit(any(os.waitpid(child, 0)[1] for child in children) or catalog.search(paths[0])[0].id != paths[0])
"""


def worker_pid(engine: lookalike.Engine) -> int:
    return engine._running_worker()._process.pid


def embed_in_pool(argument: tuple[lookalike.Engine, int]) -> np.ndarray:
    engine, number = argument
    return engine.embed(IMAGES[number])[0]


def bad_image_in_pool(engine: lookalike.Engine) -> None:
    engine.embed("/no/such.jpg")


class ProcessTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = lookalike.Engine()
        cls.expected = cls.engine.embed(IMAGES)
        cls.folder = tempfile.TemporaryDirectory()
        cls.paths = covers(6)
        cls.catalog = lookalike.Catalog(os.path.join(cls.folder.name, "catalog"))
        cls.catalog.index([{"id": path, "image": path} for path in cls.paths])
        cls.catalog.search(cls.paths[0])

    @classmethod
    def tearDownClass(cls) -> None:
        cls.engine.close()
        cls.catalog.close()
        cls.folder.cleanup()

    def check(self, start: int = 0) -> None:
        """Compares an answer of each with the right one."""
        self.check_engine(start)
        path = self.paths[start % len(self.paths)]
        self.assertEqual(self.catalog.search(path)[0].id, path)

    def check_engine(self, start: int) -> None:
        number = start % len(IMAGES)
        np.testing.assert_array_equal(self.engine.embed([IMAGES[number]])[0], self.expected[number])

    def check_child(self, start: int) -> None:
        """The engine of a child starts a worker of its own, and a catalog is an error."""
        self.check_engine(start)
        other = lookalike.Catalog(os.path.join(self.folder.name, "other"))
        for call in (
            lambda: self.catalog.search(self.paths[0]),
            lambda: list(self.catalog.search_all(self.paths)),
            self.catalog.entities,
            lambda: self.catalog.index(self.paths[0]),
            lambda: other.index([{"id": "a", "image": self.paths[0]}]),
            lambda: other.merge(self.catalog),
        ):
            with self.assertRaisesRegex(lookalike.LookalikeError, "before the process was forked"):
                call()
        # What a process lets go of at its end belongs to its parent.
        self.catalog.close()

    def test_forks(self) -> None:
        pid = worker_pid(self.engine)

        def work(start: int) -> int:
            for number in range(8):
                self.check_child(start + number)
            return worker_pid(self.engine)

        children = [Child(lambda start=start: work(start)) for start in range(4)]
        for number in range(8):
            self.check(number)
        pids = [pid, *(child.result() for child in children)]
        self.assertEqual(len(set(pids)), 5, pids)
        # The children have ended theirs, and this process has what it had.
        self.check()
        self.assertEqual(worker_pid(self.engine), pid)

    def test_threads_of_a_child_are_told_that_they_cannot_open_catalogs(self) -> None:
        """One after the other is not enough: a lock that two of them want at the same time ends the process."""
        path = os.fsencode(self.catalog.path)

        def refusals(count: int) -> int:
            return sum(library().lookalike_catalog_open(path, None, 0).value is None for _ in range(count))

        def work() -> int:
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                others = [pool.submit(refusals, 10_000) for _ in range(3)]
                return refusals(10_000) + sum(other.result() for other in others)

        self.assertEqual([child.result() for child in [Child(work) for _ in range(2)]], [40_000] * 2)

    def test_catalogs_in_a_child_whose_parent_has_threads_of_the_library(self) -> None:
        """They would wait for these threads forever."""
        program = """
import os, signal, sys, lookalike, numpy
rows = numpy.eye(2000, 64, dtype=numpy.float32)
uses = [
    lambda: lookalike.ExactSearch(rows).nearest(rows[:9]),
    lambda: lookalike.Engine().embed(sys.argv[1]),
    lambda: lookalike.resize(numpy.zeros((9, 9), numpy.uint8), (3, 3)),
]
uses[int(sys.argv[2])]()
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        lookalike.Catalog(sys.argv[1] + "-catalog").index([{"id": "a", "image": sys.argv[1]}])
    except lookalike.LookalikeError as error:
        os._exit(7 if "before the process was forked" in str(error) else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
"""
        with tempfile.TemporaryDirectory() as folder:
            image = shutil.copy(self.paths[0], folder)
            for number in range(3):
                command = [sys.executable, "-W", "ignore", "-c", program, image, str(number)]
                self.assertEqual(subprocess.run(command, check=False, timeout=200).returncode, 7, number)

    def test_forks_of_a_process_without_an_open_catalog(self) -> None:
        command = [sys.executable, "-c", FORKING_PROGRAM, self.catalog.path, *self.paths]
        self.assertEqual(subprocess.run(command, timeout=120, check=False).returncode, 0)

    def test_a_child_leaves_the_worker_of_its_parent(self) -> None:
        engine = lookalike.Engine()
        pid = worker_pid(engine)

        def leave() -> None:
            nonlocal engine
            engine.close()
            del engine
            gc.collect()

        self.assertIsNone(Child(leave).result())
        np.testing.assert_array_equal(engine.embed([IMAGES[1]])[0], self.expected[1])
        self.assertEqual(worker_pid(engine), pid)
        engine.close()

    def test_an_engine_is_closed_while_a_child_lives(self) -> None:
        engine = lookalike.Engine()
        reading, writing = os.pipe()
        child = Child(lambda: os.read(reading, 1))
        engine.close()
        os.write(writing, b"x")
        self.assertEqual(child.result(), b"x")
        os.close(reading)
        os.close(writing)

    def test_a_fork_within_an_iteration(self) -> None:
        iteration = self.engine.compute(IMAGES * 8)
        next(iteration)

        def rest() -> list[np.ndarray]:
            return [result.print for result in iteration]

        child = Child(rest)
        expected = np.concatenate([self.expected] * 8)[1:]
        np.testing.assert_array_equal(np.stack(rest()), expected)
        np.testing.assert_array_equal(np.stack(child.result()), expected)

    def test_a_fork_while_threads_search(self) -> None:
        is_done = threading.Event()
        errors: list[BaseException] = []

        def work() -> None:
            try:
                while not is_done.is_set():
                    self.check()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        results = [Child(lambda: self.check_child(1)).result() for _ in range(4)]
        is_done.set()
        for thread in threads:
            thread.join()
        self.assertEqual((results, errors), ([None] * 4, []))

    def test_pools_of_processes(self) -> None:
        for method in ("fork", "spawn", "forkserver"):
            with (
                self.subTest(method),
                concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool,
            ):
                arguments = [(self.engine, number) for number in range(6)]
                np.testing.assert_array_equal(list(pool.map(embed_in_pool, arguments)), self.expected[:6])
                with self.assertRaisesRegex(lookalike.ImageError, "/no/such.jpg: "):
                    pool.submit(bad_image_in_pool, self.engine).result()
                # An error that cannot be unpickled would end the pool.
                np.testing.assert_array_equal(pool.submit(embed_in_pool, arguments[2]).result(), self.expected[2])

    def test_pickles(self) -> None:
        with pickle.loads(pickle.dumps(self.engine)) as engine, pickle.loads(pickle.dumps(self.catalog)) as catalog:
            self.assertEqual((engine.dimension, engine.model), (self.engine.dimension, self.engine.model))
            np.testing.assert_array_equal(engine.embed([IMAGES[3]])[0], self.expected[3])
            matches = catalog.search(self.paths[2])
        self.assertEqual(matches[0].id, self.paths[2])
        self.assertEqual(pickle.loads(pickle.dumps(matches)), matches)
        error = pickle.loads(pickle.dumps(lookalike.ImageError("a.jpg", "is damaged")))
        self.assertEqual((str(error), error.subject, error.reason), ("a.jpg: is damaged", "a.jpg", "is damaged"))

    def test_threads(self) -> None:
        errors: list[BaseException] = []
        report: list[lookalike.IndexReport] = []

        def work(start: int) -> None:
            try:
                for number in range(25):
                    self.check(start + number)
            except BaseException as error:
                errors.append(error)

        def index() -> None:
            rows = [{"id": f"drawn {seed}", "image": drawn(seed)} for seed in range(100, 140)]
            report.append(self.catalog.index(iter([*rows, {"id": "z", "image": covers(8)[7]}])))
            self.catalog.remove([row["id"] for row in rows])

        threads = [threading.Thread(target=work, args=(start,)) for start in range(8)] + [
            threading.Thread(target=index)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(report[0].added + report[0].unchanged, 41)

    def test_a_loop_of_events(self) -> None:
        async def search_all() -> list[str]:
            searches = [asyncio.to_thread(self.catalog.search, path) for path in self.paths * 3]
            return [matches[0].id for matches in await asyncio.gather(*searches)]

        self.assertEqual(asyncio.run(search_all()), self.paths * 3)

    def test_interrupts(self) -> None:
        pid = worker_pid(self.engine)
        catalog = lookalike.Catalog(os.path.join(self.folder.name, "interrupted"))
        rows = ({"id": number, "image": IMAGES[number % 12]} for number in itertools.count())
        calls = [
            lambda: self.engine.embed(IMAGES * 4),
            lambda: list(self.catalog.search_all(self.paths * 4)),
            lambda: catalog.index(rows),
            lambda: catalog.duplicates(),
            lambda: catalog.index(os.path.dirname(self.paths[0]), local_features=False),
        ]
        catalog.index([next(rows)])
        random = np.random.default_rng(1)
        count = 0
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            for number in range(60):
                try:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 0.05))
                        calls[number % len(calls)]()
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    count += 1
                self.check(number)
                # Nobody writes any more.
                catalog.update([{"id": 0, "title": str(number)}])
                self.assertEqual(catalog.entities(ids=[0])[0]["title"], str(number))
        finally:
            signal.signal(signal.SIGALRM, previous)
        self.assertGreater(count, 0)
        self.assertEqual(worker_pid(self.engine), pid)

    def test_an_interrupt_from_a_terminal(self) -> None:
        # It goes to all processes of the group.
        self.assertNotEqual(os.getpgid(worker_pid(self.engine)), os.getpgid(0))

    def test_a_program_that_waits_for_no_process(self) -> None:
        previous = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            with self.assertRaisesRegex(lookalike.LookalikeError, "has no entity “unknown”"):
                self.catalog.remove(["unknown"])
            with lookalike.Engine() as engine:
                np.testing.assert_array_equal(engine.embed([IMAGES[2]])[0], self.expected[2])
        finally:
            signal.signal(signal.SIGCHLD, previous)

    def test_a_program_that_ends_at_sigpipe(self) -> None:
        previous = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        try:
            for number in range(3):
                os.kill(worker_pid(self.engine), signal.SIGKILL)
                self.check(number)
        finally:
            signal.signal(signal.SIGPIPE, previous)

    def test_killed_workers(self) -> None:
        for number in range(6):
            os.kill(worker_pid(self.engine), signal.SIGKILL)
            self.check(number)

    def test_a_worker_that_is_killed_within_an_iteration(self) -> None:
        results = []
        for number, result in enumerate(self.engine.compute(IMAGES * 5)):
            results.append(result.print)
            if number % 20 == 3:
                os.kill(worker_pid(self.engine), signal.SIGKILL)
        np.testing.assert_array_equal(np.stack(results), np.concatenate([self.expected] * 5))

    def test_workers_that_are_killed_while_threads_search(self) -> None:
        errors: list[BaseException] = []

        def work(start: int) -> None:
            for number in range(20):
                try:
                    self.check(start + number)
                except lookalike.LookalikeError as error:
                    # Both tries were in a process that was killed.
                    self.assertIn("SIGKILL", str(error))
                except BaseException as error:
                    errors.append(error)

        threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            self.check()
            os.kill(worker_pid(self.engine), signal.SIGKILL)
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.check()

    def test_what_a_worker_says_at_its_end_is_in_the_error(self) -> None:
        ends = {
            "os.kill(os.getpid(), signal.SIGKILL)": r"ended by signal 9 \(SIGKILL\)",
            "sys.exit(7)": "ended with status 7",
            "sys.exit('Error: out of memory')": "^out of memory$",
            "os.write(1, struct.pack('<II', 4, 0) + b'none'); os.read(0, 1 << 20); os.read(0, 1)": "Expecting value",
        }
        for end, words in ends.items():
            with self.subTest(end), self.program(DYING_WORKER.replace("PROTOCOL", "1").replace("END", end)):
                engine = lookalike.Engine()
                for _ in range(2):
                    with self.assertRaisesRegex(lookalike.LookalikeError, words):
                        engine.embed(IMAGES * 3)
                engine.close()
        with (
            self.program(DYING_WORKER.replace("PROTOCOL", "2").replace("END", "")),
            self.assertRaisesRegex(lookalike.LookalikeError, "version 2 of the protocol"),
        ):
            lookalike.Engine()
        with (
            mock.patch.object(_lookalike_program, "find", return_value="/no/such/program"),
            self.assertRaisesRegex(lookalike.LookalikeError, "cannot be started"),
        ):
            lookalike.Engine()

    def program(self, text: str) -> mock._patch:
        file = os.path.join(self.folder.name, "program")
        with open(file, "w") as script:
            script.write(text.replace("/usr/bin/env python3", sys.executable))
        os.chmod(file, 0o755)
        return mock.patch.object(_lookalike_program, "find", return_value=file)

    def test_iterations_within_each_other(self) -> None:
        for number, result in enumerate(self.engine.compute(IMAGES * 3)):
            np.testing.assert_array_equal(result.print, self.expected[number % 12])
            np.testing.assert_array_equal(self.engine.embed([IMAGES[5]])[0], self.expected[5])

    def test_an_engine_that_nobody_closes_ends_with_its_program(self) -> None:
        code = (
            "import lookalike; e = lookalike.Engine(); i = e.compute(['x'] * 9); next(i); print(e._worker._process.pid)"
        )
        with os.popen(f'"{sys.executable}" -c "{code}"') as output:
            pid = int(output.read())
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)


class ChangedCatalogTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "catalog")
        self.catalog = lookalike.Catalog(self.path)
        self.addCleanup(self.catalog.close)
        self.images = covers(2)
        self.catalog.index([{"id": "old", "image": self.images[0]}])

    def move_away(self, name: str) -> None:
        os.rename(self.path, self.path + name)

    def test_a_catalog_that_is_made_anew(self) -> None:
        self.assertEqual(self.catalog.search(self.images[0])[0].id, "old")
        self.move_away("-1")
        with self.assertRaisesRegex(lookalike.LookalikeError, "holds no catalog|cannot be"):
            self.catalog.search(self.images[0])
        lookalike.Catalog(self.path).index([{"id": "new", "image": self.images[0]}])
        self.assertEqual(self.catalog.search(self.images[0])[0].id, "new")
        self.assertEqual([entity["id"] for entity in self.catalog.entities()], ["new"])

    def test_threads_search_a_catalog_that_is_made_anew(self) -> None:
        self.catalog.search(self.images[0])
        self.move_away("-1")
        lookalike.Catalog(self.path).index([{"id": "new", "image": self.images[0]}])
        found: list[object] = []

        def work() -> None:
            try:
                found.append(self.catalog.search(self.images[0])[0].id)
            except Exception as error:
                found.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, ["new"] * 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
