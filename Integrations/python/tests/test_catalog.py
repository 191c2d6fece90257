"""Tests of catalogs in the process: images in memory, changes, facets, duplicates, codes, texts and prints."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import subprocess
import unittest

import _lookalike_program
import lookalike
import numpy as np
from lookalike._catalog import _report
from PIL import Image
from support import ROOT, CatalogCase, SharedCatalogCase, covers, drawn


class MemoryTests(CatalogCase):
    def test_images_of_each_kind(self) -> None:
        paths = covers(6)
        with open(paths[0], "rb") as file:
            data = file.read()
        palette = Image.open(paths[2]).convert("P")
        with lookalike.Engine() as engine:
            print_of_image = engine.embed(paths[3])[0]
        rows = [
            {"id": "bytes", "image": data},
            {"id": "file", "image": io.BytesIO(data)},
            {"id": "array", "image": np.asarray(Image.open(paths[1]).convert("RGB"))[:, ::-1], "title": "Mirrored"},
            {"id": "pillow", "image": palette},
            {"id": "print", "image": print_of_image.astype(np.float64)},
            {"id": "several", "images": [paths[4], drawn(1)], "labels": ["a"]},
            {"id": "path", "image": paths[5]},
            {"id": "empty", "image": b""},
            {"id": "cut", "image": data[:100]},
        ]
        report = self.catalog.index(rows)
        self.assertEqual(report.added, 7)
        self.assertEqual(
            {problem.subject for problem in report.problems},
            {"entity 7, counted from 0", "entity 8, counted from 0"},
        )
        again = self.catalog.index(each for each in rows if each["id"] not in ("file", "empty", "cut"))
        self.assertEqual((again.added, again.updated, again.unchanged), (0, 0, 6))
        queries = {"several": drawn(1), "path": paths[5], "pillow": palette}
        for id, query in queries.items():
            self.assertEqual(self.catalog.search(query)[0].id, id)
        self.assertEqual(self.catalog.search(print_of_image)[0].id, "print")
        self.assertEqual(self.catalog.search(paths[3], effort="prints")[0].id, "print")
        self.assertEqual({match.id for match in self.catalog.search(data)}, {"bytes", "file"})
        self.assertTrue(self.catalog.search(paths[1])[0].mirrored)
        with self.assertRaisesRegex(lookalike.LookalikeError, "has 256 numbers, not 3"):
            self.catalog.search(np.zeros(3, np.float32))
        with self.assertRaisesRegex(lookalike.LookalikeError, "nan in component 0"):
            self.catalog.search(np.full(256, np.nan))

    def test_a_table_with_images(self) -> None:
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        with open(covers(1)[0], "rb") as file:
            table = pandas.DataFrame({"id": ["a", "b"], "image": [file.read(), None], "images": [None, covers(2)[1]]})
        self.assertEqual(self.catalog.index(table).added, 2)

    def test_an_iterator_is_read_as_it_is_indexed(self) -> None:
        def rows():
            for number in range(60):
                yield {"id": number, "image": drawn(number)}
            raise KeyError("no more")

        with self.assertRaisesRegex(KeyError, "no more"):
            self.catalog.index(rows())
        # What came before the error stays, but for what was not taken yet.
        self.assertGreater(len(self.catalog.entities()), 30)
        with self.assertRaisesRegex(TypeError, "not an array of"):
            self.catalog.index(iter([{"id": "x", "image": np.zeros((4, 4, 5), np.uint8)}]))
        self.assertEqual(self.catalog.index([]).added, 0)

    def test_what_a_folder_has_besides(self) -> None:
        images = os.path.join(self.folder, "images")
        os.makedirs(os.path.join(images, "@eaDir"))
        for name in ("a.jpg", "@eaDir/a.jpg"):
            shutil.copy(covers(1)[0], os.path.join(images, name))
        for progress in (False, lambda done, total: None):
            report = self.catalog.index(images, progress=progress)
            self.assertEqual(report.notes, (lookalike.Note(images, "left out: 1 of “@eaDir/”"),))
        for name in ("b.txt", "c.txt"):
            with open(os.path.join(images, name), "w") as file:
                file.write("none")
        skipped = lookalike.Note(images, "2 files that are no images were skipped")
        self.assertEqual(self.catalog.index(images, prune=True).notes, (skipped, *report.notes))

    def test_pruning(self) -> None:
        images = os.path.join(self.folder, "images")
        os.mkdir(images)
        paths = [shutil.copy(path, images) for path in covers(3)]
        rows = [{"id": path, "image": path} for path in paths]
        self.catalog.index([*rows, {"id": "memory", "image": drawn(1)}])
        os.remove(paths[1])
        self.assertEqual(self.catalog.index(rows[:1], prune=True).removed, (paths[1],))
        os.remove(paths[2])
        self.assertEqual(self.catalog.index(images, prune=True).removed, (paths[2],))
        with self.assertRaisesRegex(lookalike.LookalikeError, "nothing was removed"):
            self.catalog.index([], prune=True)
        self.assertEqual(len(self.catalog.entities()), 3)


class LookupTests(SharedCatalogCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        paths = covers(5)
        rows = [{"id": f"c{number}", "image": path, "year": 1990 + number // 2} for number, path in enumerate(paths)]
        rows[0] |= {"title": "Slow Meridian, volume 7", "isbn": "978-3-16-148410-0"}
        with Image.open(paths[0]) as image:
            small = image.resize((200, 200))
        cls.catalog.index([*rows, {"id": "small", "image": small}])

    def test_entities(self) -> None:
        def ids(*arguments: str, **options: object) -> list[str]:
            return [entity["id"] for entity in self.catalog.entities(*arguments, **options)]

        self.assertEqual(ids(words="slow mer"), ["c0"])
        self.assertEqual(ids("year > 1990", words="slow"), [])
        self.assertEqual(ids("has code 316148410X"), ["c0"])
        self.assertEqual(ids(ids=["small", "none", "c1"]), ["small", "c1"])
        self.assertEqual((ids(ids="small"), ids(ids="none")), (["small"], []))
        self.assertEqual(ids(limit=np.int64(2)), ["c0", "c1"])
        with self.assertRaisesRegex(lookalike.LookalikeError, "give one"):
            ids("year > 1", ids=["c1"])

    def test_facets(self) -> None:
        self.assertEqual(self.catalog.facets("year"), {"year": {"1990": 2, "1991": 2, "1992": 1}})
        self.assertEqual(self.catalog.facets("year", "type", words="slow"), {"year": {"1990": 1}, "type": {}})
        self.assertEqual(self.catalog.facets("year", where="year > 1990"), {"year": {"1991": 2, "1992": 1}})
        with self.assertRaisesRegex(lookalike.LookalikeError, "“price”"):
            self.catalog.facets("price")

    def test_duplicates(self) -> None:
        (group,) = self.catalog.duplicates()
        self.assertEqual((group.reference.id, group.reference.difference), ("c0", None))
        self.assertEqual([(each.id, each.difference) for each in group.duplicates], [("small", "quality")])
        self.assertEqual(self.catalog.duplicates("id != small"), [])
        with self.assertRaises(lookalike.LookalikeError):
            self.catalog.duplicates("(")

    def test_similar(self) -> None:
        matches = self.catalog.similar("c0", limit=3)
        self.assertEqual((matches[0].id, len(matches)), ("small", 3))
        self.assertNotIn("c0", [match.id for match in self.catalog.similar("c0", where="year > 1")])
        with self.assertRaisesRegex(lookalike.LookalikeError, "has no entity “none”"):
            self.catalog.similar("none")

    def test_what_was_read_from_an_image(self) -> None:
        def ids(**options: object) -> set[str]:
            return {match.id for match in self.catalog.search(drawn(5), **options)}

        self.assertEqual(ids(), set())
        self.assertEqual(ids(codes=["316148410X"]), {"c0"})
        self.assertEqual(ids(texts=["the slow meridian", "volume 7"]), {"c0"})
        with lookalike.Engine() as engine:
            (query,) = engine.embed([drawn(5)])
        self.assertEqual(self.catalog.search(query), [])
        self.assertEqual({match.id for match in self.catalog.search(query, codes=["316148410X"])}, {"c0"})
        for name in ("codes", "texts"):
            with self.assertRaisesRegex(TypeError, f"{name} are several texts"):
                self.catalog.search(drawn(5), **{name: "316148410X"})
        with self.assertRaisesRegex(lookalike.LookalikeError, "reads no texts|text"):
            self.catalog.search_words("a red lamp")

    def test_update(self) -> None:
        with lookalike.Catalog(os.path.join(self.folder, "changed")) as catalog:
            catalog.merge(self.catalog)
            catalog.update([{"id": "c0", "title": None, "price": np.float32(9.9)}, {"id": "c1", "labels": ["x", ""]}])
            catalog.update([{"id": "c1", "isbn": "", "title": "", "year": 1990}])
            catalog.update([{"id": "c0", "shelf": "a"}, {"id": "c0", "shelf": float("nan")}])
            first, second = catalog.entities(ids=["c0", "c1"])
            self.assertNotIn("title", first)
            self.assertEqual(first["attributes"], {"isbn": "978-3-16-148410-0", "price": "9.9", "year": "1990"})
            self.assertEqual((second["labels"], second["attributes"]), (["x"], {"year": "1990"}))
            with self.assertRaisesRegex(lookalike.LookalikeError, "has no entity “none”"):
                catalog.update([{"id": "c1", "title": "x"}, {"id": "none"}])
            with self.assertRaisesRegex(lookalike.LookalikeError, "images"):
                catalog.update([{"id": "c1", "image": "x.jpg"}])
            self.assertEqual(catalog.entities(ids=["c1"])[0].get("title"), None)
            self.assertEqual(catalog.search(covers(1)[0])[0].id, "c0")
        other = lookalike.Catalog(os.path.join(self.folder, "none"))
        gone = lookalike.Catalog(os.path.join(self.folder, "gone"))
        gone.merge(self.catalog)
        self.assertEqual(gone.search(covers(1)[0])[0].id, "c0")
        shutil.rmtree(gone.path)
        for each in (other, gone):
            for call in (
                lambda each=each: each.update([{"id": "a"}]),
                lambda each=each: each.remove("a"),
                # An image of nothing in the catalog.
                lambda each=each: each.search(drawn(9)),
            ):
                with self.assertRaisesRegex(lookalike.LookalikeError, "holds no catalog"):
                    call()
            self.assertFalse(os.path.exists(each.path))


class ReportTests(unittest.TestCase):
    def test_notes(self) -> None:
        counts = {"added": 1, "updated": 0, "unchanged": 0, "problems": []}
        self.assertEqual(_report(json.dumps(counts).encode()).notes, ())
        counts["notes"] = [{"subject": "a.jpg", "text": "its color profile is not used"}]
        self.assertEqual(
            _report(json.dumps(counts).encode()).notes, (lookalike.Note("a.jpg", "its color profile is not used"),)
        )


class EvaluationTests(CatalogCase):
    def test_figures_are_those_of_the_command(self) -> None:
        self.catalog.index(os.path.join(os.path.dirname(covers(1)[0]), "albums.csv"))
        file = os.path.join(ROOT, "Examples/Demo/queries.jsonl")
        steps: list[tuple[int, int | None]] = []
        found = self.catalog.evaluate(
            file, leave_out=True, max_false_accepts=0.2, progress=lambda *step: steps.append(step)
        )
        command = [_lookalike_program.find(), "evaluate", "--json"]
        command += ["--catalog", self.catalog.path, "--queries", file, "--leave-out", "--false-accepts", "0.2"]
        expected = json.loads(subprocess.run(command, check=False, capture_output=True).stdout)
        for figures, wanted in (
            (found.all, expected["all"]),
            *((found.groups[name], wanted) for name, wanted in expected["groups"].items()),
        ):
            self.assertEqual(figures.queries, wanted["queries"])
            self.assertEqual((figures.recall_at_1, figures.accepted), (wanted.get("recallAt1"), wanted.get("accepted")))
        self.assertEqual(set(found.groups), set(expected["groups"]))
        self.assertGreater(found.all.queries, 3)
        self.assertEqual(found.absent_queries, expected["absentQueries"])
        self.assertEqual(found.micro_average_precision, expected["microAveragePrecision"])
        self.assertEqual(found.recommended.confidence, expected["recommended"]["confidence"])
        self.assertLessEqual(found.recommended.false_accepts, 0.2)
        # Two of the demo's queries show things, which are no covers.
        self.assertEqual(
            [problem.reason for problem in found.problems],
            [f"the catalog has no entity “{id}”" for id in ("mug", "town-hall")],
        )
        self.assertEqual(steps[-1], (len(steps), len(steps)))
        self.assertEqual(repr(pickle.loads(pickle.dumps(found))), repr(found))

    def test_queries_of_each_kind(self) -> None:
        paths = covers(3)
        self.catalog.index([{"id": number, "image": path} for number, path in enumerate(paths)])
        with Image.open(paths[1]) as image:
            image.load()
        queries = [
            {"query": paths[0], "target": 0, "group": "path"},
            {"query": image, "targets": ["1", "x"], "group": "memory"},
            {"query": drawn(1), "target": None},
            {"query": "/no/such.jpg", "target": float("nan")},
            {"query": paths[2]},
            {"query": b"", "target": "2"},
        ]
        found = self.catalog.evaluate(iter(queries), effort="prints")
        self.assertEqual((found.all.queries, found.all.recall_at_1, found.absent_queries), (2, 1, 1))
        self.assertEqual(found.groups["memory"].target_share, 0.5)
        self.assertIsNone(found.recommended)
        self.assertEqual(
            [problem.subject for problem in found.problems],
            ["image", *(f"query {number}, counted from 0" for number in (3, 4, 5))],
        )
        self.assertIn("no entity “x”", found.problems[0].reason)
        self.assertIn("no query such as", found.problems[2].reason)
        self.assertIn("is empty", found.problems[3].reason)
        self.assertEqual(self.catalog.evaluate([]).all.recall_at_1, None)

    def test_files_that_cannot_be_read(self) -> None:
        self.catalog.index([{"id": "a", "image": covers(1)[0]}])
        with self.assertRaisesRegex(lookalike.LookalikeError, "none.jsonl cannot be read"):
            self.catalog.evaluate(os.path.join(self.folder, "none.jsonl"))
        file = os.path.join(self.folder, "queries.jsonl")
        for line in ("{", '{"target": "a"}', "[]"):
            with open(file, "w") as lines:
                lines.write(f"\n{line}\n")
            with self.assertRaisesRegex(lookalike.LookalikeError, "queries.jsonl:2: is no query"):
                self.catalog.evaluate(self.folder)
        with self.assertRaisesRegex(ValueError, "effort"):
            self.catalog.evaluate([], effort="much")
        with self.assertRaisesRegex(lookalike.LookalikeError, "falseAccepts"):
            self.catalog.evaluate([], max_false_accepts=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
