"""The same images and rows, put in by every way there is: one listing."""

from __future__ import annotations

import csv
import datetime
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import _lookalike_program
from lookalike import Catalog, Engine
from PIL import Image
from support import drawn

# In the order of a folder. Of two names that differ in their extension or their folder, each has its own id.
NAMES = ["a.png", "b.jpg", "one/0001.png", "one/a.png", "two/0001.jpg", "two/deep/c.d.png", "two/Ünïcode ‘x’.png"]


def row(number: int, name: str) -> dict[str, Any]:
    entity: dict[str, Any] = {
        "id": str(Path(name).with_suffix("")),
        "image": name,
        "type": "cover" if number % 2 else "poster",
        "title": f"Title, “{number}”",
        "labels": ["new", "blue"][: number % 3],
        "price": f"{number}.5",
        "released": str(datetime.date(2001, 2, 3) + datetime.timedelta(days=number)),
    }
    return {key: value for key, value in entity.items() if value}


class WaysIn(unittest.TestCase):
    def setUp(self) -> None:
        self.maxDiff = None
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        self.images = self.home / "images"
        for number, name in enumerate(NAMES):
            file = self.images / name
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(drawn(number)).save(file)
        self.rows = [row(number, name) for number, name in enumerate(NAMES)]

    def run_program(self, *words: str | Path, input: bytes = b"", folder: Path | None = None) -> bytes:
        command = [_lookalike_program.find(), *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, input=input, cwd=folder).stdout

    def index(self, name: str, source: str | Path, paths: str = "") -> None:
        self.run_program(
            "index", source, "--catalog", self.home / name, input=paths.encode(), folder=self.images if paths else None
        )

    def listing(self, name: str) -> list[str]:
        return self.run_program("catalog", "list", "--json", self.home / name).decode().splitlines()

    def require_one_listing(self, names: list[str]) -> None:
        listings = {name: self.listing(name) for name in names}
        self.assertEqual(len(listings[names[0]]), len(NAMES))
        for name in names[1:]:
            self.assertEqual(listings[name], listings[names[0]], f"{name} differs from {names[0]}")

    def test_rows(self) -> None:
        with open(self.images / "rows.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, list({key: None for each in self.rows for key in each}))
            writer.writeheader()
            for each in self.rows:
                writer.writerow(each | {"labels": "; ".join(each.get("labels", []))})
        self.index("csv", self.images / "rows.csv")
        (self.images / "rows.jsonl").write_text("".join(json.dumps(each) + "\n" for each in self.rows))
        self.index("lines", self.images / "rows.jsonl")
        (self.images / "utf16.csv").write_bytes((self.images / "rows.csv").read_text().encode("utf-16"))
        self.index("utf16", self.images / "utf16.csv")
        with_paths = [each | {"image": str(self.images / each["image"])} for each in self.rows]
        Catalog(self.home / "wheel").index(with_paths)
        self.require_one_listing(["csv", "lines", "utf16", "wheel"])

    def test_files_alone(self) -> None:
        self.index("folder", self.images)
        paths = [str(self.images / each["image"]) for each in self.rows]
        self.index("list", "-", "\n".join(NAMES))
        entities = [{"id": each["id"], "image": path} for each, path in zip(self.rows, paths)]
        Catalog(self.home / "wheel").index(entities)
        self.require_one_listing(["folder", "list", "wheel"])

        # What an engine computes is searched as what the command indexed.
        computed = Catalog(self.home / "computed")
        with Engine() as engine:
            records = list(engine.compute(paths, local_features=True, thumbnail=256))
        computed.import_prints(
            [record.print for record in records],
            entities,
            local_features=[record.local_features for record in records],
            thumbnails=[record.thumbnail for record in records],
        )
        with computed, Catalog(self.home / "folder") as indexed:
            self.assertEqual(
                [entity["id"] for entity in computed.entities()], [entity["id"] for entity in indexed.entities()]
            )
            for path in paths:
                found, expected = computed.search(path), indexed.search(path)
                self.assertEqual([match.id for match in found], [match.id for match in expected])
                self.assertEqual(
                    [round(match.confidence, 5) for match in found], [round(match.confidence, 5) for match in expected]
                )


if __name__ == "__main__":
    os.chdir("/")
    unittest.main()
