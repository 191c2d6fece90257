"""Conditions as expressions, beside those as texts."""

from __future__ import annotations

import datetime
import decimal
import enum
import os
import pickle
from typing import Any

import lookalike
import numpy as np
from lookalike import Condition, field, has_code, near
from support import CatalogCase

ZONE = datetime.timezone(datetime.timedelta(hours=2))
ROWS = [
    {"id": "a", "type": "album", "title": "Żółw “and” (x)", "price": 9.9, "day": "2024-05-01T10:00", "sold": True},
    {"id": "b", "type": "album", "title": 'C:\\new "b"', "price": 20, "day": "2023-12-31", "labels": ["x", "not"]},
    {"id": "c", "type": "single", "title": "not", "price": -1.5e-07, "in": "1", "code": "007"},
    {"id": "d", "title": "d", "latitude": 48.2, "longitude": 16.37, "isbn": "978-3-16-148410-0", "attribute.type": "q"},
    {"id": "e", "year": 1998, "lat": -33.9, "lon": 18.4, "sizes": [1, 100], "big": 10**15, "sold": False},
]


class Kind(str, enum.Enum):
    ALBUM = "album"


# An expression, and a text that finds the same.
PAIRS = [
    (field("price") < 20, "price < 20"),
    (field("price") <= np.int64(20), "price <= 20"),
    (field("price") > np.float32(9.5), "price > 9.5"),
    (field("price") >= decimal.Decimal("9.90"), "price >= 9.9"),
    (field("price") == 9.9, "price = 9.9"),
    (field("price") == "9.9", 'price = "9.9"'),
    (field("price") != 20, "price != 20"),
    (field("price") < 0, "price < 0"),
    (field("price") == -1.5e-07, "price = -1.5e-07"),
    (field("price").between(9, 20), "price in 9..20"),
    (field("sizes").between(5, 50), "sizes in 5..50"),
    (field("big") == 10**15, "big = 1000000000000000"),
    (field("year") == 1998, "year = 1998"),
    (field("code") == "007", 'code = "007"'),
    (field("code") == 7, "code = 7"),
    (field("day") == datetime.date(2024, 5, 1), "day = 2024-05-01"),
    (field("day") < datetime.date(2024, 1, 1), "day < 2024-01-01"),
    (field("day") >= datetime.datetime(2024, 5, 1, 11, tzinfo=ZONE), "day >= 2024-05-01T09:00:00Z"),
    (field("day") >= np.datetime64("2024-05-01"), "day >= 2024-05-01"),
    (field("day") > np.datetime64("2024-05-01T09:59:59.5"), "day > 2024-05-01T09:59:59.5"),
    (field("day") < "2024", 'day < "2024"'),
    (field("type").isin(["album", "ep"]), "type in (album, ep)"),
    (field("type").isin([]), "nothing"),
    (field("type") == Kind.ALBUM, "type = album"),
    (field("price").isin([20, "x", 9.9]), "price in (20, x, 9.9)"),
    (field("title").startswith("żół"), 'title starts with "ŻÓŁ"'),
    (field("title").contains('w "b'), "title contains 'w \"b'"),
    (field("title") == 'C:\\new "b"', "id = b"),
    (field("title") == "not", 'title = "not"'),
    (field("label") == "not", 'label = "not"'),
    (field("in").exists(), 'exists "in"'),
    (field("attribute.type") == "q", "attribute.type = q"),
    (field("sold") == True, "sold = true"),  # noqa: E712
    (field("sold") == np.False_, "sold = false"),
    (~field("year").exists(), "not exists year"),
    (near(48.2082, 16.3738, kilometers=5), "within 5 km of (48.2082, 16.3738)"),
    (near(-33.92, 18.42, kilometers=10, fields=("lat", "lon")), "within 10 km of (-33.92, 18.42) by (lat, lon)"),
    (has_code("316148410X"), "has code 316148410X"),
    (has_code("1", "978-3-16-148410-0"), "has code in (1, 9783161484100)"),
    (
        (field("type") == "album") & (field("price") < 20) | (field("id") == "e"),
        "type = album and price < 20 or id = e",
    ),
    (field("type").exists() & ((field("id") == "a") | (field("id") == "c")), "exists type and (id = a or id = c)"),
    (~((field("id") == "a") | (field("id") == "c")) & ~(field("id") == "b"), "id in (d, e)"),
    (Condition("id = a or id = b") & (field("price") > 10), "id = b"),
    (~Condition("id = a or id = b"), "not (id = a or id = b)"),
    (Condition("") & (field("id") == "a"), "id = a"),
]


class ConditionTests(CatalogCase):
    def setUp(self) -> None:
        super().setUp()
        with lookalike.Engine() as engine:
            dimension = engine.dimension
        self.catalog.import_prints(np.eye(len(ROWS), dimension), ROWS)

    def test_expressions_find_what_texts_do(self) -> None:
        found = set()
        for expression, words in PAIRS:
            with self.subTest(condition=str(expression)):
                ids = [entity["id"] for entity in self.catalog.entities(expression)]
                self.assertEqual(ids, [entity["id"] for entity in self.catalog.entities(words)])
                self.assertEqual(pickle.loads(pickle.dumps(expression)), expression)
                found.add(tuple(ids))
        self.assertGreater(len(found), 12)

    def test_numbers_with_many_digits(self) -> None:
        """A text takes them for codes, and a number has several texts."""
        decimals = (decimal.Decimal("0." + "12345678901234567890" + end) for end in "12")
        groups: list[list[Any]] = [
            [1234567890123456.0, 1234567890123456, decimal.Decimal("1234567890123456.00"), np.int64(1234567890123456)],
            [1234567890123457],
            [decimal.Decimal("0.00001234567890123"), 1.234567890123e-05],
            [decimal.Decimal("1234567890.1234500"), 1234567890.12345],
            [1 / 3],
            [10**30],
            [np.int64(2**60), float(2**60), np.float32(2**60)],
            [1.7e18 + 256, int(1.7e18 + 256), np.float64(1.7e18 + 256)],
            [-float(2**63)],
            [4503599627370497.5],
            [np.int64(2**60 + 1)],
            *([each] for each in decimals),
        ]
        rows = [(f"{place}", value) for place, group in enumerate(groups) for value in group]
        catalog = lookalike.Catalog(os.path.join(self.folder, "numbers"))
        entities = [{"id": f"{place}-{number}", "x": value} for number, (place, value) in enumerate(rows)]
        catalog.import_prints(np.eye(len(rows), 256), entities)
        for place, number in rows:
            expected = [entity["id"] for entity in entities if entity["id"].startswith(f"{place}-")]
            for condition in (field("x") == number, field("x").isin([7, number]), ~(field("x") != number)):
                with self.subTest(condition=str(condition)):
                    self.assertEqual([entity["id"] for entity in catalog.entities(condition)], expected)

    def test_wherever_where_is(self) -> None:
        where = field("price") < 20
        self.assertEqual(self.catalog.facets("type", where=where), {"type": {"album": 1, "single": 1}})
        query = np.eye(1, 256)[0]
        for found in (
            self.catalog.search(query, where=where, effort="prints", min_confidence=0),
            next(iter(self.catalog.search_all([query], where=where, effort="prints", min_confidence=0))),
        ):
            self.assertEqual({match.id for match in found}, {"a", "c"})
        self.assertEqual([match.id for match in self.catalog.similar("a", where=where)], ["c"])
        self.assertEqual(self.catalog.duplicates(where), [])
        with self.assertRaisesRegex(lookalike.LookalikeError, "“pric”"):
            self.catalog.entities(field("pric") < 3)

    def test_many_parts_are_one_level(self) -> None:
        condition = field("id") == "0"
        for number in range(500):
            condition |= field("id") == str(number)
        self.assertEqual(self.catalog.entities(condition | (field("id") == "e"))[0]["id"], "e")

    def test_mistakes(self) -> None:
        for make, words in (
            (lambda: field("a") == None, "exists"),  # noqa: E711
            (lambda: field("a") < float("nan"), "exists"),
            (lambda: field("a") == [1], "exists"),
            (lambda: field("a") == object(), "cannot be stored"),
            (lambda: 1 < field("a") < 3, "use &"),
            (lambda: not field("a").exists(), "use &"),
            (lambda: field("a").isin("text"), "isin"),
            (lambda: (field("a") < 1) & "b = 2", "unsupported operand"),
            (lambda: field("a") < 1 & field("b"), "unsupported operand"),
            (lambda: field(3), "the name of a field"),
            (lambda: field("a").startswith(3), "text"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                make()
        for make in (lambda: field("a") == "\0", lambda: field("\0"), lambda: near(float("nan"), 1, kilometers=1)):
            with self.assertRaises(ValueError):
                make()
