"""Tests of what an image may be: files, bytes, arrays, and images of Pillow in all modes."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import struct
import tempfile
import unittest
from collections.abc import Iterator
from typing import Any

import lookalike
import numpy as np
from support import Child, covers, drawn

try:
    from PIL import Image, ImageCms, ImageOps, PngImagePlugin
except ImportError:
    Image = None


class SourceTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = lookalike.Engine()
        cls.path = covers(1)[0]
        cls.expected = cls.engine.embed([cls.path])[0]
        with open(cls.path, "rb") as file:
            cls.data = file.read()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.engine.close()

    def test_one_image_is_one_row(self) -> None:
        pixels = drawn(1)
        with open(self.path, "rb") as file:
            for image in (self.path, pathlib.Path(self.path), np.str_(self.path), self.data, file):
                np.testing.assert_array_equal(self.engine.embed(image), [self.expected])
        self.assertEqual(self.engine.embed(pixels).shape[0], 1)
        np.testing.assert_array_equal(self.engine.embed(pixels), self.engine.embed(pixels[None]))

        class Tensor:
            """As those of other libraries, an iterable of its rows."""

            def __init__(self, values: np.ndarray) -> None:
                self.values, self.shape = values, values.shape

            def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
                return self.values

            def __iter__(self) -> Iterator[Tensor]:
                return map(Tensor, self.values)

        expected = self.engine.embed([pixels, pixels[::-1]])
        np.testing.assert_array_equal(self.engine.embed(Tensor(pixels)), expected[:1])
        np.testing.assert_array_equal(self.engine.embed(Tensor(np.stack([pixels, pixels[::-1]]))), expected)
        with self.assertRaisesRegex(TypeError, "iterable, an image or a folder, not int"):
            self.engine.embed(3)

    def test_file_objects(self) -> None:
        np.testing.assert_array_equal(self.engine.embed([io.BytesIO(self.data)])[0], self.expected)
        with tempfile.TemporaryFile() as file:
            file.write(self.data)
            with self.assertRaisesRegex(lookalike.ImageError, "is at its end; seek to the start"):
                self.engine.embed([file])
            file.seek(0)
            np.testing.assert_array_equal(self.engine.embed([file])[0], self.expected)
        with self.assertRaisesRegex(TypeError, "gives bytes, not str; open it in the mode “rb”"):
            self.engine.embed([io.StringIO("text")])

    def test_paths(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            name = os.fsdecode(b"\xff\xe4.jpg")
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(self.data)
            np.testing.assert_array_equal(self.engine.embed([path])[0], self.expected)
            with self.assertRaisesRegex(lookalike.ImageError, "cannot be read: No such file"):
                self.engine.embed([path + "none"])
            (entry,) = os.scandir(os.fsencode(folder))
            np.testing.assert_array_equal(self.engine.embed([entry])[0], self.expected)
        for path, words in (("", "empty"), ("a\0b", "NUL"), ("https://example.org/a.jpg", "URLs are not downloaded")):
            with self.subTest(path), self.assertRaisesRegex(lookalike.ImageError, words):
                self.engine.embed([path])

    def test_a_name_that_is_not_utf8_is_never_another_image(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in (b"\xef\xbf\xbd.jpg", b"\xff.jpg"):
                os.symlink(covers(1)[0], os.path.join(os.fsencode(folder), name))
            found = list(self.engine.compute(folder))
            written = self.engine.embed_to(os.path.join(folder, "prints.npy"), folder)
        self.assertEqual([isinstance(each, lookalike.ImageError) for each in found], [False, True])
        self.assertIn("not UTF-8", str(found[1]))
        self.assertEqual((written.added, len(written.problems)), (1, 1))

    def test_arrays_in_any_order(self) -> None:
        pixels = drawn(3, (120, 160, 4))
        pixels[..., 3] = 255
        expected = self.engine.embed([pixels])[0]
        wide = np.zeros((120, 320, 8), np.uint8)
        wide[:, ::2, ::2] = pixels
        readonly = pixels.copy()
        readonly.flags.writeable = False
        for array in (np.asfortranarray(pixels), wide[:, ::2, ::2], pixels[::-1][::-1], readonly, pixels[..., :3]):
            np.testing.assert_array_equal(self.engine.embed([array])[0], expected)
        gray = drawn(4, (80, 100))
        np.testing.assert_array_equal(*self.engine.embed([np.asfortranarray(gray), gray[..., None]]))

    def test_arrays_in_this_process_have_the_prints_of_the_worker(self) -> None:
        random = np.random.default_rng(8)
        shapes = [(1, 1), (7, 300), (300, 7, 1), (64, 48, 2), (33, 65, 3), (120, 160, 4), (1500, 2100, 3)]
        images: list[Any] = [random.integers(0, 256, shape, np.uint8) for shape in shapes]
        images[4:4] = [self.path, self.data]
        expected = [result.print for result in self.engine.compute(images)]
        np.testing.assert_array_equal(self.engine.embed(images), expected)
        np.testing.assert_array_equal(self.engine.embed(image for image in images * 3), expected * 3)
        # The child's are made by a worker of its own, and those of a copied engine by its model.
        arrays = [image for image in images if isinstance(image, np.ndarray)]
        np.testing.assert_array_equal(Child(lambda: self.engine.embed(arrays)).result(), self.engine.embed(arrays))
        with pickle.loads(pickle.dumps(self.engine)) as copy:
            np.testing.assert_array_equal(copy.embed(images), expected)
        with self.assertRaisesRegex(lookalike.LookalikeError, "closed"):
            copy.embed(arrays)

    def test_an_array_that_is_too_large_is_refused(self) -> None:
        with (
            lookalike.Engine(max_megapixels=0.001) as engine,
            self.assertRaisesRegex(lookalike.ImageError, "image 1, counted from 0"),
        ):
            engine.embed([drawn(1, (20, 20, 3)), drawn(1, (40, 40, 3))])

    def test_what_is_no_image_is_an_error_at_once(self) -> None:
        arrays = [
            drawn(1).astype(dtype) for dtype in (bool, np.uint16, np.int64, np.float16, np.float32, np.float64, object)
        ]
        arrays += [np.zeros(shape, np.uint8) for shape in ((), (4,), (4, 4, 5), (3, 224, 224), (1, 4, 4, 3), (0, 4))]
        for image in [*arrays, None, 3, 1.5, float("nan"), object(), {"a": 1}, [1, 2]]:
            with self.subTest(repr(image)[:50]), self.assertRaisesRegex(TypeError, "uint8 with the shape"):
                self.engine.embed([drawn(1), image])
        with self.assertRaisesRegex(TypeError, "has a mask"):
            self.engine.embed([np.ma.array(drawn(1), mask=drawn(1) > 99)])
        np.testing.assert_array_equal(self.engine.embed([self.path])[0], self.expected)

    def test_an_image_without_a_name_is_told_by_its_number(self) -> None:
        with self.assertRaisesRegex(lookalike.ImageError, "image 2, counted from 0: is of no known image format"):
            self.engine.embed([self.path, self.data, b"none"])


@unittest.skipIf(Image is None, "Pillow is not installed")
class PillowTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = lookalike.Engine()
        cls.color = Image.open(covers(2)[1]).convert("RGB").resize((300, 260))
        mask = np.tile(np.linspace(0, 255, 300).astype(np.uint8), (260, 1))
        cls.mask = Image.fromarray(mask)
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.engine.close()
        cls.folder.cleanup()

    def distance(self, first: object, second: object) -> float:
        one, other = self.engine.embed([first, second])
        return float(np.linalg.norm(one - other))

    def assert_same(self, first: object, second: object, most: float = 1e-3) -> None:
        self.assertLessEqual(self.distance(first, second), most)

    def file(self, name: str, image: object, **options: object) -> str:
        path = os.path.join(self.folder.name, name)
        image.save(path, **options)
        return path

    def assert_same_as_file(self, name: str, image: object, **options: object) -> None:
        path = self.file(name, image, **options)
        with Image.open(path) as opened:
            self.assert_same(path, opened)

    def transparent(self, mode: str) -> object:
        if mode == "L":
            return Image.merge("LA", (self.color.convert("L"), self.mask))
        image = self.color.copy()
        image.putalpha(self.mask)
        return image

    def test_modes(self) -> None:
        gray, palette = self.color.convert("L"), self.color.convert("P")
        images = {
            "1": (self.color.convert("1"), self.color.convert("1").convert("L")),
            "L": (gray, np.asarray(gray)),
            "LA": (self.transparent("L"), np.asarray(self.transparent("L"))),
            "La": (self.transparent("L").convert("La"), self.transparent("L").convert("La").convert("LA")),
            "P": (palette, palette.convert("RGB")),
            "PA": (palette.convert("PA"), palette.convert("RGB")),
            "RGB": (self.color, np.asarray(self.color)),
            "RGBA": (self.transparent("RGB"), np.asarray(self.transparent("RGB"))),
            "RGBa": (
                self.transparent("RGB").convert("RGBa"),
                self.transparent("RGB").convert("RGBa").convert("RGBA"),
            ),
            "RGBX": (self.color.convert("RGBX"), self.color),
            "CMYK": (self.color.convert("CMYK"), self.color.convert("CMYK").convert("RGB")),
            "YCbCr": (self.color.convert("YCbCr"), self.color.convert("YCbCr").convert("RGB")),
            "HSV": (self.color.convert("HSV"), self.color.convert("HSV").convert("RGB")),
            "I": (gray.convert("I"), gray),
            "I;16": (gray.convert("I").convert("I;16"), gray),
            "F": (gray.convert("F"), gray),
        }
        if images["PA"][0].convert("RGB") != images["PA"][1]:
            # Pillow before 9.1 converts it to other colors.
            del images["PA"]
        for mode, (image, same) in images.items():
            with self.subTest(mode):
                self.assertEqual(image.mode, mode)
                self.assert_same(image, same)
        lab = ImageCms.profileToProfile(
            self.color, ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
        )
        self.assert_same(lab, self.color, 0.1)

    def test_deep_gray(self) -> None:
        gray = np.asarray(self.color.convert("L"))
        for dtype in (np.uint16, np.int32):
            self.assert_same(Image.fromarray(gray.astype(dtype) * 257), gray)
        for values in (gray.astype(np.float32) / 255, gray.astype(np.float32) * 2, gray - np.float32(128)):
            with self.assertRaisesRegex(TypeError, "mode F has values from 0 to 255, not from .*; convert it to"):
                self.engine.embed([Image.fromarray(values)])
        with self.assertRaisesRegex(TypeError, "mode I has values from 0 to 65535, not from"):
            self.engine.embed([Image.fromarray(gray.astype(np.int32) << 20)])

    def test_files_of_modes(self) -> None:
        palette = self.color.quantize(64)
        few = self.color.quantize(8).convert("RGB")
        gray = self.color.convert("L")
        self.assert_same_as_file("1.png", self.color.convert("1"))
        self.assert_same_as_file("l.png", gray)
        self.assert_same_as_file("la.png", self.transparent("L"))
        self.assert_same_as_file("p.png", palette)
        self.assert_same_as_file("p-transparent.png", palette, transparency=3)
        self.assert_same_as_file("p-alpha.png", palette, transparency=bytes(range(0, 256, 4)))
        self.assert_same_as_file("p.gif", palette)
        self.assert_same_as_file("p-transparent.gif", palette, transparency=3)
        self.assert_same_as_file("l-transparent.png", gray, transparency=gray.getpixel((5, 5)))
        self.assert_same_as_file("rgb-transparent.png", few, transparency=few.getpixel((5, 5)))
        self.assert_same_as_file("rgba.png", self.transparent("RGB"))
        self.assert_same_as_file("cmyk.jpg", self.color.convert("CMYK"), quality=95)
        self.assert_same_as_file("16.png", Image.fromarray(np.asarray(gray).astype(np.uint16) * 255))
        self.assert_same_as_file("16-dark.png", Image.fromarray(np.asarray(gray).astype(np.uint16)))

    def test_exif_orientation(self) -> None:
        exif = Image.Exif()
        for orientation in range(1, 9):
            exif[0x0112] = orientation
            for name in ("a.jpg", "a.png"):
                with self.subTest(f"{name} {orientation}"):
                    options = {"exif": exif, **({"quality": 95} if name == "a.jpg" else {})}
                    self.assert_same_as_file(name, self.color, **options)
                    path = self.file(name, self.color, **options)
                    with Image.open(path) as opened:
                        self.assert_same(path, opened.convert("CMYK").convert("RGB"))
                        upright = ImageOps.exif_transpose(opened)
                    self.assert_same(path, upright)
                    self.assertEqual(upright.width > upright.height, orientation <= 4)

    def test_color_profiles(self) -> None:
        profile = self.profile_with_exchanged_colors()
        path = self.file("icc.png", self.color, icc_profile=profile)
        self.assertGreater(self.distance(path, self.color), 0.2)
        self.assert_same_as_file("icc.png", self.color, icc_profile=profile)
        self.assert_same_as_file("icc.jpg", self.color, icc_profile=profile, quality=95)
        self.assert_same_as_file("icc-p.png", self.color.quantize(64), icc_profile=profile)
        self.assert_same_as_file("icc-l.png", self.color.convert("L"), icc_profile=profile)
        self.assert_same_as_file("icc-rgba.png", self.transparent("RGB"), icc_profile=profile)
        self.assert_same_as_file("icc-cmyk.jpg", self.color.convert("CMYK"), icc_profile=profile, quality=95)
        self.assert_same_as_file("icc-damaged.png", self.color, icc_profile=b"none" * 50)

    @staticmethod
    def profile_with_exchanged_colors() -> bytes:
        """A profile of sRGB with red for green, and green for red."""
        profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
        count = int.from_bytes(profile[128:132], "big")
        at = {bytes(profile[132 + 12 * i : 136 + 12 * i]): 132 + 12 * i for i in range(count)}
        profile[at[b"rXYZ"] : at[b"rXYZ"] + 4], profile[at[b"gXYZ"] : at[b"gXYZ"] + 4] = b"gXYZ", b"rXYZ"
        return bytes(profile)

    def test_gamma_of_png(self) -> None:
        points = (31270, 32900, 30000, 60000, 64000, 33000, 15000, 6000)
        for chunks in (
            [(b"gAMA", struct.pack(">I", 100_000))],
            [(b"gAMA", struct.pack(">I", 100_000)), (b"sRGB", b"\0")],
            [(b"gAMA", struct.pack(">I", 45_455)), (b"cHRM", struct.pack(">8I", *points))],
        ):
            info = PngImagePlugin.PngInfo()
            for kind, data in chunks:
                info.add(kind, data)
            self.assert_same_as_file("gamma.png", self.color, pnginfo=info)

    def test_an_image_that_pillow_cannot_read(self) -> None:
        path = self.file("whole.png", self.color)
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data[:2000])
        with Image.open(path) as opened:
            results = list(self.engine.compute([self.color, opened, self.color]))
        self.assertEqual([isinstance(result, lookalike.Computed) for result in results], [True, False, True])
        self.assertEqual(results[1].subject, path)
        self.assertIn("Pillow cannot read it", results[1].reason)


if __name__ == "__main__":
    unittest.main(verbosity=2)
