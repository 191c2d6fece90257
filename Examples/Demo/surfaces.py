"""Renders surfaces with textures, light and shadows. Needs Pillow and NumPy.

A surface is a grid of quadrilaterals. A depth buffer finds what is seen, and another one, of the light, what is in the
shadow.
"""

import math

import numpy as np
from PIL import Image

# Rendered larger, and reduced: smooth edges.
SUPERSAMPLING = 3


def unit(vector):
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


class Surface:
    """A grid of points with a texture: the first row of the grid is the top of the texture."""

    def __init__(self, points, texture, gloss=0.0):
        self.points = np.asarray(points, float)
        self.texture = np.asarray(texture, float).reshape(1, 1, 3) if isinstance(texture, tuple) else texture
        self.gloss = gloss
        down, right = np.gradient(self.points, axis=0), np.gradient(self.points, axis=1)
        normals = np.cross(down, right)
        self.normals = normals / np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-9)

    def turned(self, degrees):
        """The surface turned around the vertical axis."""
        a = math.radians(degrees)
        matrix = np.array([[math.cos(a), 0, math.sin(a)], [0, 1, 0], [-math.sin(a), 0, math.cos(a)]])
        return Surface(self.points @ matrix.T, self.texture, self.gloss)

    def moved(self, by):
        return Surface(self.points + np.array(by, float), self.texture, self.gloss)

    def triangles(self):
        """Points, normals and texture coordinates of the corners of each triangle."""
        rows, columns = self.points.shape[:2]
        v, u = np.meshgrid(np.linspace(0, 1, rows), np.linspace(0, 1, columns), indexing="ij")
        corners = np.concatenate([self.points, self.normals, np.dstack([u, v])], 2)
        a, b, c, d = corners[:-1, :-1], corners[:-1, 1:], corners[1:, 1:], corners[1:, :-1]
        return np.concatenate([np.stack(t, 2).reshape(-1, 3, 8) for t in [(a, b, c), (a, c, d)]])


def quad(top_left, top_right, bottom_right, bottom_left, texture, gloss=0.0):
    return Surface([[top_left, top_right], [bottom_left, bottom_right]], texture, gloss)


def box(low, high, front, side=None, top=None):
    """The faces of a box that are seen from above; z goes towards the viewer."""
    (x, y, z), (X, Y, Z) = low, high
    side = front if side is None else side
    return [
        quad((x, Y, Z), (X, Y, Z), (X, y, Z), (x, y, Z), front),
        quad((X, Y, Z), (X, Y, z), (X, y, z), (X, y, Z), side),
        quad((x, Y, z), (x, Y, Z), (x, y, Z), (x, y, z), side),
        quad((X, Y, z), (x, Y, z), (x, y, z), (X, y, z), front),
        quad((x, Y, z), (X, Y, z), (X, Y, Z), (x, Y, Z), side if top is None else top),
    ]


def revolution(profile, texture, gloss=0.0, steps=72):
    """A profile of (radius, height), from the top, around the vertical axis; the texture's middle is in front."""
    angles = np.linspace(-math.pi, math.pi, steps + 1)
    return Surface([[(r * math.sin(a), y, r * math.cos(a)) for a in angles] for r, y in profile], texture, gloss)


def ball(center, radius, texture, gloss=0.0, squeeze=1.0):
    profile = [(radius * math.sin(a), squeeze * radius * math.cos(a)) for a in np.linspace(0.001, math.pi - 0.001, 13)]
    return revolution(profile, texture, gloss, steps=24).moved(center)


class View:
    """The nearest surface at each pixel of a camera, or of the sun, with its normal, texture coordinates and place."""

    def __init__(self, surfaces, eye, target, size, width=None, field=None):
        """`width` is that of a parallel projection; `field` the angle of a perspective one."""
        self.size, self.width, self.eye = size, width, np.array(eye, float)
        forward = unit(np.array(target, float) - self.eye)
        right = unit(np.cross(forward, [0, 1, 0]))
        self.axes = np.stack([right, np.cross(right, forward), forward])
        self.scale = size[0] / width if width else size[0] / (2 * math.tan(math.radians(field) / 2))
        self.depth = np.full((size[1], size[0]), np.inf)
        self.index = np.full((size[1], size[0]), -1)
        self.values = np.zeros((size[1], size[0], 8))
        for index, surface in enumerate(surfaces):
            for triangle in surface.triangles():
                self.draw(triangle, index)

    def place(self, points):
        """Pixel coordinates and depths of points."""
        x, y, z = np.moveaxis((points - self.eye) @ self.axes.T, -1, 0)
        scale = self.scale if self.width else self.scale / np.maximum(z, 1e-6)
        return self.size[0] / 2 + x * scale, self.size[1] / 2 - y * scale, z

    def draw(self, triangle, index):
        x, y, z = self.place(triangle[:, :3])
        if z.min() < 0.1:
            return
        left, right = max(0, math.floor(x.min())), min(self.size[0], math.ceil(x.max()) + 1)
        top, bottom = max(0, math.floor(y.min())), min(self.size[1], math.ceil(y.max()) + 1)
        area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0])
        if left >= right or top >= bottom or abs(area) < 1e-9:
            return
        px, py = np.meshgrid(np.arange(left, right) + 0.5, np.arange(top, bottom) + 0.5)
        b = ((px - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (py - y[0])) / area
        c = ((x[1] - x[0]) * (py - y[0]) - (px - x[0]) * (y[1] - y[0])) / area
        weights = np.stack([1 - b - c, b, c], 2)
        if not self.width:
            weights = weights / z
        inside = (weights >= -1e-9).all(2)
        total = np.where(inside, weights.sum(2), 1)
        weights = weights / total[..., None]
        depth = weights @ z
        window = (slice(top, bottom), slice(left, right))
        nearer = inside & (depth < self.depth[window])
        self.depth[window][nearer] = depth[nearer]
        self.index[window][nearer] = index
        self.values[window][nearer] = weights[nearer] @ triangle


def sampled(texture, u, v):
    """Bilinear samples of a texture."""
    h, w = texture.shape[:2]
    x, y = np.clip(u * w - 0.5, 0, w - 1), np.clip(v * h - 0.5, 0, h - 1)
    x0, y0 = x.astype(int), y.astype(int)
    x1, y1 = np.minimum(x0 + 1, w - 1), np.minimum(y0 + 1, h - 1)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]
    above = texture[y0, x0] * (1 - fx) + texture[y0, x1] * fx
    return above * (1 - fy) + (texture[y1, x0] * (1 - fx) + texture[y1, x1] * fx) * fy


def rendered(surfaces, eye, target, size, field, sun, sun_color, sky_color, extent, backdrop):
    """The surfaces in the light of a sun and a sky, before a backdrop.

    `sun` is the direction towards the sun; its shadows are those within `extent` of the target.
    """
    large = (size[0] * SUPERSAMPLING, size[1] * SUPERSAMPLING)
    view = View(surfaces, eye, target, large, field=field)
    sun = unit(np.array(sun, float))
    light = View(surfaces, np.array(target) + sun * 4 * extent, target, (1400, 1400), width=2 * extent)
    image = np.asarray(backdrop.resize(large, Image.BICUBIC), float).copy()
    seen = view.index >= 0
    index, values = view.index[seen], view.values[seen]
    points, normals = values[:, :3], unit(values[:, 3:6])
    towards = unit(np.array(eye, float) - points)
    # Both sides of a surface are seen.
    normals = np.where((normals * towards).sum(1, keepdims=True) < 0, -normals, normals)
    color, gloss = np.zeros((len(index), 3)), np.zeros(len(index))
    for number, surface in enumerate(surfaces):
        mine = index == number
        color[mine] = sampled(surface.texture, values[mine, 6], values[mine, 7])
        gloss[mine] = surface.gloss
    # Soft shadows: the mean of some points around that of the pixel.
    x, y, depth = light.place(points + normals * extent * 0.004)
    lit = np.zeros(len(index))
    offsets = [(i, j) for i in (-2, -0.7, 0.7, 2) for j in (-2, -0.7, 0.7, 2)]
    for i, j in offsets:
        column, row = np.clip(x + i, 0, 1399).astype(int), np.clip(y + j, 0, 1399).astype(int)
        lit += (depth < light.depth[row, column] + extent * 0.006) / len(offsets)
    direct = np.clip(normals @ sun, 0, None) * lit
    sky = 0.6 + 0.4 * normals[:, 1]
    half = unit(sun + towards)
    shine = gloss * lit * np.clip((normals * half).sum(1), 0, None) ** 60
    shaded = color * (direct[:, None] * np.array(sun_color) + sky[:, None] * np.array(sky_color)) + 255 * shine[:, None]
    image[seen] = shaded
    small = image.reshape(size[1], SUPERSAMPLING, size[0], SUPERSAMPLING, 3).mean((1, 3))
    return Image.fromarray(np.uint8(np.clip(small, 0, 255)))
