"""Tests of values: those of NumPy, of tables, and of texts that break what reads lines."""

from __future__ import annotations

import datetime
import decimal
import enum
import os
import pathlib
import tempfile
import unittest
import uuid
from collections import namedtuple

import lookalike
import numpy as np
from support import covers, has

NAN = float("nan")


class ValueTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.image, cls.other = covers(2)

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.catalog = lookalike.Catalog(pathlib.Path(self.folder, "catalog"))
        self.addCleanup(self.catalog.close)

    def stored(self, rows: object) -> list[dict]:
        """The attributes of entities as the catalog has them."""
        report = self.catalog.index(rows, local_features=False, thumbnails=0)
        self.assertEqual(report.problems, ())
        return [entity.get("attributes", {}) for entity in self.catalog.entities()]

    def test_arguments_of_numpy(self) -> None:
        self.catalog.index([{"id": "a", "image": self.image, "year": 1998}], thumbnails=np.int16(64))
        for limit in (np.int64(3), np.uint8(3), np.int32(3)):
            (match,) = self.catalog.search(
                self.image,
                limit=limit,
                min_confidence=np.float32(0.25),
                effort=np.str_("standard"),
                where=np.str_("year > 1990"),
            )
            self.assertEqual(match.id, "a")
        self.assertEqual(self.catalog.search(self.image, limit=np.int64(0)), [])
        with lookalike.Engine(jobs=np.int64(1), max_megapixels=np.float32(20)) as engine:
            (result,) = engine.compute([self.image], local_features=np.bool_(True), thumbnail=np.int64(32))
            self.assertIsNotNone(result.local_features)
        with lookalike.Catalog(self.catalog.path, jobs=np.int64(1)) as catalog:
            self.assertEqual(catalog.search(self.image)[0].id, "a")
        self.assertEqual(len(self.catalog.entities(np.str_("year = 1998"))), 1)

    def test_arguments_of_another_type(self) -> None:
        self.catalog.index([{"id": "a", "image": self.image}])
        for name, value in (
            *(("limit", value) for value in (2.5, np.float64(2), "3", None, NAN, [3], object())),
            *(("min_confidence", value) for value in ("0.5", [0.5], object())),
            *(("where", value) for value in (3, b"a = 1", ["a = 1"])),
            ("effort", None),
        ):
            with self.subTest(f"{name}={value!r}"), self.assertRaisesRegex(TypeError, name):
                # At once, and not with the first result.
                self.catalog.search_all([self.image], **{name: value})
        for name, value in (
            *(("limit", value) for value in (-1, np.int64(-1), 1 << 63)),
            *(("min_confidence", value) for value in (NAN, float("inf"))),
            *(("where", value) for value in ("a = '\ud800'", "a\0")),
            ("effort", "best"),
        ):
            with self.subTest(f"{name}={value!r}"), self.assertRaisesRegex(ValueError, name):
                self.catalog.search_all([self.image], **{name: value})
        with self.assertRaisesRegex(ValueError, "has [0-9]+ bytes of text"):
            self.catalog.search(self.image, where="id = 'a' or " * 100_000 + "id = 'a'")
        for where in ("price <", "nothing = 1"):
            with self.subTest(where), self.assertRaises(lookalike.LookalikeError):
                self.catalog.search(self.image, where=where)
        self.assertEqual(self.catalog.search(self.image)[0].id, "a")
        with lookalike.Engine() as engine, self.assertRaisesRegex(TypeError, "thumbnail"):
            engine.compute([self.image], thumbnail="64")

    def test_scalars_and_dates(self) -> None:
        zone = datetime.timezone(datetime.timedelta(hours=2))
        # As zones of a past century are.
        odd = datetime.timezone(datetime.timedelta(minutes=19, seconds=32))
        time = datetime.datetime(2024, 5, 1, 10, 30)
        values = {
            "int64": (np.int64(1998), "1998"),
            "uint8": (np.uint8(7), "7"),
            "float": (2.5, "2.5"),
            "float32": (np.float32(0.1), "0.1"),
            "float64": (np.float64(0.1), "0.1"),
            "bool": (np.bool_(True), "true"),
            "str": (np.str_("x"), "x"),
            "decimal": (decimal.Decimal("12.50"), "12.50"),
            "large": (decimal.Decimal("1E+20"), "100000000000000000000"),
            "long": (10**45 + 1, "1" + "0" * 44 + "1"),
            "date": (datetime.date(2024, 5, 1), "2024-05-01"),
            "time": (time, "2024-05-01T10:30:00"),
            "zoned": (time.replace(tzinfo=zone), "2024-05-01T10:30:00+02:00"),
            "odd": (time.replace(tzinfo=odd), "2024-05-01T10:10:28+00:00"),
            "datetime64": (np.datetime64("2024-05-01"), "2024-05-01"),
            "path": (pathlib.PurePosixPath("a/b"), "a/b"),
            "uuid": (uuid.UUID(int=1), str(uuid.UUID(int=1))),
            "list": ([np.int64(1), None, "b"], '[1,"b"]'),
            "tuple": (("a", "b"), '["a","b"]'),
            "set": ({"b", "a"}, '["a","b"]'),
            "array": (np.array([1, 2]), "[1,2]"),
            "array32": (np.array([0.1, 2], np.float32), "[0.1,2]"),
            "days": (np.array(["2024-05-01"], "datetime64[ns]"), '["2024-05-01T00:00:00.000000000"]'),
            "item": (np.array(0.1, np.float32), "0.1"),
            "whole16": (np.float16(65504), "65504"),
            "whole32": (np.float32(9783161651200), "9783161651200"),
        }
        absent = [None, "", NAN, np.float32("nan"), np.datetime64("NaT", "s")]
        absent += [decimal.Decimal("nan"), decimal.Decimal("sNaN")]
        row = {name: value for name, (value, _) in values.items()}
        row |= {f"absent{number}": value for number, value in enumerate(absent)}
        row |= {"id": np.int64(5), "image": pathlib.Path(self.image), "labels": np.array(["x", "y"])}
        self.assertEqual(self.stored([row])[0], {name: text for name, (_, text) in values.items()})
        self.assertEqual(len(self.catalog.entities('odd < "2024-05-01T10:10:29Z"')), 1)
        (entity,) = self.catalog.entities('zoned < "2024-05-01T08:30:01Z"')
        self.assertEqual((entity["id"], entity["labels"]), ("5", ["x", "y"]))
        self.catalog.remove(np.int64(5))
        self.assertEqual(self.catalog.entities(), [])

    def test_what_cannot_be_stored_is_an_error_at_once(self) -> None:
        class Color(enum.Enum):
            RED = 1

        times = (datetime.timedelta(1), np.timedelta64(1, "h"), np.array([1], "timedelta64[m]"))
        for value in (1j, b"x", object(), float("inf"), decimal.Decimal("inf"), Color.RED, *times, len):
            with (
                self.subTest(repr(value)),
                self.assertRaisesRegex(TypeError, "entity 1, counted from 0: “x” is .*stored"),
            ):
                self.catalog.index([{"id": "a", "image": self.image}, {"id": "b", "image": self.image, "x": value}])
        with self.assertRaisesRegex(TypeError, "“x”: the name of an attribute is a text, not 3"):
            self.catalog.index([{"id": "a", "image": self.image, "x": {3: "y"}}])
        for source in (3, None, b"x", {"id": "a"}, ["a"], [3]):
            with self.subTest(repr(source)), self.assertRaises(TypeError):
                self.catalog.index(source)
        with self.assertRaisesRegex(TypeError, "entity 0.*“cover” is .*bytes"):
            self.catalog.index([{"id": "a", "cover": b"\x89PNG"}])
        self.assertFalse(os.path.exists(self.catalog.path))

    def test_absent_images_and_ids(self) -> None:
        rows = [
            {"id": "a", "image": self.image, "images": NAN, "title": None, "labels": NAN},
            {"id": "b", "image": NAN, "images": self.other},
            {"id": NAN, "image": self.image},
            {"id": "c", "image": "https://example.org/a.jpg"},
        ]
        report = self.catalog.index(rows)
        self.assertEqual(report.added, 2)
        self.assertEqual(
            {problem.subject: problem.reason for problem in report.problems}.get("entity 2, counted from 0"),
            "has no id",
        )
        self.assertTrue(any("URL" in problem.reason for problem in report.problems), report.problems)
        self.assertEqual([entity["id"] for entity in self.catalog.entities()], ["a", "b"])

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_pandas(self) -> None:
        import pandas

        table = pandas.DataFrame(
            {
                "id": ["a", "b"],
                "image": [self.image, self.other],
                "year": [1998, None],
                "count": pandas.array([1, None], "Int64"),
                "name": pandas.array(["x", None], "string"),
                "is": pandas.array([True, None], "boolean"),
                "kind": pandas.Categorical(["p", None]),
                "day": pandas.to_datetime(["2024-05-01", None]),
                "zoned": pandas.to_datetime(["2024-05-01 10:00+02:00", None]),
            }
        )
        full = {"year": "1998", "count": "1", "name": "x", "is": "true", "kind": "p", "day": "2024-05-01T00:00:00"}
        full["zoned"] = "2024-05-01T10:00:00+02:00"
        rows = [row for _, row in table.iterrows()]
        for source in (table, table.to_dict("records"), rows, table.rename(columns={"is": "is_"}).itertuples()):
            found = self.stored(source)
            for attributes in found:
                # A name that Python reserves, and the number of the row.
                attributes.pop("Index", None)
            found[0] = {name.rstrip("_"): value for name, value in found[0].items()}
            self.assertEqual(found, [full, {}])

    @unittest.skipUnless(has("pandas") and has("pyarrow"), "pandas or PyArrow is not installed")
    def test_columns_of_tables_are_read_as_those_of_a_csv(self) -> None:
        import pandas
        import pyarrow

        frame = pandas.DataFrame(
            {
                "id": ["a"],
                "image": [self.image],
                "labels": ["ambient; tape|live"],
                "narrow": np.array([19.9], np.float32),
                "half": np.array([0.1], np.float16),
                "kind": pandas.Categorical(np.array([0.1], np.float32)),
            }
        )
        # Pandas 1 has categories of 64 bits alone.
        kind = str(frame["kind"].dtype.categories[0])
        for table in (frame, pyarrow.Table.from_pandas(frame)):
            self.assertEqual(self.stored(table), [{"narrow": "19.9", "half": "0.1", "kind": kind}])
            self.assertEqual(self.catalog.entities()[0]["labels"], ["ambient", "tape", "live"])
        self.stored(frame.rename(columns={"labels": "Label"}))
        self.assertEqual(self.catalog.entities()[0]["labels"], ["ambient", "tape", "live"])
        frame = frame.rename(columns=str.title)
        for text, labels in (('["p", "q;r"]', ["p", "q;r"]), ("[]", []), ("[p", ["[p"])):
            frame["Labels"] = [text]
            self.stored(frame)
            self.assertEqual(self.catalog.entities()[0]["labels"], labels)
        for table in (pandas.concat([frame, frame], axis=1), pyarrow.table([[1], [2]], names=["v", "v"])):
            with self.assertRaisesRegex(TypeError, "2 columns “(Id|v)”"):
                self.catalog.index(table)
        for names in ("id", ["id", "year"]):
            frame = pandas.DataFrame({"id": ["a"], "image": [self.image], "year": [1998]}).set_index(names)
            self.assertEqual(self.stored(frame), [{"year": "1998"}])
        # A mapping has lists of its own.
        self.stored([{"id": "a", "image": self.image, "labels": "ambient; tape"}])
        self.assertEqual(self.catalog.entities()[0]["labels"], ["ambient; tape"])

    def test_what_is_listed_can_be_indexed(self) -> None:
        class Format(str, enum.Enum):
            LP = "lp"

        row = {"id": "a", "image": self.image, "title": "A", "type": Format.LP, "year": 1998, "price": "9.90"}
        self.stored([row])
        listed = self.catalog.entities()
        self.assertEqual(listed[0]["type"], "lp")
        with lookalike.Catalog(pathlib.Path(self.folder, "other")) as other:
            other.index(listed)
            self.assertEqual(other.entities(), listed)

    def test_problems_name_entities(self) -> None:
        rows = [{"id": "a", "image": self.image}, {"id": "a", "image": self.other}]
        (problem,) = self.catalog.index(rows).problems
        self.assertEqual(problem.subject, "entity 1, counted from 0")
        self.assertIn("as entity 0, counted from 0", problem.reason)

    @unittest.skipUnless(has("polars"), "polars is not installed")
    def test_polars(self) -> None:
        import polars

        day = datetime.date(2024, 5, 1)
        columns = {"id": ["a", "b"], "image": [self.image, self.other], "year": [1998, None], "day": [day, None]}
        table = polars.DataFrame({**columns, "price": [1.5, NAN], "labels": [["x"], None]})
        expected = [{"year": "1998", "day": "2024-05-01", "price": "1.5"}, {}]
        narrow = table.with_columns(v=polars.Series([[0.1], None], dtype=polars.List(polars.Float32)))
        self.assertEqual(self.stored(narrow), [{**expected[0], "v": "[0.1]"}, {}])
        narrow = table.with_columns(v=polars.Series([[0.1, 2], [0, 0]], dtype=polars.Array(polars.Float32, 2)))
        self.assertEqual(self.stored(narrow), [{**expected[0], "v": "[0.1,2]"}, {"v": "[0,0]"}])
        self.assertEqual(self.stored(table), expected)
        self.assertEqual(self.stored(table.iter_rows(named=True)), expected)

    @unittest.skipUnless(has("pyarrow"), "PyArrow is not installed")
    def test_pyarrow(self) -> None:
        import pyarrow

        columns = {"id": ["a", "b"], "image": [self.image, self.other], "year": [1998, None], "labels": [["x"], None]}
        for kind in (pyarrow.list_(pyarrow.float32()), pyarrow.large_list(pyarrow.float32())):
            table = pyarrow.table({**columns, "v": pyarrow.array([[0.1, None, 2], None], kind)})
            self.assertEqual(self.stored(table), [{"year": "1998", "v": "[0.1,2]"}, {}])
        narrow = pyarrow.float32()
        nested = [[[0.1], None], None], pyarrow.list_(pyarrow.list_(narrow))
        for values, kind, expected in (
            ([[0.1, 2], None], pyarrow.list_(narrow, 2), "[0.1,2]"),
            (*nested, '["[0.1]"]'),
            ([{"a": 0.1}, None], pyarrow.struct({"a": narrow, "b": pyarrow.string()}), "a=0.1"),
            ([{"a": 0.1}, None], pyarrow.struct({"a": pyarrow.float64()}), "a=0.1"),
        ):
            table = pyarrow.table({**columns, "v": pyarrow.array(values, kind)})
            self.assertEqual(self.stored(table), [{"year": "1998", "v": expected}, {}])
        table = pyarrow.table(columns)
        self.assertEqual(self.stored(table), [{"year": "1998"}, {}])
        self.assertEqual(self.stored(table.to_batches()[0]), [{"year": "1998"}, {}])

    def test_named_tuples(self) -> None:
        row = namedtuple("row", ["id", "image", "year"])
        self.assertEqual(self.stored([row("a", self.image, np.int64(1998))]), [{"year": "1998"}])

    def test_texts_that_break_lines(self) -> None:
        titles = [
            "a\u2028b",
            "a\u2029b",
            "a\x85b",
            "a\x0bb\x0cc\x1cd\x1ee",
            "a\r\nb\nc\rd",
            "ab" * 300_000,
            "\ufeff",
            "😀",
        ]
        rows = [{"id": f"i{number}\u2028", "image": self.image, "title": title} for number, title in enumerate(titles)]
        self.assertEqual(self.catalog.index(rows, local_features=False, thumbnails=0).problems, ())
        self.assertEqual([entity["title"] for entity in self.catalog.entities()], titles)
        self.assertEqual([entity["id"] for entity in self.catalog.entities()], [row["id"] for row in rows])
        found = self.catalog.search(self.image, effort="prints")
        self.assertEqual({match.title for match in found}, set(titles))
        self.catalog.remove([rows[0]["id"]])
        self.assertEqual(len(self.catalog.entities()), len(titles) - 1)

    def test_texts_that_are_none_do_not_lose_the_others(self) -> None:
        rows = [
            {"id": "a", "image": self.image, "title": "half \ud83d"},
            {"id": "b", "image": self.image, "title": "NUL \0"},
            {"id": "c", "image": self.image},
            {"id": "d", "image": os.fsdecode(b"/no/\xff.jpg")},
        ]
        report = self.catalog.index(rows)
        self.assertEqual([entity["id"] for entity in self.catalog.entities()], ["c"])
        problems = {problem.subject: problem.reason for problem in report.problems}
        self.assertEqual(set(problems), {f"entity {number}, counted from 0" for number in (0, 1, 3)})
        self.assertIn("surrogate", problems["entity 0, counted from 0"])
        self.assertIn("NUL", problems["entity 1, counted from 0"])
        with self.assertRaisesRegex(lookalike.LookalikeError, "entity 0, counted from 0: .*surrogate"):
            self.catalog.import_prints(np.eye(1, 256), [{"id": "half \ud83d"}])

    def test_many_ids_are_removed(self) -> None:
        with lookalike.Engine() as engine:
            print_of_image = engine.embed([self.image])
        count = 2500
        entities = [{"id": "x" * 400 + str(number)} for number in range(count)]
        self.catalog.import_prints(np.repeat(print_of_image, count, axis=0), entities)
        ids = [entity["id"] for entity in entities]
        with self.assertRaisesRegex(lookalike.LookalikeError, "has no entity “unknown”"):
            self.catalog.remove([*ids, "unknown"])
        self.assertEqual(len(self.catalog.entities()), count)
        self.catalog.remove([])
        self.catalog.remove(ids[1:])
        self.assertEqual([entity["id"] for entity in self.catalog.entities()], ids[:1])
        # A text is one id, and not its letters.
        self.catalog.remove(ids[0])
        self.assertEqual(self.catalog.entities(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
