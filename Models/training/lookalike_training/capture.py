"""Simulated captures of flat images by cameras and in screenshots, in batches on tensors."""

import math
from dataclasses import dataclass, fields

import torch
from torch.nn import functional as F

from . import clutter, lighting, rotation, sensor
from .frames import Rings, shrunk
from .interface import Interface
from .sampling import chance, changed, color, frame_grid, gaussian_blur, per_image, uniform
from .stickers import stickered
from .text import TextBank
from .warp import UNIT, coverage, extent_of, object_grid, sampled


@dataclass
class Chances:
    """Shares of the captures that show each effect at difficulty 1. The curriculum scales them by the difficulty."""

    turned: float = 0.5
    cluttered: float = 0.5
    overlapped: float = 0.08
    framed: float = 0.3
    stickered: float = 0.2
    cast: float = 0.25
    reflected: float = 0.15
    flashed: float = 0.12
    dimmed: float = 0.15
    old_phone: float = 0.2
    interface: float = 0.8

    def at(self, difficulty):
        return Chances(**{field.name: getattr(self, field.name) * min(difficulty, 1) for field in fields(self)})

    @classmethod
    def none(cls):
        return cls(**{field.name: 0.0 for field in fields(cls)})


class CaptureSimulator:
    """Turns flat textures into captures. `difficulty` in [0, 1] widens every range and scales the chances; a share of
    `rectified` fills the frame but for small errors, as rectified crops of a query do."""

    def __init__(self, rectified=0.35, chances=Chances()):
        self.rectified, self.chances = rectified, chances
        self.text, self.interface = TextBank(), Interface()

    @torch.no_grad()
    def __call__(self, textures, aspects, backgrounds, size, difficulty):
        """textures, backgrounds: (n, 3, t, t) in [0, 1]; aspects: width / height of the originals.
        Returns (n, 3, size, size) in [0, 1], and (n, 4, 2) corners as fractions of the frame, the object's own top
        left first."""
        n, device = len(textures), textures.device
        chances = self.chances.at(difficulty)
        camera = chance(n, 0.68, device)
        designed = ~camera & chance(n, chances.interface, device)
        wallpaper = designed & chance(n, 0.55, device)
        page = designed & ~wallpaper
        quads, rectified = self.quads(aspects, camera, page, wallpaper, difficulty, chances)
        rings = Rings(camera & chance(n, chances.framed, device), device)
        quads = shrunk(quads, rings.widths)

        cluttered = ~wallpaper & chance(n, chances.cluttered, device)
        aligned = chance(n, 0.35, device) | page
        ground = self.ground(textures, backgrounds, size, camera)
        ground = self.interface.page(ground, quads, page)
        ground = clutter.scattered(ground, backgrounds, quads, cluttered & ~aligned & camera)
        ground = clutter.in_rows(ground, backgrounds, quads, cluttered & aligned)

        grid, visible = object_grid(quads, size)
        extent = extent_of(quads, size)
        rounding = uniform(n, 0.02, 0.3, device) * chance(n, 0.3, device) * (rings.widths == 0)
        mask = coverage(grid, visible, extent, rounding)
        ground, ringed = rings.drawn(ground, grid, visible, aspects)
        ground = self.shadow(ground, torch.maximum(mask, ringed), wallpaper)
        thing = stickered(
            sampled(textures, grid, extent), grid, mask, self.text, camera & chance(n, chances.stickered, device)
        )
        frame = ground * (1 - mask) + thing * mask

        frame = clutter.overlapping(
            frame, backgrounds, quads, camera & ~rectified & chance(n, chances.overlapped, device)
        )
        frame = self.interface.titles(frame, quads, page)
        frame = self.interface.windows(frame, wallpaper)
        frame = self.interface.bars(frame, designed)
        frame = self.overlays(frame, camera, designed, difficulty)
        frame = self.light(frame, camera, difficulty, chances)
        return self.degrade(frame, camera, difficulty, chances), quads / 2 + 0.5

    def quads(self, aspects, camera, page, wallpaper, difficulty, chances):
        """Corners of each object, and whether it is a rectified crop."""
        n, device = len(aspects), aspects.device
        quads = self.captured_quads(aspects, camera, difficulty, chances.turned)
        quads = torch.where(page.view(-1, 1, 1), self.interface.on_page(aspects, min(difficulty, 1)), quads)
        rectified = chance(n, self.rectified, device) & ~wallpaper
        straight = rotation.quarter_turned(self.rectified_quads(n, device), chances.turned * 0.6)
        quads = torch.where(rectified.view(-1, 1, 1), straight, quads)
        return torch.where(wallpaper.view(-1, 1, 1), self.interface.as_wallpaper(aspects), quads), rectified

    def rectified_quads(self, n, device):
        """What is left of the perspective after a query was rectified by corners that were found roughly."""
        scale = uniform(n, 0.82, 1.12, device).view(-1, 1, 1)
        shift = torch.randn(n, 1, 2, device=device) * 0.04
        return torch.tensor(UNIT, device=device) * scale + shift + torch.randn(n, 4, 2, device=device) * 0.05

    def captured_quads(self, aspects, camera, difficulty, turned):
        """Corners of the object in frames stretched to [-1, 1] squares."""
        n, device = len(aspects), aspects.device
        shapes = torch.tensor([1.0, 4 / 3, 3 / 4, 16 / 9, 9 / 16, 1.0, 4 / 3, 3 / 4], device=device)
        frame = shapes[torch.randint(len(shapes), (n,), device=device)]
        near = aspects * torch.exp(uniform(n, -0.45, 0.45, device))
        frame = torch.where(camera, frame, near.clamp(0.4, 2.2))
        area = torch.exp(uniform(n, math.log(0.5 - 0.38 * difficulty), math.log(1.02), device))
        angle = rotation.angles(n, math.radians(5 + 11 * difficulty), turned, device) * camera
        # The object in frame heights: w * h = area * frame and w / h = aspect; shrunk to fit as it is turned.
        h = (area * frame / aspects).sqrt()
        w = h * aspects
        cos, sin = angle.cos().abs(), angle.sin().abs()
        room = torch.minimum(frame / (w * cos + h * sin), 1 / (w * sin + h * cos))
        # A little of what stands askew may leave the frame.
        room = room * (1 + 0.25 * (2 * cos * sin))
        fit = torch.where(room < 1, room * uniform(n, 0.9, 1.04, device), torch.ones_like(room))
        extent = torch.stack([w, h], -1).unsqueeze(1) * fit.view(-1, 1, 1) / 2
        jitter = (torch.rand(n, 4, 2, device=device) - 0.5) * 2 * (0.08 + 0.16 * difficulty)
        corners = (torch.tensor(UNIT, device=device) + jitter * camera.view(-1, 1, 1)) * extent
        corners = rotation.rotated(corners, angle)
        reach = corners.abs().amax(1)
        half = torch.stack([frame / 2, torch.full_like(frame, 0.5)], -1)
        shift = (torch.rand(n, 2, device=device) * 2 - 1) * (half - reach).clamp(min=0.02)
        shift = torch.where(chance(n, 0.4, device).view(-1, 1), shift * 0.35, shift)
        return (corners + shift.unsqueeze(1)) / half.unsqueeze(1)

    def ground(self, textures, backgrounds, size, camera):
        n, device = len(textures), textures.device
        theta = torch.zeros(n, 2, 3, device=device)
        zoom = uniform(n, 0.35, 1.0, device)
        theta[:, 0, 0], theta[:, 1, 1] = zoom * torch.where(chance(n, 0.5, device), 1.0, -1.0), zoom
        theta[:, :, 2] = (torch.rand(n, 2, device=device) * 2 - 1) * (1 - zoom).unsqueeze(1)
        placed = F.affine_grid(theta, (n, 3, size, size), align_corners=False)
        other = F.grid_sample(backgrounds, placed, padding_mode="reflection", align_corners=False)
        soft = gaussian_blur(other, float(uniform(1, 0.05, 0.2, "cpu")), "bilinear")
        own = F.interpolate(textures, size=(size, size), mode="bilinear", align_corners=False)
        own = gaussian_blur(own, float(uniform(1, 0.06, 0.2, "cpu")), "bilinear")
        x, y = frame_grid(size, device)
        first, second = color(n, device), color(n, device)
        light = per_image(chance(n, 0.4, device))
        first = torch.where(light, 0.9 + 0.1 * first, first)
        angle = uniform(n, 0, 2 * math.pi, device)
        ramp = (per_image(angle.cos()) * x + per_image(angle.sin()) * y) * 0.5 + 0.5
        flat = torch.where(
            per_image(chance(n, 0.5, device)), first.expand(-1, -1, size, size), first * (1 - ramp) + second * ramp
        )
        pick = torch.rand(n, device=device)
        # Camera: sharp scene, defocused scene, plain. Screenshot: plain, its own blur, another's blur, sharp.
        edges = torch.where(
            camera.view(-1, 1),
            torch.tensor([[0.45, 0.65, 0.65]], device=device),
            torch.tensor([[0.12, 0.3, 0.55]], device=device),
        )
        choice = per_image((pick.view(-1, 1) > edges).sum(1))
        ground = torch.where(choice == 0, other, torch.where(choice == 1, soft, torch.where(choice == 2, own, flat)))
        return ground.clamp(0, 1)

    def shadow(self, ground, mask, none):
        n, device = len(ground), ground.device
        offset = [int(v) for v in torch.randint(-6, 7, (2,))]
        cast = F.avg_pool2d(F.avg_pool2d(torch.roll(mask, offset, (2, 3)), (9, 1), 1, (4, 0)), (1, 9), 1, (0, 4))
        # The mask of a frame shades what is behind the frame, and nothing within.
        cast = cast * (1 - mask)
        return ground * (1 - cast * per_image(uniform(n, 0, 0.6, device) * chance(n, 0.5, device) * ~none))

    def overlays(self, frame, camera, designed, difficulty):
        """Captions, badges and fingers over the frame, the object included."""
        n, size, device = len(frame), frame.shape[-1], frame.device
        for _ in range(3):

            def captioned(rows):
                mask = self.text.masks(len(rows), size, device)
                dark = per_image(chance(len(rows), 0.5, device))
                ink = torch.where(dark, color(len(rows), device, 0, 0.15), color(len(rows), device, 0.7, 1))
                return frame[rows] * (1 - mask) + ink * mask

            frame = changed(frame, chance(n, 0.75, device) & ~camera & ~designed, captioned)
        x, y = frame_grid(size, device)
        for _ in range(2):

            def blotted(rows):
                count = len(rows)
                cx, cy = per_image(uniform(count, -1, 1, device)), per_image(uniform(count, -1, 1, device))
                rx, ry = per_image(uniform(count, 0.05, 0.35, device)), per_image(uniform(count, 0.05, 0.35, device))
                dx, dy = ((x - cx) / rx).abs(), ((y - cy) / ry).abs()
                inside = (
                    torch.where(per_image(chance(count, 0.5, device)), dx * dx + dy * dy, torch.maximum(dx, dy)) < 1
                )
                mask = inside.float() * per_image(uniform(count, 0.6, 1, device))
                return frame[rows] * (1 - mask) + color(count, device) * mask

            wanted = torch.where(camera, chance(n, 0.15 + 0.1 * difficulty, device), chance(n, 0.45, device))
            frame = changed(frame, wanted & ~designed, blotted)
        return frame

    def light(self, frame, camera, difficulty, chances):
        n, device = len(frame), frame.device
        strength = torch.where(camera, 0.4 + 0.6 * difficulty, 0.25)
        frame = lighting.exposed(frame, strength)
        frame = lighting.uneven(frame, camera * strength, (chance(n, 0.35, device) & camera) * strength)
        frame = lighting.reflections(frame, camera & chance(n, chances.reflected, device))
        frame = lighting.flash(frame, camera & chance(n, chances.flashed, device))
        frame = lighting.cast(frame, camera & chance(n, chances.cast, device))
        return lighting.dimmed(frame, camera & chance(n, chances.dimmed, device)).clamp(0, 1)

    def degrade(self, frame, camera, difficulty, chances):
        n, device = len(frame), frame.device
        frame = sensor.blurred(frame, camera, difficulty)
        frame = sensor.noisy(sensor.moire(frame), camera, difficulty)
        frame = sensor.old_phone(frame, camera & chance(n, chances.old_phone, device)).clamp(0, 1)
        return sensor.compressed(frame, difficulty)
