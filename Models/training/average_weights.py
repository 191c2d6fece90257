#!/usr/bin/env python3
"""Averages the weights of related models and writes the result as a model file.

    python average_weights.py a.safetensors=0.25 b.safetensors=0.75 --output both.safetensors --name both --data covers

Models that were trained from one another lie in one basin of the loss. A point between them often generalizes better
than either (Wortsman et al., "Model soups", 2022). `calibrate.py` then sets the match threshold.
"""

import argparse
import json
from pathlib import Path

import torch

from export import calibration_images, write_fixture
from lookalike_training.export import save_model
from lookalike_training.safetensors import read_safetensors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="FILE=WEIGHT")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--name", required=True, help="the name of the model")
    parser.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FOLDER",
        help="training images that calibrate the activation ranges, so that the model can run in int8",
    )
    parser.add_argument("--fixture", type=Path, help="also write an input and the output of this network as JSON")
    options = parser.parse_args()
    graph, tensors = averaged([weighted(entry) for entry in options.models])
    graph["name"] = options.name
    save_model(graph, tensors, options.output, images=calibration_images(options.data, graph["input"]["width"]))
    if options.fixture:
        write_fixture(graph, tensors, options.fixture)


def weighted(entry):
    """(path, weight) of FILE=WEIGHT."""
    path, _, weight = entry.rpartition("=")
    try:
        return Path(path), float(weight)
    except ValueError:
        raise SystemExit(f"{entry}: is not FILE=WEIGHT") from None


def parts(path):
    """The graph without its numbers, which the models must have in common, and the values to average, by name."""
    metadata, arrays = read_safetensors(path)
    graph = json.loads(metadata["lookalike.graph"])
    del graph["name"]
    values = {}
    for node in graph["nodes"]:
        values |= {node[key]: torch.tensor(arrays[node[key]]) for key in ("weight", "bias") if key in node}
        if "power" in node:
            values[node["name"]] = torch.tensor(node.pop("power"))
    return graph, values


def averaged(models):
    """(graph, tensors): every weight, and every power of a pooling, is the mean of those of the models."""
    total = sum(weight for _, weight in models)
    graph, first = parts(models[0][0])
    mean = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in first.items()}
    for path, weight in models:
        other, values = parts(path)
        if other != graph:
            raise SystemExit(f"{path}: is not a network of the same shape as {models[0][0]}")
        for name, value in values.items():
            mean[name] += weight / total * value.double()
    for node in graph["nodes"]:
        if node["op"] == "generalized_mean":
            node["power"] = mean.pop(node["name"]).item()
    return graph, {name: value.to(first[name].dtype) for name, value in mean.items()}


if __name__ == "__main__":
    main()
