#!/usr/bin/env python3
"""Renders the demo's things with depth, a building and a mug, each from two sides. Needs Pillow and NumPy.

python make_things.py        # writes things/ and two photos of queries/ beside this file

The catalog images are in things/. The photos show the town hall from another side, 34° around it, on an evening, and
the mug turned by 32° on a table.
"""

import math
import random
from pathlib import Path

import numpy as np
from make_samples import wooden_table
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from surfaces import Surface, ball, box, quad, rendered, revolution

HERE = Path(__file__).parent
MANIFEST = """\
id,image,type,title,subtitle,labels
town-hall,town-hall.jpg,landmark,Town Hall,Market Square,building
mug,mug.jpg,object,Fox Mug,Stoneware,kitchen
"""


def developed(image, seed, blur, noise, tint):
    """The image as a phone's camera takes it."""
    pixels = np.asarray(image.filter(ImageFilter.GaussianBlur(blur)), float) * np.array(tint)
    pixels += np.random.default_rng(seed).normal(0, noise, pixels.shape)
    return Image.fromarray(np.uint8(np.clip(pixels, 0, 255)))


def grained(size, color, amount, seed, coarse=1):
    """A texture of one color with grain."""
    w, h = size
    grain = np.random.default_rng(seed).normal(0, amount, (h // coarse, w // coarse))
    grain = np.asarray(Image.fromarray(grain.astype(np.float32)).resize(size, Image.BICUBIC))
    return np.clip(np.array(color, float) + grain[..., None], 0, 255)


# The town hall.

METER = 44


class Facade:
    """The painted texture of a wall, in meters from its top left."""

    def __init__(self, width, height, rng, color=(172, 96, 72)):
        self.rng, self.size = rng, (round(width * METER), round(height * METER))
        self.image = Image.new("RGB", self.size, (196, 176, 150))
        self.draw = ImageDraw.Draw(self.image)
        course = METER * 0.3
        for row in range(math.ceil(self.size[1] / course)):
            x = -rng.random() * METER
            while x < self.size[0]:
                length = METER * rng.uniform(0.5, 0.9)
                tone = rng.uniform(0.78, 1.14)
                self.draw.rectangle(
                    [x, row * course, x + length - 3, (row + 1) * course - 3], fill=tuple(int(c * tone) for c in color)
                )
                x += length

    def rectangle(self, x, y, width, height, fill):
        self.draw.rectangle([x * METER, y * METER, (x + width) * METER, (y + height) * METER], fill=fill)

    def arch(self, x, y, width, height, fill):
        """An opening with a round top."""
        self.draw.pieslice([x * METER, y * METER, (x + width) * METER, (y + width) * METER], 180, 360, fill=fill)
        self.rectangle(x, y + width / 2, width, height - width / 2, fill)

    def window(self, x, y, width, height):
        stone, dark = (226, 214, 190), (44, 56, 74)
        self.arch(x - 0.22, y - 0.22, width + 0.44, height + 0.44, stone)
        self.arch(x, y, width, height, dark)
        for _ in range(5):
            # What the panes reflect.
            px, py = x + self.rng.random() * width * 0.6, y + width / 2 + self.rng.random() * (height - width / 2) * 0.7
            tone = self.rng.randint(70, 150)
            self.rectangle(px, py, width * 0.35, height * 0.16, (tone - 20, tone, tone + 18))
        if self.rng.random() < 0.6:
            self.rectangle(x, y + width / 2, width * self.rng.uniform(0.15, 0.35), height - width / 2, (214, 204, 186))
        frame = (240, 234, 222)
        self.rectangle(x + width / 2 - 0.05, y, 0.1, height, frame)
        self.rectangle(x, y + height * 0.45, width, 0.1, frame)
        if self.rng.random() < 0.5:
            # A box of flowers.
            self.rectangle(x - 0.1, y + height - 0.25, width + 0.2, 0.3, (92, 60, 40))
            for _ in range(40):
                fx, fy = x + self.rng.random() * width, y + height - 0.1 - abs(self.rng.gauss(0, 0.22))
                color = self.rng.choice([(206, 40, 60), (70, 130, 60), (236, 190, 70), (60, 110, 54)])
                self.draw.ellipse([fx * METER - 4, fy * METER - 4, fx * METER + 4, fy * METER + 4], fill=color)

    def text(self, x, y, text, size, fill):
        font = ImageFont.load_default(size * METER)
        self.draw.text((x * METER, y * METER), text, fill=fill, font=font, anchor="mm")

    def ivy(self, x, y, width, height, count):
        for _ in range(count):
            px, py = x + self.rng.random() ** 2 * width, y + height * (1 - self.rng.random() ** 1.6)
            r, tone = self.rng.randint(4, 9), self.rng.uniform(0.6, 1.3)
            px, py = px * METER, py * METER
            self.draw.ellipse([px - r, py - r, px + r, py + r], fill=tuple(int(c * tone) for c in (60, 104, 48)))

    @property
    def texture(self):
        return np.asarray(self.image, float)


def front_wall(rng):
    facade = Facade(20, 10, rng)
    for column, x in enumerate([1.2, 3.5, 5.8, 12.9, 15.2, 17.5]):
        facade.window(x, 1.0, 1.3, 2.8)
        if column not in (1, 4):
            facade.window(x, 5.4, 1.3, 3.0)
    facade.rectangle(0, 4.5, 20, 0.25, (222, 208, 182))
    # A notice board, a mural of a ship, and ivy at one corner.
    facade.rectangle(3.1, 5.6, 2.1, 2.6, (70, 48, 36))
    for k in range(9):
        color = rng.choice([(240, 236, 220), (226, 180, 80), (110, 160, 200), (220, 110, 90)])
        facade.rectangle(3.25 + k % 3 * 0.64, 5.75 + k // 3 * 0.8, 0.54, 0.66, color)
    facade.rectangle(14.7, 5.3, 2.3, 3.2, (36, 74, 110))
    facade.draw.ellipse([15.9 * METER, 5.5 * METER, 16.7 * METER, 6.3 * METER], fill=(246, 206, 96))
    for corners, color in [
        ([(14.9, 7.5), (16.8, 7.5), (16.5, 8.1), (15.2, 8.1)], (150, 60, 44)),
        ([(15.8, 5.7), (15.8, 7.3), (15.0, 7.3)], (244, 238, 222)),
        ([(15.9, 6.0), (16.7, 7.3), (15.9, 7.3)], (228, 120, 70)),
    ]:
        facade.draw.polygon([(x * METER, y * METER) for x, y in corners], fill=color)
    facade.ivy(0, 2.5, 3.2, 7.5, 420)
    return facade.texture


def side_wall(rng):
    facade = Facade(12, 10, rng)
    for x in [1.3, 4.0, 6.7, 9.4]:
        facade.window(x, 1.0, 1.3, 2.8)
        facade.window(x, 5.4, 1.3, 3.0)
    facade.rectangle(0, 4.5, 12, 0.25, (222, 208, 182))
    return facade.texture


def tower_wall(rng, is_front):
    facade = Facade(5, 20, rng, color=(206, 186, 150))
    # The clock.
    x, y, r = 2.5 * METER, 3.2 * METER, 1.6 * METER
    facade.draw.ellipse([x - r * 1.12, y - r * 1.12, x + r * 1.12, y + r * 1.12], fill=(90, 66, 48))
    facade.draw.ellipse([x - r, y - r, x + r, y + r], fill=(244, 240, 226))
    for hour in range(12):
        a = math.radians(hour * 30)
        ends = [
            x + r * 0.8 * math.sin(a),
            y - r * 0.8 * math.cos(a),
            x + r * 0.95 * math.sin(a),
            y - r * 0.95 * math.cos(a),
        ]
        facade.draw.line(ends, fill=(40, 34, 30), width=7)
    for a, length, width in [(math.radians(305), 0.55, 9), (math.radians(60), 0.78, 6)]:
        facade.draw.line(
            [x, y, x + r * length * math.sin(a), y - r * length * math.cos(a)], fill=(30, 26, 24), width=width
        )
    facade.window(1.0, 6.4, 1.1, 2.6)
    facade.window(2.9, 6.4, 1.1, 2.6)
    if is_front:
        facade.rectangle(0.5, 10.6, 4, 0.9, (52, 70, 62))
        facade.text(2.5, 11.05, "TOWN HALL", 0.62, (240, 214, 140))
        # A coat of arms.
        facade.draw.polygon(
            [(px * METER, py * METER) for px, py in [(1.7, 12), (3.3, 12), (3.3, 13.4), (2.5, 14.3), (1.7, 13.4)]],
            fill=(160, 40, 44),
        )
        facade.draw.polygon(
            [(px * METER, py * METER) for px, py in [(1.7, 12), (2.5, 12), (2.5, 14.3), (1.7, 13.4)]],
            fill=(240, 208, 110),
        )
        facade.arch(1.2, 15.2, 2.6, 4.8, (122, 104, 80))
        facade.arch(1.45, 15.5, 2.1, 4.5, (66, 40, 28))
        for px in (1.75, 2.65):
            for py in (17.0, 18.5):
                facade.rectangle(px, py, 0.6, 1.1, (92, 58, 38))
        facade.rectangle(2.47, 15.6, 0.06, 4.4, (30, 20, 14))
    else:
        facade.window(1.9, 11.6, 1.2, 3.0)
    return facade.texture


def tiles(width, height, color, rng):
    image = Image.new("RGB", (round(width * METER), round(height * METER)), tuple(c // 2 for c in color))
    draw = ImageDraw.Draw(image)
    step = METER * 0.42
    for row in range(math.ceil(image.size[1] / step)):
        for column in range(-1, math.ceil(image.size[0] / step)):
            tone = rng.uniform(0.72, 1.2)
            x, y = (column + row % 2 / 2) * step, row * step
            draw.rectangle([x, y, x + step - 3, y + step - 3], fill=tuple(int(c * tone) for c in color))
    return np.asarray(image, float)


def town_hall():
    rng = random.Random("town hall")
    stone = grained((64, 64), (222, 208, 182), 6, 1)
    surfaces = box((-10, 0, -6), (10, 10, 6), front_wall(rng), side_wall(rng))
    surfaces += box((-2.5, 0, 1), (2.5, 20, 7.2), tower_wall(rng, True), tower_wall(rng, False))
    for low, high in [
        ((-10.4, 9.8, -6.4), (10.4, 10.4, 6.4)),
        ((-10.3, 0, -6.3), (10.3, 1.0, 6.3)),
        ((-2.9, 19.7, 0.6), (2.9, 20.4, 7.6)),
        ((-2.8, 14.2, 0.7), (2.8, 14.5, 7.5)),
        ((-2.8, 9.8, 0.7), (2.8, 10.3, 7.5)),
        ((-3.4, 0, 7.2), (3.4, 0.3, 9.4)),
        ((-2.9, 0.3, 7.2), (2.9, 0.6, 8.5)),
    ]:
        surfaces += box(low, high, stone)
    for x in (-2.2, 1.8):
        surfaces.append(revolution([(0.22, 4.6), (0.22, 0.6)], stone, steps=16).moved((x + 0.2, 0, 8.1)))
    surfaces += box((-2.7, 4.6, 7.2), (2.7, 5.2, 8.6), stone)
    slate = tiles(20, 8, (96, 104, 122), rng)
    ridge = [(-5, 14.6, 0), (5, 14.6, 0)]
    corners = [(-10.5, 10.3, 6.5), (10.5, 10.3, 6.5), (10.5, 10.3, -6.5), (-10.5, 10.3, -6.5)]
    surfaces += [
        quad(ridge[0], ridge[1], corners[1], corners[0], slate),
        quad(ridge[1], ridge[1], corners[2], corners[1], slate),
        quad(ridge[1], ridge[0], corners[3], corners[2], slate),
        quad(ridge[0], ridge[0], corners[0], corners[3], slate),
    ]
    copper, tip = tiles(6, 8, (104, 154, 134), rng), (0, 27, 4.1)
    base = [(-2.9, 20.4, 7.6), (2.9, 20.4, 7.6), (2.9, 20.4, 0.6), (-2.9, 20.4, 0.6)]
    surfaces += [quad(tip, tip, base[(k + 1) % 4], base[k], copper) for k in range(4)]
    for x in (-7.5, 6.2):
        # Dormers and chimneys.
        surfaces += box((x, 10.5, 3.2), (x + 1.6, 12.4, 5.4), dormer(rng), stone)
        surfaces += box((x - 0.4, 12, -2), (x + 0.6, 15.6, -1), Facade(1, 3.6, rng).texture)
    return surfaces


def dormer(rng):
    facade = Facade(1.6, 1.9, rng, color=(206, 186, 150))
    facade.window(0.4, 0.3, 0.8, 1.4)
    return facade.texture


def plaza(rng):
    """The ground, in many parts: what reaches behind the camera is left out."""
    image = Image.new("RGB", (1200, 1200), (150, 146, 138))
    draw = ImageDraw.Draw(image)
    for x in range(0, 1200, 20):
        for y in range(0, 1200, 20):
            tone = rng.randint(132, 174)
            draw.rectangle([x, y, x + 18, y + 18], fill=(tone, tone - 4, tone - 12))
    ground = np.asarray(image, float)
    steps = np.linspace(-60, 60, 41)
    return [Surface([[(x, 0, z) for x in steps] for z in steps], ground)]


def tree(x, z, height, color, seed):
    rng = random.Random(seed)
    trunk = revolution([(0.2, height * 0.6), (0.32, 0)], (96, 74, 56), steps=12).moved((x, 0, z))
    leaves = grained((240, 120), color, 40, seed, coarse=3)
    return [trunk] + [
        ball(
            (x + rng.uniform(-1, 1) * height * 0.18, height * rng.uniform(0.5, 0.92), z + rng.uniform(-1, 1) * 0.8),
            height * rng.uniform(0.13, 0.2),
            leaves,
        )
        for _ in range(16)
    ]


def sky(size, above, below, clouds, seed):
    """A gradient with clouds."""
    w, h = size
    noise = np.random.default_rng(seed)
    layers = np.zeros((h, w))
    for octave in (3, 6, 12, 24):
        grid = noise.normal(0, 1 / octave**0.7, (octave * 2, octave)).astype(np.float32)
        layers += np.asarray(Image.fromarray(grid).resize(size, Image.BICUBIC))
    cover = np.clip(layers * 1.4, 0, 1)[..., None]
    t = np.linspace(0, 1, h)[:, None, None]
    gradient = np.array(above) * (1 - t) + np.array(below) * t
    return Image.fromarray(np.uint8(np.clip(gradient * (1 - cover) + np.array(clouds) * cover, 0, 255)))


def around(degrees, distance, height, target):
    a = math.radians(degrees)
    return (target[0] + distance * math.sin(a), height, target[2] + distance * math.cos(a))


def building_views():
    rng = random.Random("plaza")
    hall, ground, target = town_hall(), plaza(rng), (0, 12.2, 2)
    trees = tree(-14, 6, 7, (84, 128, 62), 1) + tree(15, 4, 8, (92, 132, 60), 2)
    size = (480, 480)
    day = rendered(
        hall + ground + trees,
        *(around(-10, 44, 3.0, target), target, size, 40),
        **dict(sun=(-0.6, 0.9, 0.8), sun_color=(0.82, 0.79, 0.72), sky_color=(0.44, 0.48, 0.56), extent=26),
        backdrop=sky(size, (96, 152, 214), (206, 224, 238), (248, 248, 250), 4),
    )
    size = (600, 480)
    autumn = tree(-14, 6, 7, (186, 128, 54), 5) + tree(15, 4, 8, (190, 104, 48), 6) + tree(21, 14, 5, (168, 120, 50), 8)
    evening = rendered(
        hall + ground + autumn,
        *(around(24, 47, 1.8, target), target, size, 44),
        **dict(sun=(0.9, 0.55, 0.75), sun_color=(0.92, 0.66, 0.42), sky_color=(0.38, 0.38, 0.46), extent=26),
        backdrop=sky(size, (116, 128, 168), (246, 206, 164), (250, 222, 200), 9),
    )
    return day, developed(evening, 3, 0.6, 5, (1.04, 1.0, 0.94))


# The mug.


def mug_print():
    """What is painted on the mug, all around it; the handle hides the seam."""
    rng = random.Random("mug")
    w, h = 1400, 500
    image = Image.new("RGB", (w, h), (240, 236, 224))
    draw = ImageDraw.Draw(image)
    for k in range(18):
        draw.rectangle([0, 50 + k * 22, w, 72 + k * 22], fill=(238 - k * 6, 196 - k * 4, 120 + k * 10))
    draw.ellipse([620, 94, 760, 234], fill=(226, 84, 60))
    for k in range(4):
        draw.rectangle([610, 160 + k * 18, 770, 164 + k * 20], fill=(232, 178, 140))
    for layer, color in enumerate([(116, 142, 168), (72, 106, 132), (44, 76, 88)]):
        points, x = [(0, 450)], 0
        while x <= w + 71:
            points.append((x, 250 + layer * 48 + rng.randint(-72, 24)))
            x += rng.choice([44, 55, 71])
        draw.polygon([*points, (w + 71, 450)], fill=color)
        for (x, y), (X, Y), (xx, yy) in zip(points[1:], points[2:], points[3:]):
            if layer < 2 and Y < min(y, yy) - 10:
                # Snow.
                left, right = (X + (x - X) * 0.4, Y + (y - Y) * 0.4), (X + (xx - X) * 0.4, Y + (yy - Y) * 0.4)
                draw.polygon([(X, Y), right, (X + 4, Y + 12), left], fill=(236, 240, 246))
    for _ in range(58):
        x, y, s = rng.randint(0, w), rng.randint(370, 440), rng.uniform(0.7, 1.4)
        for k in range(3):
            top = y - (52 - k * 16) * s
            half = (9 + k * 6) * s
            draw.polygon([(x, top), (x - half, top + 24 * s), (x + half, top + 24 * s)], fill=(26, 62 + k * 8, 54))
    for _ in range(150):
        # Flowers.
        x, y, r = rng.randint(0, w), rng.randint(392, 442), rng.uniform(3, 7)
        color = rng.choice([(246, 214, 92), (236, 110, 120), (250, 246, 236), (150, 190, 90)])
        draw.ellipse([x - r, y - r, x + r, y + r], fill=color)
    # A fox, a balloon, a hut, a kite and birds.
    fox = (214, 104, 44)
    draw.polygon([(520, 420), (560, 352), (640, 350), (668, 420)], fill=fox)
    draw.polygon([(640, 360), (628, 306), (662, 330), (696, 304), (692, 362), (664, 388)], fill=fox)
    draw.polygon([(520, 420), (466, 380), (452, 326), (500, 356), (552, 400)], fill=fox)
    draw.polygon([(452, 326), (500, 356), (476, 372)], fill=(250, 240, 226))
    draw.polygon([(652, 366), (676, 366), (664, 388)], fill=(250, 240, 226))
    for x in (650, 678):
        draw.ellipse([x - 5, 338, x + 5, 348], fill=(30, 24, 22))
    for k, color in enumerate([(190, 50, 70), (246, 232, 206), (40, 92, 130), (246, 232, 206), (190, 50, 70)]):
        draw.pieslice([850, 90, 990, 250], 180 + k * 36, 216 + k * 36, fill=color)
        draw.polygon([(850 + k * 28, 170), (878 + k * 28, 170), (922, 262)], fill=color)
    draw.rectangle([906, 270, 936, 296], fill=(120, 80, 48))
    draw.rectangle([300, 336, 400, 410], fill=(150, 70, 52))
    draw.polygon([(286, 340), (350, 286), (414, 340)], fill=(88, 52, 44))
    draw.rectangle([320, 356, 344, 410], fill=(60, 36, 30))
    draw.rectangle([358, 354, 386, 380], fill=(248, 220, 130))
    draw.polygon([(1090, 110), (1140, 150), (1110, 220), (1066, 160)], fill=(60, 140, 120))
    draw.line([(1110, 220), (1128, 262), (1104, 296), (1130, 330)], fill=(60, 60, 60), width=3)
    for x, y in [(420, 120), (470, 146), (440, 180), (810, 130), (1010, 240), (560, 130)]:
        draw.arc([x - 26, y - 10, x, y + 12], 200, 350, fill=(40, 44, 60), width=4)
        draw.arc([x, y - 10, x + 26, y + 12], 190, 340, fill=(40, 44, 60), width=4)
    draw.text((470, 76), "Good Morning!", fill=(110, 40, 56), font=ImageFont.load_default(46), anchor="lm")
    draw.rectangle([0, 448, w, h], fill=(240, 236, 224))
    for y in (40, 448):
        draw.rectangle([0, y, w, y + 12], fill=(40, 92, 130))
    return np.roll(np.asarray(image, float), -215, 1)


def mug(degrees):
    """A mug that is turned by `degrees`; at 0 its handle is behind it."""
    glaze = (240, 236, 224)
    outside = [(1.0, 2.35)] + [(1.0, 2.35 - 2.3 * k / 12) for k in range(1, 13)]
    surfaces = [
        revolution(outside, mug_print(), 0.35),
        revolution([(0.92, 2.36), (0.96, 2.4), (1.0, 2.35)], (40, 92, 130), 0.5),
        revolution([(0.92, 2.36), (0.9, 1.2), (0.88, 0.2)], glaze, 0.2),
        revolution([(0.91, 1.9), (0.001, 1.9)], (70, 42, 26), 0.4),
        revolution([(1.0, 0.05), (0.94, 0)], glaze),
    ]
    # The handle, a bent tube.
    rows = []
    for a in np.linspace(-math.pi / 2, math.pi / 2, 25):
        center = np.array([0, 1.2 + 0.72 * math.sin(a), -0.92 - 0.62 * math.cos(a)])
        outward = np.array([0, math.sin(a), -math.cos(a)])
        ring = np.linspace(0, 2 * math.pi, 17)
        rows.append([center + 0.15 * (math.cos(b) * outward + math.sin(b) * np.array([1, 0, 0])) for b in ring])
    surfaces.append(Surface(rows, (40, 92, 130), 0.4))
    return [surface.turned(degrees) for surface in surfaces]


def mug_views():
    target = (0, 1.15, 0)
    size = (420, 420)
    # Paper that bends up behind the mug.
    bend = [(3 * math.sin(a) + 4, 3 - 3 * math.cos(a)) for a in np.linspace(math.pi / 2, 0, 16)]
    paper = Surface([[(x, y, -z) for x in (-14, 14)] for z, y in [(7, 14), *bend, (-5, 0)]], (232, 230, 226))
    product = rendered(
        [*mug(62), paper],
        *(around(0, 7.5, 2.9, target), target, size, 25),
        **dict(sun=(-0.45, 1.2, 1.1), sun_color=(0.5, 0.49, 0.47), sky_color=(0.66, 0.66, 0.67), extent=5),
        backdrop=Image.new("RGB", size, (206, 206, 206)),
    )
    size = (600, 480)
    rng = random.Random(12)
    wood = np.asarray(wooden_table((1200, 900), rng), float)
    book, pages = grained((64, 64), (60, 84, 96), 5, 3), grained((8, 96), (226, 216, 196), 16, 4)
    things = [
        quad((-7, 0, -5), (7, 0, -5), (7, 0, 6), (-7, 0, 6), wood, 0.1),
        quad((-9, 7, -5), (9, 7, -5), (9, 0, -5), (-9, 0, -5), grained((300, 120), (178, 186, 170), 2, 5, 2)),
        ball((-1.9, 0.55, 0.5), 0.55, grained((64, 32), (188, 46, 40), 10, 8, 2), 0.5),
        revolution([(0.03, 0.35), (0.04, 0)], (80, 56, 40), steps=8).moved((-1.9, 1.0, 0.5)),
    ]
    cover = [
        surface.turned(24).moved((2.0, 0, -1.4)) for surface in box((-1, 0, -0.7), (1, 0.4, 0.7), pages, book, book)
    ]
    photo = rendered(
        [*mug(62 + 32), *things, *cover],
        *(around(0, 7.2, 3.4, target), (0.1, 1.1, 0), size, 40),
        **dict(sun=(0.9, 0.9, 0.55), sun_color=(0.84, 0.7, 0.5), sky_color=(0.5, 0.5, 0.52), extent=7),
        backdrop=Image.new("RGB", size, (120, 124, 116)),
    )
    return product, developed(photo, 5, 0.6, 5, (1.03, 1.0, 0.95))


def save(image, path):
    for quality in (88, 84, 80, 76, 70):
        image.save(path, quality=quality, optimize=True)
        if path.stat().st_size <= 40_000:
            return


def main():
    things, queries = HERE / "things", HERE / "queries"
    things.mkdir(exist_ok=True)
    (things / "things.csv").write_text(MANIFEST)
    for name, (image, photo) in [("town-hall", building_views()), ("mug", mug_views())]:
        save(image, things / f"{name}.jpg")
        save(photo, queries / f"photo-of-a-{name}.jpg")


if __name__ == "__main__":
    main()
