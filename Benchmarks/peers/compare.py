#!/usr/bin/env python3
"""Runs Lookalike's stages and other libraries alternately on the same inputs, and keeps the results of this machine.

python compare.py --program .build/release/StageRunner --command ../.build/release/lookalike [--only resize decode]
"""

import argparse
import json
import os
from pathlib import Path

import scaling
from contests import CONTESTS
from inputs import Inputs
from limits import Limits
from machine import commit, described, kind
from network_stage import openvino_request

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True, help="the stage runner")
    parser.add_argument("--command", type=Path, required=True, help="the command “lookalike”")
    parser.add_argument(
        "--work", type=Path, default=HERE.parent / ".build-inputs", help="folder for the inputs, some 4 GB"
    )
    parser.add_argument("--output", type=Path, default=HERE.parent / "results", help="folder of the results")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*CONTESTS, "scaling", "recall"],
        help="these contests; the others keep their results",
    )
    options = parser.parse_args()
    inputs = Inputs(options.work.resolve(), HERE.parents[1], options.command.resolve())
    options.output.mkdir(exist_ok=True)
    # A file per kind of machine: they differ in what they are fast at.
    path = options.output / f"{kind()}.json"
    results = json.loads(path.read_text()) if path.exists() and options.only else {"contests": {}}
    results["machine"] = described()
    # OpenVINO counts the cores on first use, and never uses more.
    openvino_request(inputs.onnx(), 1, len(os.sched_getaffinity(0)), "f32")
    limits = Limits(options.program.resolve(), inputs)
    results["limits"] = {"read": limits.gigabytes, "multiplyAdds": limits.multiply_adds}
    print(
        f"one core reads {limits.gigabytes:.1f} GB/s, does {limits.multiply_adds:.0f} billion multiply-adds per second",
        flush=True,
    )

    def log(result):
        print(f"\n{result['name']}, {result['threads']} thread(s), {result['rounds']} rounds", flush=True)
        for name, value in {**result["ours"], **result["peers"]}.items():
            print(
                f"  {name:38s} {value['median']:9.3f} {result['unit']}  ({value['low']:.3f} … {value['high']:.3f})",
                flush=True,
            )
        for mine, ratios in result["ratios"].items():
            print(
                f"  {mine}: " + ", ".join(f"{name} ÷ ours {ratio['median']:.2f}" for name, ratio in ratios.items()),
                flush=True,
            )

    for name in options.only or CONTESTS:
        if name in ("scaling", "recall"):
            continue
        contest, processes = CONTESTS[name](options.program.resolve(), inputs, limits)
        results["contests"][name] = contest.run(log)
        results["contests"][name]["commit"] = commit()
        results["contests"][name]["memory"] = [process.peak_memory() for process in processes]
        for process in processes:
            process.close()
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False))

    def say(text):
        print(text, flush=True)

    program = options.program.resolve()
    if not options.only or "recall" in options.only:
        # Sizes that were measured otherwise keep their curves.
        results["byRecall"] = results.get("byRecall", {}) | {
            str(size): curves for size, curves in scaling.by_recall(program, inputs, say).items()
        }
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False))
    if not options.only or "scaling" in options.only:
        results["scaling"] = {
            "bySize": scaling.by_size(program, inputs, say),
            "byBatch": scaling.by_batch(program, inputs, say),
        }
        path.write_text(json.dumps(results, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
