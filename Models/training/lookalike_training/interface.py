"""Interfaces drawn around, under and over pictures, at the sizes that screens have."""

import math

import torch

from .sampling import chance, changed, color, per_image, uniform
from .text import PageBank, TextBank
from .warp import boxes_as_quads, placed

SCREENS = [16 / 9, 16 / 10, 4 / 3, 9 / 16, 9 / 19.5, 3 / 4]


class Theme:
    """Colors of an interface: dark or light."""

    def __init__(self, n, device):
        dark = per_image(chance(n, 0.5, device))
        self.base = torch.where(dark, color(n, device, 0.02, 0.25), color(n, device, 0.85, 1.0))
        self.ink = torch.where(dark, color(n, device, 0.6, 1.0), color(n, device, 0.0, 0.35))
        self.accent = color(n, device)


class Interface:
    def __init__(self):
        self.pages, self.text = PageBank(), TextBank()

    def on_page(self, aspects, difficulty):
        """Corners of pictures on a page or in a window, down to 4 % of the screen, and the screens' aspects."""
        n, device = len(aspects), aspects.device
        screen = torch.tensor(SCREENS, device=device)[torch.randint(len(SCREENS), (n,), device=device)]
        area = torch.exp(uniform(n, math.log(0.35 - 0.31 * difficulty), math.log(0.6), device))
        height = (area * screen / aspects).sqrt()
        height = torch.minimum(height, torch.minimum(screen / aspects, torch.ones_like(screen)) * 0.94)
        extent = torch.stack([height * aspects / screen, height], -1)
        middle = (torch.rand(n, 2, device=device) * 2 - 1) * (1 - extent)
        middle[:, 0] *= (~chance(n, 0.4, device)).float()
        return boxes_as_quads(torch.cat([middle, extent], 1))

    def as_wallpaper(self, aspects):
        """Corners of pictures that fill a screen of about their shape, cropped where the shapes differ."""
        n, device = len(aspects), aspects.device
        screen = aspects * torch.exp(uniform(n, -0.45, 0.45, device))
        extent = torch.stack([(aspects / screen).clamp(min=1), (screen / aspects).clamp(min=1)], -1)
        return boxes_as_quads(torch.cat([torch.zeros(n, 2, device=device), extent], 1))

    def pasted(self, frame, boxes, theme, opacity, rounding):
        """A pane with text, buttons and lists in each of the (n, 4) boxes."""
        n, size, device = len(frame), frame.shape[-1], frame.device
        # Text has the size of text, whatever the size of its pane: a part of a page is shown.
        panes, mask = placed(self.zoomed(n, boxes, device), boxes_as_quads(boxes), size, rounding)
        content = theme.base * (1 - panes[:, :1]) + theme.ink * panes[:, :1]
        content = content * (1 - panes[:, 1:]) + theme.accent * panes[:, 1:]
        mask = mask * per_image(opacity)
        return frame * (1 - mask) + content * mask

    def zoomed(self, n, boxes, device):
        """Pages cut to what fits in a box, so that letters are alike in large and small panes."""
        pages = self.pages.some(n, device)
        share = (boxes[:, 2:].clamp(0.15, 1) * uniform(n, 0.6, 1.6, device).view(-1, 1)).clamp(0.1, 1)
        theta = torch.zeros(n, 2, 3, device=device)
        theta[:, 0, 0], theta[:, 1, 1] = share[:, 0], share[:, 1]
        theta[:, :, 2] = share - 1
        grid = torch.nn.functional.affine_grid(theta, pages.shape, align_corners=False)
        return torch.nn.functional.grid_sample(pages, grid, padding_mode="border", align_corners=False)

    def alone(self, n, size):
        """(n, 3, size, size) in [0, 1]: interfaces that show no picture."""
        theme, whole = Theme(n, torch.device("cpu")), torch.tensor([0.0, 0.0, 1.02, 1.02]).expand(n, 4)
        base = theme.base.expand(-1, -1, size, size)
        frame = self.bars(self.pasted(base, whole, theme, torch.ones(n), torch.zeros(n)), torch.rand(n) < 0.8)
        return self.windows(frame, torch.rand(n) < 0.3).clamp(0, 1)

    def page(self, ground, quads, wanted):
        """A page of text under the pictures. Few are windows on a wallpaper, since that may be the object itself."""
        device = ground.device

        def drawn(rows):
            count = len(rows)
            window = chance(count, 0.15, device)
            around = torch.cat([quads[rows].mean(1), (quads[rows].amax(1) - quads[rows].amin(1)) / 2], 1)
            around[:, 2:] = (around[:, 2:] * uniform(count, 1.1, 2.2, device).view(-1, 1)).clamp(max=0.98)
            around[:, :2] += torch.randn(count, 2, device=device) * 0.08
            full = torch.tensor([0.0, 0.0, 1.02, 1.02], device=device).expand(count, 4)
            boxes = torch.where(window.view(-1, 1), around, full)
            theme, one = Theme(count, device), torch.ones(count, device=device)
            bare = changed(
                ground[rows],
                ~window & chance(count, 0.5, device),
                lambda some: theme.base[some].expand(-1, -1, *ground.shape[2:]),
            )
            withpage = self.pasted(bare, boxes, theme, one, 0.04 * one)
            return torch.where(per_image(~window & chance(count, 0.25, device)), theme.base, withpage)

        return changed(ground, wanted, drawn)

    def windows(self, frame, wanted, most=3):
        """Windows over a picture, opaque or nearly, that leave a third of it in sight or more."""
        n, device = len(frame), frame.device
        for index in range(most):

            def drawn(rows):
                count = len(rows)
                extent = torch.rand(count, 2, device=device) * 0.38 + 0.14
                boxes = torch.cat([(torch.rand(count, 2, device=device) * 2 - 1) * (1 - extent * 0.6), extent], 1)
                opacity = torch.where(
                    chance(count, 0.7, device), torch.ones(count, device=device), uniform(count, 0.7, 1, device)
                )
                rounding = 0.08 * torch.rand(count, device=device) * chance(count, 0.5, device)
                theme = Theme(count, device)
                part = self.pasted(frame[rows], boxes, theme, opacity, rounding)
                bars = torch.cat(
                    [
                        boxes[:, :1],
                        boxes[:, 1:2] - boxes[:, 3:] + 0.03,
                        boxes[:, 2:3],
                        torch.full_like(boxes[:, 3:], 0.03),
                    ],
                    1,
                )
                titled = self.pasted(part, bars, Theme(count, device), opacity, rounding)
                return torch.where(per_image(chance(count, 0.6, device)), titled, part)

            frame = changed(frame, wanted & chance(n, (0.85, 0.6, 0.35)[index], device), drawn)
        return frame

    def bars(self, frame, wanted):
        """Bars of a system or an application along the edges."""
        n, device = len(frame), frame.device
        for side in range(4):

            def drawn(rows):
                count = len(rows)
                thick = uniform(count, 0.02, 0.1 if side < 2 else 0.2, device)
                place, along = (1 - thick) * (1 if side % 2 else -1), torch.ones(count, device=device) * 1.02
                zero = torch.zeros(count, device=device)
                boxes = torch.stack([zero, place, along, thick] if side < 2 else [place, zero, thick, along], 1)
                return self.pasted(
                    frame[rows], boxes, Theme(count, device), uniform(count, 0.75, 1.2, device).clamp(max=1), zero
                )

            frame = changed(frame, wanted & chance(n, (0.55, 0.4, 0.15, 0.08)[side], device), drawn)
        return frame

    def titles(self, frame, quads, wanted):
        """A line or two of text close under a picture, or over it, as captions stand."""
        n, size, device = len(frame), frame.shape[-1], frame.device
        low, high = quads.amin(1), quads.amax(1)
        below = chance(n, 0.8, device)
        top = torch.where(below, high[:, 1], low[:, 1] - 0.2)
        dark = per_image(chance(n, 0.5, device))
        ink = torch.where(dark, color(n, device, 0.0, 0.3), color(n, device, 0.7, 1.0))
        for line in range(2):

            def drawn(rows):
                count = len(rows)
                half = (high[rows, 0] - low[rows, 0]) / 2 * uniform(count, 0.5, 1.1, device)
                height = (half * uniform(count, 0.12, 0.3, device)).clamp(0.025, 0.12)
                start = low[rows, 0] + half * uniform(count, 0.98, 1.25, device)
                place = torch.stack([start, top[rows] + height * (1.4 + 2.1 * line), half, height], 1)
                strips, mask = placed(self.text.some(count, device), boxes_as_quads(place), size)
                mask = mask * strips
                return frame[rows] * (1 - mask) + ink[rows] * mask

            frame = changed(frame, wanted & chance(n, (0.9, 0.5)[line], device), drawn)
        return frame
