#!/usr/bin/env python3
"""Compares the prints that the command makes with those of the exported network in PyTorch.

python check_engine.py --command lookalike --model model.safetensors --fixture fixture.json
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import torch
from PIL import Image

from export import fixture_pixels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--fixture", type=Path, required=True)
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-4,
        help="how far a component may be off, beside the rounding to float16; bytes are further off than floats",
    )
    options = parser.parse_args()
    fixture = json.loads(options.fixture.read_text())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.png"
        Image.fromarray(fixture_pixels(fixture["size"]).permute(1, 2, 0).contiguous().byte().numpy()).save(path)
        line = subprocess.run(
            [options.command, "print", "--model", options.model, str(path)], check=True, capture_output=True, text=True
        ).stdout
    made, expected = torch.tensor(json.loads(line)["print"]), torch.tensor(fixture["print"])
    worst = ((made - expected).abs() - expected.abs() * 2**-11).max().item()
    print(f"engine and PyTorch: {worst:.1e} apart at most")
    if not worst < options.tolerance:
        raise SystemExit("that is too far")


if __name__ == "__main__":
    main()
