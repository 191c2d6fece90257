"""Searches of a catalog by an image, beside scripts of other libraries."""

import cv2
import faiss
import numpy as np
from contest import Contest, check, core, pin, timed
from inputs import DIMENSION, SCREEN, SIDE
from network_stage import onnx_session, openvino_request
from PIL import Image
from runner import Ours

K = 10


def opening(program, inputs, limits):
    ours = Ours(program, "open", core=core(1), files={"catalog": str(inputs.catalog(1_000_000))})
    ours()
    check(ours.result() == [1_000_000], "open")
    return Contest("Open a catalog of 1,000,000 entities", "ms", 1, {"Lookalike": ours}, {}, seconds=3), [ours]


def layer(program, inputs, limits):
    width, height = SCREEN
    ours = Ours(
        program,
        "layer",
        core=core(1),
        files={"pixels": str(inputs.screen()), "catalog": str(inputs.catalog(100_000))},
        numbers={"width": width, "height": height},
    )
    contest = Contest(
        "What VisualSearch adds to a search, 5120×2880 BGRA against 100,000 entities",
        "ms",
        1,
        {"Lookalike": ours},
        {},
        seconds=6,
    )
    return contest, [ours]


def mark(id):
    """The number that the stage uses for an id."""
    number = 0
    for byte in id.encode():
        number = (number * 31 + byte) % 8_388_593
    return number


def whole(program, inputs, limits):
    width, height = SCREEN
    catalog = inputs.catalog(100_000)
    files = {"pixels": str(inputs.screen()), "catalog": str(catalog)}
    ours = {
        name: Ours(
            program,
            "whole",
            1,
            core(1),
            files=files,
            numbers={"width": width, "height": height},
            options={"crops": crops},
        )
        for name, crops in (
            ("Lookalike, the image alone", "whole"),
            ("Lookalike, default crops (4 passes)", "localized"),
        )
    }
    pixels = np.fromfile(inputs.screen(), np.uint8).reshape(height, width, 4)
    image = Image.frombuffer("RGBX", (width, height), pixels, "raw", "RGBX", 0, 1)
    rows, ids = inputs.prints_of(catalog)
    pin(1)
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatL2(DIMENSION)
    flat.add(rows)
    session = onnx_session(inputs.onnx(), 1)
    requests = {precision: openvino_request(inputs.onnx(), 1, 1, precision) for precision in ("f32", "bf16")}
    pin(0)

    def planes(bgra):
        return np.ascontiguousarray(bgra[:, :, 2::-1].transpose(2, 0, 1), np.float32)[None] / 255

    def opencv():
        return planes(cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA))

    def pillow():
        return planes(np.asarray(image.resize((SIDE, SIDE), Image.BILINEAR, reducing_gap=2)))

    def answers(print):
        distances, found = flat.search(print, K)
        return [(ids[i], d**0.5) for i, d in zip(found[0], distances[0])]

    peers = {
        "OpenCV, onnxruntime, FAISS": lambda: answers(session.run(["print"], {"image": opencv()})[0]),
        "Pillow, OpenVINO, FAISS": lambda: answers(requests["f32"].infer({0: pillow()})["print"]),
        "Pillow, OpenVINO bfloat16, FAISS": lambda: answers(requests["bf16"].infer({0: pillow()})["print"]),
    }
    alone = ours["Lookalike, the image alone"]
    alone()
    mine = [int(v) for v in alone.result()[::2]]
    theirs = [mark(id) for id, _ in peers["Pillow, OpenVINO, FAISS"]()]
    common = len(set(mine) & set(theirs))
    check(mine[0] == theirs[0] and common >= 8, f"whole: {mine} and {theirs}")
    contest = Contest(
        "5120×2880 BGRA in memory to 10 entities out of 100,000",
        "ms",
        1,
        ours,
        {name: timed(work) for name, work in peers.items()},
        agreement=f"the same first entity, {common} of 10 in common (filters and precisions differ)",
    )
    return contest, list(ours.values())
