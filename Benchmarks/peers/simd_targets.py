#!/usr/bin/env python3
"""int8 beside float32 on SIMD targets of this CPU, on one core: forward passes, and exact searches.

    python simd_targets.py --program .build/release/StageRunner avx2 avxvnni avx512vnni

Prints the time in float32 divided by that in int8, the median of interleaved rounds with quartiles. Needs the packages
numpy, opencv-python-headless and pillow, and no peers.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from contest import ALL_CORES, spread
from inputs import DIMENSION, Inputs
from machine import processor
from runner import Ours

K = 10
ROWS = 1_000_000


def contenders(program, inputs, target):
    """The name of a piece of work to its two contenders: float32, then int8."""
    os.environ["LOOKALIKE_SIMD"] = target
    core = ALL_CORES[-1]

    def network(batch, precision):
        files = {"images": str(inputs.crops())}
        return Ours(
            program, "network", 1, core, files=files, numbers={"batch": batch}, options={"precision": precision}
        )

    def search(queries, codes):
        rows = inputs.rows(ROWS)
        files = {"rows": str(rows), "queries": str(inputs.queries(rows))}
        numbers = {"rows": ROWS, "dimension": DIMENSION, "queries": queries, "k": K}
        return Ours(program, "search", 1, core, files=files, numbers=numbers, options={"codes": codes})

    for batch in (1, 32):
        yield f"network, batch {batch}", [network(batch, precision) for precision in ("float32", "int8")]
    for queries in (1, 256):
        yield f"search, {queries} of {ROWS:,} prints", [search(queries, codes) for codes in ("no", "yes")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("targets", nargs="+")
    arguments = parser.parse_args()
    repository = Path(__file__).resolve().parents[2]
    inputs = Inputs(repository / "Benchmarks/.build-inputs", repository, None)
    print(processor())
    for target in arguments.targets:
        for name, (floats, codes) in contenders(arguments.program, inputs, target):
            floats(), codes()
            times = np.array([(floats(), codes()) for _ in range(arguments.rounds)])
            ratio = spread(times[:, 0] / times[:, 1])
            middle = np.median(times, axis=0)
            print(
                f"{target}, {name}: {ratio['median']:.2f} ({ratio['low']:.2f}–{ratio['high']:.2f}), "
                f"{middle[0]:.2f} and {middle[1]:.2f} ms",
                flush=True,
            )
            floats.close(), codes.close()


if __name__ == "__main__":
    main()
