"""Two views of one photograph that stand in for two photographs of one thing: perspective, distance, light, sensor."""

import math

import torch
from torch.nn import functional as F

from .capture import Chances
from .rotation import rotated
from .sampling import chance, gaussian_blur, per_image, uniform
from .warp import UNIT, coverage, extent_of, object_grid, sampled


def view_quads(n, strength, device):
    """Corners of the photograph in the frame, which it mostly fills or exceeds."""
    zoom = torch.exp(uniform(n, -0.2 * strength, 0.75 * strength, device)).view(-1, 1, 1)
    stretch = torch.exp(torch.randn(n, device=device) * 0.15 * strength)
    shape = torch.stack([stretch, 1 / stretch], -1).unsqueeze(1)
    jitter = (torch.rand(n, 4, 2, device=device) - 0.5) * 0.5 * strength
    quads = (torch.tensor(UNIT, device=device) + jitter) * shape
    quads = rotated(quads, torch.randn(n, device=device) * math.radians(9) * strength)
    shift = (torch.rand(n, 1, 2, device=device) * 2 - 1) * ((zoom - 1).abs() * 0.8 + 0.08)
    return quads * zoom + shift


def cut_out(grid, share):
    """(n, 1, size, size): for a share of the photographs a soft ellipse around the middle, where the thing is."""
    n, device = len(grid), grid.device
    radius = uniform(n, 0.5, 0.95, device).view(-1, 1, 1, 1) * torch.exp(0.15 * torch.randn(n, 1, 1, 2, device=device))
    center = (torch.rand(n, 1, 1, 2, device=device) - 0.5) * 0.3
    inside = ((1 - ((grid - center) / radius).square().sum(-1)) * 4 + 0.5).clamp(0, 1).unsqueeze(1)
    return torch.where(per_image(chance(n, share, device)), inside, torch.ones_like(inside))


@torch.no_grad()
def views(simulate, textures, size, strength, difficulty, backgrounds=None, cut=0.0):
    """(n, 3, size, size) in [0, 1]: one view of each texture. What it does not fill shows another, blurred; a share of
    `cut` shows only the middle, before one of the backgrounds."""
    n, device = len(textures), textures.device
    quads = view_quads(n, strength, device)
    grid, visible = object_grid(quads, size)
    extent = extent_of(quads, size)
    mask = coverage(grid, visible, extent, torch.zeros(n, device=device))
    ground = F.interpolate(textures.roll(1, 0), size=(size, size), mode="bilinear", align_corners=False)
    ground = gaussian_blur(ground, 0.1, "bilinear")
    if cut:
        middle = cut_out(grid, cut)
        other = F.interpolate(backgrounds, size=(size, size), mode="bilinear", align_corners=False)
        ground = torch.where((middle < 1).flatten(1).any(1).view(-1, 1, 1, 1), other, ground)
        mask = mask * middle
    frame = ground * (1 - mask) + sampled(textures, grid, extent) * mask
    everywhere = chance(n, 1.0, device)
    frame = simulate.light(frame, everywhere, 0.6 * difficulty, Chances.none())
    return simulate.degrade(frame, everywhere, 0.5 * difficulty, Chances.none())
