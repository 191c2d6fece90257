"""Orientation of objects and cameras: phones held sideways, books lying on tables in any direction.

Corners stay in the order of the object itself, its own top left first, however it is turned. That is what the locator
learns, so that a rectified crop is upright.
"""

import math

import torch

from .sampling import chance, uniform


def angles(n, tilt, turned, device):
    """(n,) radians: small tilts of standard deviation `tilt`, and for a share `turned` a quarter, half or three-quarter
    turn on top, or any angle."""
    tilts = torch.randn(n, device=device).clamp(-2.2, 2.2) * tilt
    quarters = torch.randint(1, 4, (n,), device=device) * (math.pi / 2)
    anywhere = uniform(n, -math.pi, math.pi, device)
    turns = torch.where(chance(n, 0.6, device), quarters + tilts, anywhere)
    return torch.where(chance(n, turned, device), turns, tilts)


def rotated(corners, angle):
    """(n, 4, 2) corners around the origin, turned clockwise as seen in an image."""
    cos, sin = angle.cos().view(-1, 1), angle.sin().view(-1, 1)
    x, y = corners[..., 0], corners[..., 1]
    return torch.stack([x * cos - y * sin, x * sin + y * cos], -1)


def quarter_turned(quads, turned):
    """Quads with a share of them turned by right angles in place: the same outline, another corner first."""
    n = len(quads)
    turns = torch.randint(1, 4, (n,), device=quads.device) * chance(n, turned, quads.device)
    order = (torch.arange(4, device=quads.device) + turns.view(-1, 1)) % 4
    return quads.gather(1, order.unsqueeze(-1).expand(n, 4, 2))
