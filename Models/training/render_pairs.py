#!/usr/bin/env python3
"""Renders pairs of images of one thing for `train_print.py`, in shards, with what the frozen part of the network makes
of them, so that several passes over a pair cost no more than one.

    python render_pairs.py --flat covers=0.4 --flat photos=0.2 --photos photos=0.3 --exclude validation --output shards

Every argument names a folder of images, which is packed once. `--flat` images are paired with simulated captures of
them, `--photos` with a second view of the same photograph, and `--things` with another photograph in the same
subfolder, which shows the same thing. Pairs come in clusters of four that the untouched network finds similar.
Rendering waits while it is ahead of the training.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from lookalike_training.batches import flat, instances
from lookalike_training.capture import CaptureSimulator
from lookalike_training.images import packed_base, signatures_of
from lookalike_training.lite import normalized, pretrained
from lookalike_training.views import views

KINDS = ("flat", "things", "photos")
SIDE = 192
CLUSTER, SIMILAR = 4, 12
CLUSTERS_PER_SHARD, CLUSTERS_AT_ONCE = 128, 16


class Pack:
    """A packed folder; images of the same group are no negatives of one another."""

    def __init__(self, folder, kind, offset, options, excluded):
        base = Path(folder)
        if not base.with_suffix(".npz").exists():
            base = packed_base(folder, SIDE, options.cache or options.output / "cache", excluded, print)
        meta = np.load(base.with_suffix(".npz"))
        self.base = base
        self.aspects = torch.from_numpy(meta["aspects"])
        self.pixels = np.memmap(base.with_suffix(".pixels"), np.uint8, "r").reshape(-1, SIDE, SIDE, 3)
        groups = meta["groups"]
        if kind == "things":
            groups = np.unique([str(Path(name).parent) for name in meta["names"]], return_inverse=True)[1]
        self.groups = torch.from_numpy(groups.astype(np.int64)) + offset
        self.similar = None

    def __len__(self):
        return len(self.aspects)

    def textures(self, rows):
        return torch.from_numpy(self.pixels[rows.numpy()]).permute(0, 3, 1, 2).float() / 255

    @torch.no_grad()
    def find_similar(self, network, size):
        """Kept beside the pack, since it takes minutes."""
        kept = self.base.with_suffix(f".similar-{size}.pt")
        if kept.exists():
            self.similar = torch.load(kept)
            return
        prints = []
        for rows in torch.arange(len(self)).split(64):
            prints.append(F.normalize(pooled(network, flat(self.textures(rows), size)), dim=1))
        prints, found = torch.cat(prints), []
        for start in range(0, len(prints), 512):
            cosine = prints[start : start + 512] @ prints.T
            cosine[self.groups[start : start + 512, None] == self.groups[None]] = -2
            found.append(cosine.topk(SIMILAR, 1).indices)
        self.similar = torch.cat(found)
        torch.save(self.similar, kept)

    def clusters(self, count):
        """(count * CLUSTER,) rows: each cluster is an image and three of those similar to it."""
        seeds = torch.randint(len(self), (count, 1))
        picks = torch.rand(count, SIMILAR).argsort(1)[:, : CLUSTER - 1]
        return torch.cat([seeds, self.similar[seeds.squeeze(1)].gather(1, picks)], 1).reshape(-1)

    def others(self, rows):
        """For each image another one of the same thing, if there is one."""
        found = []
        for row in rows.tolist():
            own = (self.groups == self.groups[row]).nonzero().squeeze(1)
            own = own[own != row]
            found.append(own[torch.randint(len(own), (1,))].item() if len(own) else row)
        return torch.tensor(found)


def low_precision():
    return torch.autocast("cpu", torch.bfloat16, enabled=torch.cpu._is_avx512_bf16_supported())


def layout(images):
    return normalized(images).to(memory_format=torch.channels_last)


def pooled(network, images):
    with low_precision():
        return network.pooled(layout(images)).float()


class Renderer:
    def __init__(self, options):
        self.options = options
        self.network = pretrained().eval().to(memory_format=torch.channels_last)
        self.simulate = CaptureSimulator(options.rectified)
        folders = {}
        self.sources, excluded = [], signatures_of(options.exclude)
        for kind in KINDS:
            for entry in getattr(options, kind):
                folder, _, weight = entry.partition("=")
                # The same offset for the same folder: its groups are the same, whatever is made of them.
                offset = 1_000_000 * folders.setdefault(folder, len(folders))
                pack = Pack(folder, kind, offset, options, excluded)
                pack.find_similar(self.network, options.size)
                self.sources.append((kind, pack, float(weight or 1)))
                print(f"{kind} {folder}: {len(pack)} images, weight {weight or 1}", flush=True)
        self.weights = torch.tensor([weight for _, _, weight in self.sources])

    def backgrounds(self, count):
        picks = torch.multinomial(self.weights, count, replacement=True)
        images = []
        for pick in picks.tolist():
            pack = self.sources[pick][1]
            image = pack.textures(torch.randint(len(pack), (1,)))
            images.append(image)
        return torch.cat(images)

    @torch.no_grad()
    def pairs(self, kind, pack, clusters, difficulty):
        """Images a and b of each pair, at the size of the network."""
        rows, size = pack.clusters(clusters), self.options.size
        textures, aspects, groups = pack.textures(rows), pack.aspects[rows], pack.groups[rows]
        if kind == "flat":
            textures, aspects, groups = instances(textures, aspects, groups)
            a, _ = self.simulate(textures, aspects, self.backgrounds(len(rows)), size, difficulty)
            return a, flat(textures, size), groups
        other = pack.textures(pack.others(rows)) if kind == "things" else textures
        strength = (0.6, 0.3) if kind == "things" else (1.0, 0.5)
        reach = strength[0] * (0.5 + 0.5 * difficulty)
        a = views(self.simulate, textures, size, reach, difficulty, self.backgrounds(len(rows)), self.options.cut)
        return a, views(self.simulate, other, size, strength[1], 0.5 * difficulty), groups

    @torch.no_grad()
    def shard(self, difficulty):
        parts = {name: [] for name in ("a", "b", "pooled_a", "pooled_b", "groups", "kinds")}
        counts = np.random.multinomial(CLUSTERS_PER_SHARD, (self.weights / self.weights.sum()).double().numpy())
        for (kind, pack, _), count in zip(self.sources, counts, strict=True):
            for start in range(0, count, CLUSTERS_AT_ONCE):
                strength = difficulty * float(0.7 + 0.6 * torch.rand(()))
                a, b, groups = self.pairs(kind, pack, min(CLUSTERS_AT_ONCE, count - start), min(strength, 1.0))
                for name, images in (("a", a), ("b", b)):
                    with low_precision():
                        maps = self.network.maps(layout(images), last=self.options.frozen)
                        parts[name].append(maps.bfloat16())
                        parts[f"pooled_{name}"].append(self.network.pooled(maps, self.options.frozen).half())
                parts["groups"].append(groups)
                parts["kinds"].append(torch.full_like(groups, KINDS.index(kind)))
        return {name: torch.cat(values) for name, values in parts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", action="append", default=[], metavar="FOLDER[=WEIGHT]")
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="FOLDER", help="leave out what resembles these"
    )
    parser.add_argument("--cache", type=Path, help="folder for packed images (default: OUTPUT/cache)")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--frozen", type=int, default=5, help="blocks that are not trained")
    parser.add_argument("--rectified", type=float, default=0.35)
    parser.add_argument(
        "--cut", type=float, default=0.35, help="share of the views that show the middle of a photograph"
    )
    parser.add_argument("--difficulty", type=float, nargs=2, default=(0.4, 0.75), help="of the first shards, the last")
    parser.add_argument("--ramp", type=int, default=40, help="shards until the difficulty is the last")
    parser.add_argument("--passes", type=float, default=3, help="how often the training sees a pair")
    parser.add_argument("--ahead", type=int, default=24, help="shards that may wait")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(p.stem) for p in options.output.glob("[0-9]*.pt")), default=-1)
    torch.manual_seed(options.seed + number)
    np.random.seed(options.seed + number)
    renderer = Renderer(options)
    consumed = options.output / "consumed"
    while True:
        seen = float(consumed.read_text() or 0) if consumed.exists() else 0
        if number * CLUSTERS_PER_SHARD * CLUSTER > seen / options.passes + options.ahead * CLUSTERS_PER_SHARD * CLUSTER:
            time.sleep(3)
            continue
        low, high = options.difficulty
        began = time.process_time()
        shard = renderer.shard(low + (high - low) * min(1, number / options.ramp))
        torch.save(shard, options.output / f"{number:06d}.part")
        (options.output / f"{number:06d}.part").replace(options.output / f"{number:06d}.pt")
        print(f"shard {number}: {(time.process_time() - began) * 1e3 / len(shard['groups']):.1f} ms a pair", flush=True)
        number += 1


if __name__ == "__main__":
    main()
