#!/usr/bin/env python3
"""Joins an imported print with the locator of another model file: one network that does both.

    python export_print.py lite0-print.pt --power 3 --size 192 --output print.onnx
    lookalike model import print.onnx --mean 0.498,0.498,0.498 --std 0.502,0.502,0.502 --calibrate IMAGES
    python join_locator.py print.safetensors lookalike-4.safetensors --name lookalike-5 \\
        --output ../default.safetensors --fixture ../../Tests/FeaturePrintTests/Fixtures/default.json

The locator keeps its own convolutions from the image on; they are computed for a crop only where its corners are
wanted. The print's pooling becomes one layer, and weights are rounded to half precision.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from export import write_fixture
from lookalike_training.safetensors import read_safetensors, save_safetensors
from lookalike_training.version import VERSION_METADATA

RANGES = "lookalike.activation_ranges"


def graph_of(metadata):
    return json.loads(metadata["lookalike.graph"])


def print_branch(path, power):
    """(graph, arrays, ranges) of an imported print, with generalized-mean pooling as one layer."""
    metadata, arrays = read_safetensors(path)
    graph = graph_of(metadata)
    nodes = [node for node in graph["nodes"] if not node["name"].startswith("pool.")]
    linear, norm = nodes[-2:]
    pool = {"name": "pool", "op": "generalized_mean", "input": "head", "power": power, "epsilon": 1e-6}
    linear |= {"name": "projection", "input": "pool"}
    norm |= {"name": "print", "input": "projection"}
    graph["nodes"] = [*nodes[:-2], pool, linear, norm]
    kept = {}
    for node in graph["nodes"]:
        for kind in ("weight", "bias"):
            if kind in node:
                name = f"{node['name']}.{kind}"
                values = arrays[node[kind]]
                kept[name] = values.astype(np.float16) if kind == "weight" else values.astype(np.float32)
                node[kind] = name
    names = {node["name"] for node in graph["nodes"]}
    ranges = {name: value for name, value in json.loads(metadata[RANGES]).items() if name in names}
    return graph, kept, ranges


def locator_branch(path, inputs):
    """(nodes, arrays, ranges) of all layers that the corners depend on, for inputs that are normalized otherwise."""
    metadata, arrays = read_safetensors(path)
    graph = graph_of(metadata)
    by_name = {node["name"]: node for node in graph["nodes"]}
    needed, open_names = set(), [graph["corners"]]
    while open_names:
        name = open_names.pop()
        if name in by_name and name not in needed:
            needed.add(name)
            open_names += [by_name[name]["input"], by_name[name].get("residual", "image")]

    def renamed(name):
        if name in ("image", "corners"):
            return name
        return name if name.startswith("locator.") else f"locator.trunk.{name}"

    nodes, kept = [], {}
    for node in graph["nodes"]:
        if node["name"] not in needed:
            continue
        node = dict(node)
        weight = bias = None
        if "weight" in node:
            weight, bias = arrays[node["weight"]].astype(np.float64), arrays[node["bias"]].astype(np.float64)
            if node["input"] == "image":
                # The same sums of pixels, with the mean and the deviation of the new input.
                old = {key: np.array(graph["input"][key]) for key in ("mean", "std")}
                new = {key: np.array(inputs[key]) for key in ("mean", "std")}
                bias += (weight * ((new["mean"] - old["mean"]) / old["std"])[None, :, None, None]).sum((1, 2, 3))
                weight *= (new["std"] / old["std"])[None, :, None, None]
        node["name"], node["input"] = renamed(node["name"]), renamed(node["input"])
        if "residual" in node:
            node["residual"] = renamed(node["residual"])
        if weight is not None:
            node["weight"], node["bias"] = f"{node['name']}.weight", f"{node['name']}.bias"
            kept[node["weight"]], kept[node["bias"]] = weight.astype(np.float16), bias.astype(np.float32)
        nodes.append(node)
    ranges = {renamed(name): value for name, value in json.loads(metadata[RANGES]).items() if name in needed}
    return nodes, kept, ranges


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("print", type=Path, help="a print of export_print.py, imported with --calibrate")
    parser.add_argument("locator", type=Path, help="the model file that has the locator")
    parser.add_argument("--name", required=True)
    parser.add_argument("--power", type=float, default=3, help="of the print's generalized mean")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--fixture", type=Path, help="also write an input and the output of this network as JSON")
    options = parser.parse_args()
    graph, arrays, ranges = print_branch(options.print, options.power)
    nodes, located, located_ranges = locator_branch(options.locator, graph["input"])
    # The print comes last: the last layer's output is the print.
    graph |= {"name": options.name, "corners": "corners", "nodes": nodes + graph["nodes"]}
    arrays, ranges = located | arrays, located_ranges | ranges
    metadata = {
        "lookalike.graph": json.dumps(graph, separators=(",", ":")),
        RANGES: json.dumps(ranges, separators=(",", ":")),
    }
    save_safetensors(options.output, arrays, metadata | VERSION_METADATA)
    if options.fixture:
        write_fixture(graph, {name: torch.tensor(values) for name, values in arrays.items()}, options.fixture)


if __name__ == "__main__":
    main()
