"""Mats and frames around pictures, and the dark edges of cases: rings in the plane of the object."""

import torch

from .sampling import chance, color, per_image, uniform


def shrunk(quads, widths):
    """Quads made smaller around their middle, so that rings of these total widths mostly fit in the frame."""
    middle = quads.mean(1, keepdim=True)
    return middle + (quads - middle) / (1 + 0.8 * widths.view(-1, 1, 1))


class Rings:
    """Widths, in shares of the object's mean half side, and colors of up to three rings, from the picture outwards."""

    def __init__(self, wanted, device):
        n = len(wanted)
        mat = uniform(n, 0.08, 0.9, device) * chance(n, 0.55, device)
        frame = uniform(n, 0.04, 0.3, device) * chance(n, 0.8, device)
        outer = uniform(n, 0.03, 0.15, device) * chance(n, 0.25, device)
        # A case of dark plastic, in place of a frame.
        case = chance(n, 0.3, device)
        mat = torch.where(case, torch.zeros(n, device=device), mat)
        frame = torch.where(case, uniform(n, 0.03, 0.12, device), frame)
        outer = torch.where(case, torch.zeros(n, device=device), outer)
        self.edges = torch.stack([mat, frame, outer], 1).cumsum(1) * wanted.view(-1, 1)
        wood = color(n, device) * torch.tensor([1.0, 0.75, 0.45], device=device).view(1, 3, 1, 1)
        dark = color(n, device, 0.0, 0.18)
        molding = torch.where(per_image(chance(n, 0.5, device)), wood, color(n, device))
        molding = torch.where(per_image(chance(n, 0.3, device) | case), dark, molding)
        paper = color(n, device, 0.8, 1.0)
        self.colors = [
            torch.where(per_image(chance(n, 0.85, device)), paper, color(n, device)),
            molding,
            color(n, device, 0.0, 1.0),
        ]
        self.wanted, self.lit = wanted, uniform(n, 0.0, 0.45, device)
        self.ribs = uniform(n, 10, 60, device)

    @property
    def widths(self):
        return self.edges[:, -1]

    def drawn(self, ground, grid, visible, aspects):
        """The rings over the ground, and the mask of all that they and the picture cover."""
        rows = (self.widths > 0).nonzero().squeeze(1)
        if not len(rows):
            return ground, torch.zeros_like(ground[:, :1])
        ground, whole = ground.clone(), torch.zeros_like(ground[:, :1])
        # Distance from the picture's edge, alike on all sides: the object's own square is stretched by its aspect.
        stretch = torch.stack([aspects[rows].sqrt(), aspects[rows].rsqrt()], -1).view(-1, 1, 1, 2)
        beyond = (grid[rows].abs() - 1) * stretch
        distance, axis = beyond.max(-1)
        distance, axis = distance.unsqueeze(1), axis.unsqueeze(1)
        side = torch.where(axis == 0, grid[rows][..., 0].unsqueeze(1), grid[rows][..., 1].unsqueeze(1)).sign()
        # Moldings are lit from one side and have ribs; the mat is flat.
        relief = 1 + per_image(self.lit[rows]) * (
            side * torch.where(axis == 0, -0.5, -1.0) + 0.5 * torch.sin(distance * per_image(self.ribs[rows]))
        )
        part, seen = ground[rows], visible[rows]
        soft = 24.0
        for ring in (2, 1, 0):
            edge = per_image(self.edges[rows, ring])
            mask = ((edge - distance) * soft + 0.5).clamp(0, 1) * (edge > 0) * seen
            paint = self.colors[ring][rows] * (1 if ring == 0 else relief)
            part = part * (1 - mask) + paint.clamp(0, 1) * mask
            whole[rows] = torch.maximum(whole[rows], mask)
        ground[rows] = part
        return ground, whole
