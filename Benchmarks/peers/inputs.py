"""The inputs of both sides, generated from seeds, so that runs are repeatable."""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageFilter

SIDE = 192
DIMENSION = 256
SCREEN = (5120, 2880)
PHOTO = (4000, 3000)
# A photograph of a flat image of COVER x COVER, as a query is after decoding at a reduced size.
PHOTOGRAPH = (1024, 768)
COVER = 384
# Dense descriptors of an image.
DENSE = 255
CORNERS = ((0.24, 0.16), (0.78, 0.22), (0.72, 0.88), (0.20, 0.76))


def picture(width, height, seed, grain=6):
    """Smooth shapes, edges and grain, as photographs have: (height, width, 3) bytes."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (12, 16, 3), np.uint8)
    image = Image.fromarray(coarse).resize((width, height), Image.BICUBIC)
    for _ in range(120):
        w, h = random.integers(width // 60, width // 8), random.integers(height // 60, height // 8)
        x, y = random.integers(0, width - w), random.integers(0, height - h)
        image.paste(tuple(int(v) for v in random.integers(0, 256, 3)), (x, y, x + w, y + h))
    image = image.filter(ImageFilter.GaussianBlur(1.2))
    noise = random.normal(0, grain, (height // 2, width // 2, 1)).repeat(2, 0).repeat(2, 1)
    pixels = np.asarray(image, np.float32)
    pixels[: noise.shape[0], : noise.shape[1]] += noise
    return pixels.clip(0, 255).astype(np.uint8)


def flat_image(side, seed):
    random = np.random.default_rng(seed)
    image = picture(side, side, seed, grain=0)
    for _ in range(60):
        center, radius = random.integers(0, side, 2), int(random.integers(3, side // 8))
        color = tuple(int(v) for v in random.integers(0, 256, 3))
        cv2.circle(image, tuple(int(v) for v in center), radius, color, int(random.integers(1, 4)), cv2.LINE_AA)
    for _ in range(12):
        letters = "".join(chr(int(v)) for v in random.integers(65, 91, 6))
        place = (int(random.integers(0, side * 2 // 3)), int(random.integers(20, side)))
        color = tuple(int(v) for v in random.integers(0, 256, 3))
        cv2.putText(image, letters, place, cv2.FONT_HERSHEY_SIMPLEX, 0.7, color, 2, cv2.LINE_AA)
    return image


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def prints(count, seed):
    """Unit vectors in clusters, like the prints of a catalog with a few thousand kinds of things."""
    random = np.random.default_rng(seed)
    centres = unit(random.standard_normal((4096, DIMENSION), np.float32))
    rows = np.empty((count, DIMENSION), np.float32)
    for start in range(0, count, 65536):
        part = rows[start : start + 65536]
        part[:] = (
            unit(random.standard_normal(part.shape, np.float32)) + 0.6 * centres[random.integers(0, 4096, len(part))]
        )
        part[:] = unit(part)
    return rows


def similar_prints(count, seed):
    """Unit vectors from a Gaussian whose spectrum decays as that of prints does: i^-0.7 along the i-th axis."""
    turned = np.random.default_rng(11).standard_normal((DIMENSION, DIMENSION)).astype(np.float32)
    axes = np.linalg.qr(turned)[0] * (np.arange(1, DIMENSION + 1, dtype=np.float32) ** -0.7)
    random = np.random.default_rng(seed)
    rows = np.empty((count, DIMENSION), np.float32)
    for start in range(0, count, 65536):
        part = rows[start : start + 65536]
        part[:] = unit(random.standard_normal(part.shape, np.float32) @ axes.T)
    return rows


class Inputs:
    def __init__(self, folder, repository, command):
        self.folder, self.repository, self.command = folder, repository, command
        folder.mkdir(parents=True, exist_ok=True)

    def made(self, name, make):
        """The path of an input, made under another name first unless it is there."""
        path = self.folder / name
        if not path.exists():
            partial = path.with_suffix(path.suffix + ".part")
            make(partial)
            partial.rename(path)
        return path

    def screen(self):
        """A BGRA buffer of a 5K screen."""

        def make(path):
            rgb = picture(*SCREEN, seed=1)
            bgra = np.full((*rgb.shape[:2], 4), 255, np.uint8)
            bgra[:, :, :3] = rgb[:, :, ::-1]
            bgra.tofile(path)

        return self.made("screen.bgra", make)

    def photo(self):
        """A JPEG file of 12 megapixels."""
        return self.made(
            "photo.jpg", lambda path: Image.fromarray(picture(*PHOTO, seed=2)).save(path, "jpeg", quality=90)
        )

    def smooth_photo(self):
        """The same without noise: a quarter of the bytes."""
        return self.made(
            "smooth.jpg",
            lambda path: Image.fromarray(picture(*PHOTO, seed=2, grain=0.5)).save(path, "jpeg", quality=85),
        )

    def photos(self, name, grain, count=240):
        """A folder of JPEG files of 1600 x 1200."""

        def make(path):
            path.mkdir()
            for index in range(count):
                Image.fromarray(picture(1600, 1200, seed=100 + index, grain=grain)).save(
                    path / f"{index:04d}.jpg", "jpeg", quality=88
                )

        return self.made(f"photos-{name}", make)

    def small_photos(self, count=2_000):
        """A folder of JPEG files of 256 x 192, parts of larger pictures."""

        def make(path):
            path.mkdir()
            pictures = [picture(1600, 1200, seed=700 + i) for i in range(20)]
            random = np.random.default_rng(10)
            for index in range(count):
                x, y = random.integers(0, 1600 - 256), random.integers(0, 1200 - 192)
                part = pictures[index % len(pictures)][y : y + 192, x : x + 256]
                Image.fromarray(part).save(path / f"{index:05d}.jpg", "jpeg", quality=88)

        return self.made("photos-small", make)

    def crops(self, count=32):
        """Images of the network's input size, RGB bytes."""

        def make(path):
            np.stack([picture(SIDE * 4, SIDE * 4, seed=300 + i)[::4, ::4] for i in range(count)]).tofile(path)

        return self.made("crops.rgb", make)

    def flat_images(self, count=20):
        """Flat images, RGB bytes. Lines and shapes of all sizes give them corners, as prints on paper have."""

        def make(path):
            np.stack([flat_image(COVER, seed=500 + i) for i in range(count)]).tofile(path)

        return self.made(f"flat-{count}.rgb", make)

    def photographed_corners(self):
        """Where the first flat image is in the photograph, in shares of its sides, from the top left clockwise."""
        return CORNERS

    def photograph(self, size=PHOTOGRAPH, known=True):
        """A photograph of the first flat image on a table, in perspective, with blur and noise: RGB bytes.

        If not `known`, of a flat image that is not among them.
        """

        def make(path):
            width, height = size
            cover = flat_image(COVER, seed=500 if known else 499)
            source = np.array([[0, 0], [COVER, 0], [COVER, COVER], [0, COVER]], np.float32)
            target = np.array(CORNERS, np.float32) * np.array(size, np.float32)
            homography = cv2.getPerspectiveTransform(source, target)
            table = picture(width, height, seed=400, grain=0.5) // 3 + 90
            warped = cv2.warpPerspective(cover, homography, size, flags=cv2.INTER_LINEAR)
            mask = cv2.warpPerspective(np.full((COVER, COVER), 255, np.uint8), homography, size)
            scene = np.where(mask[:, :, None] > 127, warped, table).astype(np.float32)
            scene = cv2.GaussianBlur(scene, (0, 0), width / 1200) * 0.8 + 20
            scene += np.random.default_rng(401).normal(0, 4, scene.shape)
            scene.clip(0, 255).astype(np.uint8).tofile(path)

        return self.made(f"photograph-{size[0]}{'' if known else '-unknown'}.rgb", make)

    def verified_catalog(self, count, features=200):
        """A catalog of the flat images and entities with random prints and random local features.

        Only their number matters: lists of visual words are as long as with real ones.
        """

        def make(path):
            folder = self.folder / "flat-files"
            folder.mkdir(exist_ok=True)
            images = np.fromfile(self.flat_images(), np.uint8).reshape(-1, COVER, COVER, 3)
            for index, image in enumerate(images):
                Image.fromarray(image).save(folder / f"flat-{index}.png")
            shutil.rmtree(path, ignore_errors=True)
            subprocess.run([self.command, "index", folder, "--catalog", path], check=True, capture_output=True)
            random = np.random.default_rng(9)

            def record():
                # As `LocalFeatures.init(encoded:)` reads it: 19 bytes for each feature, 8 for each dense descriptor.
                header = bytes([2, DENSE]) + np.array([COVER, COVER, features], "<u2").tobytes()
                words = random.integers(0, 65536, features, dtype="<u2").tobytes()
                return header + words + random.bytes(features * (5 + 12) + DENSE * 8)

            self._fill(path, count, record)

        return self.made(f"catalog-features-{count}-{self._model()}", make)

    def _model(self):
        return hashlib.sha256((self.repository / "Models/default.safetensors").read_bytes()).hexdigest()[:12]

    def _fill(self, path, count, record=None):
        """Adds entities with random prints, and with `record()` as their local features, up to `count`."""
        info = subprocess.run([self.command, "catalog", "info", path], check=True, capture_output=True, text=True)
        have = int(next(line for line in info.stdout.splitlines() if line.startswith("entities")).split()[1])
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            folder = Path(folder)
            np.save(folder / "prints.npy", prints(count - have, seed=8))
            with open(folder / "entities.jsonl", "w") as file:
                file.writelines(json.dumps({"id": str(i), "title": f"Item {i}"}) + "\n" for i in range(count - have))
            options = ["--entities", folder / "entities.jsonl", "--catalog", path]
            if record:
                with open(folder / "features", "wb") as file:
                    for _ in range(count - have):
                        blob = record()
                        file.write(len(blob).to_bytes(4, "little") + blob)
                options += ["--local-features", folder / "features"]
            subprocess.run(
                [self.command, "catalog", "import", folder / "prints.npy", *options], check=True, capture_output=True
            )
        # Opened once, which builds the files that are derived from the database.
        subprocess.run([self.command, "catalog", "info", path], check=True, capture_output=True)

    def prints_of(self, catalog):
        """A catalog's prints and ids, as a script would keep them."""

        def make(path):
            subprocess.run(
                [self.command, "catalog", "export", catalog, "--output", path], check=True, capture_output=True
            )
            # 13 KB an image.
            (path / "features.jsonl").unlink()

        folder = self.made(f"{catalog.name}-export", make)
        with open(folder / "entities.jsonl") as file:
            return np.load(folder / "prints.npy"), [json.loads(line)["id"] for line in file]

    def rows(self, count):
        return self.made(f"rows-{count}.f32", lambda path: prints(count, seed=5).tofile(path))

    def similar_rows(self, count):
        return self.made(f"similar-rows-{count}.f32", lambda path: similar_prints(count, seed=5).tofile(path))

    def similar_queries(self, rows, count):
        """Half are near a row, like photographs of what a catalog has; half are new."""

        def make(path):
            random = np.random.default_rng(6)
            known = np.fromfile(rows, np.float32, DIMENSION * 100_000).reshape(-1, DIMENSION)
            near = unit(known[random.integers(0, len(known), count // 2)] + 0.5 * similar_prints(count // 2, seed=8))
            mixed = np.concatenate([near, similar_prints(count - count // 2, seed=7)])
            mixed[random.permutation(count)].astype(np.float32).tofile(path)

        return self.made(f"similar-queries-{count}.f32", make)

    def queries(self, rows, count=256):
        """Half are near a row, like queries with a match; half are random, like queries without."""

        def make(path):
            random = np.random.default_rng(6)
            known = np.fromfile(rows, np.float32, DIMENSION * 1000).reshape(-1, DIMENSION)
            near = unit(
                known[random.integers(0, len(known), count // 2)]
                + 0.5 * unit(random.standard_normal((count // 2, DIMENSION), np.float32))
            )
            mixed = np.concatenate([near, prints(count - count // 2, seed=7)])
            mixed[random.permutation(count)].astype(np.float32).tofile(path)

        return self.made("queries.f32", make)

    def onnx(self):
        def make(path):
            export = self.repository / "Models/training/export_onnx.py"
            subprocess.run(
                ["python3", export, self.repository / "Models/default.safetensors", "--output", path], check=True
            )

        return self.made(f"default-{self._model()}.onnx", make)

    def multiply_adds(self):
        """The multiply-adds of a forward pass of the default network."""
        info = subprocess.run([self.command, "model", "info"], check=True, capture_output=True, text=True).stdout
        total = next(line for line in info.splitlines() if line.startswith("total"))
        return int(re.sub(r"\s", "", re.split(r"\s{2,}", total.strip())[-1]))

    def catalog(self, count):
        """A catalog of this many entities with random prints: only its size matters."""

        def make(path):
            shutil.rmtree(path, ignore_errors=True)
            subprocess.run(
                [self.command, "index", self.repository / "Examples/Demo/covers/albums.csv", "--catalog", path],
                check=True,
                capture_output=True,
            )
            self._fill(path, count)

        return self.made(f"catalog-{count}-{self._model()}", make)
