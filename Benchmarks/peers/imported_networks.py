#!/usr/bin/env python3
"""Forward passes of imported networks, beside onnxruntime and OpenVINO, in float32 and int8.

    python imported_networks.py --program .build/release/StageRunner --importer lookalike-import \
        --images FOLDER --output FILE resnet18.onnx mobilenet_v3_large.onnx

Networks take images of 224×224 pixels, normalized as for ImageNet. All contenders run alternately. int8 versions are
made by each side's own tool, from the same images: “--calibrate”, onnxruntime's static quantization, and NNCF.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import nncf
import numpy as np
import onnx
import onnxruntime
import openvino
from contest import Contest, check, core, pin, timed
from machine import described
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from PIL import Image
from runner import Ours

SIDE = 224
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


class _Images(CalibrationDataReader):
    def __init__(self, name, images):
        self.name, self.images = name, iter(images)

    def get_next(self):
        image = next(self.images, None)
        return None if image is None else {self.name: image[None]}


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def request(path, batch, threads):
    model = openvino.Core().read_model(str(path))
    model.reshape([batch, 3, SIDE, SIDE])
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    return openvino.Core().compile_model(model, "CPU", settings).create_infer_request()


def any_batch(path, work):
    """The network for any number of images."""
    network = onnx.load(path)
    for value in [*network.graph.input, *network.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    target = work / f"{path.stem}-any.onnx"
    onnx.save(network, target)
    return target


class Networks:
    """A network in the formats of all contenders."""

    def __init__(self, path, importer, pixels, work):
        self.path = path
        images = ((pixels.astype(np.float32) / 255 - MEAN) / STD).transpose(0, 3, 1, 2)
        self.images = np.ascontiguousarray(images)
        self.pixels = work / "pixels.rgb"
        pixels.tofile(self.pixels)
        folder = work / "images"
        folder.mkdir(exist_ok=True)
        for index, image in enumerate(pixels):
            Image.fromarray(image).save(folder / f"{index}.png")
        self.model = work / f"{path.stem}.safetensors"
        run = subprocess.run(
            [importer, path, "--output", self.model, "--calibrate", folder], check=True, capture_output=True, text=True
        )
        self.words = [line for line in run.stdout.splitlines() if line.startswith(("int8", "float32"))]
        self.has_int8 = "activation_ranges" in self.model.open("rb").read(1 << 22).decode("latin-1")
        self.any = any_batch(path, work)
        self.input = onnxruntime.InferenceSession(str(path)).get_inputs()[0].name
        prepared, self.int8 = work / "prepared.onnx", work / f"{path.stem}-int8.onnx"
        quant_pre_process(str(self.any), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(self.int8),
            _Images(self.input, self.images),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
        )
        self.nncf = work / f"{path.stem}.xml"
        model = openvino.Core().read_model(str(path))
        calibrated = nncf.quantize(model, nncf.Dataset([image[None] for image in self.images]))
        openvino.save_model(calibrated, str(self.nncf), compress_to_fp16=False)

    def ours(self, program, batch, threads):
        return {
            f"Lookalike {precision}": Ours(
                program,
                "network",
                threads,
                core(threads),
                files={"images": str(self.pixels), "model": str(self.model)},
                numbers={"batch": batch},
                options={"precision": precision},
            )
            for precision in (["float32", "int8"] if self.has_int8 else ["float32"])
        }

    def peers(self, batch, threads):
        images = self.images[:batch]
        peers = {}
        for name, path in (("float32", self.any), ("int8", self.int8)):
            run = session(path, threads)
            peers[f"onnxruntime {name}"] = lambda run=run: run.run(None, {self.input: images})[0]
        for name, path in (("float32", self.path), ("int8 (NNCF)", self.nncf)):
            infer = request(path, batch, threads)
            peers[f"OpenVINO {name}"] = lambda infer=infer: infer.infer({0: images})[0]
        return peers


def unit(rows):
    rows = np.asarray(rows, np.float64).reshape(len(rows), -1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", type=Path)
    parser.add_argument("--program", type=Path, required=True, help="the stage runner")
    parser.add_argument("--importer", type=Path, required=True, help="lookalike-import")
    parser.add_argument("--images", type=Path, required=True, help="a folder of 32 photographs or more")
    parser.add_argument("--output", type=Path, required=True, help="a file of JSON lines, one per contest")
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 32])
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    options = parser.parse_args()
    paths = sorted(path for path in options.images.iterdir() if path.suffix.lower() in (".jpg", ".jpeg", ".png"))[:32]
    if len(paths) < 32:
        raise SystemExit(f"{options.images} has {len(paths)} images, not 32")
    pixels = np.stack([np.asarray(Image.open(path).convert("RGB").resize((SIDE, SIDE))) for path in paths])
    # OpenVINO counts the cores on first use, and never uses more.
    openvino.Core().get_property("CPU", "FULL_DEVICE_NAME")

    def log(result):
        print(f"\n{result['name']}, {result['threads']} thread(s), {result['rounds']} rounds", flush=True)
        for name, value in {**result["ours"], **result["peers"]}.items():
            print(f"  {name:24s} {value['median']:9.3f} ({value['low']:.3f} … {value['high']:.3f})", flush=True)

    with tempfile.TemporaryDirectory() as folder, options.output.open("a") as output:
        for path in options.networks:
            networks = Networks(path, options.importer.resolve(), pixels, Path(folder))
            print(f"\n{path.stem}: " + "; ".join(networks.words), flush=True)
            for threads in options.threads:
                for batch in options.batches:
                    ours = networks.ours(options.program.resolve(), batch, threads)
                    pin(threads)
                    peers = networks.peers(batch, threads)
                    expected = unit(peers["onnxruntime float32"]())
                    prints = {name: unit(work()) for name, work in peers.items()}
                    pin(0)
                    for name, mine in ours.items():
                        mine()
                        prints[name] = np.array(mine.result(), np.float64).reshape(batch, -1)
                    apart = {name: np.linalg.norm(rows - expected, axis=1).max() for name, rows in prints.items()}
                    check(apart["Lookalike float32"] < 1e-3, f"{path.stem}: {apart}")
                    contest = Contest(
                        f"{path.stem}, batch {batch}",
                        "ms per image",
                        threads,
                        ours,
                        {name: timed(work) for name, work in peers.items()},
                        agreement=", ".join(f"{name} {value:.2g}" for name, value in apart.items()),
                        count=batch,
                    )
                    result = contest.run(log)
                    print(f"  farthest print from onnxruntime's in float32: {result['agreement']}", flush=True)
                    output.write(json.dumps({"machine": described(), **result}, ensure_ascii=False) + "\n")
                    output.flush()
                    for mine in ours.values():
                        mine.close()


if __name__ == "__main__":
    main()
