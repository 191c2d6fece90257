#!/usr/bin/env python3
"""Trains a print from a pretrained trunk on the shards of `render_pairs.py`, which may still be rendering.

    python train_print.py --shards shards --initial untouched.pt --minutes 90 --output run   # can be resumed

The loss is that of `train.py` (InfoNCE, contrast across queries, KoLeo) and a distillation: the print of a clean image
stays close to the one that the untouched network makes, so that it does not forget what it knows of things.
"""

import argparse
import math
import random
import signal
import time
from pathlib import Path

import torch
from torch.nn import functional as F

from lookalike_training.lite import loaded
from lookalike_training.loss import contrastive, koleo
from train import Log, Memory, optimizer_of, update_average

CLUSTER = 4
SECONDS_BETWEEN_CHECKPOINTS, SECONDS_BETWEEN_SNAPSHOTS = 180, 600
FLAT = 0


class Shards:
    """The newest shards, as clusters to draw from; older ones are deleted."""

    def __init__(self, folder, window):
        self.folder, self.window = folder, window
        self.loaded, self.checked = {}, 0.0

    def refresh(self):
        if time.monotonic() - self.checked < 10:
            return
        self.checked = time.monotonic()
        paths = sorted(self.folder.glob("[0-9]*.pt"))
        for path in paths[: -self.window]:
            self.loaded.pop(path, None)
            path.unlink()
        for path in paths[-self.window :]:
            if path not in self.loaded:
                self.loaded[path] = torch.load(path, mmap=False)

    def draw(self, clusters):
        self.refresh()
        while not self.loaded:
            time.sleep(5)
            self.refresh()
        names = list(self.loaded)
        parts = []
        for _ in range(clusters):
            shard = self.loaded[random.choice(names)]
            start = CLUSTER * random.randrange(len(shard["groups"]) // CLUSTER)
            parts.append({name: values[start : start + CLUSTER] for name, values in shard.items()})
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=Path, required=True)
    parser.add_argument("--initial", type=Path, required=True, help="the untouched print of fit_projection.py")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--clusters", type=int, default=24, help="clusters of four pairs per step")
    parser.add_argument("--window", type=int, default=48, help="shards to draw from")
    parser.add_argument("--frozen", type=int, default=5)
    parser.add_argument("--learning-rate", type=float, default=4e-4)
    parser.add_argument("--temperature", type=float, default=0.06)
    parser.add_argument("--koleo", type=float, default=0.2)
    parser.add_argument("--cross-query", type=float, default=0.25)
    parser.add_argument("--distillation", type=float, nargs=2, default=(1.0, 4.0), help="of flat images, of the others")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Trainer:
    def __init__(self, options, log):
        torch.manual_seed(options.seed)
        torch.set_num_threads(options.threads)
        random.seed(options.seed)
        self.options, self.log = options, log
        self.network = self.initial()
        self.average = self.initial()
        self.teacher = self.initial().projection
        for part in [self.network.stem, *self.network.blocks[: options.frozen]]:
            part.requires_grad_(False)
        self.optimizer = optimizer_of(
            torch.nn.ModuleList(
                [*self.network.blocks[options.frozen :], self.network.head, self.network.pool, self.network.projection]
            ),
            options.learning_rate,
        )
        self.memory = Memory(self.network.projection.out_features, "cpu")
        self.shards = Shards(options.shards, options.window)
        self.step, self.spent, self.consumed, self.shown, self.stopped = 0, 0.0, 0, {}, False
        self.resume()

    def initial(self):
        return loaded(torch.load(self.options.initial)).to(memory_format=torch.channels_last)

    @property
    def checkpoint(self):
        return self.options.output / "checkpoint.pt"

    def resume(self):
        if not self.checkpoint.exists():
            return
        state = torch.load(self.checkpoint)
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.spent, self.consumed = state["step"], state["spent"], state["consumed"]
        random.seed(self.options.seed + self.step)
        self.log(f"resumed at step {self.step}, after {self.spent / 60:.1f} minutes")

    def save(self, path):
        state = {
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "spent": self.spent,
            "consumed": self.consumed,
        }
        torch.save(state, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)

    def stop(self):
        self.stopped = True

    def train(self):
        limit = self.options.minutes * 60
        saved = kept = self.spent
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        while self.spent < limit and not self.stopped:
            began = time.monotonic()
            self.train_step(self.spent / limit)
            self.spent += time.monotonic() - began
            if self.step % 20 == 0:
                figures = " ".join(f"{name} {value:.3f}" for name, value in self.shown.items())
                self.log(f"step {self.step} minute {self.spent / 60:.1f} {figures} shards {len(self.shards.loaded)}")
                (self.options.shards / "consumed").write_text(str(self.consumed))
            if self.spent - saved > SECONDS_BETWEEN_CHECKPOINTS:
                self.save(self.checkpoint)
                saved = self.spent
            if self.spent - kept > SECONDS_BETWEEN_SNAPSHOTS:
                torch.save(self.average.state_dict(), self.options.output / f"average-{self.step:06d}.pt")
                kept = self.spent
        self.save(self.checkpoint)
        if not self.stopped:
            torch.save(self.average.state_dict(), self.options.output / "average.pt")
        self.log(f"done: {self.step} steps in {self.spent / 60:.1f} minutes")

    def train_step(self, progress):
        options = self.options
        self.schedule(progress)
        batch = self.shards.draw(options.clusters)
        maps = torch.cat([batch["a"], batch["b"]]).contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported()):
            prints = self.network(maps, options.frozen).float()
        a, b = prints.chunk(2)
        groups, memory = batch["groups"], self.memory
        with torch.no_grad():
            taught_a, taught_b = (
                F.normalize(self.teacher(batch[name].float()), dim=1) for name in ("pooled_a", "pooled_b")
            )
        contrast, cross_query = contrastive(a, b, groups, memory.prints, memory.groups, options.temperature)
        spread = koleo(prints, torch.cat([groups, groups]), memory.prints, memory.groups)
        # Captures of flat images are what the untouched network does not know. Of two views it is shown the easier one.
        real = batch["kinds"] != FLAT
        drift_a, drift_b = 1 - (a * taught_b).sum(1), 1 - (b * taught_b).sum(1)
        drift_flat = drift_b[~real].sum() / max(1, (~real).sum())
        drift_real = (drift_a + drift_b)[real].sum() / max(1, 2 * real.sum())
        drift = options.distillation[0] * drift_flat + options.distillation[1] * drift_real
        loss = contrast + options.cross_query * cross_query + options.koleo * spread + drift
        if not torch.isfinite(loss):
            raise SystemExit(f"step {self.step}: the loss is {loss.item()}")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in self.network.parameters() if p.requires_grad], 5.0)
        self.optimizer.step()
        update_average(self.average, self.network, min(0.998, (self.step + 1) / (self.step + 10)))
        memory.add(b, groups)
        self.step += 1
        self.consumed += len(groups)
        with torch.no_grad():
            cosine = a @ b.T
            cosine[(groups[:, None] == groups[None]) & ~torch.eye(len(groups), dtype=torch.bool)] = -2
            hit = (cosine.argmax(1) == torch.arange(len(groups))).float()
            known = ((taught_a @ taught_b.T).argmax(1) == torch.arange(len(groups))).float()
        self.show("contrast", contrast.item())
        self.show("cross-query", cross_query.item())
        self.show("koleo", spread.item())
        self.show("drift", drift_flat.item())
        self.show("drift of photos", drift_real.item())
        for kind, name in enumerate(("flat", "things", "photos")):
            own = batch["kinds"] == kind
            if own.any():
                self.show(name, hit[own].mean().item())
                self.show(f"{name} untouched", known[own].mean().item())
        self.show("power", self.network.pool.power.item())

    def show(self, name, value):
        self.shown[name] = 0.95 * self.shown.get(name, value) + 0.05 * value

    def schedule(self, progress):
        warm = min(1.0, (self.step + 1) / 100)
        rate = max(self.options.learning_rate * warm * (0.5 + 0.5 * math.cos(math.pi * progress)), 1e-6)
        for group in self.optimizer.param_groups:
            group["lr"] = rate


def main():
    options = arguments()
    Trainer(options, Log(options.output / "log.txt")).train()


if __name__ == "__main__":
    main()
