"""The feature-print network: a plain residual network of 3x3 convolutions."""

import math
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.nn import functional as F

# Channel statistics of natural images in [0, 1], as commonly used with ImageNet.
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclass
class Architecture:
    """Widths and depths; everything an exported graph follows from."""

    stem: tuple = (32, 32)
    widths: tuple = (32, 64, 128, 256, 512)
    blocks: tuple = (1, 2, 2, 2, 1)
    strides: tuple = (1, 2, 2, 2, 1)
    dimension: int = 256
    locator: int = 160
    located_after: int = 2
    input_size: int = 160

    def as_dict(self):
        return asdict(self)

    @classmethod
    def from_dict(cls, values):
        """Older checkpoints call the dimension `print_length`."""
        values = dict(values)
        if "print_length" in values:
            values["dimension"] = values.pop("print_length")
        return cls(**values)


class ConvBN(nn.Sequential):
    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(outputs),
        )


class ResidualBlock(nn.Module):
    """He et al., "Deep Residual Learning for Image Recognition" (2016), the two-convolution block."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = ConvBN(inputs, outputs, 3, stride)
        self.second = ConvBN(outputs, outputs, 3, 1)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = ConvBN(inputs, outputs, 1, stride)
        # Blocks start as identities, so that depth costs nothing early in training.
        nn.init.zeros_(self.second[1].weight)

    def forward(self, x):
        y = self.second(F.relu(self.first(x)))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class GeneralizedMeanPool(nn.Module):
    """Radenovic et al., "Fine-tuning CNN Image Retrieval with No Human Annotation" (2018)."""

    epsilon = 1e-6

    def __init__(self, power=3.0):
        super().__init__()
        self.power = nn.Parameter(torch.tensor(power))

    def forward(self, x):
        x = x.float().clamp(min=self.epsilon)
        return x.pow(self.power).mean((2, 3)).pow(1 / self.power)


class Locator(nn.Module):
    """Where in the frame the photographed flat object is: the corners of its quadrilateral.

    A branch of its own from an earlier stage, since the last ones are trained to forget where things are. Every
    cell votes for each corner with an offset, and a softmax over the cells weighs the votes: fully
    convolutional, so that it works at any input size and can point outside the frame.
    """

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.stride = stride * 2
        self.hidden = nn.ModuleList(
            [ConvBN(inputs, width, 3, 2), ConvBN(width, width, 3, 1), ConvBN(width, width, 3, 1)]
        )
        self.votes = nn.Conv2d(width, 12, 1)
        nn.init.zeros_(self.votes.weight)
        nn.init.zeros_(self.votes.bias)

    def forward(self, x):
        for conv in self.hidden:
            x = F.relu(conv(x))
        return self.votes(x).float()


def cell_centers(h, w, device):
    """A 3x3 convolution of stride 2 with padding 1 centers cell i on pixel 2i of its input."""
    x = torch.arange(w, device=device).repeat(h)
    y = torch.arange(h, device=device).repeat_interleave(w)
    return torch.stack([x, y]).float()


def voted_corners(votes, stride):
    """(n, 12, h, w), four weights, then four offsets in x and y, in cells: each cell's corners in pixels
    of the input, (n, 4, 2, h * w), and its weights for them, (n, 4, h * w)."""
    n, _, h, w = votes.shape
    weights = votes[:, :4].reshape(n, 4, h * w).softmax(-1)
    offsets = votes[:, 4:].reshape(n, 4, 2, h * w)
    return (cell_centers(h, w, votes.device) + offsets) * stride + 0.5, weights


def corners_of(votes, stride):
    """(n, 4, 2): x and y in pixels of the input, clockwise from the object's own top left."""
    corners, weights = voted_corners(votes, stride)
    return (corners * weights.unsqueeze(2)).sum(-1)


class FeaturePrintNetwork(nn.Module):
    """(n, 3, s, s) normalized RGB to (n, dimension) unit vectors and (n, 12, h, w) votes for corners."""

    def __init__(self, architecture=Architecture()):
        super().__init__()
        self.architecture = architecture
        inputs = 3
        self.stem = nn.ModuleList()
        for width in architecture.stem:
            self.stem.append(ConvBN(inputs, width, 3, 2))
            inputs = width
        self.stages = nn.ModuleList()
        for width, count, stride in zip(architecture.widths, architecture.blocks, architecture.strides):
            stage = nn.ModuleList()
            for index in range(count):
                stage.append(ResidualBlock(inputs, width, stride if index == 0 else 1))
                inputs = width
            self.stages.append(stage)
        self.pool = GeneralizedMeanPool()
        self.projection = nn.Linear(inputs, architecture.dimension)
        self.locator = None
        if architecture.locator:
            after = architecture.located_after + 1
            stride = 2 ** len(architecture.stem) * math.prod(architecture.strides[:after])
            self.locator = Locator(architecture.widths[architecture.located_after], architecture.locator, stride)

    def forward(self, x):
        votes = None
        for conv in self.stem:
            x = F.relu(conv(x))
        for index, stage in enumerate(self.stages):
            for block in stage:
                x = block(x)
            if self.locator is not None and index == self.architecture.located_after:
                votes = self.locator(x)
        pooled = self.pool(x)
        with torch.autocast(x.device.type, enabled=False):
            return F.normalize(self.projection(pooled.float()), dim=1), votes


def mixed_precision(device):
    """bfloat16 where the device computes in it. A CPU that has to emulate it is twice as fast in float32."""
    native = device.type != "cpu" or torch.cpu._is_avx512_bf16_supported()
    return torch.autocast(device.type, torch.bfloat16, enabled=native)


def normalized(images):
    """[0, 1] RGB to the network's input."""
    mean = torch.tensor(MEAN, device=images.device).view(1, 3, 1, 1)
    std = torch.tensor(STD, device=images.device).view(1, 3, 1, 1)
    return (images - mean) / std
