"""Tests of arrays: neighbors and distances against NumPy in double precision, in threads and after forks; resizing."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import itertools
import os
import pickle
import tempfile
import threading
import unittest

import lookalike
import numpy as np
from support import Child

SEED = 20261128
TYPES = (np.float32, np.float16, np.int8)


def layouts(values: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers in memory of several layouts."""
    count, dimension = values.shape[:2]
    wide = np.zeros((2 * count, 3 * dimension, *values.shape[2:]), values.dtype)
    wide[::2, ::3] = values
    flipped = values[::-1, ::-1].copy()
    shifted = np.zeros(values.nbytes + 1, np.uint8)[1:]
    unaligned = np.ndarray(values.shape, values.dtype, shifted.data)
    unaligned[:] = values
    read_only = values.copy()
    read_only.flags.writeable = False
    return {
        "contiguous": values,
        "read-only": read_only,
        "columns first": np.asfortranarray(values),
        "gaps": wide[::2, ::3],
        "backwards": flipped[::-1, ::-1],
        "unaligned": unaligned,
    }


def drawn(random: np.random.Generator, kind: type, count: int, dimension: int) -> np.ndarray:
    """Rows of which some are there twice."""
    if kind is np.int8:
        values = random.integers(-128, 128, (count, dimension)).astype(np.int8)
    else:
        values = random.standard_normal((count, dimension)).astype(kind)
    values[count // 2 : count // 2 + count // 4] = values[: count // 4]
    return values


def true_distances(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.sqrt(((queries[:, None].astype(float) - rows[None].astype(float)) ** 2).sum(2))


class ArrayTests(unittest.TestCase):
    def setUp(self) -> None:
        self.random = np.random.default_rng(SEED)

    def check(
        self,
        found: lookalike.Neighbors,
        queries: np.ndarray,
        rows: np.ndarray,
        k: int,
        expected: np.ndarray | None = None,
    ) -> None:
        """Checks that these are the nearest rows. Two that are equally near but for rounding may change places."""
        expected = true_distances(queries, rows) if expected is None else expected
        k = min(k, len(rows))
        self.assertEqual((found.rows.shape, found.rows.dtype), ((len(queries), k), np.int64))
        self.assertEqual((found.distances.shape, found.distances.dtype), ((len(queries), k), np.float32))
        np.testing.assert_allclose(found.distances, np.sort(expected)[:, :k], rtol=1e-5, atol=1e-5)
        of_found = np.take_along_axis(expected, found.rows, 1)
        np.testing.assert_allclose(of_found, found.distances, rtol=1e-5, atol=1e-5)
        self.assertTrue((np.diff(np.sort(found.rows, axis=1), axis=1) > 0).all())
        # Of rows that are there twice, the first comes first.
        are_ties = np.diff(found.distances, axis=1) == 0
        self.assertTrue((np.diff(found.rows, axis=1)[are_ties] > 0).all())

    def test_types_and_layouts(self) -> None:
        counts = [(70, 1), (70, 70), (3, 301)]
        for kind, dimension, (query_count, k) in itertools.product(TYPES, (1, 50), counts):
            rows = drawn(self.random, kind, 300, dimension)
            queries = drawn(self.random, kind, query_count, dimension)
            queries[0] = rows[4]
            expected = true_distances(queries, rows)
            for (name, layout), copy in itertools.product(layouts(rows).items(), (None, True)):
                with self.subTest(seed=SEED, kind=kind.__name__, dimension=dimension, k=k, layout=name, copy=copy):
                    search = lookalike.ExactSearch(layout, copy=copy)
                    self.check(search.nearest(queries, k), queries, rows, k, expected)
            for name, layout in layouts(queries).items():
                with self.subTest(seed=SEED, kind=kind.__name__, dimension=dimension, k=k, queries=name):
                    self.check(search.nearest(layout, k), queries, rows, k, expected)
                    np.testing.assert_allclose(lookalike.distances(layout, rows), expected, rtol=1e-4, atol=1e-30)

    def test_queries_of_another_type(self) -> None:
        for kind, other in itertools.product(TYPES, TYPES):
            rows, queries = drawn(self.random, kind, 200, 20), drawn(self.random, other, 9, 20)
            self.check(lookalike.ExactSearch(rows).nearest(queries, 5), queries, rows, 5)

    def test_one_query_has_one_axis(self) -> None:
        rows = drawn(self.random, np.float32, 50, 8)
        found, distances = lookalike.ExactSearch(rows).nearest(rows[7], 3)
        self.assertEqual((found.shape, distances.shape, found[0], distances[0]), ((3,), (3,), 7, 0))

    def test_answers_do_not_depend_on_the_batch_or_on_threads(self) -> None:
        rows, queries = drawn(self.random, np.float32, 3000, 48), drawn(self.random, np.float32, 600, 48)
        search = lookalike.ExactSearch(rows)
        all_found = search.nearest(queries, 7)
        for threads in (1, 2, 5):
            found = search.nearest(queries, 7, threads=threads)
            np.testing.assert_array_equal(found.rows, all_found.rows)
            np.testing.assert_array_equal(found.distances, all_found.distances)
        for number in (0, 255, 256, 599):
            one = search.nearest(queries[number], 7)
            np.testing.assert_array_equal(one.rows, all_found.rows[number])
            np.testing.assert_array_equal(one.distances, all_found.distances[number])

    def test_inverted_file(self) -> None:
        centers = drawn(self.random, np.float32, 200, 32)
        rows = (centers[self.random.integers(0, 200, 20000)] + drawn(self.random, np.float32, 20000, 32) / 4).astype(
            np.float32
        )
        queries = rows[::400] + np.float32(0.05)
        for kind, layout in itertools.product(TYPES, ("contiguous", "gaps")):
            values = (rows * 16).round().astype(kind) if kind is np.int8 else rows.astype(kind)
            index = lookalike.InvertedFile(layouts(values)[layout])
            scaled = queries * 16 if kind is np.int8 else queries
            self.check(index.nearest(scaled, 10, recall=1), scaled, values, 10)
            found = index.nearest(scaled, 10, recall=0.95)
            exact = lookalike.ExactSearch(values).nearest(scaled, 10)
            shared = [len(set(a) & set(b)) for a, b in zip(found.rows, exact.rows)]
            self.assertGreater(np.mean(shared) / 10, 0.9)

    def test_memory_maps_are_used_in_place(self) -> None:
        rows, queries = drawn(self.random, np.float16, 400, 24), drawn(self.random, np.float16, 6, 24)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.npy")
            np.save(path, rows)
            mapped = np.load(path, mmap_mode="r")
            search = lookalike.ExactSearch(mapped)
            assert search._kept is not None and np.shares_memory(search._kept, mapped)
            self.check(search.nearest(queries, 4), queries, rows, 4)

    def test_arrays_that_change_were_copied(self) -> None:
        rows = drawn(self.random, np.float32, 100, 16)
        before = rows.copy()
        search, index = lookalike.ExactSearch(rows), lookalike.InvertedFile(rows)
        rows[:] = 0
        self.check(search.nearest(before[:5], 3), before[:5], before, 3)
        self.check(index.nearest(before[:5], 3, recall=1), before[:5], before, 3)
        kept = lookalike.ExactSearch(before, copy=False)
        self.assertIs(kept._kept, before)

    def test_few_rows_and_queries(self) -> None:
        none, some = np.zeros((0, 5), np.float32), np.ones((3, 5), np.float32)
        for kind in (lookalike.ExactSearch, lookalike.InvertedFile):
            self.assertEqual(kind(none).nearest(some, 4).rows.shape, (3, 0))
            self.assertEqual(kind(some).nearest(none, 2).rows.shape, (0, 2))
            self.assertEqual(kind(some).nearest(some, 0).rows.shape, (3, 0))
            self.assertEqual(kind(some).nearest(some, np.int64(9)).rows.tolist(), [[0, 1, 2]] * 3)
        self.assertEqual(lookalike.distances(none, some).shape, (0, 3))
        self.assertEqual(lookalike.distances(some, none).shape, (3, 0))
        same = np.broadcast_to(np.float32([1, 2, 3]), (4, 3))
        self.assertEqual(lookalike.ExactSearch(same).nearest(same[0], 4).distances.tolist(), [0] * 4)

    def test_what_is_refused(self) -> None:
        some = np.ones((3, 5), np.float32)
        search = lookalike.ExactSearch(some)
        for values in (some.astype(float), some.astype(np.uint8), some.astype(">f4"), [[1.0]], np.ma.array(some)):
            for call in (lookalike.ExactSearch, search.nearest, lambda values: lookalike.distances(some, values)):
                self.assertRaises(TypeError, call, values)
        for values in (some[0], some[None]):
            self.assertRaises(ValueError, lookalike.ExactSearch, values)
        self.assertRaises(ValueError, search.nearest, some[:, 1:])
        self.assertRaises(ValueError, lookalike.distances, some, some[:, 1:])
        self.assertRaises(ValueError, lookalike.ExactSearch, some[:, ::2], copy=False)
        self.assertRaises(ValueError, lookalike.ExactSearch, some.astype(np.int8), copy=False)
        self.assertRaises(ValueError, search.nearest, some, -1)
        self.assertRaises(TypeError, search.nearest, some, 1.5)
        self.assertRaises(ValueError, search.nearest, some, threads=0)
        self.assertRaises(ValueError, lookalike.InvertedFile, some, lists=0)
        self.assertRaises(ValueError, lookalike.InvertedFile(some).nearest, some, recall=1.01)
        self.assertRaises(ValueError, lookalike.InvertedFile(some).nearest, some, recall=float("nan"))
        self.assertRaises(TypeError, pickle.dumps, search)
        self.assertRaises(lookalike.LookalikeError, lookalike.ExactSearch, np.zeros((2, 0), np.float32))
        for number in (np.nan, np.inf, -np.inf, 3e38, 1e-25, 1e-40):
            bad = some * (0 if abs(number) < 1 else 1)
            bad[1, 2] = number
            for call in (lookalike.ExactSearch, lookalike.InvertedFile, search.nearest):
                with self.assertRaisesRegex(lookalike.LookalikeError, "row 1"):
                    call(bad)
            with self.assertRaisesRegex(lookalike.LookalikeError, "row 1"):
                lookalike.distances(some, bad)

    def test_threads(self) -> None:
        rows, queries = drawn(self.random, np.float32, 2000, 32), drawn(self.random, np.float32, 40, 32)
        search, index = lookalike.ExactSearch(rows), lookalike.InvertedFile(rows)
        expected = search.nearest(queries, 5)

        def work(number: int) -> bool:
            line = number % len(queries)
            found = [search.nearest(queries[line], 5), index.nearest(queries[line], 5, recall=1)]
            # An error of one thread is not another one's.
            try:
                search.nearest(np.full(32, np.nan, np.float32))
            except lookalike.LookalikeError as error:
                return "row 0" in str(error) and all((one.rows == expected.rows[line]).all() for one in found)
            return False

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(400))))

    def test_forks(self) -> None:
        rows, queries = drawn(self.random, np.float32, 5000, 32), drawn(self.random, np.float32, 300, 32)
        search, index = lookalike.ExactSearch(rows), lookalike.InvertedFile(rows)
        expected = search.nearest(queries, 5).rows
        is_over = threading.Event()

        def search_on() -> None:
            while not is_over.is_set():
                search.nearest(queries, 5)

        def answers() -> list[np.ndarray]:
            own = lookalike.ExactSearch(rows)
            return [
                search.nearest(queries, 5).rows,
                index.nearest(queries, 5, recall=1).rows,
                own.nearest(queries, 5).rows,
                lookalike.InvertedFile(rows).nearest(queries, 5, recall=1).rows,
                np.argsort(lookalike.distances(queries, rows[:200]), kind="stable")[:, :1],
            ]

        here = answers()
        threads = [threading.Thread(target=search_on) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(6):
                results = [child.result() for child in [Child(answers) for _ in range(2)]]
                for result in results:
                    self.assertIsInstance(result, list, result)
                    np.testing.assert_array_equal(result[0], expected)
                    for one, other in zip(result, here):
                        np.testing.assert_array_equal(one, other)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()


class ResizeTests(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("PIL"), "needs Pillow")
    def test_pillow_resizes_alike(self) -> None:
        from PIL import Image

        random = np.random.default_rng(SEED)
        # Smooth, as photographs are: filters differ where every pixel differs from the next.
        smooth = [
            np.asarray(Image.fromarray(random.integers(0, 256, (9, 12, 3), np.uint8)).resize(size, Image.BICUBIC))
            for size in ((640, 480), (97, 53))
        ]
        for image, size in itertools.product(smooth, ((200, 100), (31, 47), (700, 500), (1, 1))):
            expected = np.asarray(Image.fromarray(image).resize(size, Image.BILINEAR)).astype(int)
            for name, layout in layouts(image).items():
                with self.subTest(seed=SEED, shape=image.shape, size=size, layout=name):
                    found = lookalike.resize(layout, size)
                    self.assertEqual((found.shape, found.dtype), (expected.shape, np.uint8))
                    self.assertLessEqual(np.abs(found - expected).max(), 6)
            gray = lookalike.resize(image[:, :, 1], size)
            self.assertEqual(gray.shape, expected.shape[:2])
            self.assertLessEqual(np.abs(gray - expected[:, :, 1]).max(), 6)
            opaque = np.full((*image.shape[:2], 1), 255, np.uint8)
            for with_alpha in (np.dstack([image, opaque]), np.dstack([image[:, :, 1:2], opaque])):
                found = lookalike.resize(with_alpha, size)
                np.testing.assert_array_equal(found, lookalike.resize(image, size) if found.ndim == 3 else gray)

    def test_transparent_pixels_are_white(self) -> None:
        self.assertTrue((lookalike.resize(np.zeros((20, 30, 4), np.uint8), (7, 5)) == 255).all())

    def test_what_is_refused(self) -> None:
        image = np.zeros((20, 30, 3), np.uint8)
        for size in ((0, 5), (5, 65536), (65535, 65535), (-1, 5)):
            self.assertRaises(ValueError, lookalike.resize, image, size)
        self.assertRaises(TypeError, lookalike.resize, image, (2.5, 5))
        for values in (image.astype(float), np.zeros((3, 3, 5), np.uint8), np.zeros((0, 3), np.uint8), "photo.jpg"):
            self.assertRaises(TypeError, lookalike.resize, values, (5, 5))


if __name__ == "__main__":
    unittest.main()
