#!/usr/bin/env python3
"""Writes a checkpoint's averaged network as a model file, and fixtures for the tests.

python export.py run/checkpoint.pt --output ../default.safetensors --name lookalike-1 --max-distance 0.9 --data covers
"""

import argparse
import json
from pathlib import Path

import torch

from lookalike_training.capture import CaptureSimulator
from lookalike_training.export import as_input, export, run
from lookalike_training.images import files_in, square
from lookalike_training.network import Architecture, FeaturePrintNetwork, normalized


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--name", required=True, help="the name of the model")
    parser.add_argument(
        "--input-size", type=int, help="the side that images are resized to; by default the last one in training"
    )
    parser.add_argument("--max-distance", type=float, help="the match threshold")
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FOLDER",
        help="training images that calibrate the activation ranges, so that the model can run in int8",
    )
    parser.add_argument("--fixture", type=Path, help="also write an input and the output of this network as JSON")
    options = parser.parse_args()
    state = torch.load(options.checkpoint, map_location="cpu")
    architecture = Architecture.from_dict(state["architecture"])
    if options.input_size:
        # The network is convolutional up to its pooling. A somewhat larger input than in training
        # shows objects at the size that training showed them (Touvron et al., "Fixing the train-test
        # resolution discrepancy", 2019).
        architecture.input_size = options.input_size
    network = FeaturePrintNetwork(architecture)
    network.load_state_dict(state["average"])
    graph, tensors = export(
        network,
        options.output,
        options.name,
        options.max_distance,
        calibration_images(options.data, architecture.input_size),
    )
    if options.fixture:
        write_fixture(graph, tensors, options.fixture)


def calibration_images(folders, size, count=192):
    """Normalized images from all folders: as they are, and as simulated captures."""
    files = [path for folder in folders for path in files_in(folder)]
    if not files:
        return None
    chosen = [files[i] for i in torch.linspace(0, len(files) - 1, min(count, len(files))).long()]
    squares = [square(path, size) for path in chosen]
    images = torch.stack([torch.from_numpy(pixels.copy()) for pixels, _ in squares]).permute(0, 3, 1, 2).float() / 255
    aspects = torch.tensor([aspect for _, aspect in squares], dtype=torch.float32).clamp(0.3, 3.3)
    torch.manual_seed(0)
    captures, _ = CaptureSimulator()(images, aspects, images.roll(1, 0), size, 1.0)
    return normalized(torch.cat([images, captures]))


def fixture_pixels(size):
    """(3, size, size), 0 to 255, from a formula that the tests know as well."""
    x = torch.arange(size).view(1, 1, size)
    y = torch.arange(size).view(1, size, 1)
    c = torch.arange(3).view(3, 1, 1)
    return (x * (3 + c) + y * (5 - c) + (x * y) // (7 + c)) % 256


def write_fixture(graph, tensors, path):
    """One 8-bit image at the network's input size, generated from a formula, and the output of the network."""
    size = graph["input"]["width"]
    with torch.no_grad():
        prints, corners = run(graph, tensors, as_input(graph, fixture_pixels(size).float() / 255).unsqueeze(0))
    made = {
        "size": size,
        "pixels": "(x * (3 + c) + y * (5 - c) + x * y / (7 + c)) % 256",
        "print": [round(v, 7) for v in prints[0].tolist()],
    }
    if corners is not None:
        made["corners"] = [round(v / size, 7) for v in corners[0].tolist()]
    path.write_text(json.dumps(made))


if __name__ == "__main__":
    main()
