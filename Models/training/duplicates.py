#!/usr/bin/env python3
"""Measures `lookalike catalog duplicates` on pictures and copies of some of them.

    python duplicates.py IMAGES OUTPUT --command ../../.build/release/lookalike

Of a folder of different pictures some are taken, and five copies are made of every third: half the size in another
quality, without a border, mirrored, paler and warmer, and another file format. Prints the precision and the recall of
pairs: of two images in a group, how many are of one picture, and of two images of one picture, how many are in a group.
"""

import argparse
import json
import random
import subprocess
from itertools import combinations
from pathlib import Path

from PIL import Image, ImageEnhance, ImageOps

from lookalike_training.images import files_in


def copies(image, draw):
    """File names, pictures and qualities of JPEG."""
    width, height = image.size
    yield "small.jpg", image.resize((width // 2, height // 2), Image.LANCZOS), 60
    left, top, right, bottom = (draw.uniform(0.02, 0.08) for _ in range(4))
    border = (int(left * width), int(top * height), int((1 - right) * width), int((1 - bottom) * height))
    yield "crop.jpg", image.crop(border), 90
    yield "mirrored.jpg", ImageOps.mirror(image), 90
    pale = ImageEnhance.Color(ImageEnhance.Brightness(image).enhance(1.15)).enhance(draw.uniform(0.3, 0.7))
    warm = Image.merge("RGB", [band.point(lambda v, f=f: v * f) for band, f in zip(pale.split(), (1.0, 0.95, 0.85))])
    yield "color.jpg", warm, 90
    yield "format.png", image, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--command", required=True)
    parser.add_argument("--count", type=int, default=450)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    folder, catalog = options.output / "images", options.output / "catalog"
    folder.mkdir(parents=True)
    files = files_in(options.images)
    for number, file in enumerate(draw.sample(files, min(options.count, len(files)))):
        with Image.open(file) as original:
            image = original.convert("RGB")
        image.save(folder / f"{number:04}_original.jpg", quality=95)
        for name, copy, quality in copies(image, draw) if number % 3 == 0 else ():
            copy.save(folder / f"{number:04}_{name}", quality=quality)
    subprocess.run([options.command, "index", folder, "--catalog", catalog], check=True, capture_output=True)
    found = subprocess.run(
        [options.command, "catalog", "duplicates", catalog, "--json"], check=True, capture_output=True, text=True
    ).stdout
    groups = [json.loads(line) for line in found.splitlines()]
    together = set()
    for group in groups:
        ids = sorted([group["reference"]["id"], *(copy["id"] for copy in group["duplicates"])])
        together.update(combinations(ids, 2))
    ids = sorted(Path(file).stem for file in files_in(folder))
    same = {pair for pair in combinations(ids, 2) if pair[0][:4] == pair[1][:4]}
    right = together & same
    print(f"{len(ids)} images, {len(same)} pairs of one picture, {len(groups)} groups")
    print(f"precision {len(right) / max(1, len(together)):.4f}, recall {len(right) / max(1, len(same)):.4f}")
    for pair in sorted(together - same)[:20]:
        print("not the same:", *pair)
    for pair in sorted(same - together)[:20]:
        print("not together:", *pair)


if __name__ == "__main__":
    main()
