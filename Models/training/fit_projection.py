#!/usr/bin/env python3
"""Makes a print of an untouched trunk: its projection is whitening learned from the shards of `render_pairs.py`.

    python fit_projection.py --shards shards --output untouched.pt

Differences between the images of a pair are noise: they are whitened, and the directions of the largest remaining
variance are kept (Mikolajczyk and Matas, "Improving Descriptors for Fast Tree Matching by Optimal Linear Projection",
ICCV 2007). `--noise 0` is principal component analysis, `--power` how far its components are whitened.
"""

import argparse
from pathlib import Path

import torch

from lookalike_training.lite import pretrained


def moments(values):
    mean = values.mean(0)
    centered = (values - mean).double()
    return mean, centered.T @ centered / len(values)


def projection(a, b, dimension, noise, power):
    """(weight, bias) for unit vectors a and b of pairs. `noise`: share of the noise's own covariance, the rest being
    a multiple of the identity."""
    everything = torch.cat([a, b])
    mean, total = moments(everything)
    within = (a - b).double().T @ (a - b).double() / len(a) / 2
    identity = torch.eye(len(mean), dtype=torch.double)
    within = noise * within + (1 - noise) * identity * within.trace() / len(mean)
    values, vectors = torch.linalg.eigh(within)
    whiten = vectors * values.clamp(min=1e-12).rsqrt() @ vectors.T
    values, vectors = torch.linalg.eigh(whiten @ total @ whiten)
    order = values.argsort(descending=True)[:dimension]
    weight = (vectors[:, order] * values[order].pow(-power / 2)).T @ whiten
    weight = (weight / weight.norm() * dimension**0.5).float()
    return weight, -(weight @ mean)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--dimension", type=int, default=256)
    parser.add_argument("--noise", type=float, default=0.5)
    parser.add_argument("--power", type=float, default=0.5)
    options = parser.parse_args()
    shards = [torch.load(path) for path in sorted(options.shards.glob("[0-9]*.pt"))]
    a, b = (torch.cat([shard[name].float() for shard in shards]) for name in ("pooled_a", "pooled_b"))
    weight, bias = projection(a, b, options.dimension, options.noise, options.power)
    network = pretrained(options.dimension)
    network.projection.load_state_dict({"weight": weight, "bias": bias})
    torch.save(network.state_dict(), options.output)


if __name__ == "__main__":
    main()
