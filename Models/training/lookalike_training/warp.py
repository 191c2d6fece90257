"""Flat textures seen through a homography."""

import torch
from torch.nn import functional as F

from .sampling import frame_grid

UNIT = [[-1.0, -1], [1, -1], [1, 1], [-1, 1]]


def quad_homography(quads):
    """(n, 4, 2) corners of the object in the frame, clockwise from the object's own top left, both in [-1, 1]:
    the (n, 3, 3) maps from the frame to the object's own [-1, 1] square."""
    n = len(quads)
    unit = torch.tensor(UNIT, device=quads.device).expand(n, 4, 2)
    x, y = quads[..., 0], quads[..., 1]
    u, v = unit[..., 0], unit[..., 1]
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    rows_u = torch.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1)
    rows_v = torch.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1)
    system = torch.cat([rows_u, rows_v], 1)
    right = torch.cat([u, v], 1).unsqueeze(-1)
    solution = torch.linalg.solve(system, right).squeeze(-1)
    return torch.cat([solution, torch.ones(n, 1, device=quads.device)], 1).view(n, 3, 3)


def object_grid(quads, size):
    """(n, size, size, 2): of each pixel of the frame, where it lies in the object's own [-1, 1] square; and
    (n, 1, size, size): whether it is in front of the camera."""
    x, y = frame_grid(size, quads.device)
    rows = quad_homography(quads).unbind(1)
    u, v, w = (a * x + b * y + c for a, b, c in (row.view(-1, 3, 1, 1).unbind(1) for row in rows))
    visible = (w > 0).unsqueeze(1).float()
    w = torch.where(w.abs() < 1e-4, torch.full_like(w, 1e-4), w)
    return torch.stack([u / w, v / w], -1), visible


def extent_of(quads, size):
    """(n,): the mean side of each object in pixels."""
    edges = (quads - quads.roll(1, 1)).norm(dim=-1)
    return edges.mean(1) / 2 * size


def sampled(textures, grid, extent, mips=4):
    """Textures on a grid, each taken from the mip level that fits its extent in pixels."""
    level = torch.log2((textures.shape[-1] / extent.clamp(min=1)).clamp(min=1)).round().clamp(max=mips - 1).long()
    size = grid.shape[1]
    layer = torch.empty(len(textures), textures.shape[1], size, size, device=textures.device)
    for mip in range(mips):
        rows = (level == mip).nonzero().squeeze(1)
        if len(rows):
            source = textures[rows]
            source = F.avg_pool2d(source, 2**mip) if mip else source
            layer[rows] = F.grid_sample(source, grid[rows], padding_mode="border", align_corners=False)
    return layer


def coverage(grid, visible, extent, rounding):
    """(n, 1, size, size): how much of each pixel the object covers, its corners rounded by a share of its side."""
    radius = rounding.clamp(min=0.001).view(-1, 1, 1)
    beyond = grid.abs() - 1 + radius.unsqueeze(-1)
    distance = beyond.clamp(min=0).square().sum(-1).sqrt() + beyond.amax(-1).clamp(max=0) - radius
    sharpness = (extent / 2).view(-1, 1, 1)
    return (0.5 - distance * sharpness).clamp(0, 1).unsqueeze(1) * visible


def placed(textures, quads, size, rounding=None):
    """The warped textures and their masks."""
    grid, visible = object_grid(quads, size)
    extent = extent_of(quads, size)
    rounding = torch.zeros(len(quads), device=quads.device) if rounding is None else rounding
    return sampled(textures, grid, extent), coverage(grid, visible, extent, rounding)


def boxes_as_quads(boxes):
    """(n, 4) boxes, center and half extents in x and y, as (n, 4, 2) corners."""
    unit = torch.tensor(UNIT, device=boxes.device)
    return boxes[:, None, :2] + unit * boxes[:, None, 2:]
