"""Tests of files with the prints of many images."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import unittest

import lookalike
import numpy as np
from support import COVERS, covers


class PrintFileTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.output = os.path.join(self.folder, "prints.npy")
        self.engine = lookalike.Engine()
        self.addCleanup(self.engine.close)

    def images(self) -> list[str]:
        with open(os.path.join(self.folder, "prints.jsonl")) as file:
            return [json.loads(line)["image"] for line in file]

    def check(self, paths: list[str]) -> None:
        self.assertEqual(self.images(), paths)
        np.testing.assert_array_equal(np.load(self.output), self.engine.embed(paths))

    def test_bad_images_are_left_out(self) -> None:
        paths = covers(16)
        damaged = os.path.join(self.folder, "damaged.jpg")
        with open(damaged, "wb") as file:
            file.write(b"\xff\xd8\xff none")
        images = [*paths[:3], damaged, "/no/such.jpg", float("nan"), *paths[3:], paths[0]]
        report = self.engine.embed_to(self.output, images, chunk=4)
        self.assertEqual((report.added, report.unchanged), (16, 1))
        problems = {problem.subject: problem.reason for problem in report.problems}
        self.assertEqual(set(problems), {damaged, "/no/such.jpg", "nan"})
        self.assertIn("cannot be read", problems["/no/such.jpg"])
        self.check(paths)
        # What has become readable is added.
        shutil.copy(covers(17)[16], damaged)
        report = self.engine.embed_to(self.output, [*paths, damaged])
        self.assertEqual((report.added, report.unchanged, report.problems), (1, 16, ()))
        self.check([*paths, damaged])

    def test_an_interrupted_run_is_completed(self) -> None:
        paths = covers(16)

        def interrupted():
            yield from paths[:10]
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.engine.embed_to(self.output, interrupted(), chunk=4)
        self.check(paths[:8])
        # Killed while it wrote: a row without a line, and half a line.
        with open(self.output, "ab") as file:
            file.write(b"x" * 100)
        with open(os.path.join(self.folder, "prints.jsonl"), "ab") as file:
            file.write(b'{"image": "/half')
        report = self.engine.embed_to(self.output, paths, chunk=4)
        self.assertEqual((report.added, report.unchanged), (8, 8))
        self.check(paths)
        # What was changed since is not passed over.
        copy = shutil.copy(paths[0], self.folder)
        self.assertEqual(self.engine.embed_to(self.output, [copy]).added, 1)
        shutil.copy(paths[1], copy)
        report = self.engine.embed_to(self.output, [*paths, copy])
        self.assertEqual((report.unchanged, [problem.subject for problem in report.problems]), (16, [copy]))
        self.assertIn("has changed", report.problems[0].reason)
        before = os.stat(self.output).st_size
        self.assertEqual(self.engine.embed_to(self.output, paths).unchanged, 16)
        self.assertEqual(os.stat(self.output).st_size, before)

    def test_one_run_at_a_time(self) -> None:
        def images():
            yield covers(1)[0]
            with self.assertRaisesRegex(lookalike.LookalikeError, "another run writes it"):
                self.engine.embed_to(self.output, covers(2))

        self.assertEqual(self.engine.embed_to(self.output, images()).added, 1)
        self.check(covers(1))

    def test_a_folder(self) -> None:
        images = os.path.join(self.folder, "images")
        os.makedirs(os.path.join(images, "b"))
        shutil.copy(covers(1)[0], os.path.join(images, "b", "0001.jfif"))
        shutil.copy(covers(2)[1], os.path.join(images, "a"))
        for name in (".hidden.jpg", "text.txt", "b/.hidden"):
            with open(os.path.join(images, name), "w") as file:
                file.write("none")
        paths = [os.path.join(images, name) for name in ("a", "b/0001.jfif")]
        self.assertEqual(self.engine.embed_to(self.output, images).added, 2)
        self.check(paths)
        np.testing.assert_array_equal(self.engine.embed(images), self.engine.embed(paths))
        self.assertEqual(len(self.engine.embed(COVERS)), len(covers()))
        # What has the name of an image and is none is a problem, as for an index run.
        open(os.path.join(images, "empty.JPG"), "w").close()
        os.symlink("nowhere", os.path.join(images, "link.png"))
        os.mkfifo(os.path.join(images, "pipe.png"))
        report = self.engine.embed_to(self.output, images)
        names = [os.path.basename(problem.subject) for problem in report.problems]
        self.assertEqual((report.unchanged, names), (2, ["empty.JPG", "link.png", "pipe.png"]))

    def test_a_folder_has_the_images_that_are_indexed(self) -> None:
        images, linked = os.path.join(self.folder, "images"), os.path.join(self.folder, "linked")
        for name in ("@eaDir/a.jpg", "__MACOSX/b.jpg", "#recycle/c.jpg", "d.jpg", "d.png", "e/f.jpg"):
            os.makedirs(os.path.dirname(os.path.join(images, name)), exist_ok=True)
            shutil.copy(covers(1)[0], os.path.join(images, name))
        os.mkdir(linked)
        shutil.copy(covers(2)[1], os.path.join(linked, "g.jpg"))
        os.symlink(linked, os.path.join(images, "h"))
        os.symlink(images, os.path.join(linked, "i"))
        expected = [os.path.join(images, name) for name in ("d.jpg", "d.png", "e/f.jpg", "h/g.jpg")]
        self.assertEqual(self.engine.embed_to(self.output, images).problems, ())
        self.check(expected)
        np.testing.assert_array_equal(self.engine.embed(images), self.engine.embed(expected))

    def test_a_file_of_others_is_not_written_over(self) -> None:
        with self.assertRaisesRegex(ValueError, "prints.jsonl: has the name of the lines"):
            self.engine.embed_to(os.path.join(self.folder, "prints.jsonl"), covers(1))
        for values in (np.arange(1000.0), np.ones((3, self.engine.dimension), np.float32)):
            np.save(self.output, values)
            with self.assertRaisesRegex(lookalike.LookalikeError, "prints.npy: is there, without"):
                self.engine.embed_to(self.output, covers(1))
            np.testing.assert_array_equal(np.load(self.output), values)
        # What a run leaves that is killed before its first line.
        os.remove(self.output)
        self.engine.embed_to(self.output, [])
        with open(self.output, "rb") as file:
            header = file.read()
        for left in (b"", b"\0" * 128, header, header + self.engine.embed(covers(1)).tobytes()):
            os.remove(os.path.join(self.folder, "prints.jsonl"))
            with open(self.output, "wb") as file:
                file.write(left)
            self.assertEqual(self.engine.embed_to(self.output, covers(2)).added, 2)
            self.check(covers(2))

    def test_no_images(self) -> None:
        report = self.engine.embed_to(self.output, [])
        self.assertEqual((report.added, report.problems), (0, ()))
        self.assertEqual(np.load(self.output).shape, (0, self.engine.dimension))

    def test_prints_of_another_model_are_not_mixed(self) -> None:
        self.engine.embed_to(self.output, covers(2))
        lines = os.path.join(self.folder, "prints.jsonl")
        with open(lines) as file:
            text = file.read()
        with open(lines, "w") as file:
            file.write(text.replace(self.engine.model[1], "0" * 64))
        with self.assertRaisesRegex(lookalike.LookalikeError, "has prints of another model; remove it"):
            self.engine.embed_to(self.output, covers(3))
        with open(lines, "w") as file:
            file.write(text * 3)
        with self.assertRaisesRegex(lookalike.LookalikeError, "has fewer rows than"):
            self.engine.embed_to(self.output, covers(3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
