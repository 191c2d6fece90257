"""Tests of the Python module, against the program.

python -m unittest discover Integrations/python/tests
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from typing import Any

import _lookalike_program
import lookalike
import numpy as np
from lookalike._images import encoded
from support import COVERS, QUERIES, CatalogCase, covers, drawn, has


class EngineTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = lookalike.Engine()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.engine.close()

    def test_prints_are_those_of_the_command(self) -> None:
        paths = covers(5)
        prints = self.engine.embed(paths)
        self.assertEqual(prints.shape, (5, self.engine.dimension))
        self.assertEqual(prints.dtype, np.float32)
        np.testing.assert_allclose(np.linalg.norm(prints, axis=1), 1, atol=1e-3)
        program = os.environ.get("LOOKALIKE_PROGRAM", "lookalike")
        lines = subprocess.run([program, "embed", *paths], capture_output=True, check=True).stdout.splitlines()
        np.testing.assert_array_equal(prints, np.array([json.loads(line)["print"] for line in lines], np.float32))
        self.assertEqual(self.engine.model[1], json.loads(lines[0])["model"])

    def test_any_kind_of_image(self) -> None:
        path = covers(1)[0]
        with open(path, "rb") as file:
            data = file.read()
        prints = self.engine.embed([path, data, memoryview(data), bytearray(data)])
        for row in prints[1:]:
            np.testing.assert_array_equal(row, prints[0])

    def test_pixels(self) -> None:
        color = drawn(1)
        gray = drawn(2, (80, 100))
        opaque = np.dstack([color, np.full(color.shape[:2], 255, np.uint8)])
        prints = self.engine.embed(
            [color, opaque, color[:, ::-1], np.asfortranarray(color), gray, np.dstack([gray] * 3), gray[:, :, None]]
        )
        np.testing.assert_array_equal(prints[0], prints[1])
        np.testing.assert_array_equal(prints[0], prints[3])
        np.testing.assert_array_equal(prints[4], prints[6])
        np.testing.assert_allclose(prints[4], prints[5], atol=1e-4)
        self.assertGreater(np.abs(prints[0] - prints[2]).max(), 1e-3)

        class Image:
            """As Pillow's."""

            __array_interface__ = color.__array_interface__

        np.testing.assert_array_equal(self.engine.embed([Image()])[0], prints[0])

    def test_other_arrays_are_refused(self) -> None:
        bytes_of = [np.zeros(shape, np.uint8) for shape in ((4, 4, 5), (4,), (0, 4))]
        for array in [np.zeros((4, 4)), *bytes_of]:
            with self.assertRaises(TypeError):
                self.engine.embed([drawn(1), array])
        # The engine still answers, and what it is asked for.
        self.assertEqual(len(self.engine.embed([drawn(1)])), 1)

    def test_no_images(self) -> None:
        self.assertEqual(self.engine.embed([]).shape, (0, self.engine.dimension))

    def test_an_error_names_the_image(self) -> None:
        with self.assertRaises(lookalike.ImageError) as caught:
            self.engine.embed([covers(1)[0], "/no/such.jpg"])
        self.assertEqual(caught.exception.subject, "/no/such.jpg")
        results = list(self.engine.compute([b"none", covers(1)[0]]))
        self.assertIsInstance(results[0], lookalike.ImageError)
        self.assertEqual(results[0].subject, "image")
        self.assertIsInstance(results[1], lookalike.Computed)

    def test_local_features_and_thumbnails(self) -> None:
        (result,) = self.engine.compute(covers(1), local_features=True, thumbnail=64)
        self.assertEqual(result.local_features[0], 2)
        self.assertEqual(result.thumbnail[:3], b"\xff\xd8\xff")
        (result,) = self.engine.compute(covers(1))
        self.assertIsNone(result.local_features)
        self.assertIsNone(result.thumbnail)

    def test_more_images_than_are_sent_ahead(self) -> None:
        images = [drawn(number) for number in range(7)]
        expected = self.engine.embed(images)
        taken = []

        def many():
            for number in range(500):
                taken.append(number)
                yield images[number % 7]

        for number, result in enumerate(self.engine.compute(many())):
            self.assertLessEqual(len(taken) - number, self.engine._worker.greeting["window"] + 1)
            np.testing.assert_array_equal(result.print, expected[number % 7])
        self.assertEqual(number, 499)

    def test_an_iteration_that_is_left(self) -> None:
        images = [drawn(number) for number in range(40)]
        expected = self.engine.embed(images[:2])
        iteration = self.engine.compute(images)
        next(iteration)
        iteration.close()
        np.testing.assert_array_equal(self.engine.embed(images[1:2])[0], expected[1])

        def failing():
            yield images[0]
            raise ValueError("no more")

        with self.assertRaises(ValueError):
            self.engine.embed(failing())
        np.testing.assert_array_equal(self.engine.embed(images[1:2])[0], expected[1])

    def test_engines_beside_each_other(self) -> None:
        expected = self.engine.embed(covers(3))
        found = []

        def work() -> None:
            with lookalike.Engine(jobs=1) as engine:
                found.append(engine.embed(covers(3)))

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 2)
        for prints in found:
            np.testing.assert_array_equal(prints, expected)

    def test_a_closed_engine(self) -> None:
        engine = lookalike.Engine()
        engine.close()
        engine.close()
        with self.assertRaisesRegex(lookalike.LookalikeError, "is closed"):
            engine.embed(covers(1))

    def test_what_cannot_be_started(self) -> None:
        with self.assertRaisesRegex(lookalike.LookalikeError, "/no/such.safetensors"):
            lookalike.Engine(model="/no/such.safetensors")
        with self.assertRaisesRegex(lookalike.LookalikeError, "jobs"):
            lookalike.Engine(jobs=0)

    def test_an_array_is_a_png_with_its_pixels(self) -> None:
        path, data = encoded(drawn(3))
        self.assertIsNone(path)
        self.assertTrue(data.startswith(b"\x89PNG"))


class CatalogTests(CatalogCase):
    def test_index_and_search(self) -> None:
        report = self.catalog.index(COVERS)
        self.assertEqual(report.added, len(covers()))
        self.assertEqual(report.problems, ())
        again = self.catalog.index(COVERS)
        self.assertEqual((again.added, again.unchanged), (0, report.added))
        matches = self.catalog.search(covers()[3])
        name = os.path.splitext(os.path.basename(covers()[3]))[0]
        self.assertEqual(matches[0].id, name)
        self.assertGreater(matches[0].confidence, 0.9)
        self.assertGreater(matches[0].inliers, 10)
        self.assertEqual(len(matches[0].outline), 4)
        self.assertFalse(matches[0].mirrored)
        with open(covers()[3], "rb") as file:
            self.assertEqual(self.catalog.search(file.read()), matches)
        self.assertEqual(self.catalog.search(covers()[3], where=f'id != "{name}"', effort="prints"), [])
        self.assertEqual(len(self.catalog.search(covers()[3], limit=2, min_confidence=0)), 2)
        photos = [os.path.join(QUERIES, name) for name in sorted(os.listdir(QUERIES)) if name.startswith("screenshot")]
        results = list(self.catalog.search_all([*photos, b"none"]))
        self.assertTrue(all(isinstance(result, list) for result in results[:-1]))
        self.assertIsInstance(results[-1], lookalike.ImageError)
        # The letters of a path, and the rows of pixels, are no images.
        self.assertEqual(list(self.catalog.search_all(photos[0])), results[:1])
        self.assertEqual(len(list(self.catalog.search_all(drawn(3)))), 1)
        in_folder = self.catalog.search_all(os.path.dirname(covers()[3]), effort="prints")
        self.assertEqual([found[0].image for found in in_folder], covers())

    def test_an_image_that_an_iterator_changes(self) -> None:
        pictures = [drawn(number) for number in range(12)]
        ids = [str(number) for number in range(12)]

        def in_one_array() -> Iterator[np.ndarray]:
            array = np.empty_like(pictures[0])
            for picture in pictures:
                array[:] = picture
                yield array

        def in_one_file() -> Iterator[Any]:
            from PIL import Image, ImageSequence

            first, *others = map(Image.fromarray, pictures)
            file = io.BytesIO()
            first.save(file, "TIFF", save_all=True, append_images=others)
            return ImageSequence.Iterator(Image.open(file))

        rows = ({"id": id, "image": image} for id, image in zip(ids, in_one_array()))
        self.catalog.index(rows, local_features=False)
        queries = ({"query": image, "target": id} for id, image in zip(ids, in_one_array()))
        self.assertEqual(self.catalog.evaluate(queries, effort="prints").all.recall_at_1, 1)
        engine = lookalike.Engine()
        self.addCleanup(engine.close)
        for images in (in_one_array, in_one_file) if has("PIL") else (in_one_array,):
            for results in (
                self.catalog.search_all(images(), effort="prints", min_confidence=0),
                self.catalog.search_all(engine.embed(images()), effort="prints", min_confidence=0),
            ):
                self.assertEqual([matches[0].id for matches in results], ids)

    def test_entities(self) -> None:
        paths = covers(4)
        entities = [
            {"id": "a", "image": os.path.relpath(paths[0]), "title": "A", "labels": ["x"], "year": 1998},
            {"id": "b", "images": paths[1:3]},
            {"id": "c", "image": "/no/such.jpg"},
        ]
        report = self.catalog.index(iter(entities), thumbnails=0, local_features=False)
        self.assertEqual((report.added, len(report.problems)), (2, 1))
        self.assertIn("/no/such.jpg", str(report.problems[0]))
        stored = self.catalog.entities()
        self.assertEqual([entity["id"] for entity in stored], ["a", "b"])
        self.assertEqual(stored[0]["attributes"], {"year": "1998"})
        self.assertEqual([entity["id"] for entity in self.catalog.entities("year > 1990")], ["a"])
        # A search sees what is indexed and removed meanwhile.
        self.assertEqual(self.catalog.search(paths[2])[0].id, "b")
        self.catalog.index([{"id": "d", "image": paths[3]}])
        self.assertEqual(self.catalog.search(paths[3])[0].id, "d")
        self.catalog.remove(["d"])
        self.assertEqual(self.catalog.search(paths[3]), [])
        with self.assertRaisesRegex(lookalike.LookalikeError, "has no entity “d”"):
            self.catalog.remove(["d"])

    def test_merge(self) -> None:
        parts = []
        for number, path in enumerate(covers(2)):
            part = lookalike.Catalog(os.path.join(self.folder, str(number)))
            part.index([{"id": str(number), "image": path}])
            parts.append(part)
        self.catalog.merge(parts[0], parts[1].path)
        self.assertEqual([entity["id"] for entity in self.catalog.entities()], ["0", "1"])
        self.assertEqual(self.catalog.search(covers(2)[1])[0].id, "1")
        with self.assertRaisesRegex(lookalike.LookalikeError, "holds no catalog"):
            self.catalog.merge(os.path.join(self.folder, "none"))

    def test_prints_make_a_catalog(self) -> None:
        with lookalike.Engine() as engine:
            prints = engine.embed(covers(6))
        self.catalog.import_prints(prints, [{"id": str(number)} for number in range(6)])
        for number, path in enumerate(covers(6)):
            self.assertEqual(self.catalog.search(path, effort="prints", min_confidence=0)[0].id, str(number))
        prints[2, 7] = np.nan
        with self.assertRaisesRegex(lookalike.LookalikeError, "row 2, counted from 0, has nan in column 7"):
            self.catalog.import_prints(prints, [{"id": str(number)} for number in range(6)])

    def test_what_an_engine_computes_makes_a_catalog(self) -> None:
        paths = covers(8)
        with lookalike.Engine() as engine:
            computed = list(engine.compute(paths, local_features=True, thumbnail=256))
        self.catalog.import_prints(
            [result.print for result in computed],
            [{"id": os.path.basename(path), "image": path} for path in paths],
            local_features=[result.local_features for result in computed],
            thumbnails=[result.thumbnail for result in computed],
        )
        with lookalike.Catalog(os.path.join(self.folder, "indexed")) as indexed:
            indexed.index([{"id": os.path.basename(path), "image": path} for path in paths])
            queries = [os.path.join(QUERIES, name) for name in sorted(os.listdir(QUERIES))]
            expected = list(indexed.search_all([*queries, *paths], min_confidence=0.1))
            self.assertEqual(list(self.catalog.search_all([*queries, *paths], min_confidence=0.1)), expected)
        self.assertTrue(any(matches[0].inliers > 10 for matches in expected[-8:]))
        with self.assertRaisesRegex(lookalike.LookalikeError, "row 0, counted from 0, has no local features that can"):
            self.catalog.import_prints([computed[0].print], [{"id": "x"}], local_features=[b"none"])

    def test_a_catalog_that_is_not_there(self) -> None:
        with self.assertRaisesRegex(lookalike.LookalikeError, "holds no catalog"):
            self.catalog.search(covers(1)[0])


class ModuleTests(unittest.TestCase):
    def test_everything_public_is_documented(self) -> None:
        for name in lookalike.__all__:
            if name == "ImageSource":
                continue
            public = getattr(lookalike, name)
            self.assertTrue(public.__doc__, name)
            for method, value in vars(public).items():
                if callable(value) and not method.startswith("_"):
                    self.assertTrue(value.__doc__, f"{name}.{method}")

    def test_a_module_without_a_program_finds_the_one_on_the_path(self) -> None:
        program = _lookalike_program.find()
        with tempfile.TemporaryDirectory() as folder:
            script, link = os.path.join(folder, "a"), os.path.join(folder, "b")
            os.mkdir(script)
            os.mkdir(link)
            # As pip makes it for a module without a program, in another environment.
            with open(os.path.join(script, "lookalike"), "w") as file:
                file.write(f"#!{sys.executable}\nimport _lookalike_program\n_lookalike_program.main()\n")
            os.chmod(os.path.join(script, "lookalike"), 0o755)
            os.symlink(program, os.path.join(link, "lookalike"))
            code = (
                "import os, _lookalike_program as p; p.__file__ = '/none/p.py'; "
                "os.environ.pop('LOOKALIKE_PROGRAM', None); print(p.find())"
            )
            module = {"PYTHONPATH": os.path.dirname(_lookalike_program.__file__)}
            path = script + os.pathsep + link
            command = [sys.executable, "-c", code]
            result = subprocess.run(command, env={"PATH": path, **module}, capture_output=True, check=True)
            self.assertEqual(result.stdout.decode().strip(), os.path.join(link, "lookalike"))
            result = subprocess.run(command, env={"PATH": script, **module}, capture_output=True, check=False)
            self.assertIn(b"was not found: install a wheel", result.stderr)

    def test_the_command(self) -> None:
        script = os.path.join(os.path.dirname(sys.executable), "lookalike")
        if not os.path.exists(script):
            self.skipTest("the module is not installed")
        result = subprocess.run([script, "--version"], capture_output=True, check=True)
        self.assertEqual(result.stdout.decode().strip(), lookalike.__version__)


if __name__ == "__main__":
    unittest.main(verbosity=2)
