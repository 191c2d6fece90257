#!/usr/bin/env python3
"""Draws a contact sheet of simulated captures, with the true corners of the object (red: top left).

python preview_captures.py --data COVERS --data PHOTOS --difficulty 1 --output captures.png
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw

from lookalike_training.capture import CaptureSimulator
from lookalike_training.images import files_in, square


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", required=True, metavar="FOLDER")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--difficulty", type=float, default=1.0)
    parser.add_argument("--rectified", type=float, default=0.25, help="share of rectified crops")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    torch.manual_seed(options.seed)
    files = [path for folder in options.data for path in random.permutation(files_in(folder))[: options.count]]
    squares = [square(path, 160) for path in random.permutation(files)[: options.count]]
    images = torch.from_numpy(np.stack([pixels for pixels, _ in squares])).permute(0, 3, 1, 2).float() / 255
    aspects = torch.tensor([aspect for _, aspect in squares], dtype=torch.float32).clamp(0.3, 3.3)
    backgrounds = images[torch.randperm(len(images))]
    captures, corners = CaptureSimulator(options.rectified)(
        images, aspects, backgrounds, options.size, options.difficulty
    )
    rows = -(-len(captures) // options.columns)
    sheet = Image.new("RGB", (options.columns * (options.size + 4), rows * (options.size + 4)))
    for index, (capture, quad) in enumerate(zip(captures, corners)):
        image = Image.fromarray((capture.clamp(0, 1) * 255).byte().permute(1, 2, 0).numpy())
        draw = ImageDraw.Draw(image)
        for corner, (x, y) in enumerate((quad * options.size).tolist()):
            draw.ellipse([x - 3, y - 3, x + 3, y + 3], fill="red" if corner == 0 else "lime")
        sheet.paste(
            image, (index % options.columns * (options.size + 4), index // options.columns * (options.size + 4))
        )
    sheet.save(options.output)


if __name__ == "__main__":
    main()
