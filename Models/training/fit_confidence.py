#!/usr/bin/env python3
"""Fits the confidence of matches to labeled queries, without candidates whose label is in doubt.

    lookalike evaluate --catalog CATALOG --queries QUERIES --leave-out --observations standard.jsonl
    lookalike evaluate --catalog CATALOG --queries QUERIES --leave-out --effort prints --observations prints.jsonl
    lookalike catalog duplicates CATALOG --json > duplicates.jsonl
    python fit_confidence.py ../default.safetensors standard.jsonl prints.jsonl simulated.jsonl=5 \\
        --duplicates duplicates.jsonl --output fitted.safetensors

FILE=5 takes the queries of a fifth of the objects. Another edition with the picture of a target is neither right nor
wrong, so it is left out. `lookalike model calibrate` fits the rest, and prints what is to be expected of queries, and
of kinds of queries, that it has not seen.
"""

import argparse
import json
import subprocess
import tempfile
import zlib
from pathlib import Path


def duplicate_groups(files):
    """The ids that have the picture of an id, of groups as `catalog duplicates --json` prints them."""
    groups = {}
    for file in files:
        for line in file.read_text().splitlines():
            group = json.loads(line)
            ids = {group["reference"]["id"], *(duplicate["id"] for duplicate in group["duplicates"])}
            for identifier in ids:
                groups[identifier] = groups.get(identifier, set()) | ids
    return groups


def selected(observations, groups, share=1):
    """The observations of one in `share` objects, without other editions of what the query shows."""
    for observation in observations:
        same = groups.get(observation["object"], ())
        if zlib.crc32(observation["object"].encode()) % share == 0 and (
            observation["isRight"] or observation["entity"] not in same
        ):
            yield observation


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("observations", nargs="+", metavar="FILE", help="observations of `evaluate`; FILE=N for 1 in N")
    parser.add_argument("--duplicates", type=Path, action="append", default=[], help="groups with the same picture")
    parser.add_argument("--command", default="lookalike")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    groups = duplicate_groups(options.duplicates)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as kept:
        for argument in options.observations:
            file, _, share = argument.partition("=")
            lines = map(json.loads, Path(file).read_text().splitlines())
            kept.writelines(json.dumps(line) + "\n" for line in selected(lines, groups, int(share or 1)))
        kept.flush()
        calibrate = [options.command, "model", "calibrate", options.model, kept.name, "--output", options.output]
        subprocess.run(calibrate, check=True)


if __name__ == "__main__":
    main()
