"""Forward passes of the default network, beside onnxruntime and OpenVINO."""

import numpy as np
import onnxruntime
import openvino
from contest import Contest, check, core, pin, timed
from inputs import SIDE
from quantized_networks import onnxruntime_int8, openvino_int8
from runner import Ours


def onnx_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def openvino_request(path, batch, threads, precision):
    core = openvino.Core()
    model = core.read_model(str(path))
    model.reshape([batch, 3, SIDE, SIDE])
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": precision,
    }
    return core.compile_model(model, "CPU", settings).create_infer_request()


def our_networks(program, inputs, batch, threads):
    """Our contenders: the first images of `inputs.crops()`, in each precision."""
    return {
        f"Lookalike {precision}": Ours(
            program,
            "network",
            threads,
            core(threads),
            files={"images": str(inputs.crops())},
            numbers={"batch": batch},
            options={"precision": precision},
        )
        for precision in ("float32", "int8")
    }


def peer_networks(inputs, batch, threads, images):
    """Name to a function that returns the prints of `images`."""
    peers = {}
    for name, path in (("float32", inputs.onnx()), ("int8", onnxruntime_int8(inputs))):
        session = onnx_session(path, threads)
        peers[f"onnxruntime {name}"] = lambda session=session: session.run(["print"], {"image": images})[0]
    for name, path, precision in (
        ("float32", inputs.onnx(), "f32"),
        ("bfloat16", inputs.onnx(), "bf16"),
        ("int8 (NNCF)", openvino_int8(inputs), "f32"),
    ):
        request = openvino_request(path, batch, threads, precision)
        peers[f"OpenVINO {name}"] = lambda request=request: request.infer({0: images})["print"]
    return peers


def network(batch, threads):
    def stage(program, inputs, limits):
        ours = our_networks(program, inputs, batch, threads)
        crops = np.fromfile(inputs.crops(), np.uint8).reshape(-1, SIDE, SIDE, 3)[:batch]
        # The graph takes RGB in 0...1 and normalizes it.
        images = np.ascontiguousarray(crops.transpose(0, 3, 1, 2).astype(np.float32) / 255)
        pin(threads)
        peers = peer_networks(inputs, batch, threads, images)
        pin(0)
        expected = peers["onnxruntime float32"]().copy()
        apart = {}
        for name, mine in ours.items():
            mine()
            apart[name] = np.array(mine.result(), np.float32).reshape(batch, -1)
        for name, work in peers.items():
            apart[name] = work()
        apart = {name: float(np.linalg.norm(prints - expected, axis=1).max()) for name, prints in apart.items()}
        check(apart["Lookalike float32"] < 1e-3, f"network: {apart}")
        check(apart["Lookalike int8"] < 0.1, f"network: {apart}")
        multiply_adds = inputs.multiply_adds()
        contest = Contest(
            f"Network, batch {batch}",
            "ms per image",
            threads,
            ours,
            {name: timed(work) for name, work in peers.items()},
            {"multiply-adds at the peak of float32": multiply_adds / limits.multiply_adds / 1e6 / threads},
            "farthest print from onnxruntime's in float32: "
            + ", ".join(f"{name} {value:.1g}" for name, value in apart.items() if name != "onnxruntime float32"),
            count=batch,
        )
        return contest, list(ours.values())

    return stage
