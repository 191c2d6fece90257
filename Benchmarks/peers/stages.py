"""The stages of a search, with one contest or more each: our stage, its peers, and a check that they agree."""

import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import faiss
import numpy as np
import onnxruntime
import openvino
from contest import Contest, core, pin, timed
from inputs import DIMENSION, SCREEN, SIDE, read_prints
from PIL import Image
from runner import Ours, peak_memory
from usearch.index import MetricKind
from usearch.index import search as usearch_search

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
K = 10


def normalized(rgb):
    """(side, side, 3) bytes to the network's input, (3, side, side)."""
    return np.ascontiguousarray((rgb.astype(np.float32) * (1 / (255 * STD)) - MEAN / STD).transpose(2, 0, 1))


def check(condition, words):
    if not condition:
        raise SystemExit(f"the results differ: {words}")


def difference(ours, theirs):
    """Mean absolute difference of two network inputs, in steps of 8 bits; ours is interleaved."""
    ours = np.asarray(ours, np.float32).reshape(SIDE, SIDE, 3).transpose(2, 0, 1)
    return float(np.abs((ours - theirs) * STD[:, None, None] * 255).mean())


class Limits:
    def __init__(self, program, inputs):
        self.reader = Ours(program, "read", core=core(1), files={"bytes": str(inputs.screen())})
        self.multiplier = Ours(program, "multiply-add", core=core(1))
        self.screen_bytes = os.path.getsize(inputs.screen())
        reads = [self.reader() for _ in range(30)]
        self.gigabytes = self.screen_bytes / np.median(reads) / 1e6
        # Milliseconds for 10^9 multiply-adds.
        self.multiply_adds = 1e3 / np.median([self.multiplier() for _ in range(30)])
        self.reader.close()
        self.multiplier.close()


def resize(program, inputs, limits):
    width, height = SCREEN
    ours = Ours(
        program,
        "resize",
        core=core(1),
        files={"pixels": str(inputs.screen())},
        numbers={"width": width, "height": height},
    )
    reader = Ours(program, "read", core=core(1), files={"bytes": str(inputs.screen())})
    pixels = np.fromfile(inputs.screen(), np.uint8).reshape(height, width, 4)
    # Four channels without alpha: Pillow neither copies nor premultiplies them.
    image = Image.frombuffer("RGBX", (width, height), pixels, "raw", "RGBX", 0, 1)
    cv2.setNumThreads(1)

    def opencv():
        return normalized(cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_AREA)[:, :, 2::-1])

    def pillow(filter, gap=None):
        return normalized(np.asarray(image.resize((SIDE, SIDE), filter, reducing_gap=gap))[:, :, 2::-1])

    reference = pillow(Image.BILINEAR)
    ours()
    found = difference(ours.result(), reference)
    check(found < 1, f"resize: {found} steps of 8 bits from Pillow's bilinear filter")
    contest = Contest(
        "Resize 5120×2880 BGRA to the network's input",
        "ms",
        1,
        {"Lookalike": ours, "reading the buffer once": reader},
        {
            "OpenCV INTER_AREA": timed(opencv),
            "Pillow BOX": timed(lambda: pillow(Image.BOX)),
            "Pillow BILINEAR, reducing_gap=2": timed(lambda: pillow(Image.BILINEAR, 2)),
        },
        agreement=f"mean difference from Pillow's bilinear filter: {found:.2f} of 255"
        f" (OpenCV's area filter: {difference(opencv().transpose(1, 2, 0), reference):.2f})",
    )
    return contest, [ours, reader]


def decode(program, inputs, limits):
    return decoding(program, inputs.photo(), "with grain")


def decode_smooth(program, inputs, limits):
    return decoding(program, inputs.smooth_photo(), "without grain")


def decoding(program, path, kind):
    ours = Ours(program, "decode", core=core(1), files={"image": str(path)})
    cv2.setNumThreads(1)

    def opencv(flag):
        return normalized(
            cv2.resize(cv2.imread(str(path), flag), (SIDE, SIDE), interpolation=cv2.INTER_AREA)[:, :, ::-1]
        )

    def pillow():
        with Image.open(path) as image:
            image.draft("RGB", (SIDE * 2, SIDE * 2))
            return normalized(np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)))

    with Image.open(path) as image:
        reference = normalized(np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)))
    ours()
    found = difference(ours.result(), reference)
    check(found < 2.5, f"decode: {found} steps of 8 bits from Pillow's full decoding")
    contest = Contest(
        f"12-megapixel JPEG file {kind} ({path.stat().st_size / 1e6:.1f} MB) to the network's input",
        "ms",
        1,
        {"Lookalike": ours},
        {
            "OpenCV, full decoding": timed(lambda: opencv(cv2.IMREAD_COLOR)),
            "OpenCV, reduced decoding": timed(lambda: opencv(cv2.IMREAD_REDUCED_COLOR_8)),
            "Pillow, draft mode": timed(pillow),
        },
        agreement=f"mean difference from full decoding and Pillow's bilinear filter: {found:.2f} of 255"
        f" (Pillow's draft mode: {difference(pillow().transpose(1, 2, 0), reference):.2f})",
    )
    return contest, [ours]


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


def found(result, queries):
    pairs = np.array(result, np.float64).reshape(queries, K, 2)
    return pairs[:, :, 0].astype(int), pairs[:, :, 1]


def same_neighbors(ours, distances, ids, queries, what):
    """Checks for the same distances, and the same ids except where FAISS's rounding makes distances equal."""
    mine, squared = found(ours.result(), queries)
    check(np.abs(squared - distances).max() < 1e-4, f"{what}: distances {np.abs(squared - distances).max()} apart")
    moved = mine != ids
    check(
        all(np.abs(squared[q] - distances[q, i]).min() < 1e-5 for q, i in zip(*np.nonzero(moved))), f"{what}: other ids"
    )
    return int(moved.sum())


def fastest_blocks(index, queries):
    """Chooses the fastest settings of FAISS for batches: queries one by one, or BLAS in blocks of some size."""
    settings = [
        (faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs),
        (20, 1024),
        (20, 16384),
        (20, 65536),
    ]
    times = {}
    for threshold, block in settings:
        faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = threshold, block
        times[threshold, block] = min(timed(lambda: index.search(queries, K))() for _ in range(2))
    best = min(times, key=times.get)
    faiss.cvar.distance_compute_blas_threshold, faiss.cvar.distance_compute_blas_database_bs = best
    return (
        f"FAISS at its fastest: distance_compute_blas_threshold {best[0]}, distance_compute_blas_database_bs {best[1]}"
    )


def search(rows, queries, threads, seconds=8):
    def stage(program, inputs, limits):
        path = inputs.rows(rows)
        files = {"rows": str(path), "queries": str(inputs.queries(inputs.rows(1_000_000)))}
        numbers = {"rows": rows, "dimension": DIMENSION, "queries": queries, "k": K}
        ours = {
            name: Ours(
                program, "search", threads, core(threads), files=files, numbers=numbers, options={"codes": codes}
            )
            for name, codes in (("Lookalike float32", "no"), ("Lookalike int8, then float32", "yes"))
        }
        matrix = np.fromfile(path, np.float32).reshape(-1, DIMENSION)
        asked = np.fromfile(files["queries"], np.float32).reshape(-1, DIMENSION)[:queries].copy()
        pin(threads)
        faiss.omp_set_num_threads(threads)
        flat = faiss.IndexFlatL2(DIMENSION)
        flat.add(matrix)
        coded = faiss.IndexScalarQuantizer(DIMENSION, faiss.ScalarQuantizer.QT_8bit)
        coded.train(matrix[:100_000])
        coded.add(matrix)
        peers = {
            "FAISS flat float32": timed(lambda: flat.search(asked, K)),
            "FAISS SQ8 (not exact)": timed(lambda: coded.search(asked, K)),
        }
        if queries == 1:
            peers["USearch exact float32"] = timed(
                lambda: usearch_search(matrix, asked, K, metric=MetricKind.L2sq, exact=True, threads=threads)
            )
        tuned = ""
        if queries > 1:
            tuned = "; " + fastest_blocks(flat, asked)
        pin(0)
        distances, ids = flat.search(asked, K)
        for mine in ours.values():
            mine()
        first, second = (mine.result() for mine in ours.values())
        check(first == second, "search: with codes and without")
        moved = same_neighbors(next(iter(ours.values())), distances, ids, queries, "search")
        bounds = {}
        if queries > 1:
            bounds = {"multiply-adds at the peak of float32": rows * DIMENSION / limits.multiply_adds / 1e6 / threads}
        if queries == 1:
            ours["reading the rows once"] = Ours(
                program, "read", core=core(1), files={"bytes": str(path)}, options={"pages": "large"}
            )
        contest = Contest(
            f"Exact search, {f'{queries} queries at once' if queries > 1 else 'one query'}, {rows:,} prints",
            "ms per query",
            threads,
            ours,
            peers,
            bounds,
            "both of ours agree bit for bit; distances agree with FAISS flat's within 1e-4;"
            f" {moved} of {queries * K} ids in another order among equal distances{tuned}",
            seconds,
            queries,
        )
        return contest, list(ours.values())

    return stage


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
    rows, ids = read_prints(catalog)
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


def indexing(program, inputs, limits):
    return indexing_of(inputs, inputs.photos("grainy", grain=6), "with grain")


def indexing_smooth(program, inputs, limits):
    return indexing_of(inputs, inputs.photos("smooth", grain=0.5), "without grain")


def indexing_of(inputs, folder, kind):
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
        process = subprocess.Popen(command(source), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
        image = cv2.resize(
            cv2.imread(str(path), cv2.IMREAD_REDUCED_COLOR_4), (SIDE, SIDE), interpolation=cv2.INTER_AREA
        )
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
        "OpenCV reduced, OpenVINO bfloat16": glue(reduced, lambda images: request["bf16"].infer({0: images})["print"]),
    }
    kilobytes = sum(f.stat().st_size for f in files) / len(files) / 1e3
    contest = Contest(
        f"Index {len(files)} JPEG files of 1600×1200 {kind} ({kilobytes:.0f} kB each)",
        "ms per image",
        cores,
        {"lookalike index --thumbnails 0": ours("--thumbnails", "0"), "lookalike index": ours()},
        peers,
        count=len(files),
        seconds=25,
        agreement="ours is the command, from its start to a catalog on disk; theirs is a function in a warm process"
        " that saves one array; " + peaks,
    )
    return contest, []


CONTESTS = {
    "resize": resize,
    "decode": decode,
    "decode-smooth": decode_smooth,
    "network-1": network(1, 1),
    "network-32": network(32, 1),
    "network-1-all": network(1, len(os.sched_getaffinity(0))),
    "network-32-all": network(32, len(os.sched_getaffinity(0))),
    "search-1": search(1_000_000, 1, 1),
    "search-1-all": search(1_000_000, 1, len(os.sched_getaffinity(0))),
    "search-256": search(1_000_000, 256, 1, seconds=25),
    "search-256-all": search(1_000_000, 256, len(os.sched_getaffinity(0)), seconds=25),
    "open": opening,
    "whole": whole,
    "layer": layer,
    "index": indexing,
    "index-smooth": indexing_smooth,
}
