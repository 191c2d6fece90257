"""Trains a local-feature model: a projection, a vocabulary of visual words, and deviations from them.

    lookalike model descriptors covers/ photos/ --output descriptors.npy
    train_local_features.py descriptors.npy --output ../local-features.safetensors --name local-features-1

The projection is a principal component analysis of the raw descriptors. The vocabulary has two levels: k-means of the
projected descriptors, and k-means within each cluster. Catalogs have to be indexed again with a new model.
"""

import argparse
import json
import pathlib

import numpy as np

from lookalike_training.safetensors import save_safetensors
from lookalike_training.version import VERSION_METADATA
from lookalike_training.vocabulary import Projection, nearest, two_level_centers

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("descriptors", type=pathlib.Path, help="a .npy file of float32 rows of 128")
parser.add_argument("--output", type=pathlib.Path, required=True)
parser.add_argument("--name", required=True)
parser.add_argument("--groups", type=int, default=256, help="clusters of the first level, a multiple of 16")
parser.add_argument("--words", type=int, default=256, help="words per cluster, a multiple of 16")
parser.add_argument("--dimension", type=int, default=64)
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
if options.groups % 16 or options.words % 16 or options.groups * options.words > 65_536:
    parser.error("--groups and --words must be multiples of 16 with a product of at most 65,536")

descriptors = np.load(options.descriptors, mmap_mode="r")
projection = Projection.of(descriptors, options.dimension)
projected = projection.project(descriptors)
coarse, words = two_level_centers(projected, options.groups, options.words, np.random.default_rng(options.seed))
words = words.reshape(-1, options.dimension)
unit = max(np.abs(coarse).max(), np.abs(words).max()) / 127


def codes(centers: np.ndarray) -> np.ndarray:
    """Centers as bytes around the zero point 128."""
    return (np.clip(np.rint(centers / unit), -127, 127) + 128).astype(np.uint8)


# What words leave of descriptors: their codes are fitted to it.
sample = projected[:: max(1, len(projected) // 40_000)]
deviations = (sample - words[nearest(sample, words)]).std(0)

description = {"version": 2, "name": options.name, "unit": float(unit), "zero": 128}
save_safetensors(
    options.output,
    {
        "mean": projection.mean.astype(np.float32),
        "projection": projection.rows.astype(np.float32),
        "deviations": deviations.astype(np.float32),
        "coarse": codes(coarse),
        "words": codes(words),
    },
    {"lookalike.local_descriptors": json.dumps(description)} | VERSION_METADATA,
)
print(f"{len(descriptors):,} descriptors, {projection.kept:.1%} of their variance kept, {options.output}")
