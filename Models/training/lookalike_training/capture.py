"""Simulated captures: what a camera or a screenshot makes of a flat image, in batches on tensors."""

import math

import torch
from PIL import Image, ImageDraw, ImageFont
from torch.nn import functional as F


def uniform(n, low, high, device):
    return torch.rand(n, device=device) * (high - low) + low


def chance(n, p, device):
    return torch.rand(n, device=device) < p


def per_image(values):
    return values.view(-1, 1, 1, 1)


def quad_homography(quads):
    """(n, 4, 2) corners of the object in the frame, clockwise from the top left, both in [-1, 1]:
    the (n, 3, 3) maps from the frame to the object's own [-1, 1] square."""
    n = len(quads)
    unit = torch.tensor([[-1.0, -1], [1, -1], [1, 1], [-1, 1]], device=quads.device).expand(n, 4, 2)
    x, y = quads[..., 0], quads[..., 1]
    u, v = unit[..., 0], unit[..., 1]
    zero, one = torch.zeros_like(x), torch.ones_like(x)
    rows_u = torch.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1)
    rows_v = torch.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1)
    system = torch.cat([rows_u, rows_v], 1)
    right = torch.cat([u, v], 1).unsqueeze(-1)
    solution = torch.linalg.solve(system, right).squeeze(-1)
    return torch.cat([solution, torch.ones(n, 1, device=quads.device)], 1).view(n, 3, 3)


def frame_grid(size, device):
    line = (torch.arange(size, device=device, dtype=torch.float32) + 0.5) * 2 / size - 1
    y, x = torch.meshgrid(line, line, indexing="ij")
    return x, y


def gaussian_blur(images, radius_fraction, up="bicubic"):
    """Defocus by going down and up: cheap, and wide enough for backgrounds, for which going up linearly will do."""
    size = images.shape[-1]
    small = max(4, int(size * radius_fraction))
    down = F.interpolate(images, size=(small, small), mode="bilinear", antialias=True, align_corners=False)
    return F.interpolate(down, size=(size, size), mode=up, align_corners=False).clamp(0, 1)


class TextBank:
    """White-on-black strips of random words, to be laid over frames as captions and badges."""

    def __init__(self, count=192, width=160, height=48, seed=11):
        generator = torch.Generator().manual_seed(seed)
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789   !?.:&-"
        strips = []
        for _ in range(count):
            picked = torch.randint(0, len(letters), (int(torch.randint(6, 26, (1,), generator=generator)),), generator=generator)
            size = int(torch.randint(9, 34, (1,), generator=generator))
            strip = Image.new("L", (width, height))
            ImageDraw.Draw(strip).text((2, 2), "".join(letters[i] for i in picked), fill=255, font=ImageFont.load_default(size))
            strips.append(torch.frombuffer(bytearray(strip.tobytes()), dtype=torch.uint8).view(1, height, width))
        self.strips = torch.stack(strips)

    def masks(self, n, size, device):
        """(n, 1, size, size) masks, each one strip at a random place and scale."""
        strips = self.strips[torch.randint(len(self.strips), (n,))].to(device).float() / 255
        zoom = uniform(n, 0.6, 2.2, device)
        theta = torch.zeros(n, 2, 3, device=device)
        theta[:, 0, 0] = zoom
        theta[:, 1, 1] = zoom * strips.shape[-1] / strips.shape[-2]
        theta[:, 0, 2] = uniform(n, -1, 1, device) * zoom
        theta[:, 1, 2] = uniform(n, -1, 1, device) * theta[:, 1, 1]
        return F.grid_sample(strips, F.affine_grid(theta, (n, 1, size, size), align_corners=False), align_corners=False)


class CaptureSimulator:
    """Turns flat textures into captures. `difficulty` in [0, 1] widens every range; a share of `rectified`
    fills the frame but for small errors, as the second look at a query does."""

    def __init__(self, rectified=0.35):
        self.rectified = rectified
        self.text = TextBank()

    def __call__(self, textures, aspects, backgrounds, size, difficulty):
        """textures, backgrounds: (n, 3, t, t) in [0, 1]; aspects: width / height of the originals.
        Returns (n, 3, size, size) in [0, 1], and (n, 4, 2) corners as fractions of the frame."""
        n, device = len(textures), textures.device
        camera = chance(n, 0.68, device)
        quads = self.quads(n, aspects, camera, difficulty, device)
        quads = torch.where(chance(n, self.rectified, device).view(-1, 1, 1), self.rectified_quads(n, device), quads)
        layer, mask = self.place(textures, quads, size)
        ground = self.ground(textures, backgrounds, size, camera)
        ground = self.shadow(ground, mask)
        frame = ground * (1 - mask) + layer * mask
        frame = self.overlays(frame, camera, difficulty)
        frame = self.light(frame, camera, difficulty)
        return self.degrade(frame, camera, difficulty), quads / 2 + 0.5

    def rectified_quads(self, n, device):
        """What is left of the perspective after a query was rectified by corners that were found roughly."""
        unit = torch.tensor([[-1.0, -1], [1, -1], [1, 1], [-1, 1]], device=device)
        scale = uniform(n, 0.82, 1.12, device).view(-1, 1, 1)
        shift = torch.randn(n, 1, 2, device=device) * 0.04
        return unit * scale + shift + torch.randn(n, 4, 2, device=device) * 0.05

    def quads(self, n, aspects, camera, difficulty, device):
        """Corners of the object in frames stretched to [-1, 1] squares."""
        shapes = torch.tensor([1.0, 4 / 3, 3 / 4, 16 / 9, 9 / 16, 1.0, 4 / 3, 3 / 4], device=device)
        frame = shapes[torch.randint(len(shapes), (n,), device=device)]
        near = aspects * torch.exp(uniform(n, -0.45, 0.45, device))
        frame = torch.where(camera, frame, near.clamp(0.4, 2.2))
        smallest = 0.5 - 0.38 * difficulty
        area = torch.exp(uniform(n, math.log(smallest), math.log(1.02), device))
        # The object in frame heights: w * h = area * frame, w / h = aspect; shrunk where it would not fit.
        h = (area * frame / aspects).sqrt()
        w = h * aspects
        fit = torch.minimum(frame / w, 1 / h).clamp(max=1.0) * uniform(n, 0.9, 1.04, device)
        fit = torch.where((frame / w < 1) | (1 / h < 1), fit, torch.ones_like(fit))
        w, h = w * fit / 2, h * fit / 2
        corners = torch.stack([torch.stack([-w, -h], -1), torch.stack([w, -h], -1), torch.stack([w, h], -1), torch.stack([-w, h], -1)], 1)
        jitter = (torch.rand(n, 4, 2, device=device) - 0.5) * 2 * (0.08 + 0.16 * difficulty)
        extent = torch.stack([w, h], -1).unsqueeze(1)
        corners = corners + jitter * extent * camera.view(-1, 1, 1)
        angle = torch.randn(n, device=device).clamp(-2.2, 2.2) * math.radians(5 + 11 * difficulty) * camera
        cos, sin = angle.cos().view(-1, 1), angle.sin().view(-1, 1)
        x, y = corners[..., 0], corners[..., 1]
        corners = torch.stack([x * cos - y * sin, x * sin + y * cos], -1)
        reach = corners.abs().amax(1)
        slack_x = (frame / 2 - reach[:, 0]).clamp(min=0.02)
        slack_y = (0.5 - reach[:, 1]).clamp(min=0.02)
        shift = torch.stack([uniform(n, -1, 1, device) * slack_x, uniform(n, -1, 1, device) * slack_y], -1)
        centred = chance(n, 0.4, device).view(-1, 1)
        shift = torch.where(centred, shift * 0.35, shift)
        corners = corners + shift.unsqueeze(1)
        return corners / torch.stack([frame / 2, torch.full_like(frame, 0.5)], -1).unsqueeze(1)

    def place(self, textures, quads, size):
        """The warped object and its mask, sampled from a mip level that fits its size."""
        n, device = len(textures), textures.device
        x, y = frame_grid(size, device)
        u, v, w = (a * x + b * y + c for a, b, c in (row.view(n, 3, 1, 1).unbind(1) for row in quad_homography(quads).unbind(1)))
        w = torch.where(w.abs() < 1e-4, torch.full_like(w, 1e-4), w)
        grid = torch.stack([u / w, v / w], -1)
        visible = (w > 0).unsqueeze(1).float()
        spread = (quads.amax(1) - quads.amin(1)).mean(1) / 2 * size
        level = torch.log2((textures.shape[-1] / spread).clamp(min=1)).round().clamp(max=2).long()
        layer = torch.empty(n, 3, size, size, device=device)
        source = textures
        for mip in range(3):
            chosen = (level == mip).nonzero().squeeze(1)
            if len(chosen):
                layer[chosen] = F.grid_sample(source[chosen], grid[chosen], padding_mode="border", align_corners=False)
            if mip < 2:
                source = F.avg_pool2d(source, 2)
        rounding = torch.where(chance(n, 0.3, device), uniform(n, 0.02, 0.3, device), torch.full((n,), 0.001, device=device))
        radius = rounding.view(-1, 1, 1)
        qx = (grid[..., 0].abs() - 1 + radius).clamp(min=0)
        qy = (grid[..., 1].abs() - 1 + radius).clamp(min=0)
        outside = (qx * qx + qy * qy).sqrt() - radius
        sharpness = (spread / 2).view(-1, 1, 1)
        mask = (0.5 - outside * sharpness).clamp(0, 1).unsqueeze(1) * visible
        return layer, mask

    def ground(self, textures, backgrounds, size, camera):
        n, device = len(textures), textures.device
        theta = torch.zeros(n, 2, 3, device=device)
        zoom = uniform(n, 0.35, 1.0, device)
        theta[:, 0, 0], theta[:, 1, 1] = zoom * torch.where(chance(n, 0.5, device), 1.0, -1.0), zoom
        theta[:, :, 2] = (torch.rand(n, 2, device=device) * 2 - 1) * (1 - zoom).unsqueeze(1)
        other = F.grid_sample(backgrounds, F.affine_grid(theta, (n, 3, size, size), align_corners=False), padding_mode="reflection", align_corners=False)
        soft = gaussian_blur(other, float(uniform(1, 0.05, 0.2, "cpu")), "bilinear")
        own = gaussian_blur(F.interpolate(textures, size=(size, size), mode="bilinear", align_corners=False), float(uniform(1, 0.06, 0.2, "cpu")), "bilinear")
        x, y = frame_grid(size, device)
        first, second = torch.rand(n, 3, 1, 1, device=device), torch.rand(n, 3, 1, 1, device=device)
        light = per_image(chance(n, 0.4, device))
        first = torch.where(light, 0.9 + 0.1 * first, first)
        angle = uniform(n, 0, 2 * math.pi, device)
        ramp = (per_image(angle.cos()) * x + per_image(angle.sin()) * y) * 0.5 + 0.5
        flat = torch.where(per_image(chance(n, 0.5, device)), first.expand(-1, -1, size, size), first * (1 - ramp) + second * ramp)
        pick = torch.rand(n, device=device)
        # Camera: sharp scene, defocused scene, plain. Screenshot: plain, its own blur, another's blur, sharp.
        edges = torch.where(camera.view(-1, 1), torch.tensor([[0.55, 0.8, 0.8]], device=device), torch.tensor([[0.12, 0.3, 0.55]], device=device))
        choice = (pick.view(-1, 1) > edges).sum(1).view(-1, 1, 1, 1)
        ground = torch.where(choice == 0, other, torch.where(choice == 1, soft, torch.where(choice == 2, own, flat)))
        return ground.clamp(0, 1)

    def shadow(self, ground, mask):
        n, device = len(ground), ground.device
        offset = [int(v) for v in torch.randint(-6, 7, (2,))]
        cast = F.avg_pool2d(F.avg_pool2d(torch.roll(mask, offset, (2, 3)), (9, 1), 1, (4, 0)), (1, 9), 1, (0, 4))
        return ground * (1 - cast * per_image(uniform(n, 0, 0.6, device) * chance(n, 0.5, device)))

    def overlays(self, frame, camera, difficulty):
        """Captions, badges, bars and fingers over the frame, the object included."""
        n, size, device = len(frame), frame.shape[-1], frame.device
        for _ in range(3):
            wanted = chance(n, 0.75, device) & ~camera
            mask = self.text.masks(n, size, device) * per_image(wanted)
            dark = per_image(chance(n, 0.5, device))
            ink = torch.where(dark, 0.15 * torch.rand(n, 3, 1, 1, device=device), 0.7 + 0.3 * torch.rand(n, 3, 1, 1, device=device))
            frame = frame * (1 - mask) + ink * mask
        x, y = frame_grid(size, device)
        for blob in range(2):
            wanted = torch.where(camera, chance(n, 0.2 + 0.1 * difficulty, device), chance(n, 0.45, device))
            cx, cy = per_image(uniform(n, -1, 1, device)), per_image(uniform(n, -1, 1, device))
            rx, ry = per_image(uniform(n, 0.05, 0.35, device)), per_image(uniform(n, 0.05, 0.35, device))
            round_ = per_image(chance(n, 0.5, device))
            dx, dy = ((x - cx) / rx).abs(), ((y - cy) / ry).abs()
            inside = torch.where(round_, dx * dx + dy * dy, torch.maximum(dx, dy)) < 1
            mask = inside.float() * per_image(wanted) * per_image(uniform(n, 0.6, 1, device))
            frame = frame * (1 - mask) + torch.rand(n, 3, 1, 1, device=device) * mask
        return frame

    def light(self, frame, camera, difficulty):
        """Exposure, white balance, contrast, saturation, uneven light and glare."""
        n, size, device = len(frame), frame.shape[-1], frame.device
        strength = torch.where(camera, 0.4 + 0.6 * difficulty, 0.25)
        frame = frame.clamp(1e-4, 1) ** per_image(torch.exp(torch.randn(n, device=device) * 0.3 * strength))
        balance = torch.exp(torch.randn(n, 3, 1, 1, device=device) * 0.12 * per_image(strength))
        frame = frame * balance * per_image(torch.exp(torch.randn(n, device=device) * 0.28 * strength))
        grey = frame.mean((1, 2, 3), keepdim=True)
        frame = grey + (frame - grey) * per_image(torch.exp(torch.randn(n, device=device) * 0.25 * strength))
        luma = frame.mean(1, keepdim=True)
        frame = luma + (frame - luma) * per_image(1 + torch.randn(n, device=device) * 0.3 * strength).clamp(0, 2)
        x, y = frame_grid(size, device)
        angle = uniform(n, 0, 2 * math.pi, device)
        ramp = per_image(angle.cos()) * x + per_image(angle.sin()) * y
        frame = frame * (1 + ramp * per_image(uniform(n, 0, 0.45, device) * camera * strength))
        cx, cy = per_image(uniform(n, -1, 1, device)), per_image(uniform(n, -1, 1, device))
        radius = per_image(uniform(n, 0.1, 0.6, device))
        glare = torch.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (radius * radius))
        frame = frame + glare * per_image(uniform(n, 0.1, 0.9, device) * (chance(n, 0.35, device) & camera) * strength)
        return frame.clamp(0, 1)

    def degrade(self, frame, camera, difficulty):
        """Motion blur, defocus, noise, moire and compression."""
        n, size, device = len(frame), frame.shape[-1], frame.device
        for level in (0.75, 0.5, 0.36):
            chosen = (chance(n, 0.16, device) & (camera | (level > 0.6))).nonzero().squeeze(1)
            if len(chosen) and (level > 0.4 or difficulty > 0.4):
                frame[chosen] = gaussian_blur(frame[chosen], level)
        moved = (chance(n, 0.15, device) & camera).nonzero().squeeze(1)
        if len(moved):
            kernel = torch.zeros(7, 7, device=device)
            angle = float(uniform(1, 0, math.pi, "cpu"))
            for step in torch.linspace(-2.5, 2.5, 21):
                kernel[3 + int(round(float(step) * math.sin(angle))), 3 + int(round(float(step) * math.cos(angle)))] += 1
            kernel = (kernel / kernel.sum()).expand(3, 1, 7, 7)
            frame[moved] = F.conv2d(F.pad(frame[moved], (3, 3, 3, 3), mode="replicate"), kernel, groups=3)
        x, y = frame_grid(size, device)
        striped = per_image(uniform(n, 0, 0.1, device) * chance(n, 0.08, device))
        fx, fy = per_image(uniform(n, -120, 120, device)), per_image(uniform(n, -120, 120, device))
        frame = frame * (1 + striped * torch.sin(x * fx + y * fy))
        sigma = per_image(uniform(n, 0, 0.035 + 0.035 * difficulty, device) * camera)
        frame = frame + torch.randn_like(frame) * sigma
        return self.compressed(frame.clamp(0, 1), difficulty)

    def compressed(self, frame, difficulty):
        """JPEG's loss: 8x8 DCT coefficients rounded in steps that grow with frequency."""
        n, size, device = len(frame), frame.shape[-1], frame.device
        chosen = chance(n, 0.4, device).nonzero().squeeze(1)
        if not len(chosen) or size % 8:
            return frame
        k = torch.arange(8, device=device, dtype=torch.float32)
        basis = torch.cos((2 * k[None, :] + 1) * k[:, None] * math.pi / 16) * 0.5
        basis[0] *= math.sqrt(0.5)
        # All blocks at once: a matrix with the basis down its diagonal transforms the rows, or the columns, of an image.
        transform = torch.block_diag(*[basis] * (size // 8))
        step = ((1 + k[:, None] + k[None, :]) * 0.01).repeat(size // 8, size // 8)
        step = step * per_image(uniform(len(chosen), 0.5, 4 + 3 * difficulty, device))
        spectrum = transform @ frame[chosen] @ transform.T
        frame = frame.clone()
        frame[chosen] = (transform.T @ ((spectrum / step).round() * step) @ transform).clamp(0, 1)
        return frame
