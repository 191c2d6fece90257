"""Imports networks as people export them, and compares their prints with onnxruntime's.

    python check_exports.py --tool .build-extras/release/lookalike-import [--only dinov2-dynamic] [--work DIR]

The networks are those of torchvision, timm, open_clip and transformers with few layers and random weights: these decide
exactness, and say nothing about what a trained network finds. Each is exported by PyTorch's default exporter, which
writes weights to a second file, by the older one with a size that varies, in float16, and in int8 of two kinds. Prints
a line per file and exits with 1 if a cosine is below 0.9999, or below 0.99 for int8.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import open_clip
import timm
import torch
import torchvision
import transformers
from check_networks import MEAN, STD, randomized, test_image
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.float16 import convert_float_to_float16
from PIL import Image

SIZE = 64
LEAST_COSINE = 0.9999
LEAST_INT8_COSINE = 0.99


class Vector(torch.nn.Module):
    """The embedding alone of a network that gives several things."""

    def __init__(self, network, name):
        super().__init__()
        self.network = network
        self.name = name

    def forward(self, pixel_values):
        result = getattr(self.network(pixel_values), self.name)
        return result[:, 0] if self.name == "last_hidden_state" else result


SMALL = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 160}


def hugging_face(kind, name="pooler_output", **options):
    configuration = getattr(transformers, f"{kind}Config")(**options)
    return Vector(getattr(transformers, f"{kind}Model")(configuration), name)


def clip():
    vision = {"width": 128, "layers": 2, "head_width": 32, "patch_size": 16, "image_size": SIZE}
    text = {"context_length": 8, "vocab_size": 50, "width": 32, "heads": 2, "layers": 1}
    return open_clip.CLIP(64, vision, text).visual


NETWORKS = {
    "resnet18": torchvision.models.resnet18,
    "convnext": lambda: timm.create_model("convnext_atto"),
    "vit": lambda: timm.create_model("vit_tiny_patch16_224", depth=2, img_size=SIZE),
    "swin": lambda: timm.create_model("swin_tiny_patch4_window7_224", depths=(2, 2), img_size=SIZE, window_size=4),
    "open-clip": clip,
    "hf-clip": lambda: hugging_face("CLIPVision", image_size=SIZE, patch_size=16, **SMALL),
    "hf-siglip": lambda: hugging_face("SiglipVision", image_size=SIZE, patch_size=16, **SMALL),
    "hf-dinov2": lambda: hugging_face("Dinov2", image_size=112, patch_size=8, **SMALL),
    "hf-dinov3": lambda: hugging_face("DINOv3ViT", image_size=SIZE, patch_size=16, **SMALL),
    "hf-vit": lambda: hugging_face("ViT", image_size=SIZE, patch_size=16, **SMALL),
    "hf-swin": lambda: hugging_face(
        "Swin", image_size=SIZE, window_size=4, embed_dim=48, depths=[2, 2], num_heads=[3, 6]
    ),
    "hf-convnext": lambda: hugging_face("ConvNext", depths=[1, 1, 2, 1], hidden_sizes=[24, 48, 64, 96]),
}  # fmt: skip
KINDS = ["default", "dynamic", "legacy", "float16", "int8", "qdq"]


def network(name):
    torch.manual_seed(7)
    # The fused attention of older modules cannot be exported.
    torch.backends.mha.set_fastpath_enabled(False)
    return randomized(NETWORKS[name]())


class Images(quantization.CalibrationDataReader):
    """What the ranges of activations are measured on."""

    def __init__(self, path):
        name = onnx.load(path, load_external_data=False).graph.input[0].name
        self.rest = iter([{name: pixels(test_image(SIZE))}, {name: pixels(test_image(SIZE)[::-1])}])

    def get_next(self):
        return next(self.rest, None)


def pixels(image):
    return ((image.astype(np.float32) / 255 - MEAN) / STD).transpose(2, 0, 1)[None]


def export(name, kind, folder):
    """Writes the network into a folder of its own, and returns the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model.onnx"
    if path.exists():
        return path
    if kind in ("float16", "int8", "qdq"):
        source = export(name, "legacy", folder.parent / f"{name}-legacy")
        if kind == "float16":
            model = convert_float_to_float16(onnx.load(source), keep_io_types=True)
            # As onnxruntime's converter leaves it: casts come last, in no order.
            path.write_bytes(model.SerializeToString())
        elif kind == "int8":
            quantization.quantize_dynamic(source, path, weight_type=quantization.QuantType.QUInt8)
        else:
            prepared = folder / "prepared.onnx"
            quant_pre_process(source, prepared, skip_symbolic_shape=True)
            quantization.quantize_static(prepared, path, Images(prepared), per_channel=True)
        return path
    image = torch.zeros(1, 3, SIZE, SIZE)
    with torch.no_grad():
        if kind == "default":
            torch.onnx.export(network(name), (image,), path, dynamo=True, external_data=True)
        else:
            names = {0: "batch", 2: "height", 3: "width"}
            axes = {"image": names} if kind == "dynamic" else None
            torch.onnx.export(
                network(name), (image,), path, dynamo=False, input_names=["image"], dynamic_axes=axes, opset_version=17
            )
    return path


def compare(tool, path, work):
    """The cosine between the import's print and onnxruntime's; words where there is none."""
    image = test_image(SIZE)
    Image.fromarray(image).save(work / "image.png")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        expected = session.run(None, {session.get_inputs()[0].name: pixels(image)})[0].ravel().astype(np.float64)
    except Exception:  # of a class that onnxruntime does not export
        return 1, "onnxruntime does not run it"
    command = [tool, path, "--output", work / "model.safetensors", "--embed", work / "image.png"]
    run = subprocess.run([*command, "--input-size", str(SIZE)], capture_output=True, text=True)
    if run.returncode != 0:
        return None, run.stderr.strip().removeprefix(f"{path}: ")
    result = np.array(json.loads(run.stdout), np.float64)
    if result.shape != expected.shape:
        return None, f"{result.size} components, not {expected.size}"
    return result @ expected / np.linalg.norm(result) / np.linalg.norm(expected), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=".build-extras/release/lookalike-import")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of names, as in the lines")
    parser.add_argument("--work", help="where to keep the networks")
    arguments = parser.parse_args()
    tool = Path(arguments.tool).resolve()
    work = Path(arguments.work or tempfile.mkdtemp()).resolve()
    work.mkdir(parents=True, exist_ok=True)
    # Some converters leave files where they run.
    os.chdir(work)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    failures = 0
    for label in [f"{name}-{kind}" for name in NETWORKS for kind in KINDS]:
        if not any(part in label for part in arguments.only):
            continue
        name, kind = label.rsplit("-", 1)
        try:
            path = export(name, kind, work / label)
        except Exception as error:
            words = f"{type(error).__name__} {error}".splitlines()[0]
            print(f"{label:24} not exported: {words[:120]}", flush=True)
            continue
        cosine, words = compare(tool, path, work)
        limit = LEAST_INT8_COSINE if kind in ("int8", "qdq") else LEAST_COSINE
        agrees = cosine is not None and cosine >= limit
        failures += not agrees
        verdict = f"{words[:300]} FAILED" if cosine is None else words or f"{cosine:.6f} {'ok' if agrees else 'OFF'}"
        print(f"{label:24} {verdict}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
