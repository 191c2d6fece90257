#!/usr/bin/env python3
"""Draws labeled queries that photographs of single things lack, to fit and to measure the confidence of matches.

    python calibration_sets.py OUTPUT --pictures FOLDER --seed 1

For each kind OUTPUT has a folder with `catalog/` and `queries.jsonl`:

- `receipts`, `forms`, `cards`, `pages`, `labels`, `codes`: documents of one template that differ in what is filled in,
  and matrix codes. Half of the queries show one that the catalog lacks. Scans and photographs.
- `drawings`: pictures of one style, photographed. Half of the queries show one that the catalog lacks.
- `parts`: a quarter of a picture's area, and nothing else.
- `patterns`: pictures that repeat a tile, photographed.
- `copies`: pictures with 1, 3 or 5 copies in the catalog: the same file, another quality, another size.
"""

import argparse
import io
import json
import random
import shutil
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont, ImageOps

FONTS = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSerif", "DejaVuSerif-Bold")
SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in "aeio"]


def font(rng, size, name=None):
    return ImageFont.truetype((name or rng.choice(FONTS)) + ".ttf", size)


def word(rng):
    return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4)))


def line(rng, words):
    return " ".join(word(rng) for _ in range(words))


def texture(rng, width, height):
    """A picture with much texture, for grounds and for faces of products."""
    noise = np.random.default_rng(rng.getrandbits(32))
    small = noise.integers(0, 255, (height // 60 + 2, width // 60 + 2, 3), dtype=np.uint8)
    image = Image.fromarray(small).resize((width, height), Image.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(rng.randint(20, 70)):
        x, y, s = rng.randrange(width), rng.randrange(height), rng.randint(6, max(8, width // 6))
        color = tuple(rng.randrange(256) for _ in range(3))
        rng.choice((draw.rectangle, draw.ellipse))([x, y, x + s, y + int(s * rng.uniform(0.4, 1.6)) + 1], fill=color)
    return image


def document(kind, template, seed):
    """One filled-in document. The template's seed fixes the layout, the printed words and the fonts."""
    plan, fill = random.Random(f"{kind} {template}"), random.Random(f"{kind} {template} {seed}")
    name = plan.choice(FONTS)
    paper = tuple(plan.randint(235, 255) for _ in range(3))
    if kind == "receipts":
        width, rows = plan.randint(420, 560), plan.randint(12, 22)
        image = Image.new("RGB", (width, 330 + rows * 34), paper)
        draw = ImageDraw.Draw(image)
        draw.text((60, 30), line(plan, 2).upper(), font=font(plan, 34, name), fill="black")
        draw.text((60, 80), line(plan, 3), font=font(plan, 20, name), fill="black")
        for row in range(rows):
            draw.text((25, 150 + row * 34), line(fill, 2).upper()[:18], font=font(plan, 21, name), fill="black")
            price = f"{fill.uniform(0.5, 60):.2f}"
            draw.text((width - 95, 150 + row * 34), price, font=font(plan, 21, name), fill="black")
        y = 170 + rows * 34
        draw.text((25, y), "TOTAL", font=font(plan, 34, name), fill="black")
        draw.text((width - 150, y), f"{fill.uniform(20, 400):.2f}", font=font(plan, 34, name), fill="black")
        draw.text((45, y + 80), line(plan, 3).upper(), font=font(plan, 22, name), fill="black")
    elif kind == "forms":
        image = Image.new("RGB", (820, 1080), paper)
        draw = ImageDraw.Draw(image)
        draw.text((60, 40), line(plan, 3).title(), font=font(plan, 36, name), fill="black")
        for row in range(plan.randint(9, 14)):
            y = 130 + row * 64
            draw.text((60, y), line(plan, plan.randint(1, 3)).title(), font=font(plan, 20, name), fill=(60, 60, 90))
            draw.rectangle([330, y - 8, 760, y + 36], outline=(90, 90, 120), width=2)
            draw.text((345, y), line(fill, 2), font=font(fill, 24, "DejaVuSerif"), fill=(20, 30, 120))
    elif kind == "cards":
        image = Image.new("RGB", (860, 540), tuple(plan.randint(150, 240) for _ in range(3)))
        draw = ImageDraw.Draw(image)
        draw.rectangle([0, 0, 860, 90], fill=tuple(plan.randint(0, 140) for _ in range(3)))
        draw.text((30, 22), line(plan, 3).upper(), font=font(plan, 38, name), fill="white")
        for x in range(0, 860, 26):
            draw.arc([x - 200, 120, x + 200, 520], 0, 180, fill=tuple(plan.randint(120, 220) for _ in range(3)))
        image.paste(texture(fill, 220, 280), (40, 140))
        for row in range(5):
            y = 150 + row * 66
            draw.text((300, y), line(plan, 1).title(), font=font(plan, 18, name), fill=(50, 50, 50))
            draw.text((300, y + 22), line(fill, 2).upper(), font=font(plan, 28, name), fill="black")
    elif kind == "pages":
        image = Image.new("RGB", (820, 1120), paper)
        draw = ImageDraw.Draw(image)
        size, leading = plan.randint(17, 22), plan.randint(27, 34)
        for row in range(1000 // leading):
            text = line(fill, 14)[: 1180 // size]
            draw.text((60, 55 + row * leading), text, font=font(plan, size, name), fill="black")
    elif kind == "codes":
        modules = plan.choice((21, 25, 29, 33, 41))
        image = Image.new("1", (modules, modules), 1)
        for place in range(modules * modules):
            image.putpixel((place % modules, place // modules), fill.getrandbits(1))
        draw = ImageDraw.Draw(image)
        for x, y in ((0, 0), (modules - 7, 0), (0, modules - 7)):
            draw.rectangle([x - 1, y - 1, x + 7, y + 7], fill=1)
            draw.rectangle([x, y, x + 6, y + 6], fill=1, outline=0)
            draw.rectangle([x + 2, y + 2, x + 4, y + 4], fill=0)
        image = ImageOps.expand(image.convert("RGB"), 4, "white").resize([(modules + 8) * 12] * 2, Image.NEAREST)
    else:
        image = Image.new("RGB", (700, 420), paper)
        draw = ImageDraw.Draw(image)
        draw.text((40, 24), line(plan, 3).upper(), font=font(plan, 32, name), fill="black")
        x = 60
        while x < 640:
            thick = fill.choice((3, 3, 6, 9))
            draw.rectangle([x, 90, x + thick - 1, 320], fill="black")
            x += thick + fill.choice((3, 6, 9))
        digits = "".join(str(fill.randrange(10)) for _ in range(13))
        draw.text((120, 340), digits, font=font(plan, 44, "DejaVuSansMono"), fill="black")
    return image


def photographed(rng, image, side, angle=12):
    """The image on a blurred ground, turned and seen at a slant, with noise."""
    ground = texture(rng, 1200, 900).filter(ImageFilter.GaussianBlur(rng.uniform(6, 14)))
    scale = side / max(image.size)
    image = image.convert("RGBA").resize((int(image.width * scale), int(image.height * scale)), Image.BICUBIC)
    image = image.rotate(rng.uniform(-angle, angle), expand=True, resample=Image.BICUBIC)
    ground.paste(image, ((1200 - image.width) // 2, (900 - image.height) // 2), image)
    bend = [rng.uniform(-0.06, 0.06) for _ in range(4)]
    corners = (0, 1200 * bend[0], 900 * bend[1], 900, 1200, 900 + 900 * bend[2], 1200 + 1200 * bend[3], 0)
    ground = ground.transform(ground.size, Image.QUAD, corners, Image.BICUBIC)
    noise = np.random.default_rng(rng.getrandbits(32)).normal(0, rng.uniform(2, 6), (900, 1200, 3))
    return Image.fromarray((np.asarray(ground) * rng.uniform(0.75, 1.1) + noise).clip(0, 255).astype(np.uint8))


class Set:
    """A labeled set that is written image by image."""

    def __init__(self, folder):
        self.folder, self.lines = folder, []
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "catalog").mkdir(parents=True)
        (folder / "queries").mkdir()

    def add(self, name, image, quality=92):
        image.convert("RGB").save(self.folder / "catalog" / f"{name}.jpg", quality=quality)

    def ask(self, image, targets, group, quality=85):
        path = f"queries/{len(self.lines):03d}.jpg"
        image.convert("RGB").save(self.folder / path, quality=quality)
        self.lines.append({"query": path, "targets": targets, "group": group})

    def close(self):
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        (self.folder / "queries.jsonl").write_text(text)


def documents(output, kind, seed, templates, count):
    for template in range(templates):
        made = Set(output / f"{kind}-{template}")
        rng = random.Random(f"{kind} {template} {seed} queries")
        for index in range(count):
            made.add(f"{kind}-{index:02d}", document(kind, f"{seed} {template}", index))
        for index in range(count):
            for present in (True, False):
                image = document(kind, f"{seed} {template}", index if present else 1000 + index)
                if index % 2:
                    image = photographed(rng, image, rng.randint(560, 860))
                made.ask(image, [f"{kind}-{index:02d}"] if present else [], kind, rng.randint(60, 92))
        made.close()


def pictures_of(folder, rng, count):
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    return [(path.stem, Image.open(path).convert("RGB")) for path in rng.sample(files, count)]


def parts(output, pictures, seed, count):
    rng, made = random.Random(f"parts {seed}"), Set(output / "parts")
    drawn = [(f"drawn-{index}", texture(rng, 800, rng.randint(600, 1000))) for index in range(count // 2)]
    for name, image in pictures_of(pictures, rng, count) + drawn:
        made.add(name, image)
        w, h = image.width // 2, image.height // 2
        x, y = rng.randint(0, image.width - w), rng.randint(0, image.height - h)
        part, side = image.crop((x, y, x + w, y + h)), rng.randint(400, 1000)
        scale = side / max(part.size)
        part = part.resize((max(1, int(part.width * scale)), max(1, int(part.height * scale))), Image.LANCZOS)
        made.ask(part, [name], "parts", rng.randint(70, 92))
    made.close()


def drawings(output, seed, count):
    rng, made = random.Random(f"drawings {seed}"), Set(output / "drawings")
    for index in range(2 * count):
        image, present = texture(rng, 400, rng.randint(300, 560)), index % 2 == 0
        if present:
            made.add(f"drawing-{index}", image)
        photograph = photographed(rng, image, rng.randint(300, 700), 40)
        made.ask(photograph, [f"drawing-{index}"] if present else [], "drawings")
    made.close()


def patterns(output, seed, count):
    rng, made = random.Random(f"patterns {seed}"), Set(output / "patterns")
    for index in range(2 * count):
        repeats = rng.randint(4, 8)
        tile = texture(rng, 180, 180).resize((110, 110), Image.LANCZOS)
        image = Image.new("RGB", (110 * repeats,) * 2)
        for x in range(repeats):
            for y in range(repeats):
                image.paste(tile, (110 * x, 110 * y))
        present = index % 2 == 0
        if present:
            made.add(f"pattern-{index}", image)
        made.ask(photographed(rng, image, 700, 8), [f"pattern-{index}"] if present else [], "patterns")
    made.close()


def copies(output, pictures, seed, count):
    rng, made = random.Random(f"copies {seed}"), Set(output / "copies")
    for index, (name, image) in enumerate(pictures_of(pictures, rng, count)):
        number = (0, 1, 3, 5)[index % 4]
        names = [f"{name}-{copy}" for copy in range(number + 1)]
        for copy, copy_name in enumerate(names):
            changed = image
            if copy % 3 == 2:
                changed = image.resize((int(image.width * 0.7), int(image.height * 0.7)), Image.LANCZOS)
            made.add(copy_name, changed, (92, 60, 80)[copy % 3])
        data = io.BytesIO()
        photographed(rng, image, 640, 25).save(data, "jpeg", quality=80)
        made.ask(Image.open(data), names, f"copies-{number}")
    made.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pictures", required=True, help="a folder of pictures for parts and copies")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--templates", type=int, default=1, help="of each kind; the other sets grow with it")
    options = parser.parse_args()
    for kind in ("receipts", "forms", "cards", "pages", "labels", "codes"):
        documents(options.output, kind, options.seed, options.templates, count=12)
    parts(options.output, options.pictures, options.seed, 40 * options.templates)
    drawings(options.output, options.seed, 20 * options.templates)
    patterns(options.output, options.seed, 6 * options.templates)
    copies(options.output, options.pictures, options.seed, 20 * options.templates)


if __name__ == "__main__":
    main()
