#!/usr/bin/env python3
"""Batches of queries by the kernels and by a BLAS library, beside FAISS and numpy, on one core.

    python batched_distances.py --program .build/release/StageRunner avx2 avx512vnni portable

For each SIMD target, dimension and batch it prints the time of the kernels in float32, and the times of the others
divided by it (above 1 the kernels are faster): medians of interleaved rounds. FAISS and numpy choose instructions of
their own. Needs faiss-cpu and numpy; BLIS or OpenBLAS for the library.
"""

import argparse
import os
import time
from pathlib import Path

import faiss
import numpy as np
from contest import ALL_CORES
from inputs import Inputs
from machine import processor
from runner import Ours

K = 10
FLOATS = 1 << 24


def milliseconds(work):
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def numpy_search(rows, norms, queries):
    squared = norms - 2 * (queries @ rows.T)
    nearest = np.argpartition(squared, K, axis=1)[:, :K]
    order = np.argsort(np.take_along_axis(squared, nearest, axis=1), axis=1)
    return np.take_along_axis(nearest, order, axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[64, 256, 1024, 2048])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16, 64, 256, 1024])
    parser.add_argument("targets", nargs="+")
    arguments = parser.parse_args()
    repository = Path(__file__).resolve().parents[2]
    folder = Inputs(repository / "Benchmarks/.build-inputs", repository, None).folder
    core = ALL_CORES[-1]
    os.sched_setaffinity(0, {core})
    faiss.omp_set_num_threads(1)
    print(f"{processor()}, FAISS {faiss.__version__}, numpy {np.__version__}; {FLOATS:,} floats of rows, k = {K}")
    print("| target | dimension | batch | kernels, ms | BLAS | int8 first | FAISS | numpy |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for dimension in arguments.dimensions:
        random = np.random.default_rng(dimension)
        rows = random.standard_normal((FLOATS // dimension, dimension), np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        norms = np.square(rows).sum(axis=1)
        index = faiss.IndexFlatL2(dimension)
        index.add(rows)
        rows.tofile(folder / "batched-rows.f32")
        for batch in arguments.batches:
            queries = rows[:batch] + 0.3 * random.standard_normal((batch, dimension), np.float32) / dimension**0.5
            queries.tofile(folder / "batched-queries.f32")
            for target in arguments.targets:
                os.environ["LOOKALIKE_SIMD"] = target

                def ours(codes, library, dimension=dimension, batch=batch):
                    os.environ["LOOKALIKE_BLAS"] = library
                    files = {name: str(folder / f"batched-{name}.f32") for name in ("rows", "queries")}
                    numbers = {"rows": FLOATS // dimension, "dimension": dimension, "queries": batch, "k": K}
                    return Ours(
                        arguments.program, "search", 1, core, files=files, numbers=numbers, options={"codes": codes}
                    )

                contenders = [ours("no", "off"), ours("no", "on"), ours("yes", "off")]
                work = contenders + [
                    lambda queries=queries: milliseconds(lambda: index.search(queries, K)),
                    lambda queries=queries: milliseconds(lambda: numpy_search(rows, norms, queries)),
                ]
                for run in work:
                    run()
                times = np.array([[run() for run in work] for _ in range(arguments.rounds)])
                ratios = np.median(times[:, 1:] / times[:, :1], axis=0)
                print(
                    f"| {target} | {dimension} | {batch} | {np.median(times[:, 0]):.2f} | "
                    + " | ".join(f"{ratio:.2f}" for ratio in ratios)
                    + " |",
                    flush=True,
                )
                for contender in contenders:
                    contender.close()


if __name__ == "__main__":
    main()
