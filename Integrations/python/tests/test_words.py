"""Words and labels, with a model that can be worked out by hand: the print of an image is the direction of its mean
color, and that of a text the direction of the sum of its words' colors."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import lookalike
import numpy as np
from lookalike._library import library
from support import covers

WORDS = {"[PAD]": [9, 9, 9], "[UNK]": [0.1] * 3, "red": [1, 0, 0], "green": [0, 1, 0], "lamp": [0.5, 0.5, 0]}


def two_towers() -> bytes:
    """A model file."""
    tokenizer = {
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordPiece", "vocab": {word: number for number, word in enumerate(WORDS)}},
    }
    tensors = {
        "c.weight": np.eye(3, dtype="<f4").reshape(3, 3, 1, 1),
        "c.bias": np.zeros(3, "<f4"),
        "text.network.table": np.array(list(WORDS.values()), "<f4"),
        "text.tokenizer": np.frombuffer(json.dumps(tokenizer).encode(), np.uint8),
    }
    convolution = {"weight": "c.weight", "bias": "c.bias", "outputs": 3, "kernel": 1, "stride": 1, "padding": 0}
    images = [
        {"name": "c", "op": "convolution", "input": "image", "relu": True, **convolution},
        {"name": "p", "op": "generalized_mean", "input": "c", "power": 1, "epsilon": 1e-6},
        {"name": "n", "op": "l2_normalize", "input": "p"},
    ]
    texts = [
        {"name": "ids", "op": "rearrange", "input": "text", "shape": [1, 4], "strides": [4, 1], "offset": 0},
        {"name": "mask", "op": "rearrange", "input": "text", "shape": [1, 4, 1], "strides": [4, 1, 1], "offset": 4},
        {"name": "table", "op": "constant", "input": "text", "tensor": "text.network.table", "shape": [len(WORDS), 3]},
        {"name": "vectors", "op": "lookup", "input": "table", "places": "ids", "axis": 0, "shape": [1, 4, 3]},
        {"name": "own", "op": "combine", "input": "vectors", "operator": "multiply", "other": "mask"},
        {"name": "sum", "op": "reduce", "input": "own", "function": "sum", "axes": [1]},
        {"name": "vector", "op": "rearrange", "input": "sum", "shape": [1, 3], "strides": [3, 1], "offset": 0},
        {"name": "print", "op": "l2_normalize", "input": "vector"},
    ]
    shape = {"width": 4, "height": 4, "mean": [0, 0, 0], "std": [1, 1, 1]}
    metadata = {
        "lookalike.graph": json.dumps({"version": 1, "name": "towers", "input": shape, "nodes": images}),
        "lookalike.text_graph": json.dumps({"version": 1, "length": 4, "padding": 0, "nodes": texts}),
        "lookalike.text_logits": json.dumps({"scale": 10, "bias": -5}),
        "lookalike.local_features": "none",
    }
    header: dict[str, object] = {"__metadata__": metadata}
    contents = b""
    for name, tensor in tensors.items():
        kind = "U8" if tensor.dtype == np.uint8 else "F32"
        end = len(contents) + tensor.nbytes
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(contents), end]}
        contents += tensor.tobytes()
    line = json.dumps(header).encode()
    line += b" " * (-len(line) % 8)
    return struct.pack("<Q", len(line)) + line + contents


def plain(*color: int) -> np.ndarray:
    return np.full((8, 8, 3), color, np.uint8)


class WordTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = os.path.join(folder.name, "towers.safetensors")
        with open(cls.model, "wb") as file:
            file.write(two_towers())
        cls.engine = lookalike.Engine(model=cls.model)
        cls.addClassCleanup(cls.engine.close)

    def test_searches_by_words(self) -> None:
        colors = {"red": plain(250, 0, 0), "orange": plain(250, 120, 0), "green": plain(0, 250, 0)}
        with tempfile.TemporaryDirectory() as folder:
            catalog = lookalike.Catalog(os.path.join(folder, "catalog"), model=self.model)
            catalog.index([{"id": id, "image": image} for id, image in colors.items()])
            found = catalog.search_words("red")
            self.assertEqual([match.id for match in found], ["red", "orange", "green"])
            self.assertAlmostEqual(found[0].confidence, 1 / (1 + math.exp(-5)), 3)
            self.assertEqual([match.id for match in catalog.search_words("Lamp", limit=1)], ["orange"])
            for weight, id in ((0.1, "green"), (0.9, "red")):
                self.assertEqual(catalog.search_words("red", colors["green"], weight=weight, limit=1)[0].id, id)
            where = lookalike.field("id") != "red"
            self.assertEqual(catalog.search_words("red", where=where, limit=1)[0].id, "orange")
            self.assertIn("<b>red</b>", found._repr_html_())
            with self.assertRaisesRegex(lookalike.LookalikeError, "empty"):
                catalog.search_words(" ")
            # The catalog keeps its model.
            with lookalike.Catalog(catalog.path) as again:
                self.assertEqual(again.search_words("green", limit=1)[0].id, "green")

    def test_the_default_model_is_the_one_beside_the_library(self) -> None:
        """Wherever that is: not where Python is, and not in the checkout that the library was built from."""
        source = os.path.realpath(library()._name)
        with tempfile.TemporaryDirectory() as folder:
            # Those that a wheel brings along are in the folder beside its own.
            os.symlink(os.path.join(os.path.dirname(source), "../libs"), os.path.join(folder, "libs"))
            os.mkdir(os.path.join(folder, "bin"))
            copy = shutil.copy(source, os.path.join(folder, "bin"))
            shutil.copy(self.model, os.path.join(folder, "bin", "default.safetensors"))
            code = "from lookalike._model import Model; print(Model(None).digest)"
            environment = {name: value for name, value in os.environ.items() if name != "LOOKALIKE_MODEL"}
            environment |= {"LOOKALIKE_LIBRARY": copy, "PYTHONPATH": os.pathsep.join(sys.path)}
            result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
            self.assertEqual(result.stdout.decode().strip(), self.engine.model[1], result.stderr.decode())

    def test_labels(self) -> None:
        red, green = self.engine.label([plain(250, 0, 0), plain(0, 250, 0)], ["green", "lamp", "red"])
        self.assertEqual([each.label for each in red], ["red", "lamp", "green"])
        self.assertAlmostEqual(red[0].distance, 0, 3)
        self.assertAlmostEqual(red[0].probability, 1 / (1 + math.exp(-5)), 3)
        self.assertEqual(green[0].label, "green")
        ((best,),) = self.engine.label(plain(250, 120, 0), ["red", "green"], template="{} lamp", limit=1)
        self.assertEqual(best.label, "red")
        self.assertEqual(len(self.engine.label(covers(18), ["red", "green"])), 18)

        def in_one_array():
            array = plain(250, 0, 0).copy()
            yield array
            array[:] = plain(0, 250, 0)
            yield array

        rows = self.engine.label(in_one_array(), ["red", "green"], limit=1)
        self.assertEqual([best.label for (best,) in rows], ["red", "green"])
        with self.assertRaisesRegex(lookalike.ImageError, "/no/such.jpg"):
            self.engine.label("/no/such.jpg", ["red"])
        with self.assertRaisesRegex(lookalike.LookalikeError, "lacks {}"):
            self.engine.label(plain(0, 0, 0), ["red"], template="red")
        with self.assertRaises(TypeError):
            self.engine.label(plain(0, 0, 0), "red")
        with lookalike.Engine() as other, self.assertRaisesRegex(lookalike.LookalikeError, "images alone"):
            other.label(covers(1)[0], ["red"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
