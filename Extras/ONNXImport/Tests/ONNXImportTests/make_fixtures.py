"""Makes the networks that the tests import, and what onnxruntime computes with them and with some operators.

    python make_fixtures.py

Needs torch, onnx and onnxruntime. The networks are small, and have the layers of those that people use.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper
from torch import nn
from torch.nn import functional

HERE = Path(__file__).parent / "Fixtures"
SIZE = 32


class Excitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down = nn.Conv2d(channels, 8, 1)
        self.up = nn.Conv2d(8, channels, 1)

    def forward(self, x):
        weight = functional.adaptive_avg_pool2d(x, 1)
        return x * functional.hardsigmoid(self.up(functional.relu(self.down(weight))))


class Mobile(nn.Module):
    """Inverted residuals with depthwise convolutions, squeeze and excitation, and a shuffle of channels."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 20, 3, 2, 1, bias=False), nn.BatchNorm2d(20), nn.Hardswish())
        self.expand = nn.Sequential(nn.Conv2d(20, 36, 1, bias=False), nn.BatchNorm2d(36), nn.SiLU())
        self.depthwise = nn.Sequential(nn.Conv2d(36, 36, 5, 1, 2, groups=36, bias=False), nn.BatchNorm2d(36))
        self.excitation = Excitation(36)
        self.project = nn.Sequential(nn.Conv2d(36, 20, 1, bias=False), nn.BatchNorm2d(20))
        self.shrink = nn.Conv2d(20, 20, 3, 2, 1, groups=20)
        self.grouped = nn.Sequential(nn.BatchNorm2d(30), nn.ReLU(), nn.Conv2d(30, 24, 3, padding=1, groups=3))

    def forward(self, x):
        x = self.stem(x)
        x = x + self.project(self.excitation(functional.relu6(self.depthwise(self.expand(x)))))
        x = self.shrink(x)
        x = torch.cat([x[:, :10], functional.leaky_relu(x, 0.1)], 1)
        channels, height, width = (int(extent) for extent in x.shape[1:])
        x = x.view(1, 2, channels // 2, height, width).transpose(1, 2).reshape(1, channels, height, width)
        x = self.grouped(x)
        x = functional.max_pool2d(x, 3, 2, ceil_mode=True)
        return functional.adaptive_avg_pool2d(x.clamp(min=1e-6).pow(3), 1).pow(1 / 3).flatten(1)


class Residual(nn.Module):
    """A plain residual network, whose dense convolutions with ReLU can be computed in int8."""

    def __init__(self):
        super().__init__()

        def convolution(inputs, outputs, kernel, stride=1):
            return nn.Sequential(
                nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)
            )

        self.stem = convolution(3, 16, 3, 2)
        self.first = nn.ModuleList([convolution(16, 16, 3), convolution(16, 16, 3)])
        self.second = nn.ModuleList([convolution(16, 32, 3, 2), convolution(32, 32, 3)])
        self.shortcut = convolution(16, 32, 1, 2)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.stem(x)), 3, 1, 1)
        x = functional.relu(x + self.first[1](functional.relu(self.first[0](x))))
        x = functional.relu(self.shortcut(x) + self.second[1](functional.relu(self.second[0](x))))
        return functional.adaptive_avg_pool2d(x, 1).flatten(1)


class Attention(nn.Module):
    """A vision transformer of two layers."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 24, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, 24))
        self.positions = nn.Parameter(torch.randn(1, 17, 24) * 0.2)
        layer = nn.TransformerEncoderLayer(24, 3, 40, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.ModuleList([layer, nn.TransformerEncoderLayer(24, 2, 36, 0.0, batch_first=True)])
        self.norm = nn.LayerNorm(24)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(1, -1, -1), x], 1) + self.positions
        for layer in self.encoder:
            x = layer(x)
        return functional.normalize(self.norm(x)[:, 0], dim=1)


class ChannelsLast(nn.Module):
    """ConvNeXt's block: what comes between two transpositions works on channels."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 28, 4, 4)
        self.norms = nn.ModuleList([nn.LayerNorm(28), nn.LayerNorm(28)])
        self.depthwise = nn.Conv2d(28, 28, 7, padding=3, groups=28)
        self.up = nn.Linear(28, 56)
        self.down = nn.Linear(56, 28)
        self.scale = nn.Parameter(torch.rand(28, 1, 1))

    def forward(self, x):
        x = self.norms[0](self.stem(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        y = self.norms[1](self.depthwise(x).permute(0, 2, 3, 1))
        y = self.down(functional.gelu(self.up(y))).permute(0, 3, 1, 2)
        x = x + self.scale * y
        return x.mean((2, 3))


class Various(nn.Module):
    """What is rarer: odd kernels, strides and padding, dilation, resizing, and other activations."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 18, (3, 5), (3, 2), (0, 3), (1, 2))
        self.slope = nn.PReLU(18, 0.2)
        self.groups = nn.GroupNorm(3, 18)
        self.instances = nn.InstanceNorm2d(18, affine=True)
        self.dilated = nn.Conv2d(18, 18, 3, padding=2, dilation=2, groups=18)
        self.last = nn.Linear(18 * 6 * 5, 12)

    def forward(self, x):
        x = self.slope(self.first(x))
        x = functional.mish(self.groups(x)) - torch.tanh(self.instances(x))
        x = self.dilated(functional.pad(x, (1, 0, 0, 2)))
        x = functional.elu(x, 0.5) * functional.softplus(x).clamp(-1, 3)
        y = functional.interpolate(x, scale_factor=2, mode="bilinear")
        y = functional.avg_pool2d(y, 2, 2) + functional.interpolate(x, size=x.shape[2:], mode="nearest")
        y = functional.pad(y, (1, 1, 1, 1), mode="reflect")
        y = functional.max_pool2d(y, (4, 5), (2, 3))
        return torch.softmax(self.last(y.flatten(1)), 1)


def resizes():
    """What onnxruntime's Resize makes of a small array, in the ways that positions are resized."""
    values = np.random.default_rng(5).normal(size=(1, 2, 5, 7)).astype(np.float32)
    cases = []
    for size, attributes in [
        ((9, 11), {}),
        ((3, 4), {}),
        ((3, 4), {"cubic_coeff_a": -0.5}),
        ((8, 4), {"exclude_outside": 1}),
        ((8, 3), {"coordinate_transformation_mode": "align_corners"}),
        ((10, 3), {"coordinate_transformation_mode": "asymmetric"}),
        ((1, 9), {"coordinate_transformation_mode": "pytorch_half_pixel"}),
        ((2, 3), {"antialias": 1}),
        ((2, 9), {"antialias": 1, "mode": "linear"}),
    ]:
        attributes = {"mode": "cubic", **attributes}
        node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
        sizes = helper.make_tensor("sizes", TensorProto.INT64, [4], [1, 2, *size])
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, values.shape)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "resize", [x], [y], [sizes])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        result = session.run(None, {"x": values})[0].ravel()
        words = {name: value for name, value in attributes.items() if isinstance(value, str)}
        numbers = {name: value for name, value in attributes.items() if not isinstance(value, str)}
        cases.append(
            {"size": size, "words": words, "numbers": numbers, "result": [round(float(value), 6) for value in result]}
        )
    return {"values": [float(value) for value in values.ravel()], "cases": cases}


class Texts(nn.Module):
    """A tower for texts as CLIP's: causal attention, and the vector at the largest number, which ends the text."""

    def __init__(self, masked=False):
        super().__init__()
        self.vectors, self.places = nn.Embedding(40, 32), nn.Parameter(torch.randn(12, 32) * 0.3)
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(3))
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)
        self.projection = nn.Parameter(torch.randn(32, 24) * 0.2)
        self.register_buffer("causal", torch.full((12, 12), float("-inf")).triu(1))
        self.masked = masked

    def forward(self, input_ids, attention_mask=None):
        x = self.vectors(input_ids) + self.places
        q, k, v = self.qkv(self.norms[0](x)).reshape(-1, 12, 3, 4, 8).permute(2, 0, 3, 1, 4)
        mask = self.causal
        if self.masked:
            mask = (1 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        x = x + self.out(functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))
        x = self.norms[2](x + self.down(functional.gelu(self.up(self.norms[1](x)))))
        if self.masked:
            weights = attention_mask[:, :, None].to(x.dtype)
            x = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        else:
            x = x[torch.arange(x.shape[0]), input_ids.argmax(-1)]
        return x @ self.projection


def texts():
    """The towers for texts, and their prints of some texts, given as numbers without the padding, 1."""
    lines = [[0, 5, 7, 39], [0, 39], [0, *range(20, 30), 39], [0, 11, 11, 4, 3, 39], [0, 2, 30, 8, 9, 10, 39]]
    prints = {}
    for name, masked in {"texts": False, "masked-texts": True}.items():
        torch.manual_seed(12)
        network = Texts(masked).eval()
        names = ["input_ids", "attention_mask"][: 1 + masked]
        path = HERE / f"{name}.onnx"
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            axes = {name: {0: "batch"} for name in names}
            example = tuple(torch.ones(2, 12, dtype=torch.long) for _ in names)
            torch.onnx.export(
                network, example, path, input_names=names, dynamic_axes=axes, opset_version=17, dynamo=False
            )
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        prints[name] = []
        for line in lines:
            ids, mask = np.ones((1, 12), np.int64), np.zeros((1, 12), np.int64)
            ids[0, : len(line)], mask[0, : len(line)] = line, 1
            result = session.run(None, dict(zip(names, [ids, mask])))[0].ravel().astype(np.float64)
            prints[name].append([round(float(value), 7) for value in result / np.linalg.norm(result)])
    return {"lines": lines, "prints": prints}


def pixels():
    """The image that the tests make by the same formula."""
    y, x, c = np.meshgrid(np.arange(SIZE), np.arange(SIZE), np.arange(3), indexing="ij")
    return ((x * (3 + c) + y * (5 - c) + x * y // (7 + c)) % 256).astype(np.float32) / 255


def main():
    HERE.mkdir(exist_ok=True)
    # The fused attention cannot be exported.
    torch.backends.mha.set_fastpath_enabled(False)
    image = ((pixels() - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).astype(np.float32).transpose(2, 0, 1)[None]
    prints = {}
    for name, make in {
        "mobile": Mobile,
        "residual": Residual,
        "attention": Attention,
        "channels-last": ChannelsLast,
        "various": Various,
    }.items():
        torch.manual_seed(11)
        network = make().eval()
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.3)
                module.running_var.uniform_(0.5, 1.5)
        path = HERE / f"{name}.onnx"
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(network, torch.zeros(1, 3, SIZE, SIZE), path, opset_version=17, dynamo=False)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        result = session.run(None, {session.get_inputs()[0].name: image})[0].ravel().astype(np.float64)
        prints[name] = [round(float(value), 7) for value in result / np.linalg.norm(result)]
    (HERE / "texts.json").write_text(json.dumps(texts()) + "\n")
    (HERE / "resizes.json").write_text(json.dumps(resizes()) + "\n")
    (HERE / "prints.json").write_text(json.dumps(prints, indent=1) + "\n")


if __name__ == "__main__":
    main()
