"""The objective of SSCD: Pizzi et al., "A Self-Supervised Descriptor for Image Copy Detection" (CVPR 2022)."""

import torch
from torch.nn import functional as F

from .network import cell_centers, voted_corners
from .warp import quad_homography


def contrastive(captures, flats, groups, memory, memory_groups, temperature):
    """InfoNCE both ways, and the same over all pairs of queries; prints of near-duplicates are neither positives nor
    negatives. Returns (contrast, cross-query contrast).

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
    logits = torch.cat([across, past, beside], 1) / temperature
    forward = F.cross_entropy(logits, target)
    backward = F.cross_entropy(across.T / temperature, target)
    # One threshold for all queries: the nearest negatives of one query must be further away than the positive
    # of any other. The softmax over a query's own negatives, softplus(negatives - positive), for every pair of queries.
    positives = logits.diagonal()
    negatives = logits.masked_fill(F.pad(diagonal, (0, logits.shape[1] - n)), -torch.inf).logsumexp(1)
    cross_query = F.softplus(negatives[None, :] - positives[:, None]).mean()
    return (forward + backward) / 2, cross_query


def koleo(prints, groups, memory, memory_groups):
    """Kozachenko-Leonenko entropy: minus the mean log distance to the nearest print of another image, past ones too."""
    everything, all_groups = torch.cat([prints, memory]), torch.cat([groups, memory_groups])
    with torch.no_grad():
        cosine = prints @ everything.T
        cosine.masked_fill_(groups[:, None] == all_groups[None, :], -4)
        nearest = cosine.argmax(1)
    distance = (prints - everything[nearest]).norm(dim=1)
    return -(distance + 1e-4).log().mean()


def corner_errors(votes, stride, size, true):
    """How far found corners are from the true ones (fractions of the frame), in units of the object's own size, the
    root of its area. Returns (n,) errors of the weighed votes, the mean error of all votes from inside the object, and
    (n,) errors of the outline alone, whichever of its corners is called the first.

    Half of an error is the outline's. Without that half a locator in doubt about which way up a thing is would find all
    four corners in its middle, which is wrong by less than an upside-down answer and of no use.
    """
    n, _, h, w = votes.shape
    corners, weights = voted_corners(votes, stride)
    pixels = true * size
    x, y = pixels[..., 0], pixels[..., 1]
    area = 0.5 * ((x * y.roll(-1, 1)).sum(1) - (y * x.roll(-1, 1)).sum(1)).abs()
    unit = area.clamp(min=0.03 * size * size).sqrt()
    found = (corners * weights.unsqueeze(2)).sum(-1, keepdim=True)
    errors, outline = turned_errors(found, pixels, unit)
    centers = (cell_centers(h, w, votes.device) * stride + 0.5) / size * 2 - 1
    mapped = torch.cat([centers.T, torch.ones(h * w, 1, device=votes.device)], 1) @ quad_homography(
        true * 2 - 1
    ).transpose(1, 2)
    inside = ((mapped[..., :2] / mapped[..., 2:]).abs().amax(-1) < 1) & (mapped[..., 2] > 0)
    each, _ = turned_errors(corners, pixels, unit)
    return errors.squeeze(1), (each * inside).sum() / inside.sum().clamp(min=1), outline.squeeze(1)


def turned_errors(corners, pixels, unit):
    """(n, 4, 2, k) corners against (n, 4, 2) true ones. Returns two (n, k) errors: the mean of the error in the given
    order and that in the best of four turns, and the latter alone."""
    turns = [(corners - pixels.roll(k, 1).unsqueeze(-1)).square().sum(2).add(1e-3).sqrt().mean(1) for k in range(4)]
    best = torch.stack(turns).amin(0) / unit.view(-1, 1)
    return (turns[0] / unit.view(-1, 1) + best) / 2, best
