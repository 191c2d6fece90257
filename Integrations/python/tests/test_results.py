"""Results as a notebook shows them, as tables, pickled; and progress."""

from __future__ import annotations

import base64
import io
import os
import pickle
import re
import shutil
import sys
import unittest
import xml.etree.ElementTree
from unittest import mock

import lookalike
import numpy as np
from PIL import Image
from support import QUERIES, CatalogCase, SharedCatalogCase, covers, drawn, has


def pictures(page: str) -> list[Image.Image]:
    """The pictures of a page, whose tags are closed."""
    xml.etree.ElementTree.fromstring(re.sub(r"(<img [^>]*|<br)>", r"\1/>", f"<a>{page}</a>"))
    data = re.findall(r"data:image/\w+;base64,([^\"]+)", page)
    return [Image.open(io.BytesIO(base64.b64decode(each))) for each in data]


class ResultTests(SharedCatalogCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.catalog.index(os.path.join(os.path.dirname(covers(1)[0]), "albums.csv"))
        with Image.open(covers(1)[0]) as image:
            small = image.resize((220, 220))
        # Pixels have no path that would tell them apart.
        row = {"id": "<small>", "images": [drawn(1), small], "type": "album", "attributes": {"type": "copy", "a&b": 1}}
        cls.catalog.index([row])
        cls.screenshot = os.path.join(QUERIES, "screenshot-1.png")

    def test_matches(self) -> None:
        matches = self.catalog.search(self.screenshot)
        page = matches._repr_html_()
        query, thumbnail = pictures(page)
        with Image.open(self.screenshot) as image:
            self.assertIn(f'viewBox="0 0 {image.width} {image.height}"', page)
            self.assertAlmostEqual(query.width / query.height, image.width / image.height, delta=0.01)
        self.assertLessEqual(max(query.size), 512)
        self.assertEqual(max(thumbnail.size), 256)
        corners = " ".join(f"{x:g},{y:g}" for x, y in matches[0].outline)
        self.assertIn(f'points="{corners}"', page)
        self.assertIn("<b>copper-horizon</b><br>Copper Horizon<br>Delta Wren<br>confidence 1<", page)
        self.assertEqual(self.catalog.search(self.screenshot, where="id = x")._repr_html_().count("no match"), 1)

    def test_queries_of_each_kind(self) -> None:
        path = covers(1)[0]
        with open(path, "rb") as file:
            data = file.read()
        with Image.open(path) as image:
            image.load()
        with lookalike.Engine() as engine:
            print_of_image = engine.embed(path)[0]
        for query, count in (
            (path, 3),
            (data, 3),
            (image, 3),
            (np.asarray(image), 3),
            (io.BytesIO(data), 2),
            (print_of_image, 2),
        ):
            matches = self.catalog.search(query)
            self.assertEqual(len(pictures(matches[:2]._repr_html_())), count)
            self.assertEqual(pickle.loads(pickle.dumps(matches)), matches)
        (matches,) = self.catalog.search_all([np.asarray(image)])
        self.assertEqual(len(pictures(matches[:1]._repr_html_())), 1)
        (matches,) = self.catalog.search_all([path])
        self.assertEqual(len(pictures(matches[:1]._repr_html_())), 2)

    def test_the_thumbnail_is_that_of_the_image_that_matches(self) -> None:
        (match,) = self.catalog.search(covers(1)[0], where='id = "<small>"')
        (group,) = self.catalog.duplicates()
        self.assertEqual({group.reference.id, *(each.id for each in group.duplicates)}, {"arcade-hymns", match.id})
        self.assertEqual((match.image, match.image_index), ("", 1))
        cover, other = (self.catalog.thumbnail("<small>", place) for place in (0, 1))
        self.assertNotEqual(cover, other)
        page = self.catalog.search(covers(1)[0], where='id = "<small>"')._repr_html_()
        self.assertTrue(base64.b64encode(other).decode() in page)
        self.assertIn("<b>&lt;small&gt;</b>", page)
        with self.assertRaisesRegex(lookalike.LookalikeError, "no thumbnail of image 2"):
            self.catalog.thumbnail("<small>", 2)

    def test_entities_and_duplicates(self) -> None:
        entities = self.catalog.entities()
        page = entities._repr_html_()
        self.assertEqual(len(pictures(page)), len(entities))
        self.assertIn("<b>&lt;small&gt;</b><br>album<br>a&amp;b: 1<br>type: copy<", page)
        self.assertIsInstance(entities[1:], lookalike.Entities)
        self.assertIsInstance(entities[0], dict)
        many = lookalike.Entities([{"id": str(number)} for number in range(70)], self.catalog)
        self.assertIn("and 10 more", many._repr_html_())
        groups = self.catalog.duplicates()
        self.assertEqual(len(pictures(groups._repr_html_())), 2)
        self.assertIn("no duplicates", self.catalog.duplicates("id = x")._repr_html_())
        self.assertIn("no entity", self.catalog.entities("id = x")._repr_html_())

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_tables(self) -> None:
        matches = self.catalog.search(self.screenshot)
        table = matches.to_pandas()
        self.assertEqual(list(table["id"]), ["copper-horizon"])
        self.assertEqual(table["outline"][0], matches[0].outline)
        empty = self.catalog.search(self.screenshot, where="id = x").to_pandas()
        self.assertEqual((list(empty.columns), len(empty)), (list(table.columns), 0))
        entities = self.catalog.entities().to_pandas().set_index("id")
        self.assertEqual(entities["year"]["copper-horizon"], "2007")
        self.assertEqual(tuple(entities.loc["<small>", ["type", "attribute.type"]]), ("album", "copy"))
        # An entity without a type may have an attribute of that name.
        entities = lookalike.Entities([{"id": "a", "type": "x"}, {"id": "b", "attributes": {"type": "y"}}]).to_pandas()
        self.assertEqual(list(entities["attribute.type"][1:]), ["y"])
        self.assertTrue(entities["type"].isna()[1])
        groups = self.catalog.duplicates().to_pandas()
        self.assertEqual((list(groups["group"]), len(groups["id"].unique())), ([0, 0], 2))

    def test_results_are_lists_that_are_pickled(self) -> None:
        matches = self.catalog.search(self.screenshot)
        for each in (matches, self.catalog.entities(), self.catalog.duplicates()):
            copy = pickle.loads(pickle.dumps(each))
            self.assertEqual(copy, list(each))
            self.assertEqual(copy._repr_html_(), each._repr_html_())
        report = self.catalog.index([])
        self.assertEqual(pickle.loads(pickle.dumps(report)), report)
        # What is open in this process alone is no value.
        for handle in (
            lookalike.ExactSearch(np.eye(3, dtype="f4")),
            lookalike.InvertedFile(np.eye(300, 16, dtype="f4")),
        ):
            with self.assertRaisesRegex(TypeError, "pickle"):
                pickle.dumps(handle)

    def test_a_catalog_that_is_gone(self) -> None:
        path = os.path.join(self.folder, "gone")
        with lookalike.Catalog(path) as catalog:
            catalog.index([{"id": "a", "image": covers(1)[0]}])
            matches, entities = catalog.search(covers(1)[0]), catalog.entities()
            shutil.rmtree(path)
        self.assertEqual(len(pictures(matches._repr_html_())), 1)
        self.assertIn("<b>a</b>", entities._repr_html_())


class ProgressTests(CatalogCase):
    def test_folders_tables_and_iterators(self) -> None:
        folder = os.path.join(self.folder, "images")
        os.mkdir(folder)
        for path in covers(5):
            shutil.copy(path, folder)
        rows = [{"id": str(number), "image": drawn(number)} for number in range(20)]
        for source, total in ((folder, 5), (rows, 20), (iter(rows), None)):
            steps: list[tuple[int, int | None]] = []
            self.catalog.index(source, progress=lambda *step: steps.append(step))
            self.assertEqual(steps[-1], (total or 20, total))
            self.assertEqual(steps, sorted(steps))

    def test_prints(self) -> None:
        paths = covers(4)
        with lookalike.Engine() as engine:
            steps: list[tuple[int, int | None]] = []
            engine.embed([*paths, drawn(1)], progress=lambda *step: steps.append(step))
            self.assertEqual(steps, [(number, 5) for number in range(1, 6)])
            del steps[:]
            output = os.path.join(self.folder, "prints.npy")
            engine.embed_to(output, [*paths, "/no/such.jpg"], chunk=2, progress=lambda *step: steps.append(step))
            self.assertEqual(steps, [(number, 5) for number in range(1, 6)])
            engine.embed_to(output, iter(paths), progress=lambda *step: steps.append(step))
            self.assertEqual(len(steps), 5)

    def test_an_error_of_the_function_ends_the_run(self) -> None:
        def fail(done: int, total: int | None) -> None:
            raise KeyError("enough")

        endless = ({"id": str(number), "image": drawn(number)} for number in range(1 << 30))
        with self.assertRaisesRegex(KeyError, "enough"):
            self.catalog.index(endless, progress=fail)
        self.assertEqual(self.catalog.index([{"id": "a", "image": drawn(1)}]).added, 1)

    @unittest.skipUnless(has("tqdm"), "tqdm is not installed")
    def test_a_bar(self) -> None:
        with mock.patch.object(sys, "stderr", io.StringIO()) as errors:
            self.catalog.index([{"id": "a", "image": drawn(1)}], progress=True)
        self.assertIn("1/1", errors.getvalue())
        with mock.patch.dict(sys.modules, {"tqdm.auto": None}):
            with self.assertRaisesRegex(ModuleNotFoundError, "pip install tqdm"):
                self.catalog.index([], progress=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
