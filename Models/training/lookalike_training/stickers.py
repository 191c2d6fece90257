"""Stickers, labels and barcodes on the object, in its own plane."""

import torch

from .sampling import chance, changed, color, per_image, uniform


def stickered(frame, grid, mask, text, wanted, most=2):
    """Up to `most` stickers per object, with words or bars. `grid` is where each pixel lies on the object."""
    n, device = len(frame), frame.device
    for _ in range(most):

        def stuck(rows):
            count = len(rows)
            place = torch.rand(count, 1, 1, 2, device=device) * 1.8 - 0.9
            half = torch.stack([uniform(count, 0.1, 0.4, device), uniform(count, 0.06, 0.25, device)], -1).view(
                -1, 1, 1, 2
            )
            own = (grid[rows] - place) / half
            round_ = chance(count, 0.3, device).view(-1, 1, 1)
            inside = torch.where(round_, own.square().sum(-1), own.abs().amax(-1)) < 1
            paper = torch.where(
                per_image(chance(count, 0.6, device)), color(count, device, 0.85, 1.0), color(count, device)
            )
            words = torch.nn.functional.grid_sample(text.some(count, device), own.clamp(-2, 2), align_corners=False)
            bars = (torch.sin(own[..., 0] * uniform(count, 8, 30, device).view(-1, 1, 1)) > 0).unsqueeze(1) & (
                own[..., 1].abs() < 0.6
            ).unsqueeze(1)
            printed = torch.where(per_image(chance(count, 0.25, device)), bars.float(), words)
            ink = torch.where(
                per_image(chance(count, 0.7, device)), color(count, device, 0.0, 0.2), color(count, device)
            )
            sticker = paper * (1 - printed) + ink * printed
            cover = inside.unsqueeze(1).float() * mask[rows]
            return frame[rows] * (1 - cover) + sticker * cover

        frame = changed(frame, wanted & chance(n, 0.75, device), stuck)
    return frame
