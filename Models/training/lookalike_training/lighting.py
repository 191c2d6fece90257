"""Light on the scene: exposure, casts, uneven light, reflections with edges, flash spots, dim rooms."""

import math

import torch

from .sampling import chance, changed, frame_grid, per_image, uniform


def exposed(frame, strength):
    """Small errors of exposure, white balance, contrast and saturation. `strength`: (n,)."""
    n, device = len(frame), frame.device
    frame = frame.clamp(1e-4, 1) ** per_image(torch.exp(torch.randn(n, device=device) * 0.3 * strength))
    balance = torch.exp(torch.randn(n, 3, 1, 1, device=device) * 0.12 * per_image(strength))
    frame = frame * balance * per_image(torch.exp(torch.randn(n, device=device) * 0.28 * strength))
    gray = frame.mean((1, 2, 3), keepdim=True)
    frame = gray + (frame - gray) * per_image(torch.exp(torch.randn(n, device=device) * 0.25 * strength))
    return saturated(frame, 1 + torch.randn(n, device=device) * 0.3 * strength)


def saturated(frame, amount):
    luma = frame.mean(1, keepdim=True)
    return luma + (frame - luma) * per_image(amount).clamp(0, 2)


def uneven(frame, amount, spot):
    """Light that falls off to one side, and a soft glare of strength `spot`."""
    n, size, device = len(frame), frame.shape[-1], frame.device
    x, y = frame_grid(size, device)
    angle = uniform(n, 0, 2 * math.pi, device)
    ramp = per_image(angle.cos()) * x + per_image(angle.sin()) * y
    frame = frame * (1 + ramp * per_image(uniform(n, 0, 0.45, device) * amount))
    return frame + disc(n, 0.1, 0.6, size, device) * per_image(uniform(n, 0.1, 0.9, device) * spot)


def disc(n, smallest, largest, size, device):
    """(n, 1, size, size): a bell of light somewhere, as wide as a share of the half frame."""
    x, y = frame_grid(size, device)
    cx, cy = per_image(uniform(n, -1, 1, device)), per_image(uniform(n, -1, 1, device))
    radius = per_image(uniform(n, smallest, largest, device))
    return torch.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (radius * radius))


def cast(frame, wanted):
    """The light of tubes, bulbs and shade: a strong tint, often green or yellow, and paler colors."""
    device = frame.device
    lights = torch.tensor(
        [[0.72, 1.0, 0.75], [0.8, 1.0, 0.55], [1.0, 0.8, 0.45], [1.0, 0.7, 0.6], [0.65, 0.85, 1.0]], device=device
    )

    def lit(rows):
        tint = lights[torch.randint(len(lights), (len(rows),), device=device)].view(-1, 3, 1, 1)
        tint = tint ** per_image(uniform(len(rows), 0.3, 1.3, device)) * torch.exp(
            torch.randn(len(rows), 3, 1, 1, device=device) * 0.1
        )
        pale = saturated(frame[rows], uniform(len(rows), 0.35, 1, device))
        haze = per_image(uniform(len(rows), 0, 0.25, device))
        return (pale * (1 - haze) + 0.6 * haze) * tint

    return changed(frame, wanted, lit)


def reflections(frame, wanted):
    """Windows and lamps mirrored in plastic and glass: bright quadrilaterals with sharp edges, some with bars."""
    size, device = frame.shape[-1], frame.device
    x, y = frame_grid(size, device)

    def mirrored(rows):
        n = len(rows)
        angle = uniform(n, 0, math.pi, device)
        dx, dy = x - per_image(uniform(n, -0.9, 0.9, device)), y - per_image(uniform(n, -0.9, 0.9, device))
        u = dx * per_image(angle.cos()) + dy * per_image(angle.sin()) + dy * dx * 0.2
        v = dy * per_image(angle.cos()) - dx * per_image(angle.sin())
        u, v = u / per_image(uniform(n, 0.12, 0.6, device)), v / per_image(uniform(n, 0.12, 0.8, device))
        edge = per_image(torch.exp(uniform(n, math.log(4), math.log(40), device)))
        inside = ((1 - torch.maximum(u.abs(), v.abs())) * edge).sigmoid()
        barred = per_image(chance(n, 0.4, device)) & (torch.minimum(u.abs(), v.abs()) < 0.06)
        return frame[rows] + inside * ~barred * per_image(uniform(n, 0.15, 0.7, device))

    return changed(frame, wanted, mirrored)


def flash(frame, wanted):
    """A flash or a lamp: a burnt-out core with a halo, darker towards the edges of the frame."""
    size, device = frame.shape[-1], frame.device
    x, y = frame_grid(size, device)

    def flashed(rows):
        n = len(rows)
        cx, cy = per_image(uniform(n, -0.7, 0.7, device)), per_image(uniform(n, -0.7, 0.7, device))
        distance = ((x - cx) ** 2 + (y - cy) ** 2).sqrt()
        core = ((per_image(uniform(n, 0.02, 0.14, device)) - distance) * 40).sigmoid()
        halo = torch.exp(-distance / per_image(uniform(n, 0.06, 0.3, device))) * per_image(uniform(n, 0.1, 0.7, device))
        return frame[rows] * (1 - per_image(uniform(n, 0, 0.35, device)) * distance.clamp(max=1.5)) + 1.2 * core + halo

    return changed(frame, wanted, flashed)


def dimmed(frame, wanted):
    """Too little light: dark, flat and pale, the shadows lifted a little."""
    device = frame.device

    def dark(rows):
        n = len(rows)
        level = per_image(torch.exp(uniform(n, math.log(0.35), math.log(0.8), device)))
        pale = saturated(frame[rows], uniform(n, 0.5, 1, device))
        return pale.clamp(0, 1) ** per_image(uniform(n, 0.7, 1.2, device)) * level + per_image(
            uniform(n, 0, 0.08, device)
        )

    return changed(frame, wanted, dark)
