"""Folders of images, packed once into a memory-mapped array of square textures."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
from PIL import Image

SUFFIXES = {".jpg", ".jpeg", ".png"}
THUMBNAIL = 12
# The cosine of two signatures above which one image is taken for a variant of the other.
NEAR_DUPLICATE = 0.92
# The cosine above which two images of a set count as the same: neither positives nor negatives of each other.
SAME = 0.985


def files_in(folder):
    return sorted(p for p in Path(folder).rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())


def square(path, size):
    """The image stretched to size x size with an antialiased triangle filter, and its width / height."""
    with Image.open(path) as image:
        image.draft("RGB", (size * 2, size * 2))
        aspect = image.width / image.height
        if image.mode in ("RGBA", "LA", "P"):
            image = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        image = image.convert("RGB").resize((size, size), Image.BILINEAR)
        return np.asarray(image), aspect


def signature(texture):
    """A tiny zero-mean unit vector; near-duplicates have a cosine close to one."""
    small = np.asarray(Image.fromarray(texture).resize((THUMBNAIL, THUMBNAIL), Image.BOX), np.float32)
    small = small.reshape(-1) - small.mean()
    return small / (np.linalg.norm(small) + 1e-6)


def resembles(mark, marks, near_duplicate=NEAR_DUPLICATE):
    """Whether a signature is that of a near-duplicate of one of `marks`."""
    return len(marks) > 0 and float((marks @ mark).max()) > near_duplicate


class TextureSet:
    """`pixels` (n, size, size, 3) uint8, `aspects` (n,), `groups` (n,): those that look the same share a group."""

    def __init__(self, pixels, aspects, groups):
        self.pixels, self.aspects, self.groups = pixels, aspects, groups

    def __len__(self):
        return len(self.pixels)

    @classmethod
    def packed(cls, folder, size, cache, excluded, log, near_duplicate=NEAR_DUPLICATE):
        """Reads `folder`, or the pack that an earlier call left in `cache`.

        An image whose signature has a cosine above `near_duplicate` with one of `excluded`
        (an array of signatures) is left out.
        """
        base = packed_base(folder, size, cache, excluded, log, near_duplicate)
        count = json.loads(base.with_suffix(".json").read_text())["count"]
        pixels = np.memmap(f"{base}.pixels", np.uint8, "r", shape=(count, size, size, 3))
        meta = np.load(f"{base}.npz")
        return cls(pixels, meta["aspects"], meta["groups"])

    @staticmethod
    def _pack(files, size, base, excluded, near_duplicate, log):
        os.makedirs(base.parent, exist_ok=True)
        aspects, signatures, names, left_out, unreadable = [], [], [], 0, 0
        with open(f"{base}.pixels", "wb") as out:
            for path in files:
                try:
                    texture, aspect = square(path, size)
                except OSError as error:
                    unreadable += 1
                    log(f"{path}: {error}")
                    continue
                mark = signature(texture)
                if resembles(mark, excluded, near_duplicate):
                    left_out += 1
                    continue
                out.write(texture.tobytes())
                aspects.append(aspect)
                signatures.append(mark)
                names.append(str(path))
        signatures = np.stack(signatures)
        groups = np.arange(len(signatures))
        for start in range(0, len(signatures), 2048):
            near = signatures[start : start + 2048] @ signatures.T > SAME
            for row, col in zip(*np.nonzero(near)):
                a, b = groups[start + row], groups[col]
                if a != b:
                    groups[start + row] = groups[col] = min(a, b)
        np.savez(f"{base}.npz", aspects=np.array(aspects, np.float32), groups=groups, names=names)
        base.with_suffix(".json").write_text(
            json.dumps({"count": len(aspects), "leftOut": left_out, "unreadable": unreadable})
        )
        log(
            f"{base.name}: {len(aspects)} images; {left_out} near-duplicates of excluded images left out, "
            f"{unreadable} unreadable"
        )


def packed_base(folder, size, cache, excluded, log, near_duplicate=NEAR_DUPLICATE):
    """Where `folder` lies packed: BASE.pixels, BASE.npz and BASE.json."""
    files = files_in(folder)
    if not files:
        raise SystemExit(f"{folder}: no images")
    key = hashlib.sha256(
        json.dumps([str(Path(folder).resolve()), size, len(files), len(excluded), near_duplicate, SAME]).encode()
    )
    base = Path(cache) / f"{Path(folder).name}-{key.hexdigest()[:12]}"
    if not base.with_suffix(".json").exists():
        TextureSet._pack(files, size, base, excluded, near_duplicate, log)
    return base


def signatures_of(folders, size=96):
    marks = [signature(square(path, size)[0]) for folder in folders for path in files_in(folder)]
    return np.stack(marks) if marks else np.zeros((0, THUMBNAIL * THUMBNAIL * 3), np.float32)
