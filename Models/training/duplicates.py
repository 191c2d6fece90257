#!/usr/bin/env python3
"""Measures `lookalike catalog duplicates` on pictures, copies of them, and pictures that look alike.

    python duplicates.py IMAGES OUTPUT --command ../../.build/release/lookalike

Of each picture of a folder one copy is made, in one of 18 ways, or two pictures that look alike and are no copies, in
one of five ways; or the picture gets a band with one of two titles. Forms of a template that are filled in come on top.
Prints how many copies are in a group with their picture, how many of these with the right relation, and how many of
those that look alike are in one group. Titles count as copies with a mark.
"""

import argparse
import json
import random
import subprocess
from collections import Counter
from pathlib import Path

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps, ImageStat

from lookalike_training.images import files_in

WORDS = ["NORTH", "LIGHT", "SEA", "IRON", "BAY", "GLASS", "OLD", "WINTER", "QUAY", "ROAD"]


def font(size):
    return ImageFont.load_default(size=size)


def words(draw, count=3):
    return " ".join(draw.choice(WORDS) for _ in range(count))


def drawn(image, paint):
    """A copy of the image on which something was drawn, half transparent or not."""
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    paint(ImageDraw.Draw(layer))
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def band(image, text):
    width, height = image.size

    def paint(draw):
        draw.rectangle([0, height * 0.81, width, height], fill=(20, 20, 30))
        draw.text((width * 0.05, height * 0.84), text, font=font(int(width * 0.08)), fill="white")

    return drawn(image, paint)


def tiles(image, text):
    width, height = image.size

    def paint(draw):
        for top in range(0, height, max(1, height // 4)):
            draw.text((width * 0.05, top), text, font=font(int(width * 0.06)), fill=(255, 255, 255, 110))

    return drawn(image, paint)


def watermark(image):
    width, height = image.size
    size, fill = font(int(width * 0.2)), (255, 255, 255, 130)
    return drawn(image, lambda draw: draw.text((width * 0.1, height * 0.4), "SAMPLE", font=size, fill=fill))


def caption(image, text):
    width, height = image.size
    place, size = (width * 0.08, height * 0.82), font(int(width * 0.09))
    style = {"fill": "white", "stroke_width": 2, "stroke_fill": "black"}
    return drawn(image, lambda draw: draw.text(place, text, font=size, **style))


def sticker(image):
    width, height = image.size

    def paint(draw):
        draw.ellipse([width * 0.8, height * 0.03, width * 0.97, height * 0.03 + width * 0.17], fill=(220, 30, 30))
        draw.text((width * 0.83, height * 0.03 + width * 0.05), "-20%", font=font(int(width * 0.05)), fill="white")

    return drawn(image, paint)


def hue(image):
    bands = image.convert("HSV").split()
    turned = bands[0].point(lambda value: (value + 90) % 256)
    return Image.merge("HSV", (turned, *bands[1:])).convert("RGB")


# Each way with the relation that it is to be given.
COPIES = {
    "half": ("quality", lambda i, d: i.resize((i.width // 2, i.height // 2), Image.LANCZOS)),
    "third": ("quality", lambda i, d: i.resize((i.width // 3, i.height // 3), Image.LANCZOS)),
    "poor": ("quality", lambda i, d: i),
    "blurred": ("quality", lambda i, d: i.filter(ImageFilter.GaussianBlur(1))),
    "cropped": ("crop", lambda i, d: ImageOps.crop(i, int(0.1 * min(i.size)))),
    "bordered": ("crop", lambda i, d: ImageOps.expand(i, int(0.08 * i.width), (250, 250, 250))),
    "gray": ("color", lambda i, d: i.convert("L").convert("RGB")),
    "hue": ("color", lambda i, d: hue(i)),
    "pale": ("color", lambda i, d: ImageEnhance.Contrast(ImageEnhance.Brightness(i).enhance(1.3)).enhance(0.8)),
    "gamma": ("color", lambda i, d: i.point(lambda value: int(255 * (value / 255) ** 0.6))),
    "mirrored": ("mirrored", lambda i, d: ImageOps.mirror(i)),
    "turned": ("turned", lambda i, d: i.transpose(d.choice([Image.ROTATE_90, Image.ROTATE_180]))),
    "askew": ("turned", lambda i, d: i.rotate(10, Image.BICUBIC, expand=True, fillcolor="white")),
    "watermark": ("mark", lambda i, d: watermark(i)),
    "tiles": ("mark", lambda i, d: tiles(i, "© stock photo preview ©")),
    "caption": ("mark", lambda i, d: caption(i, words(d))),
    "sticker": ("mark", lambda i, d: sticker(i)),
    "band": ("mark", lambda i, d: band(i, words(d))),
}


def ball(image, left):
    width, height = image.size
    box = [left * width, 0.4 * height, (left + 0.14) * width, 0.66 * height]
    return drawn(image, lambda draw: draw.ellipse(box, fill=(200, 150, 120)))


def pasted(image, other, left, top, share):
    result = image.copy()
    size = (int(share * image.width), int(share * image.height))
    result.paste(other.resize(size), (int(left * image.width), int(top * image.height)))
    return result


def burst(image, other, draw):
    right, bottom = int(0.025 * image.width), int(0.02 * image.height)
    first = image.crop((0, 0, image.width - right, image.height - bottom))
    return ball(first, 0.4), ball(image.crop((right, bottom, image.width, image.height)), 0.5)


ALIKE = {
    "burst": burst,
    "moved": lambda i, o, d: (ball(i, 0.4), ball(i, 0.52)),
    "moved thing": lambda i, o, d: (pasted(i, o, 0.2, 0.4, 0.25), pasted(i, o, 0.5, 0.45, 0.25)),
    "inset": lambda i, o, d: (i, pasted(i, o, 0.3, 0.3, 0.4)),
    "variant": lambda i, o, d: (pasted(i, o, 0.3, 0.1, 0.4), pasted(i, ImageOps.flip(o), 0.3, 0.1, 0.4)),
}


def forms(draw):
    """Three forms of one template."""
    template = Image.new("RGB", (460, 640), "white")
    paint = ImageDraw.Draw(template)
    paint.rectangle([20, 20, 440, 70], outline="black")
    paint.text((30, 30), words(draw), font=font(28), fill=(20, 20, 90))
    lines = [(40 + draw.randint(0, 20), 100 + 20 * line) for line in range(26)]
    for place in lines:
        paint.text(place, words(draw, 1).lower() + ":", font=font(12), fill="black")
    for _ in range(3):
        form = template.copy()
        paint = ImageDraw.Draw(form)
        for left, top in lines:
            if draw.random() < 0.6:
                text = words(draw, 5).lower()[: draw.randint(8, 30)]
                paint.text((left + 110, top), text, font=font(12), fill="black")
        yield form


def is_colored(file):
    """Whether a gray copy of a picture differs from it."""
    with Image.open(file) as image:
        image = image.convert("HSV")
        image.thumbnail((64, 64))
        saturation, value = (ImageStat.Stat(image).mean[band] / 255 for band in (1, 2))
    return saturation * value > 0.03


def make(files, folder, draw):
    """Writes the images. Yields pairs of ids with the way, and with the relation, or None if they only look alike."""
    ways = [*COPIES, *ALIKE, "title"]

    def save(image, name, quality=92):
        image.save(folder / f"{name}.jpg", quality=quality)

    for number, file in enumerate(files):
        with Image.open(file) as original, Image.open(files[(number + 7) % len(files)]) as neighbor:
            image, other = original.convert("RGB"), neighbor.convert("RGB")
        image.thumbnail((640, 640))
        way, (a, b) = ways[number % len(ways)], (f"{number:04}a", f"{number:04}b")
        if way in COPIES:
            relation, copy = COPIES[way]
            pair = (image, copy(image, draw))
        elif way == "title":
            relation, pair = "mark", (band(image, words(draw)), band(image, words(draw)))
        else:
            relation, pair = None, ALIKE[way](image, other, draw)
        save(pair[0], a)
        save(pair[1], b, quality=25 if way == "poor" else 92)
        yield a, b, way, relation
    for number in range(len(files) // len(ways)):
        names = [f"form{number:03}{letter}" for letter in "abc"]
        for name, form in zip(names, forms(draw)):
            save(form, name)
        yield names[0], names[1], "form", None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=Path, nargs="+", metavar="IMAGES")
    parser.add_argument("output", type=Path)
    parser.add_argument("--command", required=True)
    parser.add_argument("--count", type=int, default=480)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    folder, catalog = options.output / "images", options.output / "catalog"
    folder.mkdir(parents=True)
    files = [file for images in options.images for file in files_in(images) if is_colored(file)]
    pairs = list(make(draw.sample(files, min(options.count, len(files))), folder, draw))
    subprocess.run([options.command, "index", folder, "--catalog", catalog], check=True, capture_output=True)
    found = subprocess.run(
        [options.command, "catalog", "duplicates", catalog, "--json"], check=True, capture_output=True, text=True
    ).stdout
    group, differences = {}, {}
    for number, line in enumerate(found.splitlines()):
        entry = json.loads(line)
        group[entry["reference"]["id"]] = number
        for copy in entry["duplicates"]:
            group[copy["id"]], differences[copy["id"]] = number, copy["difference"]
    counts = {}
    for a, b, way, relation in pairs:
        together = a in group and group[a] == group.get(b)
        # One of both is the reference.
        difference = differences.get(b) or differences.get(a) if together else "apart"
        counts.setdefault((way, relation), Counter())[difference] += 1
    copies = {key: count for key, count in counts.items() if key[1]}
    alike = [count for key, count in counts.items() if not key[1]]
    total = sum(count.total() for count in copies.values())
    grouped = sum(count.total() - count["apart"] for count in copies.values())
    right = sum(count[relation] for (_, relation), count in copies.items())
    taken = sum(count.total() - count["apart"] for count in alike)
    print(f"{total} copies: {grouped / total:.3f} found, {right / max(grouped, 1):.3f} of these with their relation")
    print(f"{sum(count.total() for count in alike)} that look alike: {taken} taken for copies")
    for (way, relation), count in counts.items():
        print(f"{way:12}{relation or '-':10}{dict(count)}")


if __name__ == "__main__":
    main()
