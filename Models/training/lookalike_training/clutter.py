"""Other things of the same kind around the object: piles, tables full of covers, shelves and grids."""

import torch

from .rotation import rotated
from .sampling import chance, per_image, uniform
from .warp import coverage, extent_of, object_grid, sampled


def scattered(ground, others, quads, wanted, most=3):
    """Up to `most` covers at any place and angle, about as large as the object."""
    n, size, device = len(ground), ground.shape[-1], ground.device
    ground = ground.clone()
    for _ in range(most):
        rows = (wanted & chance(n, 0.75, device)).nonzero().squeeze(1)
        if not len(rows):
            continue
        covers = others[torch.randint(n, (len(rows),), device=device)]
        ground = laid(ground, rows, covers, thrown(quads[rows], size))
    return ground


def thrown(quads, size):
    """Quads like the given ones, elsewhere and at any angle; half of them lie under the object, as in a pile."""
    n, device = len(quads), quads.device
    middle = quads.mean(1, keepdim=True)
    around = rotated((quads - middle) * uniform(n, 0.7, 1.4, device).view(-1, 1, 1), uniform(n, -3.15, 3.15, device))
    near = middle + torch.randn(n, 1, 2, device=device) * 0.25
    far = torch.rand(n, 1, 2, device=device) * 2.4 - 1.2
    return around + torch.where(chance(n, 0.5, device).view(-1, 1, 1), near, far)


def in_rows(ground, others, quads, wanted):
    """Covers in rows and columns in the plane of the object: a shelf, a wall of records, a grid on a screen. Some
    places are empty, and some shelves have one row."""
    n, size, device = len(ground), ground.shape[-1], ground.device
    rows = wanted.nonzero().squeeze(1)
    if not len(rows):
        return ground
    count = len(rows)
    grid, visible = object_grid(quads[rows], size)
    pitch = torch.stack([uniform(count, 2.04, 2.5, device), uniform(count, 2.04, 2.7, device)], -1).view(-1, 1, 1, 2)
    cell = (grid / pitch).round()
    own = grid - cell * pitch
    number = (cell[..., 0] * 7 + cell[..., 1] * 13 + torch.randint(97, (count, 1, 1), device=device)).remainder(20)
    drawn = (own.abs().amax(-1) < 1) & (cell != 0).any(-1) & (number < 16)
    drawn &= (cell[..., 1] == 0) | chance(count, 0.75, device).view(-1, 1, 1)
    # Four other covers per image, side by side in one texture: each cell shows one of them.
    atlas = others[torch.randint(n, (count, 4), device=device)]
    atlas = torch.cat([torch.cat([atlas[:, 0], atlas[:, 1]], 3), torch.cat([atlas[:, 2], atlas[:, 3]], 3)], 2)
    which = number.remainder(4)
    corner = torch.stack([which.remainder(2), (which / 2).floor()], -1) - 0.5
    covers = sampled(atlas, own.clamp(-0.98, 0.98) / 2 + corner, 2 * extent_of(quads[rows], size))
    mask = drawn.unsqueeze(1) * visible
    ground = ground.clone()
    ground[rows] = ground[rows] * (1 - mask) + covers * per_image(uniform(count, 0.5, 1, device)) * mask
    return ground


def laid(ground, rows, covers, quads):
    """Draws covers onto the images `rows` of the ground, with a dim edge, as thick things have."""
    size = ground.shape[-1]
    grid, visible = object_grid(quads, size)
    extent = extent_of(quads, size)
    none = torch.zeros(len(rows), device=ground.device)
    shade = per_image(uniform(len(rows), 0.5, 1.05, ground.device))
    mask = coverage(grid, visible, extent, none)
    rim = coverage(grid * 0.96, visible, extent, none)
    part = ground[rows] * (1 - 0.6 * rim)
    ground[rows] = part * (1 - mask) + (sampled(covers, grid, extent) * shade).clamp(0, 1) * mask
    return ground


def overlapping(frame, others, quads, wanted):
    """A cover that lies over an edge of the object and hides up to a quarter of it."""
    n, device = len(frame), frame.device
    rows = wanted.nonzero().squeeze(1)
    if not len(rows):
        return frame
    own = quads[rows]
    middle = own.mean(1, keepdim=True)
    side = torch.randint(4, (len(rows),), device=device).view(-1, 1, 1).expand(-1, 1, 2)
    edge = (own.gather(1, side) + own.roll(1, 1).gather(1, side)) / 2 - middle
    away = edge * uniform(len(rows), 1.7, 2.1, device).view(-1, 1, 1)
    turned = rotated(own - middle, uniform(len(rows), -0.4, 0.4, device)) + middle + away
    return laid(frame.clone(), rows, others[torch.randint(n, (len(rows),), device=device)], turned)
