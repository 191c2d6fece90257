"""Batches of textures: drawn from several sets, augmented, with hard negatives and synthetic near-duplicates."""

import numpy as np
import torch
from torch.nn import functional as F

from .near_duplicates import near_duplicates
from .network import mixed_precision, normalized

# Hard negatives: images that are drawn together, the number of similar ones they are drawn from, and the largest set
# for which similar images are searched.
DRAWN_TOGETHER = 4
SIMILAR = 12
LARGEST_SEARCHED = 20_000


class Batches:
    """Draws textures from the sets in proportion to their weights."""

    def __init__(self, sets, weights, seed):
        self.sets = sets
        self.neighbors = [None] * len(sets)
        self.weights = np.array(weights, float) / sum(weights)
        self.random = np.random.default_rng(seed)
        self.offsets = np.cumsum([0] + [len(s) for s in sets])

    def find_hard_negatives(self, network, size, device, log):
        """From now on, images come with some that `network` finds similar."""
        for index, source in enumerate(self.sets):
            if SIMILAR < len(source) <= LARGEST_SEARCHED:
                self.neighbors[index] = nearest_neighbors(network, source, size, device)
                log(f"set {index}: hard negatives of {len(source)} images found")

    def rows(self, index, count):
        """Row numbers in a set. With hard negatives, a few of each image's neighbors are drawn with it."""
        total, similar = len(self.sets[index]), self.neighbors[index]
        if similar is None:
            return self.random.choice(total, count, replace=count > total)
        seeds = self.random.choice(total, -(-count // DRAWN_TOGETHER), replace=False)
        others = self.random.permuted(similar[seeds], axis=1)[:, : DRAWN_TOGETHER - 1]
        rows = np.unique(np.concatenate([seeds, others.reshape(-1)]))
        rows = self.random.permutation(rows)[:count]
        return np.concatenate([rows, self.random.choice(total, count - len(rows))])

    def draw(self, n, device):
        """(n, 3, side, side) textures in [0, 1], their aspects (width / height), and their groups."""
        counts = self.random.multinomial(n, self.weights)
        pixels, aspects, groups = [], [], []
        for index, count in enumerate(counts):
            source = self.sets[index]
            rows = np.sort(self.rows(index, count))
            pixels.append(torch.from_numpy(source.pixels[rows]))
            aspects.append(torch.from_numpy(source.aspects[rows]))
            groups.append(torch.from_numpy(source.groups[rows] + self.offsets[index]))
        order = torch.from_numpy(self.random.permutation(n))
        side = max(p.shape[1] for p in pixels)
        scaled = []
        for part in pixels:
            part = part.to(device).permute(0, 3, 1, 2).float() / 255
            if part.shape[-1] != side:
                part = F.interpolate(part, size=(side, side), mode="bicubic", align_corners=False).clamp(0, 1)
            scaled.append(part)
        return torch.cat(scaled)[order], torch.cat(aspects).to(device)[order], torch.cat(groups).to(device)[order]


@torch.no_grad()
def nearest_neighbors(network, source, size, device, count=SIMILAR):
    """(images, count) row numbers: for each image of a set, those with the nearest prints, near-duplicates left out."""
    prints = []
    for start in range(0, len(source), 128):
        part = torch.from_numpy(source.pixels[start : start + 128].copy()).to(device).permute(0, 3, 1, 2).float() / 255
        with mixed_precision(device):
            inputs = normalized(resized(part, size)).to(memory_format=torch.channels_last)
            prints.append(network(inputs)[0].float())
    prints, groups = torch.cat(prints), torch.from_numpy(source.groups).to(device)
    found = []
    for start in range(0, len(prints), 512):
        cosine = prints[start : start + 512] @ prints.T
        cosine[groups[start : start + 512, None] == groups[None]] = -2
        found.append(cosine.topk(count, 1).indices.cpu().numpy())
    return np.concatenate(found)


def resized(images, size):
    return F.interpolate(images, size=(size, size), mode="bilinear", antialias=True, align_corners=False)


def instances(textures, aspects, groups):
    """Mirrored and cropped copies count as images of their own: more instances from the same files."""
    n, device = len(textures), textures.device
    mirrored = torch.rand(n, device=device) < 0.3
    cropped = torch.rand(n, device=device) < 0.35
    size = torch.where(
        cropped.view(-1, 1), 0.5 + 0.5 * torch.rand(n, 2, device=device), torch.ones(n, 2, device=device)
    )
    theta = torch.zeros(n, 2, 3, device=device)
    theta[:, 0, 0] = size[:, 0] * torch.where(mirrored, -1.0, 1.0)
    theta[:, 1, 1] = size[:, 1]
    theta[:, :, 2] = (torch.rand(n, 2, device=device) * 2 - 1) * (1 - size)
    grid = F.affine_grid(theta, textures.shape, align_corners=False)
    textures = F.grid_sample(textures, grid, padding_mode="border", align_corners=False)
    return textures, (aspects * size[:, 0] / size[:, 1]).clamp(0.3, 3.3), groups


def with_near_duplicates(textures, aspects, groups, count, first_group):
    """The last `count` images replaced by near-duplicates of the first, each in a group of its own from `first_group`
    down."""
    if count == 0:
        return textures, aspects, groups
    altered = near_duplicates(textures[:count], textures[count : 2 * count])
    own = first_group - torch.arange(count, device=groups.device)
    return (
        torch.cat([textures[:-count], altered]),
        torch.cat([aspects[:-count], aspects[:count]]),
        torch.cat([groups[:-count], own]),
    )


def flat(textures, size):
    """What indexing sees: the image itself, now and then a little darker or softer than the original."""
    images = resized(textures, size)
    gain = torch.exp(torch.randn(len(images), 1, 1, 1, device=images.device) * 0.04)
    return (images * gain).clamp(0, 1)
