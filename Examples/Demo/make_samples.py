#!/usr/bin/env python3
"""Draws the demo's covers, and the photos and screenshots that show them. Needs Pillow and NumPy.

python make_samples.py        # writes covers/, queries/ and queries.jsonl beside this file
"""

import colorsys
import csv
import json
import math
import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = Path(__file__).parent
SIZE = 420
ALBUMS = [
    ("Slow Meridian", "Ada Fontaine", "rings"),
    ("Paper Lanterns", "The Quiet Ferry", "sun"),
    ("Concrete Gardens", "Juno Vale", "blocks"),
    ("Night Bus to Porto", "Marlow & Finch", "skyline"),
    ("Tidal Machines", "Oskar Lind", "waves"),
    ("Seventh Weather", "Ines Okafor", "triangles"),
    ("Glass Orchard", "Hollow Pines", "dots"),
    ("Radio Antarctica", "Kite Parade", "stripes"),
    ("Small Hours", "Ada Fontaine", "moon"),
    ("Copper Horizon", "Delta Wren", "mountains"),
    ("Invisible Cities", "Tomo Sato", "maze"),
    ("Left of Centre", "Juno Vale", "quarters"),
    ("Salt & Signal", "The Quiet Ferry", "spiral"),
    ("Borrowed Light", "Lena Marsh", "petals"),
    ("Arcade Hymns", "Pixel Choir", "pixels"),
    ("Lowland Echo", "Oskar Lind", "contours"),
    ("Velvet Static", "Marlow & Finch", "bars"),
    ("Winter Index", "Ines Okafor", "snow"),
]


def palette(rng):
    base = rng.random()
    spread = rng.choice([0.08, 0.33, 0.5])

    def make(h, s, v):
        return tuple(int(c * 255) for c in colorsys.hsv_to_rgb(h % 1, s, v))

    return [
        make(base, 0.55, 0.22),
        make(base + spread, 0.75, 0.9),
        make(base + 2 * spread, 0.35, 0.97),
        make(base - spread / 2, 0.8, 0.6),
        make(base + 0.5, 0.2, 0.95),
    ]


def cover(title, artist, style):
    rng = random.Random(title)
    colors = palette(rng)
    image = Image.new("RGB", (SIZE, SIZE), colors[0])
    draw = ImageDraw.Draw(image)

    def pick():
        return rng.choice(colors[1:])

    if style == "rings":
        for i, r in enumerate(range(300, 0, -22)):
            x, y = 150 + i * 6, 190 + i * 3
            draw.ellipse([x - r, y - r, x + r, y + r], fill=colors[i % 4])
    elif style in ("sun", "moon"):
        for y in range(SIZE):
            t = y / SIZE
            draw.line([0, y, SIZE, y], fill=tuple(int(a * (1 - t) + b * t) for a, b in zip(colors[3], colors[0])))
        x, y, r = rng.randint(120, 300), rng.randint(110, 220), rng.randint(60, 110)
        draw.ellipse([x - r, y - r, x + r, y + r], fill=colors[2])
        if style == "moon":
            draw.ellipse([x - r + 40, y - r - 16, x + r + 40, y + r - 16], fill=colors[0])
        else:
            for k in range(7):
                draw.rectangle([0, y + 8 + k * 22, SIZE, y + 12 + k * 24], fill=colors[0])
    elif style == "blocks":
        for _ in range(26):
            x, y = rng.randrange(0, SIZE, 42), rng.randrange(0, SIZE, 42)
            draw.rectangle([x, y, x + rng.choice([42, 84, 126]), y + rng.choice([42, 84])], fill=pick())
    elif style == "skyline":
        for layer in range(3):
            x = 0
            while x < SIZE:
                w, h = rng.randint(22, 60), rng.randint(60, 210) + 50 * (2 - layer)
                draw.rectangle([x, SIZE - h, x + w, SIZE], fill=colors[3 - layer])
                for wy in range(SIZE - h + 8, SIZE, 18):
                    if rng.random() < 0.5:
                        draw.rectangle([x + 7, wy, x + 13, wy + 8], fill=colors[4])
                x += w
    elif style == "waves":
        for k in range(15):
            points = [(x, 40 + k * 27 + 18 * math.sin(x / (28 + 3 * k) + k)) for x in range(0, SIZE + 8, 8)]
            draw.line(points, fill=colors[1 + k % 4], width=6 + k % 3 * 5)
    elif style == "triangles":
        for _ in range(40):
            x, y, r = rng.randint(0, SIZE), rng.randint(0, SIZE), rng.randint(30, 110)
            angle = rng.random() * 6.28
            draw.polygon(
                [(x + r * math.cos(angle + k * 2.09), y + r * math.sin(angle + k * 2.09)) for k in range(3)],
                fill=pick(),
            )
    elif style == "dots":
        for x in range(20, SIZE, 38):
            for y in range(20, SIZE, 38):
                r = 4 + 13 * abs(math.sin(x / 90) * math.cos(y / 70))
                draw.ellipse([x - r, y - r, x + r, y + r], fill=pick())
    elif style == "stripes":
        for k in range(-SIZE, SIZE * 2, 30):
            draw.polygon(
                [(k, 0), (k + rng.randint(8, 24), 0), (k + SIZE // 2, SIZE), (k + SIZE // 2 - 16, SIZE)], fill=pick()
            )
    elif style == "mountains":
        draw.rectangle([0, 0, SIZE, SIZE], fill=colors[2])
        for layer in range(4):
            y = 150 + layer * 62
            points = [(0, SIZE)] + [(x, y + rng.randint(-50, 50)) for x in range(0, SIZE + 60, 60)] + [(SIZE, SIZE)]
            draw.polygon(
                points, fill=tuple(int(a * (1 - layer / 4) + b * layer / 4) for a, b in zip(colors[1], colors[0]))
            )
    elif style == "maze":
        for x in range(0, SIZE, 30):
            for y in range(0, SIZE, 30):
                ends = [x, y, x + 30, y + 30] if rng.random() < 0.5 else [x + 30, y, x, y + 30]
                draw.line(ends, fill=pick(), width=7)
    elif style == "quarters":
        for x in range(0, SIZE, 105):
            for y in range(0, SIZE, 105):
                draw.rectangle([x, y, x + 105, y + 105], fill=pick())
                cx, cy = x + rng.choice([0, 105]), y + rng.choice([0, 105])
                piece = Image.new("L", (SIZE, SIZE))
                ImageDraw.Draw(piece).ellipse([cx - 105, cy - 105, cx + 105, cy + 105], fill=255)
                window = Image.new("L", (SIZE, SIZE))
                window.paste(piece.crop((x, y, x + 105, y + 105)), (x, y))
                image.paste(pick(), mask=window)
    elif style == "spiral":
        for k in range(620):
            a, r = k * 0.13, 4 + k * 0.42
            x, y, s = 210 + r * math.cos(a), 200 + r * math.sin(a), 2 + k / 60
            draw.ellipse([x - s, y - s, x + s, y + s], fill=colors[1 + k // 40 % 4])
    elif style == "petals":
        for k in range(16):
            petal = Image.new("L", (SIZE, SIZE))
            ImageDraw.Draw(petal).ellipse([190, 20, 250, 200], fill=210)
            image.paste(colors[1 + k % 4], mask=petal.rotate(k * 22.5, center=(220, 210)))
    elif style == "pixels":
        for x in range(0, SIZE // 2, 30):
            for y in range(30, SIZE - 60, 30):
                if rng.random() < 0.55:
                    color = pick()
                    draw.rectangle([x, y, x + 29, y + 29], fill=color)
                    draw.rectangle([SIZE - 30 - x, y, SIZE - 1 - x, y + 29], fill=color)
    elif style == "contours":
        for k in range(24):
            points = []
            for step in range(0, 361, 4):
                a = math.radians(step)
                r = 20 + k * 13 + 24 * math.sin(3 * a + 0.8) + 14 * math.cos(5 * a + k / 5)
                points.append((240 + r * math.cos(a), 190 + r * math.sin(a)))
            draw.line(points, fill=colors[1 + k % 4], width=4)
    elif style == "bars":
        for x in range(0, SIZE, 14):
            h = 60 + 250 * abs(math.sin(x / 37) * math.cos(x / 91))
            draw.rectangle([x, 210 - h / 2, x + 9, 210 + h / 2], fill=pick())
    elif style == "checks":
        for x in range(0, SIZE, 70):
            for y in range(0, SIZE, 70):
                draw.rectangle([x, y, x + 70, y + 70], fill=colors[1 + (x + y) // 70 % 2 * 2])
        draw.line([0, 0, SIZE, SIZE], fill=colors[4], width=40)
        draw.line([0, SIZE, SIZE, 0], fill=colors[2], width=40)
    else:
        for _ in range(130):
            x, y, r = rng.randint(0, SIZE), rng.randint(0, SIZE), rng.randint(3, 16)
            for k in range(3):
                dx, dy = r * math.cos(k * 1.047), r * math.sin(k * 1.047)
                draw.line([x - dx, y - dy, x + dx, y + dy], fill=colors[2 + k % 3], width=2)
    draw.rectangle([0, SIZE - 66, SIZE, SIZE], fill=colors[0])
    draw.text((18, SIZE - 60), title, fill=colors[4], font=ImageFont.load_default(27))
    draw.text((18, SIZE - 28), artist, fill=colors[2], font=ImageFont.load_default(17))
    return image


def perspective(image, size, corners):
    """The image drawn so that its corners (clockwise from the top left) come to lie where told, and its mask."""
    w, h = image.size
    rows = []
    for (x, y), (u, v) in zip(corners, [(0, 0), (w, 0), (w, h), (0, h)]):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    target = [c for corner in [(0, 0), (w, 0), (w, h), (0, h)] for c in corner]
    coefficients = np.linalg.solve(np.array(rows, float), np.array(target, float))

    def put(picture):
        return picture.transform(size, Image.PERSPECTIVE, coefficients, Image.BICUBIC)

    return put(image), put(Image.new("L", image.size, 255))


def wooden_table(size, rng):
    w, h = size
    noise = np.random.default_rng(rng.randrange(1 << 30))
    grain = np.cumsum(noise.normal(0, 1, (h // 4, 1)), 0) + noise.normal(0, 0.25, (h // 4, w // 40))
    grain = Image.fromarray(np.uint8(np.clip(128 + grain * 7, 0, 255))).resize(size, Image.BICUBIC)
    tone = np.array(rng.choice([(150, 110, 74), (96, 72, 58), (186, 178, 166)]), float)
    return Image.fromarray(np.uint8(np.clip(tone * (0.6 + np.asarray(grain, float)[..., None] / 256), 0, 255)))


def camera(image, seed):
    rng = random.Random(seed)
    size = rng.choice([(800, 600), (600, 800)])
    frame = wooden_table(size, rng)
    side = min(size) * rng.uniform(0.62, 0.8)
    cx, cy, turn = (
        size[0] / 2 + rng.uniform(-40, 40),
        size[1] / 2 + rng.uniform(-40, 40),
        math.radians(rng.uniform(-14, 14)),
    )
    corners = []
    for x, y in [(-1, -1), (1, -1), (1, 1), (-1, 1)]:
        x, y = x * side / 2 * rng.uniform(0.86, 1), y * side / 2 * rng.uniform(0.86, 1)
        corners.append((cx + x * math.cos(turn) - y * math.sin(turn), cy + x * math.sin(turn) + y * math.cos(turn)))
    layer, mask = perspective(image, size, corners)
    shadow = Image.new("L", size)
    shadow.paste(110, (14, 18), mask)
    frame.paste((20, 16, 14), mask=shadow.filter(ImageFilter.GaussianBlur(14)))
    frame.paste(layer, mask=mask)
    light = np.linspace(rng.uniform(0.7, 0.9), rng.uniform(1.05, 1.2), size[0])[None, :, None]
    frame = Image.fromarray(
        np.uint8(np.clip(np.asarray(frame, float) * light * np.array([1.04, 1.0, rng.uniform(0.82, 0.98)]), 0, 255))
    )
    glare = Image.new("L", size)
    gx, gy = rng.uniform(0.2, 0.8) * size[0], rng.uniform(0.2, 0.8) * size[1]
    ImageDraw.Draw(glare).ellipse([gx - 90, gy - 60, gx + 90, gy + 60], fill=90)
    frame.paste((255, 255, 250), mask=glare.filter(ImageFilter.GaussianBlur(40)))
    grain = np.random.default_rng(seed).normal(0, 5, (size[1], size[0], 3))
    return Image.fromarray(
        np.uint8(np.clip(np.asarray(frame.filter(ImageFilter.GaussianBlur(0.9)), float) + grain, 0, 255))
    )


def screenshot(image, title, artist, dark):
    back, ink = ((24, 24, 28), (235, 235, 240)) if dark else ((246, 246, 248), (30, 30, 36))
    frame = Image.new("RGB", (720, 900), back)
    draw = ImageDraw.Draw(frame)
    draw.text((40, 34), "Now Playing", fill=ink, font=ImageFont.load_default(24))
    art = image.resize((520, 520), Image.LANCZOS)
    mask = Image.new("L", art.size)
    ImageDraw.Draw(mask).rounded_rectangle([0, 0, 519, 519], 26, fill=255)
    frame.paste(art, (100, 96), mask)
    draw.text((100, 650), title, fill=ink, font=ImageFont.load_default(36))
    draw.text((100, 698), artist, fill=tuple((i + b) // 2 for i, b in zip(ink, back)), font=ImageFont.load_default(26))
    draw.rounded_rectangle([100, 760, 620, 766], 3, fill=(140, 140, 148))
    draw.rounded_rectangle([100, 760, 310, 766], 3, fill=(230, 60, 80))
    for x in (230, 360, 490):
        draw.ellipse([x - 30, 800, x + 30, 860], outline=ink, width=4)
    draw.polygon([(350, 815), (350, 845), (376, 830)], fill=ink)
    draw.ellipse([560, 116, 606, 162], fill=(250, 250, 250))
    draw.text((573, 120), "+", fill=(30, 30, 30), font=ImageFont.load_default(34))
    return frame


def main():
    covers, queries = HERE / "covers", HERE / "queries"
    covers.mkdir(exist_ok=True)
    queries.mkdir(exist_ok=True)
    art, rows = {}, []
    for index, (title, artist, style) in enumerate(ALBUMS):
        name = title.lower().replace(" & ", "-").replace(" ", "-")
        art[name] = (cover(title, artist, style), title, artist)
        art[name][0].save(covers / f"{name}.jpg", quality=88)
        rows.append([name, f"{name}.jpg", "album", title, artist, style, 1998 + index])
    with open(covers / "albums.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["id", "image", "type", "title", "subtitle", "labels", "year"])
        writer.writerows(rows)
    asked = []
    for seed, name in enumerate(["night-bus-to-porto", "seventh-weather", "glass-orchard", "lowland-echo"]):
        camera(art[name][0], seed + 3).save(queries / f"photo-{seed + 1}.jpg", quality=85)
        asked.append({"query": f"queries/photo-{seed + 1}.jpg", "target": name, "kind": "camera"})
    for number, (name, dark) in enumerate([("copper-horizon", True), ("left-of-centre", False)], 1):
        screenshot(*art[name], dark).save(queries / f"screenshot-{number}.png", optimize=True)
        asked.append({"query": f"queries/screenshot-{number}.png", "target": name, "kind": "screenshot"})
    camera(cover("Nobody's Record", "Not in the Catalog", "checks"), 40).save(
        queries / "photo-of-another-record.jpg", quality=85
    )
    asked.append({"query": "queries/photo-of-another-record.jpg", "target": None, "kind": "camera"})
    # make_things.py renders these.
    for name in ["mug", "town-hall"]:
        asked.append({"query": f"queries/photo-of-a-{name}.jpg", "target": name, "kind": "camera"})
    (HERE / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in asked))


if __name__ == "__main__":
    main()
