"""The inputs of both sides, generated from seeds, so that runs are repeatable."""

import hashlib
import shutil
import sqlite3
import subprocess

import numpy as np
from PIL import Image, ImageFilter

SIDE = 160
DIMENSION = 256
SCREEN = (5120, 2880)
PHOTO = (4000, 3000)


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


class Inputs:
    def __init__(self, folder, repository, command):
        self.folder, self.repository, self.command = folder, repository, command
        folder.mkdir(parents=True, exist_ok=True)

    def _made(self, name, make):
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

        return self._made("screen.bgra", make)

    def photo(self):
        """A JPEG file of 12 megapixels."""
        return self._made(
            "photo.jpg", lambda path: Image.fromarray(picture(*PHOTO, seed=2)).save(path, "jpeg", quality=90)
        )

    def smooth_photo(self):
        """The same without noise: a quarter of the bytes."""
        return self._made(
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

        return self._made(f"photos-{name}", make)

    def crops(self, count=32):
        """Images of the network's input size, RGB bytes."""

        def make(path):
            np.stack([picture(SIDE * 4, SIDE * 4, seed=300 + i)[::4, ::4] for i in range(count)]).tofile(path)

        return self._made("crops.rgb", make)

    def rows(self, count):
        return self._made(f"rows-{count}.f32", lambda path: prints(count, seed=5).tofile(path))

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

        return self._made("queries.f32", make)

    def onnx(self):
        def make(path):
            export = self.repository / "Models/training/export_onnx.py"
            subprocess.run(
                ["python3", export, self.repository / "Models/default.safetensors", "--output", path], check=True
            )

        model = hashlib.sha256((self.repository / "Models/default.safetensors").read_bytes()).hexdigest()[:12]
        return self._made(f"default-{model}.onnx", make)

    def catalog(self, count):
        """A catalog of this many entities with random prints: only its size matters."""
        model = hashlib.sha256((self.repository / "Models/default.safetensors").read_bytes()).hexdigest()[:12]

        def make(path):
            shutil.rmtree(path, ignore_errors=True)
            subprocess.run(
                [self.command, "index", self.repository / "Examples/Demo/covers/albums.csv", "--catalog", path],
                check=True,
                capture_output=True,
            )
            database = sqlite3.connect(path / "catalog.sqlite")
            have = database.execute("SELECT COUNT(*) FROM entity").fetchone()[0]
            vectors = prints(count - have, seed=8)
            database.execute("PRAGMA synchronous=OFF")
            database.executemany(
                "INSERT INTO entity (row, id, title, labels, attributes, image, size, modified, contentHash)"
                " VALUES (?, ?, ?, '[]', '{}', '', 0, 0, x'')",
                ((have + 1000 + i, str(i), f"Item {i}") for i in range(len(vectors))),
            )
            database.executemany(
                "INSERT INTO print VALUES (?, ?)", ((have + 1000 + i, row.tobytes()) for i, row in enumerate(vectors))
            )
            database.execute("UPDATE setting SET value = CAST(value AS INTEGER) + 1 WHERE key = 'revision'")
            database.commit()
            database.close()
            # Opened once, which builds the print matrix.
            subprocess.run([self.command, "catalog", "info", path], check=True, capture_output=True)

        return self._made(f"catalog-{count}-{model}", make)


def read_prints(catalog):
    """A catalog's prints and ids, as a script would keep them."""
    database = sqlite3.connect(catalog / "catalog.sqlite")
    rows = database.execute("SELECT entity.id, print.vector FROM print JOIN entity USING (row) ORDER BY row").fetchall()
    return np.frombuffer(b"".join(blob for _, blob in rows), np.float32).reshape(len(rows), -1), [id for id, _ in rows]
