"""The trained network as one safetensors file: weights, and the layer graph in its metadata."""

import json

import numpy as np
import torch

from .network import MEAN, STD, corners_of
from .safetensors import save_safetensors
from .version import VERSION_METADATA


def folded(conv_bn):
    """Convolution weights and biases with batch normalization folded in."""
    conv, norm = conv_bn[0], conv_bn[1]
    scale = (norm.weight / torch.sqrt(norm.running_var + norm.eps)).double()
    weight = conv.weight.double() * scale.view(-1, 1, 1, 1)
    bias = norm.bias.double() - norm.running_mean.double() * scale
    return weight.detach().float(), bias.detach().float()


def described(network, name):
    """(graph, tensors) of a network in evaluation mode; weights already rounded to half precision."""
    tensors, nodes = {}, []

    def convolution(node, source, conv_bn, relu, residual=None):
        weight, bias = folded(conv_bn)
        tensors[f"{node}.weight"], tensors[f"{node}.bias"] = weight.half(), bias
        conv = conv_bn[0]
        entry = {
            "name": node,
            "op": "convolution",
            "input": source,
            "weight": f"{node}.weight",
            "bias": f"{node}.bias",
            "outputs": conv.out_channels,
            "kernel": conv.kernel_size[0],
            "stride": conv.stride[0],
            "padding": conv.padding[0],
            "relu": relu,
        }
        if residual:
            entry["residual"] = residual
        nodes.append(entry)
        return node

    last = "image"
    for index, conv_bn in enumerate(network.stem):
        last = convolution(f"stem.{index}", last, conv_bn, True)
    for s, stage in enumerate(network.stages):
        for b, block in enumerate(stage):
            base, source = f"stages.{s}.{b}", last
            shortcut = (
                source if block.shortcut is None else convolution(f"{base}.shortcut", source, block.shortcut, False)
            )
            first = convolution(f"{base}.first", source, block.first, True)
            last = convolution(f"{base}.second", first, block.second, True, residual=shortcut)
        if s == network.architecture.located_after:
            located = last
    graph = {"version": 1, "name": name}
    if network.locator is not None:
        hidden = located
        for index, conv_bn in enumerate(network.locator.hidden):
            hidden = convolution(f"locator.{index}", hidden, conv_bn, True)
        votes = network.locator.votes
        tensors["locator.votes.weight"], tensors["locator.votes.bias"] = (
            votes.weight.detach().half(),
            votes.bias.detach().float(),
        )
        nodes.append(
            {
                "name": "locator.votes",
                "op": "convolution",
                "input": hidden,
                "weight": "locator.votes.weight",
                "bias": "locator.votes.bias",
                "outputs": votes.out_channels,
                "kernel": 1,
                "stride": 1,
                "padding": 0,
                "relu": False,
            }
        )
        nodes.append(
            {"name": "corners", "op": "corner_votes", "input": "locator.votes", "stride": network.locator.stride}
        )
        graph["corners"] = "corners"
    nodes.append(
        {
            "name": "pool",
            "op": "generalized_mean",
            "input": last,
            "power": network.pool.power.item(),
            "epsilon": network.pool.epsilon,
        }
    )
    tensors["projection.weight"] = network.projection.weight.detach().half()
    tensors["projection.bias"] = network.projection.bias.detach().float()
    nodes.append(
        {
            "name": "projection",
            "op": "linear",
            "input": "pool",
            "weight": "projection.weight",
            "bias": "projection.bias",
            "outputs": network.projection.out_features,
        }
    )
    nodes.append({"name": "print", "op": "l2_normalize", "input": "projection"})
    size = network.architecture.input_size
    graph |= {"input": {"width": size, "height": size, "mean": MEAN, "std": STD}, "nodes": nodes}
    return graph, tensors


def as_input(graph, images):
    """RGB in [0, 1] as the graph's input."""
    mean, std = (torch.tensor(graph["input"][key]).view(3, 1, 1) for key in ("mean", "std"))
    return (images - mean) / std


def run(graph, tensors, images, observe=None):
    """Runs the graph in PyTorch, float32, on normalized images: the reference for every other executor.

    Returns prints, and the corners in pixels of the input if the graph localizes the object. `observe` is called with
    each node and its output."""
    F = torch.nn.functional
    values = {"image": images}
    tensors = {key: value.float() for key, value in tensors.items()}
    for node in graph["nodes"]:
        x = values[node["input"]]
        if node["op"] == "convolution":
            padding, groups = node["padding"], node.get("groups", 1)
            if not isinstance(padding, int):
                top, left, bottom, right = padding
                x, padding = F.pad(x, (left, right, top, bottom)), 0
            y = F.conv2d(x, tensors[node["weight"]], tensors[node["bias"]], node["stride"], padding, groups=groups)
            if "residual" in node:
                y = y + values[node["residual"]]
            y = F.relu(y) if node["relu"] else y
            if "activation" in node:
                # Networks of this recipe have no other activations than ReLU and ReLU6.
                y = y.clamp(0, node["activation"]["beta"])
        elif node["op"] == "generalized_mean":
            y = x.clamp(min=node["epsilon"]).pow(node["power"]).mean((2, 3)).pow(1 / node["power"])
        elif node["op"] == "linear":
            y = F.linear(x, tensors[node["weight"]], tensors[node["bias"]])
        elif node["op"] == "corner_votes":
            y = corners_of(x, node["stride"]).flatten(1)
        else:
            y = F.normalize(x, dim=1)
        values[node["name"]] = y
        if observe:
            observe(node, y)
    return values[graph["nodes"][-1]["name"]], values.get(graph.get("corners"))


def activation_ranges(graph, tensors, images, batch=32):
    """The int8 range of each convolution with ReLU: the share of its largest output that minimizes the squared error of
    rounding and clamping."""
    samples = {}

    def observe(node, values):
        if node["op"] == "convolution" and node["relu"]:
            flat = values.flatten()
            # Equally many of each batch, and always the largest value per image.
            some = flat[torch.randint(len(flat), (200_000,))]
            samples.setdefault(node["name"], []).append(torch.cat([some, values.flatten(1).amax(1)]))

    torch.manual_seed(0)
    with torch.no_grad():
        for part in images.split(batch):
            run(graph, tensors, part, observe)
    ranges = {}
    for name, parts in samples.items():
        values = torch.cat(parts)
        largest, errors = values.max().item(), {}
        for share in np.linspace(0.2, 1, 33):
            step = largest * share / 255
            kept = (values / step).round().clamp(max=255) * step
            errors[largest * share] = (kept - values).square().mean().item()
        ranges[name] = min(errors, key=errors.get)
    return ranges


def export(network, path, name, recommended_max_distance=None, images=None, confidence=None):
    """The (graph, tensors) of a network, saved as a model file."""
    graph, tensors = described(network.eval().cpu(), name)
    save_model(graph, tensors, path, recommended_max_distance, images, confidence)
    return graph, tensors


def save_model(graph, tensors, path, recommended_max_distance=None, images=None, confidence=None):
    """Activation ranges are found on `images` (normalized); without them the model runs in float32 only. `confidence`
    has the coefficients of the confidence of matches by name."""
    metadata = {"lookalike.graph": json.dumps(graph, separators=(",", ":"))} | VERSION_METADATA
    if recommended_max_distance is not None:
        metadata["lookalike.recommended_max_distance"] = f"{recommended_max_distance:.4f}"
    if confidence is not None:
        metadata["lookalike.confidence"] = json.dumps(confidence, separators=(",", ":"))
    if images is not None:
        ranges = activation_ranges(graph, tensors, images)
        metadata["lookalike.activation_ranges"] = json.dumps(
            {k: float(f"{v:.5g}") for k, v in ranges.items()}, separators=(",", ":")
        )
    save_safetensors(path, {name: tensor.numpy() for name, tensor in tensors.items()}, metadata)
