"""Tests of catalogs in the process: images in memory, changes, facets, duplicates, codes, texts and prints."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import unittest

import lookalike
import numpy as np
from PIL import Image
from support import CatalogCase, covers, drawn


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
        with self.assertRaisesRegex(ValueError, "has 256 numbers, not 3"):
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


class LookupTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.catalog = lookalike.Catalog(os.path.join(cls.folder, "catalog"))
        cls.addClassCleanup(cls.catalog.close)
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
        for name in ("codes", "texts"):
            with self.assertRaisesRegex(TypeError, f"{name} are several texts"):
                self.catalog.search(drawn(5), **{name: "316148410X"})
        with self.assertRaisesRegex(lookalike.LookalikeError, "reads no texts|text"):
            self.catalog.search_words("a red lamp")

    def test_update(self) -> None:
        with lookalike.Catalog(os.path.join(self.folder, "changed")) as catalog:
            catalog.merge(self.catalog)
            catalog.update([{"id": "c0", "title": None, "price": np.float32(9.9)}, {"id": "c1", "labels": ["x"]}])
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
        for change in (lambda: other.update([{"id": "a"}]), lambda: other.remove("a")):
            with self.assertRaisesRegex(lookalike.LookalikeError, "holds no catalog"):
                change()
        self.assertFalse(os.path.exists(other.path))


if __name__ == "__main__":
    unittest.main(verbosity=2)
