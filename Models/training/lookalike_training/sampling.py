"""Small helpers that the parts of the simulator share: random values per image, grids, blur."""

import torch
from torch.nn import functional as F


def uniform(n, low, high, device):
    return torch.rand(n, device=device) * (high - low) + low


def chance(n, p, device):
    return torch.rand(n, device=device) < p


def per_image(values):
    return values.view(-1, 1, 1, 1)


def frame_grid(size, device):
    """x and y, both (size, size) in [-1, 1], of the pixel centers of a frame."""
    line = (torch.arange(size, device=device, dtype=torch.float32) + 0.5) * 2 / size - 1
    y, x = torch.meshgrid(line, line, indexing="ij")
    return x, y


def changed(frame, wanted, change):
    """`frame` with the images that are `wanted` replaced by `change(rows)`, `rows` being their indices."""
    rows = wanted.nonzero().squeeze(1)
    if not len(rows):
        return frame
    frame = frame.clone()
    frame[rows] = change(rows)
    return frame


def color(n, device, low=0.0, high=1.0):
    """(n, 3, 1, 1) random colors."""
    return torch.rand(n, 3, 1, 1, device=device) * (high - low) + low


def gaussian_blur(images, radius_fraction, up="bicubic"):
    """Defocus by going down and up: cheap, and wide enough for backgrounds, for which going up linearly will do."""
    size = images.shape[-1]
    small = max(4, int(size * radius_fraction))
    down = F.interpolate(images, size=(small, small), mode="bilinear", antialias=True, align_corners=False)
    return F.interpolate(down, size=(size, size), mode=up, align_corners=False).clamp(0, 1)
