#!/usr/bin/env python3
"""Trains a feature-print network on folders of images and exports it for Lookalike.

    python train.py --data covers=2 --data photos=1 --exclude validation/catalog --minutes 120 --output run

A run goes on from `run/checkpoint.pt` if that is there. `--smoke` trains for a minute on generated images.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch

from lookalike_training.capture import CaptureSimulator
from lookalike_training.editions import editions
from lookalike_training.images import TextureSet, signatures_of
from lookalike_training.initial import load_initial
from lookalike_training.loss import contrastive, corner_errors, entropy
from lookalike_training.network import Architecture, FeaturePrintNetwork, normalised

MEMORY = 4096
# With --families: images of a family in a batch, and how many alike ones they are drawn from.
FAMILY = 4
ALIKE = 12
LARGEST_IN_FAMILIES = 20_000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", default=[], metavar="FOLDER[=WEIGHT[:SIDE]]", help="a folder of images, its share of a batch, and the side to keep them at (160)")
    parser.add_argument("--exclude", action="append", default=[], metavar="FOLDER", help="leave out near-duplicates of the images in this folder")
    parser.add_argument("--output", type=Path, required=True, help="folder for the checkpoint, the log and the exported model")
    parser.add_argument("--cache", type=Path, help="folder for packed images (default: OUTPUT/cache)")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--batch", type=int, default=158, help="pairs a step")
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--temperature", type=float, default=0.06)
    parser.add_argument("--entropy", type=float, default=0.1, help="weight of the entropy regulariser")
    parser.add_argument("--threshold", type=float, default=0.0, help="weight of the contrast between queries, which makes one distance fit all")
    parser.add_argument("--rectified", type=float, default=0.35, help="share of the captures that fill the frame, as straightened looks do")
    parser.add_argument("--corners", type=float, default=1.0, help="weight of the corners' error")
    parser.add_argument("--sizes", type=int, nargs="+", default=[112, 136, 160], help="input sizes, in equal steps of progress")
    parser.add_argument("--initial", type=Path, help="a checkpoint or a model file whose weights to begin with")
    parser.add_argument("--difficulty", type=float, default=0.15, help="difficulty of the captures at the beginning, 0 to 1; it is 1 at half time")
    parser.add_argument("--families", action="store_true", help="fill batches with images that the network to begin with finds alike")
    parser.add_argument("--editions", type=float, default=0.0, help="share of a batch, up to a third, that is made of altered copies of its other images, to be told from them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smoke", action="store_true", help="train for a minute on generated images")
    return parser.parse_args()


class Batches:
    """Draws textures from the sets in proportion to their weights."""

    def __init__(self, sets, weights, seed):
        self.sets = sets
        self.neighbours = [None] * len(sets)
        self.weights = np.array(weights, float) / sum(weights)
        self.random = np.random.default_rng(seed)
        self.offsets = np.cumsum([0] + [len(s) for s in sets])

    def rows(self, index, count):
        """Where alike images are known, in families of them, so that a batch holds images that are hard to tell apart."""
        total, alike = len(self.sets[index]), self.neighbours[index]
        if alike is None:
            return self.random.choice(total, count, replace=count > total)
        seeds = self.random.choice(total, -(-count // FAMILY), replace=False)
        members = self.random.permuted(alike[seeds], axis=1)[:, : FAMILY - 1]
        rows = np.unique(np.concatenate([seeds, members.reshape(-1)]))
        rows = self.random.permutation(rows)[:count]
        return np.concatenate([rows, self.random.choice(total, count - len(rows))])

    def draw(self, n, device):
        counts = self.random.multinomial(n, self.weights)
        pixels, aspects, groups = [], [], []
        for index, count in enumerate(counts):
            source = self.sets[index]
            rows = np.sort(self.rows(index, count))
            pixels.append(torch.from_numpy(source.pixels[rows]))
            aspects.append(torch.from_numpy(source.aspects[rows]))
            groups.append(torch.from_numpy(source.groups[rows] + self.offsets[index]))
        order = torch.from_numpy(self.random.permutation(n))
        side = max(p.shape[1] for p in pixels)
        scaled = []
        for part in pixels:
            part = part.to(device).permute(0, 3, 1, 2).float() / 255
            if part.shape[-1] != side:
                part = torch.nn.functional.interpolate(part, size=(side, side), mode="bicubic", align_corners=False).clamp(0, 1)
            scaled.append(part)
        return torch.cat(scaled)[order], torch.cat(aspects).to(device)[order], torch.cat(groups).to(device)[order]


@torch.no_grad()
def nearest_neighbours(network, source, size, device, count=ALIKE):
    """(images, count): of each image of a set, those whose prints are nearest, near-duplicates left out."""
    prints = []
    for start in range(0, len(source), 128):
        part = torch.from_numpy(source.pixels[start : start + 128]).to(device).permute(0, 3, 1, 2).float() / 255
        part = torch.nn.functional.interpolate(part, size=(size, size), mode="bilinear", antialias=True, align_corners=False)
        with mixed_precision(device):
            prints.append(network(normalised(part).to(memory_format=torch.channels_last))[0].float())
    prints, groups = torch.cat(prints), torch.from_numpy(source.groups).to(device)
    found = []
    for start in range(0, len(prints), 512):
        near = prints[start : start + 512] @ prints.T
        near[groups[start : start + 512, None] == groups[None]] = -2
        found.append(near.topk(count, 1).indices.cpu().numpy())
    return np.concatenate(found)


def instances(textures, aspects, groups):
    """Mirrored and cropped copies count as images of their own: more instances out of the same files."""
    n, device = len(textures), textures.device
    mirrored = torch.rand(n, device=device) < 0.3
    cropped = torch.rand(n, device=device) < 0.35
    size = torch.where(cropped.view(-1, 1), 0.5 + 0.5 * torch.rand(n, 2, device=device), torch.ones(n, 2, device=device))
    theta = torch.zeros(n, 2, 3, device=device)
    theta[:, 0, 0] = size[:, 0] * torch.where(mirrored, -1.0, 1.0)
    theta[:, 1, 1] = size[:, 1]
    theta[:, :, 2] = (torch.rand(n, 2, device=device) * 2 - 1) * (1 - size)
    grid = torch.nn.functional.affine_grid(theta, textures.shape, align_corners=False)
    textures = torch.nn.functional.grid_sample(textures, grid, padding_mode="border", align_corners=False)
    return textures, (aspects * size[:, 0] / size[:, 1]).clamp(0.3, 3.3), groups


def with_editions(textures, aspects, groups, count, first_group):
    """The last `count` images replaced by editions of the first, each in a group of its own from `first_group` down."""
    if count == 0:
        return textures, aspects, groups
    altered = editions(textures[:count], textures[count : 2 * count])
    own = first_group - torch.arange(count, device=groups.device)
    return torch.cat([textures[:-count], altered]), torch.cat([aspects[:-count], aspects[:count]]), torch.cat([groups[:-count], own])


def flat(textures, size):
    """What indexing sees: the image itself, now and then a little darker or softer than the original."""
    images = torch.nn.functional.interpolate(textures, size=(size, size), mode="bilinear", antialias=True, align_corners=False)
    gain = torch.exp(torch.randn(len(images), 1, 1, 1, device=images.device) * 0.04)
    return (images * gain).clamp(0, 1)


def calibration(batches, size, device, count=256):
    """Flat images and the hardest captures of them, normalised."""
    textures, aspects, _ = batches.draw(count, device)
    captures, _ = CaptureSimulator()(textures, aspects, textures.roll(1, 0), size, 1.0)
    return normalised(torch.cat([captures, flat(textures, size)])).to(memory_format=torch.channels_last)


def mixed_precision(device):
    """bfloat16 where the device computes in it; a CPU that has to emulate it is twice as fast in float32."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type != "cpu" or torch.cpu._is_avx512_bf16_supported())


def averaged(average, network, decay):
    with torch.no_grad():
        for kept, new in zip(average.state_dict().values(), network.state_dict().values()):
            if kept.dtype.is_floating_point:
                kept.lerp_(new, 1 - decay)
            else:
                kept.copy_(new)


def main():
    options = arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    log_file = open(options.output / "log.txt", "a")

    def log(text):
        print(text, flush=True)
        print(text, file=log_file, flush=True)

    if options.smoke:
        from lookalike_training.smoke import generated_folder

        options.data = [str(generated_folder(options.output / "generated"))]
        options.minutes, options.batch, options.sizes = min(options.minutes, 1.0), 24, [64]
    if not 0 <= options.editions <= 1 / 3:
        raise SystemExit(f"--editions {options.editions}: a share from 0 to a third is needed, since the rest is what is altered")
    torch.manual_seed(options.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cache = options.cache or options.output / "cache"
    excluded = signatures_of(options.exclude)
    sets, weights = [], []
    for entry in options.data:
        folder, _, rest = entry.partition("=")
        weight, _, side = rest.partition(":")
        sets.append(TextureSet.packed(folder, int(side or 160), cache, excluded, log))
        weights.append(float(weight or 1))
        log(f"{folder}: {len(sets[-1])} images, weight {weights[-1]}")
    batches = Batches(sets, weights, options.seed)

    network = FeaturePrintNetwork(Architecture()).to(device).to(memory_format=torch.channels_last)
    if options.initial:
        given = load_initial(network, options.initial, calibration(batches, options.sizes[-1], device))
        log(f"begun with {given} tensors of {options.initial}")
    average = FeaturePrintNetwork(Architecture()).to(device)
    average.load_state_dict(network.state_dict())
    if options.families:
        average.eval()
        for index, source in enumerate(sets):
            if ALIKE < len(source) <= LARGEST_IN_FAMILIES:
                batches.neighbours[index] = nearest_neighbours(average, source, options.sizes[-1], device)
                log(f"{options.data[index]}: drawn in families of {FAMILY}")
        average.train()
    decayed = [p for p in network.parameters() if p.ndim > 1]
    plain = [p for p in network.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}], lr=options.rate)
    simulate = CaptureSimulator(options.rectified)
    memory = torch.zeros(0, network.architecture.print_length, device=device)
    memory_groups = torch.zeros(0, dtype=torch.long, device=device)
    edited = round(options.editions * options.batch)
    step, spent = 0, 0.0
    checkpoint = options.output / "checkpoint.pt"
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device)
        network.load_state_dict(state["network"])
        average.load_state_dict(state["average"])
        optimizer.load_state_dict(state["optimizer"])
        step, spent = state["step"], state["spent"]
        batches.random = np.random.default_rng(options.seed + step)
        torch.manual_seed(options.seed + step)
        log(f"going on from step {step}, {spent / 60:.1f} minutes in")

    def save():
        state = {"network": network.state_dict(), "average": average.state_dict(), "optimizer": optimizer.state_dict(),
                 "step": step, "spent": spent, "architecture": network.architecture.as_dict()}
        torch.save(state, checkpoint.with_suffix(".part"))
        checkpoint.with_suffix(".part").replace(checkpoint)

    limit = options.minutes * 60
    last_saved, running = spent, None
    while spent < limit:
        began = time.monotonic()
        progress = spent / limit
        size = options.sizes[min(int(progress * len(options.sizes)), len(options.sizes) - 1)]
        difficulty = min(1.0, options.difficulty + progress * 2 * (1 - options.difficulty))
        rate = options.rate * min(1.0, (step + 1) / 150) * (0.5 + 0.5 * math.cos(math.pi * progress))
        for group in optimizer.param_groups:
            group["lr"] = max(rate, 1e-6)
        textures, aspects, groups = instances(*batches.draw(options.batch, device))
        textures, aspects, groups = with_editions(textures, aspects, groups, edited, -1 - step * edited)
        backgrounds = textures[torch.randperm(len(textures), device=device)]
        captures, corners = simulate(textures, aspects, backgrounds, size, difficulty)
        inputs = normalised(torch.cat([captures, flat(textures, size)])).to(memory_format=torch.channels_last)
        with mixed_precision(device):
            prints, votes = network(inputs)
        prints = prints.float()
        captured, flats = prints.chunk(2)
        misplaced, votes_misplaced, outline = corner_errors(votes[: len(captured)], network.locator.stride, size, corners)
        contrast, threshold = contrastive(captured, flats, groups, memory, memory_groups, options.temperature)
        spread = entropy(prints, torch.cat([groups, groups]), memory, memory_groups)
        loss = contrast + options.threshold * threshold + options.entropy * spread + options.corners * (misplaced.mean() + 0.5 * votes_misplaced)
        if not torch.isfinite(loss):
            raise SystemExit(f"step {step}: the loss is {loss.item()}")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        averaged(average, network, min(0.999, (step + 1) / (step + 10)))
        if progress > 0.15:
            memory = torch.cat([flats.detach(), memory])[:MEMORY]
            memory_groups = torch.cat([groups, memory_groups])[:MEMORY]
        hits = (captured @ flats.T).argmax(1).eq(torch.arange(len(flats), device=device)).float().mean().item()
        running = hits if running is None else 0.95 * running + 0.05 * hits
        step += 1
        spent += time.monotonic() - began
        if step % 20 == 0:
            log(f"step {step} minute {spent / 60:.1f} size {size} contrast {contrast.item():.3f} threshold {threshold.item():.3f} entropy {spread.item():.3f} "
                f"corners {misplaced.median().item():.3f} outline {outline.median().item():.3f} in-batch recall {running:.3f} rate {rate:.2e} power {network.pool.power.item():.2f} "
                f"{2 * options.batch / (time.monotonic() - began):.0f} images/s")
        if spent - last_saved > 240:
            save()
            last_saved = spent
    save()
    log(f"done: {step} steps in {spent / 60:.1f} minutes, in-batch recall {running or 0:.3f}")


if __name__ == "__main__":
    main()
