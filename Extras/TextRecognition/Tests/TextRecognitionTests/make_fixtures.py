#!/usr/bin/env python3
"""Draws the images of TextReaderTests: text in DejaVu on a photograph-like ground.

python make_fixtures.py
"""

import random
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FOLDER = Path(__file__).parent / "Fixtures"


def ground(rng, width, height):
    image = Image.new("RGB", (width, height), (236, 232, 220))
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y, s = rng.randrange(width), rng.randrange(height // 2, height), rng.randint(30, 120)
        draw.ellipse([x, y, x + s, y + s], fill=tuple(rng.randint(90, 200) for _ in range(3)))
    return image.filter(ImageFilter.GaussianBlur(6))


def main():
    image = ground(random.Random(4), 640, 480)
    draw = ImageDraw.Draw(image)
    for text, font, size, y in (
        ("COPPER", "DejaVuSans-Bold", 64, 30),
        ("HORIZON", "DejaVuSans-Bold", 64, 110),
        ("Delta Wren", "DejaVuSerif", 34, 210),
        ("LK-2041", "DejaVuSansMono", 22, 430),
    ):
        draw.text((60, y), text, font=ImageFont.truetype(font + ".ttf", size), fill=(30, 24, 60))
    FOLDER.mkdir(exist_ok=True)
    image.quantize(64).save(FOLDER / "cover.png", optimize=True)
    ground(random.Random(5), 640, 480).quantize(64).save(FOLDER / "plain.png", optimize=True)


if __name__ == "__main__":
    main()
