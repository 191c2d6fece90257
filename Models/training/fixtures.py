#!/usr/bin/env python3
"""Writes the small networks that the tests run: random weights, awkward sizes, and PyTorch's results.

python fixtures.py ../../Tests/FeaturePrintTests/Fixtures
"""

import json
import sys
from pathlib import Path

import torch

from export import write_fixture
from lookalike_training.export import export, run
from lookalike_training.network import Architecture, FeaturePrintNetwork, corners_of

# Channel counts that are no multiple of any vector's width, and maps that become odd.
SMALL = {
    "odd": Architecture(
        stem=(5,), widths=(12, 20), blocks=(2, 1), strides=(1, 2), dimension=19, locator=0, input_size=37
    ),
    "wide": Architecture(
        stem=(16, 48),
        widths=(33, 64, 7),
        blocks=(1, 1, 1),
        strides=(2, 1, 2),
        dimension=8,
        locator=21,
        located_after=1,
        input_size=64,
    ),
}


def main():
    folder = Path(sys.argv[1])
    for seed, (name, architecture) in enumerate(SMALL.items()):
        torch.manual_seed(seed)
        network = FeaturePrintNetwork(architecture)
        for module in network.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                torch.nn.init.uniform_(module.weight, 0.5, 1.5)
                torch.nn.init.normal_(module.bias, 0, 0.2)
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 2)
        network.pool.power.data.fill_(2.5 + seed)
        if network.locator is not None:
            torch.nn.init.normal_(network.locator.votes.weight, 0, 0.1)
            # Corners that make a quadrilateral, around the middle of the map.
            around = torch.tensor([0, 0, 0, 0, -2, -2, 2, -2, 2, 2, -2, 2.0])
            network.locator.votes.bias.data.copy_(around + 0.3 * torch.randn(12))
        graph, tensors = export(network, folder / f"{name}.safetensors", name, 0.75)
        write_fixture(graph, tensors, folder / f"{name}.json")
        # Folding must not have changed what the network computes.
        with torch.no_grad():
            images = torch.randn(2, 3, architecture.input_size, architecture.input_size)
            prints, votes = network.eval()(images)
            folded_prints, folded_corners = run(graph, tensors, images)
            difference = (prints - folded_prints).abs().max().item()
            if votes is not None:
                corners = corners_of(votes, network.locator.stride).flatten(1)
                difference = max(difference, ((corners - folded_corners) / architecture.input_size).abs().max().item())
        assert difference < 3e-3, f"{name}: folded to half precision, {difference} off"
        print(json.dumps({"name": name, "folding": difference}))


if __name__ == "__main__":
    main()
