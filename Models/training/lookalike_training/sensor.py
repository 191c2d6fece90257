"""Effects of cameras and file formats: blur, noise, sharpening, moiré, compression."""

import math

import torch
from torch.nn import functional as F

from .sampling import chance, changed, frame_grid, gaussian_blur, per_image, uniform


def blurred(frame, camera, difficulty):
    """Defocus of a few strengths, and motion along one direction per batch."""
    n, device = len(frame), frame.device
    for level in (0.75, 0.5, 0.36):
        chosen = chance(n, 0.16, device) & (camera | (level > 0.6))
        if level > 0.4 or difficulty > 0.4:
            frame = changed(frame, chosen, lambda rows: gaussian_blur(frame[rows], level))
    kernel = torch.zeros(7, 7, device=device)
    angle = float(uniform(1, 0, math.pi, "cpu"))
    for step in torch.linspace(-2.5, 2.5, 21):
        kernel[3 + int(round(float(step) * math.sin(angle))), 3 + int(round(float(step) * math.cos(angle)))] += 1
    kernel = (kernel / kernel.sum()).expand(3, 1, 7, 7)
    moved = chance(n, 0.15, device) & camera
    return changed(
        frame, moved, lambda rows: F.conv2d(F.pad(frame[rows], (3, 3, 3, 3), mode="replicate"), kernel, groups=3)
    )


def moire(frame):
    n, size, device = len(frame), frame.shape[-1], frame.device
    x, y = frame_grid(size, device)

    def striped(rows):
        fx, fy = per_image(uniform(len(rows), -120, 120, device)), per_image(uniform(len(rows), -120, 120, device))
        return frame[rows] * (1 + per_image(uniform(len(rows), 0, 0.1, device)) * torch.sin(x * fx + y * fy))

    return changed(frame, chance(n, 0.08, device), striped)


def noisy(frame, camera, difficulty):
    """Grain, more of it where there is light: most photographs have little left of it at this size."""
    n, device = len(frame), frame.device
    sigma = torch.rand(n, device=device) ** 2 * (0.035 + 0.035 * difficulty) * camera
    return frame + torch.randn_like(frame) * per_image(sigma) * (0.3 + 0.7 * frame)


def old_phone(frame, wanted):
    """Blotches of color, grain that was smoothed away, and edges sharpened until they have halos."""
    size, device = frame.shape[-1], frame.device

    def taken(rows):
        n = len(rows)
        blotches = torch.randn(n, 3, max(4, size // 8), max(4, size // 8), device=device)
        blotches = F.interpolate(blotches, size=(size, size), mode="bilinear", align_corners=False)
        grain = torch.randn(n, 1, size, size, device=device) * per_image(uniform(n, 0, 0.04, device))
        part = frame[rows] + blotches * per_image(uniform(n, 0, 0.035, device)) + grain
        soft = F.avg_pool2d(F.pad(part, (1, 1, 1, 1), mode="replicate"), 3, 1)
        sharpened = soft + (part - soft) * per_image(uniform(n, 0, 2.5, device))
        return sharpened.clamp(0, 1)

    return changed(frame, wanted, taken)


def compressed(frame, difficulty):
    """JPEG's loss: 8x8 DCT coefficients rounded in steps that grow with frequency."""
    n, size, device = len(frame), frame.shape[-1], frame.device
    if size % 8:
        return frame
    k = torch.arange(8, device=device, dtype=torch.float32)
    basis = torch.cos((2 * k[None, :] + 1) * k[:, None] * math.pi / 16) * 0.5
    basis[0] *= math.sqrt(0.5)
    # All blocks at once: a matrix with the basis down its diagonal transforms the rows, or the columns, of an image.
    transform = torch.block_diag(*[basis] * (size // 8))
    steps = ((1 + k[:, None] + k[None, :]) * 0.01).repeat(size // 8, size // 8)

    def stored(rows):
        step = steps * per_image(uniform(len(rows), 0.5, 3 + 2 * difficulty, device))
        spectrum = transform @ frame[rows] @ transform.T
        return (transform.T @ ((spectrum / step).round() * step) @ transform).clamp(0, 1)

    return changed(frame, chance(n, 0.4, device), stored)
