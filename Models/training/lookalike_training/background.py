"""The background set for score normalization: prints that measure how generic a query is."""

import numpy as np
import torch

from .export import as_input, run
from .images import files_in, resembles, signature, signatures_of, square
from .interface import Interface

# Score normalization, as in Pizzi et al., "A Self-Supervised Descriptor for Image Copy Detection" (CVPR 2022): how many
# of the nearest background prints are averaged, after how many that are skipped, and the weight of their mean distance
# in the match threshold. In a search entities of the catalog count like the background; the nearest may be what the
# query shows. “lookalike model calibrate” fits the weight.
NEAREST, SKIPPED = 6, 2
WEIGHT = 0.75


def background_prints(graph, tensors, entries, exclude, interfaces=0, known=None):
    """(description, (n, dimension) float16) of `FOLDER=COUNT` entries: images of each folder that resemble nothing in
    the folders of `exclude`; of so many drawn interfaces; and the known prints, if any, before these."""
    size = graph["input"]["width"]
    excluded = signatures_of(exclude)
    images = []
    for entry in entries:
        folder, _, count = entry.rpartition("=")
        if not count.isdigit() or not folder:
            raise SystemExit(f"{entry}: expected FOLDER=COUNT")
        images += some_of(folder, int(count), size, excluded)
    if interfaces:
        torch.manual_seed(0)
        images += list((Interface().alone(interfaces, size) * 255).byte().permute(0, 2, 3, 1).numpy())
    if len(images) <= SKIPPED + NEAREST:
        raise SystemExit(f"{len(images)} background images are too few, {SKIPPED + NEAREST} are looked at")
    prints = []
    with torch.no_grad():
        for part in torch.from_numpy(np.stack(images)).split(64):
            prints.append(run(graph, tensors, as_input(graph, part.permute(0, 3, 1, 2).float() / 255))[0])
    prints = torch.cat(([] if known is None else [known.float()]) + prints)
    between = torch.cdist(prints, prints).fill_diagonal_(torch.inf)
    typical = between.topk(SKIPPED + NEAREST, 1, largest=False).values[:, SKIPPED:].mean().item()
    return {
        "tensor": "background",
        "nearest": NEAREST,
        "skipped": SKIPPED,
        "weight": WEIGHT,
        "typical_distance": round(typical, 4),
    }, prints.half()


def some_of(folder, count, size, excluded):
    """`count` images of a folder, picked at random but the same each time, none that resembles one of `excluded`."""
    files = files_in(folder)
    chosen = []
    for index in np.random.default_rng(0).permutation(len(files)):
        if len(chosen) == count:
            break
        pixels, _ = square(files[index], size)
        if not resembles(signature(pixels), excluded):
            chosen.append(pixels)
    if len(chosen) < count:
        raise SystemExit(f"{folder}: {len(chosen)} images can be used, and {count} are asked for")
    return chosen
