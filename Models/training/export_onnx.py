#!/usr/bin/env python3
"""Writes a model file as ONNX, for benchmarks and other tools. Needs onnx and NumPy.

    python export_onnx.py ../default.safetensors --output default.onnx

Input `image`: float32 (batch, 3, height, width), RGB in 0...1, not yet normalized; output `print`:
float32 (batch, dimension), unit vectors. A network with localization also has `found_corners`: float32 (batch, 8), x
and y in pixels of the input, clockwise from the object's top left.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from lookalike_training.safetensors import read_safetensors

OPSET = 17


def corner_votes(add, constant, name, votes, stride, size):
    """Softmax over the cells of four channels, weighing the cells' places plus eight offsets."""
    w, h = -(-size["width"] // stride), -(-size["height"] // stride)
    cells = np.stack([np.tile(np.arange(w), h), np.repeat(np.arange(h), w)])

    def numbers(suffix, values):
        return constant(f"{name}.{suffix}", values, np.int64)

    logits = add("Slice", [votes, numbers("0", [0]), numbers("4", [4]), numbers("axis", [1])], f"{name}.logits")
    offsets = add("Slice", [votes, numbers("from", [4]), numbers("to", [12]), f"{name}.axis"], f"{name}.offsets")
    logits = add("Reshape", [logits, numbers("flat", [0, 4, 1, h * w])], f"{name}.flat_logits")
    weights = add("Softmax", [logits], f"{name}.weights", axis=-1)
    offsets = add("Reshape", [offsets, numbers("pairs", [0, 4, 2, h * w])], f"{name}.flat_offsets")
    places = add("Add", [offsets, constant(f"{name}.cells", cells.reshape(1, 1, 2, -1))], f"{name}.places")
    weighted = add("Mul", [places, weights], f"{name}.weighted")
    mean = add("ReduceSum", [weighted, numbers("last", [-1])], f"{name}.mean", keepdims=0)
    pixels = add("Mul", [mean, constant(f"{name}.stride", stride)], f"{name}.pixels")
    centered = add("Add", [pixels, constant(f"{name}.half", 0.5)], f"{name}.centered")
    return add("Reshape", [centered, numbers("eight", [0, 8])], f"{name}.corners")


def model(metadata, tensors):
    graph = json.loads(metadata["lookalike.graph"])
    size = graph["input"]
    nodes, constants = [], []

    def constant(name, values, kind=np.float32):
        constants.append(numpy_helper.from_array(np.asarray(values, kind), name))
        return name

    def add(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    centered = add("Sub", ["image", constant("mean", np.reshape(size["mean"], (1, 3, 1, 1)))], "centered")
    add("Div", [centered, constant("std", np.reshape(size["std"], (1, 3, 1, 1)))], "normalized")
    named = {"image": "normalized"}
    for node in graph["nodes"]:
        name, x = node["name"], named[node["input"]]
        if node["op"] == "convolution":
            weight, bias = (
                constant(node["weight"], tensors[node["weight"]]),
                constant(node["bias"], tensors[node["bias"]]),
            )
            x = add(
                "Conv",
                [x, weight, bias],
                f"{name}.sum",
                kernel_shape=[node["kernel"]] * 2,
                strides=[node["stride"]] * 2,
                pads=[node["padding"]] * 4 if isinstance(node["padding"], int) else node["padding"],
                group=node.get("groups", 1),
            )
            if "residual" in node:
                x = add("Add", [x, named[node["residual"]]], f"{name}.added")
            if node["relu"]:
                x = add("Relu", [x], f"{name}.relu")
            if "activation" in node:
                bounds = [constant(f"{name}.zero", 0.0), constant(f"{name}.largest", node["activation"]["beta"])]
                x = add("Clip", [x, *bounds], f"{name}.clipped")
        elif node["op"] == "generalized_mean":
            x = add("Clip", [x, constant(f"{name}.epsilon", node["epsilon"])], f"{name}.clipped")
            x = add("Pow", [x, constant(f"{name}.power", node["power"])], f"{name}.powers")
            x = add("GlobalAveragePool", [x], f"{name}.mean")
            x = add("Pow", [x, constant(f"{name}.root", 1 / node["power"])], f"{name}.rooted")
            x = add("Flatten", [x], f"{name}.flat")
        elif node["op"] == "linear":
            x = add(
                "Gemm",
                [x, constant(node["weight"], tensors[node["weight"]]), constant(node["bias"], tensors[node["bias"]])],
                f"{name}.linear",
                transB=1,
            )
        elif node["op"] == "corner_votes":
            x = corner_votes(add, constant, name, x, node["stride"], size)
        elif node["op"] == "l2_normalize":
            x = add("LpNormalization", [x], f"{name}.unit", axis=1, p=2)
        else:
            raise SystemExit(f"{name}: no ONNX form of {node['op']}")
        named[name] = x
    length = tensors["projection.bias"].shape[0]
    nodes.append(helper.make_node("Identity", [x], ["print"]))
    outputs = [helper.make_tensor_value_info("print", TensorProto.FLOAT, ["batch", length])]
    if graph.get("corners"):
        nodes.append(helper.make_node("Identity", [named[graph["corners"]]], ["found_corners"]))
        outputs.append(helper.make_tensor_value_info("found_corners", TensorProto.FLOAT, ["batch", 8]))
    body = helper.make_graph(
        nodes,
        graph["name"],
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, size["height"], size["width"]])],
        outputs,
        constants,
    )
    made = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    onnx.save(model(*read_safetensors(options.model)), options.output)


if __name__ == "__main__":
    main()
