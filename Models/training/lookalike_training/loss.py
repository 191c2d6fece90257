"""The objective of SSCD: Pizzi et al., "A Self-Supervised Descriptor for Image Copy Detection" (CVPR 2022)."""

import torch
from torch.nn import functional as F


def contrastive(captures, flats, groups, memory, memory_groups, temperature):
    """InfoNCE both ways; prints of near-duplicates are neither positives nor negatives.

    `memory` holds flat prints of past steps (Wang et al., "Cross-Batch Memory", 2020).
    """
    n = len(flats)
    diagonal = torch.eye(n, dtype=torch.bool, device=flats.device)
    same = groups[:, None] == groups[None, :]
    target = torch.arange(n, device=flats.device)
    to_flats = captures @ flats.T
    across = to_flats.masked_fill(same & ~diagonal, -4)
    past = (captures @ memory.T).masked_fill(groups[:, None] == memory_groups[None, :], -4)
    # A background that is another image of the batch must not attract: captures repel captures too.
    beside = (captures @ captures.T).masked_fill(same, -4)
    forward = F.cross_entropy(torch.cat([across, past, beside], 1) / temperature, target)
    backward = F.cross_entropy(across.T / temperature, target)
    return (forward + backward) / 2


def entropy(prints, groups):
    """Kozachenko-Leonenko: minus the log distance to the nearest print of another image."""
    with torch.no_grad():
        cosine = prints @ prints.T
        cosine.masked_fill_(groups[:, None] == groups[None, :], -4)
        nearest = cosine.argmax(1)
    distance = (prints - prints[nearest]).norm(dim=1)
    return -(distance + 1e-4).log().mean()
