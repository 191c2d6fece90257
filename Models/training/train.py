#!/usr/bin/env python3
"""Trains a feature-print network on folders of images.

    python train.py --data covers=2 --data photos=1 --exclude validation/catalog --minutes 120 --output run

A run resumes from `run/checkpoint.pt` if that exists. `export.py` turns a checkpoint into a model file. `--smoke`
trains for a minute on generated images.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch

from lookalike_training.batches import Batches, flat, instances, with_near_duplicates
from lookalike_training.capture import CaptureSimulator
from lookalike_training.images import TextureSet, signatures_of
from lookalike_training.initial import load_initial
from lookalike_training.loss import contrastive, corner_errors, koleo
from lookalike_training.network import Architecture, FeaturePrintNetwork, mixed_precision, normalized
from lookalike_training.smoke import generated_folder

MEMORY = 4096
SECONDS_BETWEEN_CHECKPOINTS = 240


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(name, help, **options):
        parser.add_argument(name, help=help, **options)

    add(
        "--data",
        "a folder of images, its share of a batch, and the side to keep them at (default 160)",
        action="append",
        default=[],
        metavar="FOLDER[=WEIGHT[:SIDE]]",
    )
    add(
        "--exclude",
        "leave out near-duplicates of the images in this folder",
        action="append",
        default=[],
        metavar="FOLDER",
    )
    add("--output", "folder for the checkpoint and the log", type=Path, required=True)
    add("--cache", "folder for packed images (default: OUTPUT/cache)", type=Path)
    add("--initial", "a checkpoint or a model file with the initial weights", type=Path)
    add("--minutes", "how long to train", type=float, default=120)
    add("--batch", "pairs per step", type=int, default=158)
    add("--sizes", "input sizes, in equal steps of progress", type=int, nargs="+", default=[112, 136, 160])
    add("--learning-rate", "peak learning rate", type=float, default=1.5e-3)
    add("--temperature", "temperature of the contrastive loss", type=float, default=0.06)
    add("--koleo", "weight of the KoLeo (entropy) regularizer", type=float, default=0.1)
    add(
        "--cross-query",
        "weight of the contrast across queries, which lets one threshold fit all",
        type=float,
        default=0.0,
    )
    add("--corners", "weight of the locator's loss", type=float, default=1.0)
    add("--difficulty", "initial difficulty of the captures, 0 to 1", type=float, default=0.15)
    add("--hardest", "difficulty of the captures from half time on", type=float, default=1.0)
    add("--rectified", "share of the captures that fill the frame, as rectified crops do", type=float, default=0.35)
    add("--hard-negatives", "fill batches with images that the initial network finds similar", action="store_true")
    add(
        "--near-duplicates",
        "share of a batch, up to a third, that is made of altered copies of its other images",
        type=float,
        default=0.0,
    )
    add("--seed", "seed of all random choices", type=int, default=1)
    add("--smoke", "train for a minute on generated images", action="store_true")
    options = parser.parse_args()
    if not 0 <= options.near_duplicates <= 1 / 3:
        parser.error(f"--near-duplicates {options.near_duplicates}: must lie between 0 and a third")
    if options.smoke:
        options.data = [str(generated_folder(options.output / "generated"))]
        options.minutes, options.batch, options.sizes = min(options.minutes, 1.0), 24, [64]
    return options


class Log:
    """Prints lines and appends them to a file."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "a")

    def __call__(self, text):
        print(text, flush=True)
        print(text, file=self.file, flush=True)


def batches_of(options, log):
    """The folders of `--data`, packed, without what resembles an image of `--exclude`."""
    excluded = signatures_of(options.exclude)
    sets, weights = [], []
    for entry in options.data:
        folder, _, rest = entry.partition("=")
        weight, _, side = rest.partition(":")
        sets.append(
            TextureSet.packed(folder, int(side or 160), options.cache or options.output / "cache", excluded, log)
        )
        weights.append(float(weight or 1))
        log(f"{folder}: {len(sets[-1])} images, weight {weights[-1]}")
    return Batches(sets, weights, options.seed)


def unfolding_images(batches, size, device, count=256):
    """Flat images and the hardest captures of them, normalized: batch normalization is unfolded on these."""
    textures, aspects, _ = batches.draw(count, device)
    captures, _ = CaptureSimulator()(textures, aspects, textures.roll(1, 0), size, 1.0)
    return normalized(torch.cat([captures, flat(textures, size)])).to(memory_format=torch.channels_last)


class Memory:
    """Flat prints of past steps, as further negatives."""

    def __init__(self, dimension, device):
        self.prints = torch.zeros(0, dimension, device=device)
        self.groups = torch.zeros(0, dtype=torch.long, device=device)

    def add(self, prints, groups):
        self.prints = torch.cat([prints.detach(), self.prints])[:MEMORY]
        self.groups = torch.cat([groups, self.groups])[:MEMORY]


class Trainer:
    def __init__(self, options, log):
        torch.manual_seed(options.seed)
        self.options, self.log = options, log
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.batches = batches_of(options, log)
        self.network = FeaturePrintNetwork(Architecture()).to(self.device).to(memory_format=torch.channels_last)
        if options.initial:
            images = unfolding_images(self.batches, options.sizes[-1], self.device)
            log(f"{load_initial(self.network, options.initial, images)} tensors loaded from {options.initial}")
        self.average = FeaturePrintNetwork(Architecture()).to(self.device)
        self.average.load_state_dict(self.network.state_dict())
        if options.hard_negatives:
            self.batches.find_hard_negatives(self.average.eval(), options.sizes[-1], self.device, log)
            self.average.train()
        self.optimizer = optimizer_of(self.network, options.learning_rate)
        self.simulate = CaptureSimulator(options.rectified)
        self.memory = Memory(self.network.architecture.dimension, self.device)
        self.step, self.spent, self.recall = 0, 0.0, None
        self.resume()

    @property
    def checkpoint(self):
        return self.options.output / "checkpoint.pt"

    def resume(self):
        if not self.checkpoint.exists():
            return
        state = torch.load(self.checkpoint, map_location=self.device)
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.spent = state["step"], state["spent"]
        self.batches.random = np.random.default_rng(self.options.seed + self.step)
        torch.manual_seed(self.options.seed + self.step)
        self.log(f"resumed at step {self.step}, after {self.spent / 60:.1f} minutes")

    def save(self):
        state = {
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "spent": self.spent,
            "architecture": self.network.architecture.as_dict(),
        }
        part = self.checkpoint.with_suffix(".part")
        torch.save(state, part)
        part.replace(self.checkpoint)

    def train(self):
        limit, last_saved = self.options.minutes * 60, self.spent
        while self.spent < limit:
            began = time.monotonic()
            figures = self.train_step(self.spent / limit)
            elapsed = time.monotonic() - began
            self.spent += elapsed
            if self.step % 20 == 0:
                described = " ".join(f"{name} {value}" for name, value in figures().items())
                speed = 2 * self.options.batch / elapsed
                self.log(f"step {self.step} minute {self.spent / 60:.1f} {described} {speed:.0f} images/s")
            if self.spent - last_saved > SECONDS_BETWEEN_CHECKPOINTS:
                self.save()
                last_saved = self.spent
        self.save()
        self.log(f"done: {self.step} steps in {self.spent / 60:.1f} minutes, in-batch recall {self.recall or 0:.3f}")

    def train_step(self, progress):
        """One step at `progress` of the run, 0 to 1. Returns a function that describes it."""
        options = self.options
        size = options.sizes[min(int(progress * len(options.sizes)), len(options.sizes) - 1)]
        difficulty = options.difficulty + min(1.0, 2 * progress) * (options.hardest - options.difficulty)
        learning_rate = self.schedule(progress)
        textures, aspects, groups = self.images()
        backgrounds = textures[torch.randperm(len(textures), device=self.device)]
        captures, corners = self.simulate(textures, aspects, backgrounds, size, difficulty)
        inputs = normalized(torch.cat([captures, flat(textures, size)])).to(memory_format=torch.channels_last)
        with mixed_precision(self.device):
            prints, votes = self.network(inputs)
        prints = prints.float()
        captured, flats = prints.chunk(2)
        stride = self.network.locator.stride
        misplaced, votes_misplaced, outline = corner_errors(votes[: len(captured)], stride, size, corners)
        memory = self.memory
        contrast, cross_query = contrastive(captured, flats, groups, memory.prints, memory.groups, options.temperature)
        spread = koleo(prints, torch.cat([groups, groups]), memory.prints, memory.groups)
        located = misplaced.mean() + 0.5 * votes_misplaced
        loss = contrast + options.cross_query * cross_query + options.koleo * spread + options.corners * located
        self.descend(loss)
        if progress > 0.15:
            memory.add(flats, groups)
        hits = (captured @ flats.T).argmax(1).eq(torch.arange(len(flats), device=self.device)).float().mean().item()
        self.recall = hits if self.recall is None else 0.95 * self.recall + 0.05 * hits
        return lambda: {
            "size": size,
            "contrast": f"{contrast.item():.3f}",
            "cross-query": f"{cross_query.item():.3f}",
            "koleo": f"{spread.item():.3f}",
            "corners": f"{misplaced.median().item():.3f}",
            "outline": f"{outline.median().item():.3f}",
            "in-batch recall": f"{self.recall:.3f}",
            "learning rate": f"{learning_rate:.2e}",
            "power": f"{self.network.pool.power.item():.2f}",
        }

    def schedule(self, progress):
        """Sets the learning rate: a warm-up over 150 steps, then a cosine."""
        warm = min(1.0, (self.step + 1) / 150)
        learning_rate = max(self.options.learning_rate * warm * (0.5 + 0.5 * math.cos(math.pi * progress)), 1e-6)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        return learning_rate

    def images(self):
        textures, aspects, groups = instances(*self.batches.draw(self.options.batch, self.device))
        altered = round(self.options.near_duplicates * self.options.batch)
        return with_near_duplicates(textures, aspects, groups, altered, -1 - self.step * altered)

    def descend(self, loss):
        if not torch.isfinite(loss):
            raise SystemExit(f"step {self.step}: the loss is {loss.item()}")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimizer.step()
        update_average(self.average, self.network, min(0.999, (self.step + 1) / (self.step + 10)))
        self.step += 1


def optimizer_of(network, learning_rate):
    """AdamW; biases and normalization are not decayed."""
    decayed = [p for p in network.parameters() if p.ndim > 1]
    plain = [p for p in network.parameters() if p.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}], lr=learning_rate
    )


@torch.no_grad()
def update_average(average, network, decay):
    """The exponential average of the weights, which is what is exported."""
    for kept, new in zip(average.state_dict().values(), network.state_dict().values()):
        if kept.dtype.is_floating_point:
            kept.lerp_(new, 1 - decay)
        else:
            kept.copy_(new)


def main():
    options = arguments()
    Trainer(options, Log(options.output / "log.txt")).train()


if __name__ == "__main__":
    main()
