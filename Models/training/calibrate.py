#!/usr/bin/env python3
"""Sets a model file's match threshold, the background set that adjusts it per query (score normalization), and the
coefficients of the confidence of matches.

    python calibrate.py ../default.safetensors --background PHOTOS=768 --background COVERS=512 \\
        --exclude VALIDATION --max-distance 0.55

The network and its identity do not change, so catalogs made with it stay valid. The background set holds images of the
kinds that queries show; none of them should be in a catalog.
"""

import argparse
import json
from pathlib import Path

import torch

from lookalike_training.background import background_prints
from lookalike_training.safetensors import read_safetensors, save_safetensors
from lookalike_training.version import VERSION_METADATA


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument(
        "--background", action="append", default=[], metavar="FOLDER=COUNT", help="take COUNT images of a folder"
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="FOLDER",
        help="leave out near-duplicates of the images in this folder",
    )
    parser.add_argument("--interfaces", type=int, default=0, metavar="COUNT", help="draw COUNT screens of programs")
    parser.add_argument("--further", action="store_true", help="add to the file's background set, with its weight")
    parser.add_argument("--max-distance", type=float, help="match threshold of a typical query")
    parser.add_argument("--confidence", type=Path, metavar="FILE", help="JSON with the coefficients of the confidence")
    parser.add_argument("--output", type=Path, help="default: the model file itself")
    options = parser.parse_args()
    if options.further and not (options.background or options.interfaces):
        parser.error("--further adds nothing without --background or --interfaces")
    metadata, arrays = read_safetensors(options.model)
    if options.max_distance is not None:
        metadata["lookalike.recommended_max_distance"] = f"{options.max_distance:.4f}"
    if options.confidence is not None:
        coefficients = json.loads(options.confidence.read_text())
        metadata["lookalike.confidence"] = json.dumps(coefficients, separators=(",", ":"))
    if options.background or options.interfaces:
        graph = json.loads(metadata["lookalike.graph"])
        tensors = {name: torch.tensor(array) for name, array in arrays.items()}
        before = json.loads(metadata.get("lookalike.background", "{}")) if options.further else {}
        if options.further and not before:
            parser.error(f"{options.model} has no background set that --further could add to")
        description, prints = background_prints(
            graph, tensors, options.background, options.exclude, options.interfaces, tensors.get(before.get("tensor"))
        )
        description |= {key: before[key] for key in ("weight", "typical_distance") if key in before}
        metadata["lookalike.background"] = json.dumps(description, separators=(",", ":"))
        arrays = {name: array for name, array in arrays.items() if name != description["tensor"]}
        arrays = {description["tensor"]: prints.numpy(), **arrays}
        print(f"{len(prints)} background prints, typical distance {description['typical_distance']:.4f}")
    part = (options.output or options.model).with_suffix(".part")
    save_safetensors(part, arrays, metadata | VERSION_METADATA)
    part.replace(options.output or options.model)


if __name__ == "__main__":
    main()
