#!/usr/bin/env python3
"""Renders scenes that show the demo's covers as photos and screens do. Needs Pillow and NumPy.

    python make_renderings.py     # writes renderings/ and its queries.jsonl beside this file

Groups: rotation (any angle), clutter (other covers below and beside), frames (mats and frames around a cover), glare
(reflections with sharp edges), interface (a small cover among text and buttons), wall (twelve covers), absent (covers
that are in no catalog). The same seed gives the same scenes.
"""

import json
import math
import random
from pathlib import Path

import numpy as np
from make_samples import cover, perspective, wooden_table
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = Path(__file__).parent
OUTPUT = HERE / "renderings"
SIZE = (640, 480)
COVER_NAMES = sorted(path.stem for path in (HERE / "covers").glob("*.jpg"))


def catalog_cover(name):
    return Image.open(HERE / "covers" / f"{name}.jpg").convert("RGB")


def turned_square(center, side, degrees, rng, tilt):
    """Corners, clockwise from the image's own top left; `tilt` moves each inwards by up to that share of the side."""
    turn = math.radians(degrees)
    corners = []
    for x, y in [(-1, -1), (1, -1), (1, 1), (-1, 1)]:
        x, y = (v * side / 2 * (1 - rng.uniform(0, tilt)) for v in (x, y))
        corners.append(
            (center[0] + x * math.cos(turn) - y * math.sin(turn), center[1] + x * math.sin(turn) + y * math.cos(turn))
        )
    return corners


def lay(frame, picture, corners, shadow=(6, 8)):
    """Draws a picture over a frame, with a soft shadow."""
    layer, mask = perspective(picture, frame.size, corners)
    below = Image.new("L", frame.size)
    below.paste(130, shadow, mask)
    frame.paste((18, 15, 13), mask=below.filter(ImageFilter.GaussianBlur(6)))
    frame.paste(layer, mask=mask)


def camera_finish(frame, rng, dark=1.0):
    """Uneven light, a color cast, a little blur and noise."""
    w, h = frame.size
    light = np.linspace(rng.uniform(0.75, 0.9), rng.uniform(1.0, 1.15), w)[None, :, None]
    light = light * np.linspace(rng.uniform(0.85, 1.0), rng.uniform(0.9, 1.1), h)[:, None, None]
    cast = np.array([rng.uniform(0.95, 1.06), 1.0, rng.uniform(0.82, 1.02)])
    pixels = np.asarray(frame.filter(ImageFilter.GaussianBlur(0.7)), float) * light * cast * dark
    pixels += np.random.default_rng(rng.randrange(1 << 30)).normal(0, 4, pixels.shape)
    return Image.fromarray(np.uint8(np.clip(pixels, 0, 255)))


def wall_surface(size, rng):
    tone = rng.choice([(198, 192, 182), (150, 160, 168), (176, 160, 150)])
    noise = np.random.default_rng(rng.randrange(1 << 30)).normal(0, 1, (size[1] // 2, size[0] // 2))
    plaster = Image.fromarray(np.uint8(np.clip(128 + noise * 22, 0, 255)))
    plaster = plaster.resize(size, Image.BICUBIC).filter(ImageFilter.GaussianBlur(1.5))
    return Image.fromarray(np.uint8(np.clip(np.array(tone) + np.asarray(plaster, float)[..., None] - 128, 0, 255)))


def rotation(name, degrees, rng):
    frame = wooden_table(SIZE, rng)
    center = (SIZE[0] / 2 + rng.uniform(-40, 40), SIZE[1] / 2 + rng.uniform(-15, 15))
    lay(frame, catalog_cover(name), turned_square(center, 275, degrees, rng, 0.1))
    return camera_finish(frame, rng)


def clutter(name, others, rng):
    """A cover on a heap of covers that are in no catalog, partly covered by one of them."""
    frame = wooden_table(SIZE, rng)
    places = [(130, 120), (330, 90), (540, 130), (110, 370), (340, 400), (550, 350)]
    for other, (x, y) in zip(others, places):
        corners = turned_square(
            (x + rng.uniform(-25, 25), y + rng.uniform(-25, 25)), rng.uniform(200, 250), rng.uniform(0, 360), rng, 0.06
        )
        lay(frame, other, corners)
    lay(frame, catalog_cover(name), turned_square((325, 240), 230, rng.uniform(-70, 70), rng, 0.08))
    lay(frame, others[-1], turned_square((500, 440), 210, rng.uniform(20, 60), rng, 0.06))
    return camera_finish(frame, rng)


def heap(others, rng):
    """A heap of covers that are in no catalog."""
    frame = wooden_table(SIZE, rng)
    for other, (x, y) in zip(others, [(120, 130), (320, 100), (540, 130), (130, 360), (530, 360), (325, 270)]):
        lay(frame, other, turned_square((x, y), 225, rng.uniform(0, 360), rng, 0.06))
    return camera_finish(frame, rng)


def frames(name, rng):
    """A cover in two mats and a wooden frame, on a wall, seen from the side."""
    picture = catalog_cover(name)
    for border, color, edge in [(90, (236, 230, 214), (170, 160, 140)), (60, (112, 44, 40), (60, 20, 20))]:
        outer = Image.new("RGB", tuple(side + 2 * border for side in picture.size), color)
        outer.paste(picture, (border, border))
        ImageDraw.Draw(outer).rectangle(
            [border - 3, border - 3, border + picture.size[0] + 2, border + picture.size[1] + 2], outline=edge, width=3
        )
        picture = outer
    rim = 36
    framed = wooden_table(tuple(side + 2 * rim for side in picture.size), rng)
    framed.paste(picture, (rim, rim))
    draw = ImageDraw.Draw(framed)
    for step, shade in [(0, (60, 42, 28)), (rim - 5, (40, 28, 20))]:
        draw.rectangle([step, step, framed.size[0] - 1 - step, framed.size[1] - 1 - step], outline=shade, width=5)
    frame = wall_surface(SIZE, rng)
    # Seen from the left: the right side is farther away.
    corners = [(150, 42), (482, 76), (480, 404), (152, 440)]
    lay(frame, framed, corners, shadow=(10, 14))
    return camera_finish(frame, rng, dark=0.8)


def glare(name, rng):
    """A window and a lamp are reflected in a cover, with sharp edges."""
    frame = wooden_table(SIZE, rng)
    corners = turned_square((320, 240), 330, rng.uniform(-30, 30), rng, 0.1)
    lay(frame, catalog_cover(name), corners)
    _, mask = perspective(catalog_cover(name), SIZE, corners)
    shine = Image.new("L", SIZE)
    draw = ImageDraw.Draw(shine)
    x, y = rng.uniform(190, 300), rng.uniform(110, 200)
    for column in range(2):
        for row in range(2):
            left, top = x + column * 62 + row * 14, y + row * 80
            draw.polygon([(left, top), (left + 54, top - 8), (left + 66, top + 62), (left + 12, top + 72)], fill=215)
    draw.ellipse([390, 290, 440, 332], fill=250)
    shine = shine.filter(ImageFilter.GaussianBlur(0.8))
    shine = Image.composite(shine, Image.new("L", SIZE), mask)
    frame.paste((255, 255, 248), mask=shine)
    return camera_finish(frame, rng)


def interface(name, others, dark):
    """A shop's page: a title bar, text, buttons, and a cover that is a twentieth of the screen."""
    back, ink, line = (250, 250, 252), (28, 29, 34), (214, 216, 222)
    if dark:
        back, ink, line = (20, 21, 26), (230, 231, 236), (58, 60, 68)
    faint = tuple((3 * b + 2 * i) // 5 for b, i in zip(back, ink))
    frame = Image.new("RGB", SIZE, back)
    draw = ImageDraw.Draw(frame)
    font = ImageFont.load_default
    draw.rectangle([0, 0, SIZE[0], 30], fill=line)
    for index, color in enumerate([(255, 95, 86), (255, 189, 46), (39, 201, 63)]):
        draw.ellipse([12 + index * 20, 9, 24 + index * 20, 21], fill=color)
    draw.rounded_rectangle([180, 5, 470, 25], 6, fill=back)
    draw.text((232, 8), "records.example/new", fill=faint, font=font(12))
    draw.text((24, 44), "New arrivals", fill=ink, font=font(26))
    for index, word in enumerate(["All", "Vinyl", "Tape", "Books", "Posters"]):
        draw.rounded_rectangle([24 + index * 74, 84, 90 + index * 74, 108], 12, outline=line, width=1)
        draw.text((38 + index * 74, 89), word, fill=ink, font=font(12))
    for row, y in enumerate((118, 258)):
        picture = catalog_cover(name) if row == 0 else others[0]
        frame.paste(picture.resize((124, 124), Image.LANCZOS), (24, y))
        words = [
            ("A record of this week", 18),
            ("A second line that says more about it", 12),
            ("Ships in two days · 12 left", 12),
        ]
        for index, (text, size) in enumerate(words):
            draw.text((164, y + 14 + index * 26), text, fill=ink if index == 0 else faint, font=font(size))
        draw.rounded_rectangle([510, y + 44, 610, y + 78], 8, fill=(48, 110, 240))
        draw.text((532, y + 53), "Add to bag", fill=(255, 255, 255), font=font(12))
        draw.line([24, y + 132, 616, y + 132], fill=line)
    for index, text in enumerate(
        [
            "Every record is played once and graded by ear before it is listed here.",
            "Sleeves are sent flat, between two boards, with the record beside them.",
        ]
    ):
        draw.text((24, 402 + index * 20), text, fill=faint, font=font(12))
    for index in range(5):
        x = 64 + index * 128
        draw.ellipse([x - 8, 452, x + 8, 468], outline=ink, width=2)
    return frame


def wall(names, rng):
    """Twelve covers, four in each of three lines."""
    frame = wall_surface(SIZE, rng)
    for index, name in enumerate(names):
        center = (92 + index % 4 * 152, 86 + index // 4 * 152)
        lay(frame, catalog_cover(name), turned_square(center, 132, rng.uniform(-2.5, 2.5), rng, 0.03), shadow=(3, 4))
    return camera_finish(frame, rng)


def save(image, name):
    """As a JPEG file of at most 60 kB."""
    path = OUTPUT / f"{name}.jpg"
    for quality in (88, 82, 76, 70, 62):
        image.save(path, quality=quality, optimize=True)
        if path.stat().st_size <= 60_000:
            return


def main():
    OUTPUT.mkdir(exist_ok=True)
    rng = random.Random(7)
    # Styles that chance draws: the others look the same in every cover but for their colors.
    strangers = [
        cover(f"Unlisted {index}", "Nobody", style)
        for index, style in enumerate(
            ["triangles", "skyline", "quarters", "snow", "mountains", "maze", "blocks", "pixels"]
        )
    ]
    lines = []

    def add(image, group, number, targets):
        save(image, f"{group}-{number}")
        query = {"query": f"{group}-{number}.jpg"}
        query |= {"targets": targets} if len(targets) > 1 else {"target": targets[0] if targets else None}
        lines.append(json.dumps(query | {"group": group}))

    turned = [("tidal-machines", 97), ("radio-antarctica", 205), ("winter-index", 311)]
    for number, (name, degrees) in enumerate(turned, 1):
        add(rotation(name, degrees, rng), "rotation", number, [name])
    for number, name in enumerate(["concrete-gardens", "borrowed-light"], 1):
        add(
            clutter(name, strangers[4 * (number - 1) :] + strangers[: 4 * (number - 1)], rng), "clutter", number, [name]
        )
    for number, name in enumerate(["small-hours", "invisible-cities"], 1):
        add(frames(name, rng), "frames", number, [name])
    for number, name in enumerate(["arcade-hymns", "night-bus-to-porto"], 1):
        add(glare(name, rng), "glare", number, [name])
    for number, (name, dark) in enumerate([("salt-signal", False), ("paper-lanterns", True)], 1):
        add(interface(name, strangers[2 + number :], dark), "interface", number, [name])
    add(wall(COVER_NAMES[:12], rng), "wall", 1, COVER_NAMES[:12])
    add(heap(strangers, rng), "absent", 1, [])
    (OUTPUT / "queries.jsonl").write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
