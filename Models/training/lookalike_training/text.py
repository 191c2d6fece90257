"""Pictures of words: strips for captions and badges, and pages of text, buttons and lists for interfaces."""

import random

import torch
from PIL import Image, ImageDraw, ImageFont
from torch.nn import functional as F

from .sampling import uniform

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789   !?.:&-"


def as_tensor(image):
    return torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(1, image.height, image.width)


class TextBank:
    """White-on-black strips of random words, to be laid over frames as captions and badges."""

    def __init__(self, count=192, width=160, height=48, seed=11):
        generator = torch.Generator().manual_seed(seed)
        strips = []
        for _ in range(count):
            picked = torch.randint(
                0, len(LETTERS), (int(torch.randint(6, 26, (1,), generator=generator)),), generator=generator
            )
            size = int(torch.randint(9, 34, (1,), generator=generator))
            strip = Image.new("L", (width, height))
            ImageDraw.Draw(strip).text(
                (2, 2), "".join(LETTERS[i] for i in picked), fill=255, font=ImageFont.load_default(size)
            )
            strips.append(as_tensor(strip))
        self.strips = torch.stack(strips)

    def some(self, n, device):
        """(n, 1, height, width) strips in [0, 1]."""
        return self.strips[torch.randint(len(self.strips), (n,))].to(device).float() / 255

    def masks(self, n, size, device):
        """(n, 1, size, size) masks, each one strip at a random place and scale."""
        strips = self.some(n, device)
        zoom = uniform(n, 0.6, 2.2, device)
        theta = torch.zeros(n, 2, 3, device=device)
        theta[:, 0, 0] = zoom
        theta[:, 1, 1] = zoom * strips.shape[-1] / strips.shape[-2]
        theta[:, 0, 2] = uniform(n, -1, 1, device) * zoom
        theta[:, 1, 2] = uniform(n, -1, 1, device) * theta[:, 1, 1]
        return F.grid_sample(strips, F.affine_grid(theta, (n, 1, size, size), align_corners=False), align_corners=False)


class PageBank:
    """Two masks per page: ink (lines of text, rules), and accents (buttons, icons, selected rows)."""

    def __init__(self, count=96, side=256, seed=12):
        chooser = random.Random(seed)
        self.pages = torch.stack(
            [torch.cat([as_tensor(layer) for layer in self.page(chooser, side)]) for _ in range(count)]
        )

    def some(self, n, device):
        """(n, 2, side, side) in [0, 1]."""
        return self.pages[torch.randint(len(self.pages), (n,))].to(device).float() / 255

    def page(self, chooser, side):
        ink, accents = Image.new("L", (side, side)), Image.new("L", (side, side))
        draw, accent = ImageDraw.Draw(ink), ImageDraw.Draw(accents)
        columns, y = chooser.choice((1, 1, 2, 3)), chooser.randint(2, 16)
        with_icons, sparse = chooser.random() < 0.35, chooser.random() * 0.6
        body = chooser.randint(6, 13)
        while y < side:
            height = body if chooser.random() < 0.85 else chooser.randint(body, 2 * body + 4)
            font = ImageFont.load_default(height)
            for column in range(columns):
                x = column * side // columns + chooser.randint(4, 10)
                room = side // columns - 12
                if chooser.random() < sparse:
                    continue
                if with_icons:
                    accent.rounded_rectangle([x, y, x + height, y + height], height // 4, fill=chooser.randint(90, 255))
                    x, room = x + height + 4, room - height - 4
                if chooser.random() < 0.06:
                    accent.rounded_rectangle([x, y, x + room // 3, y + height + 6], height // 3, fill=255)
                    continue
                words = "".join(
                    chooser.choice(LETTERS) for _ in range(chooser.randint(4, max(5, room // max(3, height // 2))))
                )
                draw.text((x, y), words, fill=chooser.randint(120, 255), font=font)
            if chooser.random() < 0.08:
                draw.line([0, y + height + 2, side, y + height + 2], fill=110)
            y += int(height * chooser.uniform(1.2, 2.0))
        return ink, accents
