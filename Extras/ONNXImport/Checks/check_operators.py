"""Runs the node tests that come with the onnx package for the operators that the import knows.

    python check_operators.py --tool .build-extras/release/lookalike-import [--only Conv MaxPool] [--verbose]

The first input of a node stands for what depends on the image; of operators on two tensors both do. With --constants
all inputs are constants, which the import computes at once. A test whose input is not float32, or whose result no print
can hold, is skipped. Prints a line per operator and exits with 1 if a result is more than 1e-4 off, relative to its
largest element, or if a test is refused that is not listed in REFUSED.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests
from PIL import Image

BINARY = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "MatMul", "PRelu"}
# These work on maps, which have a batch of one: each image of a batch is a test of its own.
MAPS = {
    "Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization",
    "GroupNormalization", "Resize",
}  # fmt: skip
UNARY = {
    "Relu", "Clip", "LeakyRelu", "Elu", "Sigmoid", "HardSigmoid", "HardSwish", "Gelu", "Mish", "Softplus", "Tanh",
    "Erf", "Exp", "Log", "Sqrt", "Abs", "Neg", "Reciprocal", "Identity",
}  # fmt: skip
OTHERS = {
    "BatchNormalization", "LayerNormalization", "LpNormalization", "Softmax", "LogSoftmax", "Concat", "Split", "Slice",
    "Pad", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Expand", "Gather", "ReduceMean", "ReduceSum",
    "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMax", "ReduceMin", "Gemm",
}  # fmt: skip
# What the import does not support, and says so.
REFUSED = (
    "1d", "3d", "cubic", "antialias", "crop_and_resize", "not_larger", "not_smaller", "align_corners_floor",
    "half_pixel_symmetric", "with_argmax", "zero_dim", "training_mode", "wrap", "empty",
    "resize_upsample_sizes_nearest_axes", "resize_downsample_scales_linear_half_pixel_symmetric", "axes_2_3",
    "axes_3_2", "keep_aspect",
)  # fmt: skip
# onnxruntime gives our result, and not that of the test.
DISPUTED = {
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}
LIMIT = 1e-4


def tensors(folder, kind):
    paths = sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [onnx.TensorProto.FromString(path.read_bytes()) for path in paths]


def single_image_model(model, inputs, outputs, variables):
    """The node with its inputs as initializers, and one vector of all results with a 1 at its end."""
    graph = onnx.GraphProto(name="operator")
    graph.node.extend(model.graph.node)
    for value, array in inputs:
        graph.initializer.append(numpy_helper.from_array(array, value))
    graph.initializer.append(numpy_helper.from_array(np.array([1, -1], np.int64), "check_shape"))
    graph.initializer.append(numpy_helper.from_array(np.ones((1, 1), np.float32), "check_one"))
    for index, name in enumerate(outputs):
        graph.node.append(helper.make_node("Reshape", [name, "check_shape"], [f"check_{index}"]))
    names = [f"check_{index}" for index in range(len(outputs))] + ["check_one"]
    graph.node.append(helper.make_node("Concat", names, ["check_result"], axis=1))
    graph.input.append(helper.make_tensor_value_info("check_image", TensorProto.FLOAT, [1, 3, 8, 8]))
    graph.output.append(helper.make_tensor_value_info("check_result", TensorProto.FLOAT, None))
    opsets = [
        helper.make_opsetid(opset.domain, min(opset.version, 22) if opset.domain in ("", "ai.onnx") else opset.version)
        for opset in model.opset_import
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run(tool, work, model, variables):
    path = work / "operator.onnx"
    path.write_bytes(model.SerializeToString())
    command = [tool, str(path), "--raw", "--embed", str(work / "image.png")]
    for variable in variables:
        command += ["--variable", variable]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        return None, result.stderr.strip()
    return np.array(json.loads(result.stdout), np.float64), ""


def check(case, kind, tool, work, constants):
    """Returns ok, off, refused or skipped, and words."""
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    data = folder / "test_data_set_0"
    try:
        inputs = [numpy_helper.to_array(tensor) for tensor in tensors(data, "input")]
        outputs = [numpy_helper.to_array(tensor) for tensor in tensors(data, "output")]
    except Exception:
        return "skipped", "no tensors"
    names = [value.name for value in model.graph.input]
    results = [value.name for value in model.graph.output]
    if len(names) != len(inputs) or not inputs or inputs[0].dtype != np.float32:
        return "skipped", "not float32"
    if kind in ("Identity", "Concat") and any(array.dtype != np.float32 for array in inputs):
        return "skipped", "not float32"
    if any(array.dtype != np.float32 or array.size == 0 or not np.isfinite(array).all() for array in outputs):
        return "skipped", "results"
    if any(array.size == 0 for array in inputs if array.dtype == np.float32):
        return "skipped", "empty"
    count = 1 if kind not in MAPS else inputs[0].shape[0]
    variables = names if kind in BINARY or kind == "Concat" else names[:1]
    if constants:
        variables = ["check_one"]
    worst = 0.0
    for image in range(count):
        parts = [
            array[image : image + 1] if kind in MAPS and index == 0 else array for index, array in enumerate(inputs)
        ]
        if kind == "Resize" and count > 1:
            return "skipped", "batch"
        expected = np.concatenate(
            [(array[image : image + 1] if kind in MAPS else array).ravel() for array in outputs] + [[1.0]]
        )
        result, words = run(tool, work, single_image_model(model, zip(names, parts), results, variables), variables)
        if result is None:
            return "refused", words
        if result.shape != expected.shape:
            return "off", f"{result.shape} instead of {expected.shape}"
        worst = max(worst, np.abs(result - expected).max() / max(np.abs(expected).max(), 1e-30))
    return ("ok" if worst <= LIMIT else "off"), f"{worst:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=".build-extras/release/lookalike-import")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    wanted = set(arguments.only or BINARY | MAPS | UNARY | OTHERS)
    work = Path(tempfile.mkdtemp())
    Image.new("RGB", (8, 8), (90, 120, 30)).save(work / "image.png")
    counts = collections.defaultdict(collections.Counter)
    failures = 0
    for case in load_model_tests(kind="node"):
        if "_expanded" in case.name or case.name in DISPUTED:
            continue
        model = onnx.load(Path(case.model_dir) / "model.onnx", load_external_data=False)
        kinds = {node.op_type for node in model.graph.node}
        if len(model.graph.node) != 1 or not kinds <= wanted:
            continue
        (kind,) = kinds
        verdict, words = check(case, kind, arguments.tool, work, arguments.constants)
        if verdict == "refused" and any(part in case.name for part in REFUSED):
            verdict = "unsupported"
        counts[kind][verdict] += 1
        failures += verdict in ("off", "refused")
        if arguments.verbose or verdict in ("off", "refused"):
            print(f"  {case.name}: {verdict} {words[:240]}", flush=True)
    for kind in sorted(counts):
        print(f"{kind:24} " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts[kind].items())))
    print(f"{sum(counter['ok'] for counter in counts.values())} tests agree, {failures} do not")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
