"""Forward passes of the default network, beside onnxruntime and OpenVINO."""

import numpy as np
import onnxruntime
import openvino
from contest import Contest, check, core, pin, timed
from inputs import SIDE
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


def network(batch, threads):
    def stage(program, inputs, limits):
        numbers = {"batch": batch}
        files = {"images": str(inputs.crops())}
        ours = {
            f"Lookalike {precision}": Ours(
                program,
                "network",
                threads,
                core(threads),
                files=files,
                numbers=numbers,
                options={"precision": precision},
            )
            for precision in ("float32", "int8")
        }
        crops = np.fromfile(inputs.crops(), np.uint8).reshape(-1, SIDE, SIDE, 3)[:batch]
        # The graph takes RGB in 0...1 and normalizes it.
        images = np.ascontiguousarray(crops.transpose(0, 3, 1, 2).astype(np.float32) / 255)
        pin(threads)
        session = onnx_session(inputs.onnx(), threads)
        peers = {"onnxruntime float32": timed(lambda: session.run(["print"], {"image": images}))}
        for precision in ("f32", "bf16"):
            request = openvino_request(inputs.onnx(), batch, threads, precision)
            peers[f"OpenVINO {'float32' if precision == 'f32' else 'bfloat16'}"] = timed(
                lambda request=request: request.infer({0: images})
            )
        pin(0)
        expected = session.run(["print"], {"image": images})[0]
        apart = {}
        for name, mine in ours.items():
            mine()
            prints = np.array(mine.result(), np.float32).reshape(batch, -1)
            apart[name] = float(np.linalg.norm(prints - expected, axis=1).max())
        check(apart["Lookalike float32"] < 1e-3, f"network: {apart}")
        check(apart["Lookalike int8"] < 0.1, f"network: {apart}")
        multiply_adds = 315e6
        contest = Contest(
            f"Network, batch {batch}",
            "ms per image",
            threads,
            ours,
            peers,
            {"multiply-adds at the peak of float32": multiply_adds / limits.multiply_adds / 1e6 / threads},
            "farthest print from onnxruntime's: "
            + ", ".join(f"{name.split()[-1]} {value:.1g}" for name, value in apart.items()),
            count=batch,
        )
        return contest, list(ours.values())

    return stage
