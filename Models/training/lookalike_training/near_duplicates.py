"""Synthetic near-duplicates: changes between editions of a cover with the same picture."""

import torch
from torch.nn import functional as F

from .sampling import chance, frame_grid, per_image, uniform


def near_duplicates(textures, others):
    """Altered copies that count as images of their own. Each has a sticker, a frame or a band of another, often several
    of these, and some have other inks. textures, others: (n, 3, t, t) in [0, 1].

    Unlike the changes that `CaptureSimulator` makes, these are printed. A network that has to distinguish
    near-duplicates must use the whole picture and the positions of its parts.
    """
    n, device = len(textures), textures.device
    kind = torch.rand(n, device=device)
    images = torch.where(per_image((kind > 0.4) & (kind < 0.75)), framed(textures, others), textures)
    images = torch.where(per_image((kind > 0.7) | chance(n, 0.25, device)), banded(images, others), images)
    images = torch.where(per_image((kind < 0.45) | chance(n, 0.3, device)), stickered(images, others), images)
    inks = torch.exp(torch.randn(n, 3, 1, 1, device=device) * 0.35)
    return torch.where(per_image(chance(n, 0.2, device)), images**inks, images).clamp(0, 1)


def paint(others):
    """(n, 3, t, t) of one color, or of another image."""
    flat = torch.rand(len(others), 3, 1, 1, device=others.device).expand_as(others)
    return torch.where(per_image(chance(len(others), 0.6, others.device)), flat, others.flip(3))


def framed(textures, others):
    """The picture made smaller inside a frame, or a part of it."""
    n, device = len(textures), textures.device
    theta = torch.zeros(n, 2, 3, device=device)
    # Above one the picture is smaller than the image, below it is cropped.
    extent = torch.where(chance(n, 0.7, device), uniform(n, 1.08, 1.35, device), uniform(n, 0.75, 0.92, device))
    theta[:, 0, 0], theta[:, 1, 1] = extent, extent * uniform(n, 0.93, 1.07, device)
    theta[:, :, 2] = (torch.rand(n, 2, device=device) * 2 - 1) * (extent - 1).abs().unsqueeze(1)
    grid = F.affine_grid(theta, textures.shape, align_corners=False)
    inside = (grid.abs().amax(-1) <= 1).unsqueeze(1)
    return torch.where(inside, F.grid_sample(textures, grid, padding_mode="border", align_corners=False), paint(others))


def banded(textures, others):
    """A band along one side."""
    n, size, device = len(textures), textures.shape[-1], textures.device
    x, y = frame_grid(size, device)
    across = per_image(torch.where(chance(n, 0.5, device), 1.0, -1.0)) * torch.where(
        per_image(chance(n, 0.75, device)), y, x
    )
    return torch.where(across > per_image(1 - 2 * uniform(n, 0.08, 0.25, device)), paint(others), textures)


def stickered(textures, others):
    """An opaque ellipse or rectangle somewhere."""
    n, size, device = len(textures), textures.shape[-1], textures.device
    x, y = frame_grid(size, device)
    dx = ((x - per_image(uniform(n, -0.85, 0.85, device))) / per_image(uniform(n, 0.14, 0.4, device))).abs()
    dy = ((y - per_image(uniform(n, -0.85, 0.85, device))) / per_image(uniform(n, 0.14, 0.4, device))).abs()
    inside = torch.where(per_image(chance(n, 0.5, device)), dx * dx + dy * dy, torch.maximum(dx, dy)) < 1
    return torch.where(inside, paint(others), textures)
