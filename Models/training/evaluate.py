#!/usr/bin/env python3
"""Evaluates model files in PyTorch: recall@1, @20 and @100 of the prints alone, by group, without the engine.

    python evaluate.py a.safetensors b.safetensors --catalog validation-real/catalog --catalog validation/catalog \\
        --queries validation-real --rotations 4

A folder of queries holds `queries.jsonl`: one query per line with `query` (a path), `target` (a path below a catalog
folder, without its extension) and, optionally, `targets` and `group`. The crops are those of the engine: the whole
image, its center 72 %, and two rectified crops of the detected object, the first of them 10 % wider. With `--rotations
4` each query is also searched turned by right angles, and the nearest distance counts. `--halves` also reports either
half of the objects: choose on one, report on the other.
"""

import argparse
import functools
import hashlib
import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from lookalike_training.export import as_input, run
from lookalike_training.images import files_in, square
from lookalike_training.safetensors import read_safetensors
from lookalike_training.warp import UNIT, quad_homography

MARGIN = 1.1
CENTER = 0.72
RANKS = (1, 20, 100)


class Model:
    """A model file, run in float32."""

    def __init__(self, path):
        metadata, arrays = read_safetensors(path)
        self.graph = json.loads(metadata["lookalike.graph"])
        self.tensors = {name: torch.tensor(array) for name, array in arrays.items()}
        self.size = self.graph["input"]["width"]

    @torch.no_grad()
    def __call__(self, images, batch=32):
        """(n, 3, s, s) in [0, 1] to (n, dimension) prints and (n, 4, 2) corners in [-1, 1]."""
        parts = [run(self.graph, self.tensors, as_input(self.graph, part)) for part in images.split(batch)]
        prints, corners = (torch.cat(values) for values in zip(*parts, strict=True))
        return prints, corners.view(-1, 4, 2) / self.size * 2 - 1


def pixels(path, longest=1024):
    """(1, 3, h, w) in [0, 1]."""
    with Image.open(path) as image:
        image = image.convert("RGB")
        image.thumbnail((longest, longest))
        return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).unsqueeze(0).float() / 255


def resized(image, size):
    return F.interpolate(image, size=(size, size), mode="bilinear", antialias=True, align_corners=False)


def center(image):
    height, width = image.shape[2:]
    dy, dx = round(height * (1 - CENTER) / 2), round(width * (1 - CENTER) / 2)
    return image[:, :, dy : height - dy, dx : width - dx]


def usable(quad):
    """As the engine's `Rectifier.canRectify`: convex, clockwise, not tiny, not far outside."""
    edges = quad.roll(-1, 0) - quad
    turns = edges[:, 0] * edges.roll(-1, 0)[:, 1] - edges[:, 1] * edges.roll(-1, 0)[:, 0]
    inside = (quad.amin(0) < 1).all() and (quad.amax(0) > -1).all() and quad.abs().amax() < 3
    return bool((turns > 0).all() and inside and turns.abs().sum() / 4 > 4e-3)


def scaled(quad, factor):
    middle = quad.mean(0, keepdim=True)
    return middle + (quad - middle) * factor


def rectified(image, quad, size):
    """The part of an image inside a quad, rectified, from a suitable mip level."""
    line = (torch.arange(size, dtype=torch.float32) + 0.5) * 2 / size - 1
    y, x = torch.meshgrid(line, line, indexing="ij")
    to_frame = torch.linalg.inv(quad_homography(quad.unsqueeze(0)))[0]
    points = torch.stack([x, y, torch.ones_like(x)], -1) @ to_frame.T
    half = torch.tensor([image.shape[3] / 2, image.shape[2] / 2])
    extent = ((quad - quad.roll(1, 0)) * half).norm(dim=1).mean()
    while extent > 1.5 * size and min(image.shape[2:]) > 2:
        image, extent = F.avg_pool2d(image, 2), extent / 2
    grid = (points[..., :2] / points[..., 2:]).unsqueeze(0)
    return F.grid_sample(image, grid, padding_mode="border", align_corners=False)


def through(outer, inner):
    """The corners of a quad that lies in the rectified view of another, in the frame of the latter."""
    points = torch.cat([inner, torch.ones(4, 1)], 1) @ torch.linalg.inv(quad_homography(outer.unsqueeze(0)))[0].T
    return points[:, :2] / points[:, 2:]


def query_prints(model, images, wholes, centers):
    """(queries, 4, dimension): the prints of the four crops, of which the first two are given at the model's size. An
    impossible crop repeats the one before."""
    wholes, found = model(wholes)
    centers, _ = model(centers)
    views, quads = [], []
    for image, quad in zip(images, found, strict=True):
        quad = scaled(quad, MARGIN)
        quad = quad if usable(quad) else torch.tensor(UNIT)
        quads.append(quad)
        views.append(rectified(image, quad, model.size))
    first, inner = model(torch.cat(views))
    views = []
    for image, outer, quad in zip(images, quads, inner, strict=True):
        closer = through(outer, quad)
        views.append(rectified(image, closer if usable(closer) else outer, model.size))
    second, _ = model(torch.cat(views))
    return torch.stack([wholes, centers, first, second], 1)


@functools.cache
def catalog_of(folders, size):
    """The ids of the images in these folders, and the images at a model's size."""
    names, images = [], []
    for folder in folders:
        for path in files_in(folder):
            names.append(str(path.relative_to(folder).with_suffix("")))
            images.append(torch.from_numpy(square(path, size)[0].copy()))
    return names, torch.stack(images).permute(0, 3, 1, 2).float() / 255


def half_of(row):
    return int(hashlib.md5(str(row["target"]).encode()).hexdigest(), 16) % 2


def ranks_of(distances, rows, names):
    """The rank of the first correct image for each query, from 0."""
    index = {name: number for number, name in enumerate(names)}
    ranks = []
    for row, own in zip(rows, distances, strict=True):
        right = [index[name] for name in row.get("targets") or [row["target"]]]
        ranks.append(int((own < own[right].min()).sum()))
    return np.array(ranks)


def report(label, ranks, rows, halves):
    groups = np.array([row.get("group") or row.get("kind", "all") for row in rows])
    half = np.array([half_of(row) for row in rows])
    print_line(label, ranks, groups)
    for part in (0, 1) if halves else ():
        print_line(f"  half {part}", ranks[half == part], groups[half == part])


def print_line(label, ranks, groups):
    cells = []
    for group in [*dict.fromkeys(groups), "all"]:
        own = ranks[groups == group] if group != "all" else ranks
        recalls = " ".join(f"{(own < rank).mean():.3f}" for rank in RANKS)
        cells.append(f"{group} ({len(own)}) {recalls}")
    print(f"{label:34s} " + " | ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--catalog", action="append", type=Path, required=True, help="folder of catalog images")
    parser.add_argument("--queries", type=Path, required=True, help="folder with queries.jsonl")
    parser.add_argument("--rotations", type=int, choices=(1, 4), default=1)
    parser.add_argument("--halves", action="store_true", help="also report either half of the objects")
    options = parser.parse_args()
    rows = [json.loads(line) for line in (options.queries / "queries.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["target"]]
    images = [pixels(options.queries / row["query"]) for row in rows]
    for path in options.models:
        model = Model(path)
        names, flats = catalog_of(tuple(options.catalog), model.size)
        catalog, _ = model(flats)
        wholes = torch.cat([resized(image, model.size) for image in images])
        centers = torch.cat([resized(center(image), model.size) for image in images])
        distances = []
        for turns in range(options.rotations):
            prints = []
            for start in range(0, len(images), 32):
                part = slice(start, start + 32)
                turned = [torch.rot90(image, turns, (2, 3)) for image in images[part]]
                squares = (torch.rot90(crops[part], turns, (2, 3)) for crops in (wholes, centers))
                prints.append(query_prints(model, turned, *squares))
            distances.append((2 - 2 * torch.cat(prints) @ catalog.T).clamp(min=0).sqrt().numpy())
        upright = distances[0]
        report(f"{path.stem}, whole", ranks_of(upright[:, 0], rows, names), rows, options.halves)
        report(f"{path.stem}, second rectified", ranks_of(upright[:, 3], rows, names), rows, options.halves)
        report(f"{path.stem}, all crops", ranks_of(upright.min(1), rows, names), rows, options.halves)
        if options.rotations == 4:
            turned = np.stack([part.min(1) for part in distances]).min(0)
            report(f"{path.stem}, all crops, 4 rotations", ranks_of(turned, rows, names), rows, options.halves)


if __name__ == "__main__":
    main()
