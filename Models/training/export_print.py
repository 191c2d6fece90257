#!/usr/bin/env python3
"""Writes a print of `train_print.py` as ONNX, for `lookalike model import`. Needs onnx.

    python export_print.py run/average.pt=0.7 untouched.pt=0.3 --output print.onnx --size 160
    lookalike model import print.onnx --mean 0.498,0.498,0.498 --std 0.502,0.502,0.502 --calibrate IMAGES

Input `image`: float32 (1, 3, size, size), RGB, (value - 127 / 255) / (128 / 255); output `print`: float32
(1, dimension), to be divided by its length. Batch normalization is folded; padding is that of the convolutions. Of
several networks the mean of the weights is written, in proportion to the shares: with a share of the untouched one the
print forgets less (Wortsman et al., "Robust fine-tuning of zero-shot models", CVPR 2022).
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from lookalike_training.lite import loaded

OPSET = 17


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def convolution(self, name, layer, x):
        weight, bias = (values.detach().numpy() for values in layer.folded())
        total = layer.kernel - layer.stride if layer.stride > 1 else layer.kernel - 1
        before, after = total // 2, total - total // 2
        inputs = [x, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)]
        x = self.add(
            "Conv",
            inputs,
            f"{name}.sum" if layer.active else name,
            kernel_shape=[layer.kernel] * 2,
            strides=[layer.stride] * 2,
            pads=[before, before, after, after],
            group=layer.groups,
        )
        return self.add("Clip", [x, "zero", "six"], name) if layer.active else x


def model(network, size):
    graph = Graph()
    graph.constant("zero", 0.0)
    graph.constant("six", 6.0)
    x = graph.convolution("stem", network.stem, "image")
    for index, block in enumerate(network.blocks):
        name, y = f"blocks.{index}", x
        if block.expand is not None:
            y = graph.convolution(f"{name}.expand", block.expand, y)
        y = graph.convolution(f"{name}.depthwise", block.depthwise, y)
        y = graph.convolution(f"{name}.project", block.project, y)
        x = graph.add("Add", [y, x], f"{name}.added") if block.residual else y
    x = graph.convolution("head", network.head, x)
    power = network.pool.power.item()
    x = graph.add("Clip", [x, graph.constant("pool.epsilon", network.pool.epsilon)], "pool.clipped")
    if power == 3:
        # Two products are cheaper than a power.
        x = graph.add("Mul", [graph.add("Mul", [x, x], "pool.squares"), x], "pool.powers")
    else:
        x = graph.add("Pow", [x, graph.constant("pool.power", power)], "pool.powers")
    x = graph.add("GlobalAveragePool", [x], "pool.mean")
    x = graph.add("Pow", [x, graph.constant("pool.root", 1 / power)], "pool.rooted")
    x = graph.add("Flatten", [x], "pool.flat")
    weight, bias = (values.detach().numpy() for values in (network.projection.weight, network.projection.bias))
    inputs = [x, graph.constant("projection.weight", weight), graph.constant("projection.bias", bias)]
    graph.add("Gemm", inputs, "print", transB=1)
    body = helper.make_graph(
        graph.nodes,
        "print",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info("print", TensorProto.FLOAT, [1, len(bias)])],
        graph.constants,
    )
    made = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made


def averaged(entries):
    """The mean of the weights of PATH[=SHARE] entries."""
    total, mean = 0.0, {}
    for entry in entries:
        path, _, share = entry.partition("=")
        share = float(share or 1)
        total += share
        for name, values in torch.load(path, map_location="cpu").items():
            mean[name] = mean.get(name, 0) + share * values.double()
    return {name: (values / total).float() for name, values in mean.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", nargs="+", metavar="WEIGHTS[=SHARE]")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--power", type=float, help="of the generalized mean, instead of the trained one")
    options = parser.parse_args()
    network = loaded(averaged(options.weights))
    if options.power:
        network.pool.power.data.fill_(options.power)
    torch.save(network.state_dict(), options.output.with_suffix(".pt"))
    onnx.save(model(network.eval(), options.size), options.output)


if __name__ == "__main__":
    main()
