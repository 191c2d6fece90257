#!/usr/bin/env python3
"""Small PNG and JPEG files of every kind, and what they show: run with Pillow 13 in Tests/ImagingTests.

PNG files are put together here by hand, since Pillow writes few of their kinds; what they show follows
from their samples. What JPEG files show is Pillow's own decoding, upright and over white.
"""

import json
import struct
import zlib
from pathlib import Path

from PIL import Image, ImageOps

OUT = Path(__file__).parent / "Fixtures"
W, H = 13, 9
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
PALETTE = [((i * 53) % 256, (i * 101 + 40) % 256, (i * 197 + 90) % 256) for i in range(256)]


def sample(x, y, c, depth):
    return (x * (7 + 12 * c) + y * (31 - 5 * c) + (x * y) % 17 * 3) * 37 % (1 << depth)


def packed(rows, depth):
    """Scanlines of samples, most significant bits first, each after filter type 0."""
    data = b""
    for row in rows:
        bits = "".join(format(v, f"0{depth}b") for v in row)
        bits += "0" * (-len(bits) % 8)
        data += b"\0" + bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
    return data


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(name, color, depth, interlaced=False, transparent=None):
    n = CHANNELS[color]

    def pixel(x, y):
        return [sample(x, y, c, depth) for c in range(n)]

    if interlaced:
        data = b""
        for x0, y0, dx, dy in ADAM7:
            rows = [[v for x in range(x0, W, dx) for v in pixel(x, y)] for y in range(y0, H, dy)]
            if rows and rows[0]:
                data += packed(rows, depth)
    else:
        data = packed([[v for x in range(W) for v in pixel(x, y)] for y in range(H)], depth)
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, depth, color, 0, 0, int(interlaced)))
    if color == 3:
        file += chunk(b"PLTE", bytes(v for entry in PALETTE[: 1 << depth] for v in entry))
    if transparent is not None:
        file += chunk(b"tRNS", transparent)
    file += chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    (OUT / f"{name}.png").write_bytes(file)

    def to8(v):
        return round(v * 255 / ((1 << depth) - 1))

    shown = []
    for y in range(H):
        for x in range(W):
            p = pixel(x, y)
            alpha = 255
            if color == 3:
                rgb = list(PALETTE[p[0]])
                if transparent is not None and p[0] < len(transparent):
                    alpha = transparent[p[0]]
            else:
                if color in (4, 6):
                    alpha = to8(p[-1])
                    p = p[:-1]
                elif transparent is not None and b"".join(struct.pack(">H", v) for v in p) == transparent:
                    alpha = 0
                rgb = [to8(v) for v in p] * (3 if color in (0, 4) else 1)
            shown.append([round((v * alpha + 255 * (255 - alpha)) / 255) for v in rgb])
    expected[f"{name}.png"] = {"width": W, "height": H, "tolerance": 1, "rgb": [v for p in shown for v in p]}


def jpeg(name, image, tolerance=2, **options):
    path = OUT / f"{name}.jpg"
    image.save(path, quality=95, **options)
    with Image.open(path) as again:
        if again.mode == "CMYK":
            # Ink over paper; Pillow has undone Adobe's inversion.
            pixels = [tuple((255 - v) * (255 - k) / 255 for v in (c, m, y)) for c, m, y, k in again.getdata()]
            shown = [round(v) for p in pixels for v in p]
            width, height = again.size
        else:
            upright = ImageOps.exif_transpose(again).convert("RGB")
            shown, (width, height) = [v for p in upright.getdata() for v in p], upright.size
    expected[f"{name}.jpg"] = {"width": width, "height": height, "tolerance": tolerance, "rgb": shown}


expected = {}
OUT.mkdir(exist_ok=True)
for color, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items():
    for depth in depths:
        png(f"color{color}-depth{depth}", color, depth)
        png(f"color{color}-depth{depth}-interlaced", color, depth, interlaced=True)
png("gray-transparent", 0, 8, transparent=struct.pack(">H", sample(3, 3, 0, 8)))
png("gray4-transparent", 0, 4, transparent=struct.pack(">H", sample(3, 3, 0, 4)))
png("rgb-transparent", 2, 8, transparent=b"".join(struct.pack(">H", sample(3, 3, c, 8)) for c in range(3)))
png("palette-transparent", 3, 4, transparent=bytes([0, 128, 255, 60, 200]))

art = Image.new("RGB", (43, 29))
art.putdata([((x * 5) % 256, (y * 8) % 256, (x * 3 + y * 4) % 256) for y in range(29) for x in range(43)])
jpeg("baseline", art, subsampling=0)
jpeg("subsampled", art, subsampling=2, tolerance=4)
jpeg("progressive", art, progressive=True, subsampling=0)
jpeg("gray", art.convert("L"))
jpeg("cmyk", art.convert("CMYK"), tolerance=3)
for orientation in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = orientation
    jpeg(f"orientation{orientation}", art, exif=exif, subsampling=0)
(OUT / "expected.json").write_text(json.dumps(expected))
