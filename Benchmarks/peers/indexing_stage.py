"""Indexing a folder of JPEG files, beside scripts of other libraries."""

import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
from contest import Contest, check, timed
from inputs import SIDE
from network_stage import openvino_request
from PIL import Image
from runner import peak_memory

# By default ours also extracts local features; the scripts have none.
PRINTS = "--no-local-features"


def indexing(program, inputs, limits):
    return indexing_of(inputs, inputs.photos("grainy", grain=6), "1600×1200 with grain", cv2.IMREAD_REDUCED_COLOR_4)


def indexing_smooth(program, inputs, limits):
    folder = inputs.photos("smooth", grain=0.5)
    return indexing_of(inputs, folder, "1600×1200 without grain", cv2.IMREAD_REDUCED_COLOR_4)


def indexing_small(program, inputs, limits):
    return indexing_of(inputs, inputs.small_photos(), "256×192", cv2.IMREAD_COLOR)


def indexing_of(inputs, folder, kind, scale):
    files = sorted(folder.iterdir())
    cores = len(os.sched_getaffinity(0))
    scratch = Path(tempfile.mkdtemp(dir=inputs.folder))

    target = scratch / "catalog"

    def command(source, *options):
        shutil.rmtree(target, ignore_errors=True)
        return [inputs.command, "index", source, "--catalog", target, *options]

    def ours(*options):
        def run():
            arguments = command(folder, *options)
            start = time.perf_counter()
            subprocess.run(arguments, check=True, capture_output=True)
            return (time.perf_counter() - start) * 1e3

        return run

    def peak(source):
        """The peak memory of the process in MiB, polled until it ends."""
        process = subprocess.Popen(command(source, PRINTS), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            try:
                most = max(most, peak_memory(process.pid))
            except (OSError, StopIteration):
                break
            time.sleep(0.002)
        check(process.wait() == 0, f"index: it ended with {process.returncode}")
        return most

    few = scratch / "few"
    few.mkdir()
    for file in files[: len(files) // 4]:
        (few / file.name).symlink_to(file)
    peaks = f"peak memory of the command {peak(folder):.0f} MiB, for a quarter of the files {peak(few):.0f} MiB"

    def draft(path):
        with Image.open(path) as image:
            image.draft("RGB", (SIDE * 2, SIDE * 2))
            return (
                np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.BILINEAR))
                .transpose(2, 0, 1)
                .astype(np.float32)
                / 255
            )

    def reduced(path):
        image = cv2.resize(cv2.imread(str(path), scale), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        return np.ascontiguousarray(image[:, :, ::-1].transpose(2, 0, 1)).astype(np.float32) / 255

    cv2.setNumThreads(1)
    batch = 8
    request = {precision: openvino_request(inputs.onnx(), batch, cores, precision) for precision in ("f32", "bf16")}

    def glue(read, infer):
        def run():
            with ThreadPoolExecutor(cores) as pool:
                prints, pending = [], []
                for image in pool.map(read, files):
                    pending.append(image)
                    if len(pending) == batch:
                        prints.append(infer(np.stack(pending)).copy())
                        pending = []
            np.save(scratch / "prints.npy", np.concatenate(prints))

        return timed(run)

    peers = {
        "Pillow draft, OpenVINO": glue(draft, lambda images: request["f32"].infer({0: images})["print"]),
        "Pillow draft, OpenVINO bfloat16": glue(draft, lambda images: request["bf16"].infer({0: images})["print"]),
        "OpenCV reduced, OpenVINO": glue(reduced, lambda images: request["f32"].infer({0: images})["print"]),
        "OpenCV reduced, OpenVINO bfloat16": glue(reduced, lambda images: request["bf16"].infer({0: images})["print"]),
    }
    mine = {"prints": ours(PRINTS, "--thumbnails", "0"), "prints and thumbnails": ours(PRINTS)}
    is_long = len(files) > 1000
    # Of a long run it would take half of the time, and says nothing new.
    if not is_long:
        mine["prints, thumbnails and local features"] = ours()
    kilobytes = sum(f.stat().st_size for f in files) / len(files) / 1e3
    contest = Contest(
        f"Index {len(files):,} JPEG files of {kind} ({kilobytes:.0f} kB each)",
        "ms per image",
        cores,
        mine,
        peers,
        count=len(files),
        seconds=25,
        least_rounds=3 if is_long else 5,
        agreement="ours is the command “lookalike index”, from its start to a catalog on disk; theirs is a function"
        " in a warm process that saves one array; " + peaks,
    )
    return contest, []
