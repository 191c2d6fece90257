#!/usr/bin/env python3
"""Shows how an exported model holds up as captures get harder: a plot, and a sheet of what fails.

    python report.py --command ../../.build/release/lookalike --model ../default.safetensors \\
        --images VALIDATION/catalog --backgrounds PHOTOS --sheet-images ../../Examples/Demo/covers --output report

Captures of the images in `--images` are simulated at several difficulties, from 0 to beyond those of training, and the
command itself answers them, with local features and without. Queries of difficulty 1 are as hard as the hardest of
training. The sheet is drawn from `--sheet-images`, which may be shown to everybody, before generated backgrounds.
Chromium takes its picture.
"""

import argparse
import json
import math
import subprocess
from pathlib import Path

import torch
from PIL import Image

from lookalike_training.capture import CaptureSimulator
from lookalike_training.images import files_in
from lookalike_training.smoke import generated_folder

DIFFICULTIES = [0, 0.25, 0.5, 0.75, 1.0, 1.25]
FRAME = 384
TEXTURE = 320


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument(
        "--backgrounds", type=Path, required=True, help="images that are in no catalog, to stand behind the objects"
    )
    parser.add_argument("--sheet-images", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--count", type=int, default=400, help="captures of each difficulty, at most")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def textures_of(files):
    """(n, 3, t, t) in [0, 1], and width / height."""
    textures, aspects = [], []
    for file in files:
        with Image.open(file) as image:
            aspects.append(image.width / image.height)
            pixels = image.convert("RGB").resize((TEXTURE, TEXTURE), Image.BICUBIC)
        textures.append(
            torch.frombuffer(bytearray(pixels.tobytes()), dtype=torch.uint8).view(TEXTURE, TEXTURE, 3).permute(2, 0, 1)
        )
    return torch.stack(textures).float() / 255, torch.tensor(aspects)


def captured(files, difficulty, folder, behind):
    """Writes a capture of each image before one of `behind`, and the queries for `lookalike evaluate`."""
    folder.mkdir(parents=True, exist_ok=True)
    simulate = CaptureSimulator(rectified=0)
    lines = []
    for begin in range(0, len(files), 64):
        part = files[begin : begin + 64]
        textures, aspects = textures_of(part)
        backgrounds, _ = textures_of([behind[int(i)] for i in torch.randint(len(behind), (len(part),))])
        frames, _ = simulate(textures, aspects, backgrounds, FRAME, difficulty)
        for file, frame in zip(part, frames):
            name = f"{len(lines):05}.jpg"
            Image.fromarray((frame.permute(1, 2, 0) * 255).round().byte().numpy()).save(folder / name, quality=90)
            lines.append(json.dumps({"query": name, "target": file.stem}))
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n")


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def measured(command, catalog, folder, effort):
    """(recall@1, queries) of the captures in a folder."""
    answers = folder / f"answers-{effort}.jsonl"
    run(
        command,
        "evaluate",
        "--catalog",
        catalog,
        "--queries",
        folder / "queries.jsonl",
        "--effort",
        effort,
        "--answers",
        answers,
    )
    targets = [json.loads(line)["target"] for line in (folder / "queries.jsonl").read_text().splitlines()]
    results = [json.loads(line)["results"] for line in answers.read_text().splitlines()]
    right = [bool(found) and found[0]["id"] == target for found, target in zip(results, targets)]
    return sum(right) / len(right), right


def interval(share, count, z=1.96):
    """Wilson (1927): the 95 % interval of a share."""
    center = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return center - half, center + half


def main():
    options = arguments()
    torch.manual_seed(options.seed)
    options.output.mkdir(parents=True, exist_ok=True)
    catalog = options.output / "catalog"
    run(options.command, "index", options.images, "--catalog", catalog, "--model", options.model)
    files = files_in(options.images)
    chosen = torch.randperm(len(files))[: options.count].sort().values
    files = [files[int(index)] for index in chosen]
    behind = files_in(options.backgrounds)
    curves = {"standard": [], "prints": []}
    for difficulty in DIFFICULTIES:
        folder = options.output / f"difficulty-{difficulty}"
        captured(files, difficulty, folder, behind)
        for effort, curve in curves.items():
            share, _ = measured(options.command, catalog, folder, effort)
            curve.append(share)
            print(f"difficulty {difficulty}: {effort}, recall@1 {share:.4f} of {len(files)}", flush=True)
    plot(curves, len(files), options.output / "difficulty.png")
    failures(options)


def plot(curves, count, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 3.6), dpi=120)
    for (_, curve), (color, name) in zip(
        curves.items(), [("#1565c0", "with local features (default)"), ("#9e9e9e", "prints alone")]
    ):
        low, high = zip(*(interval(share, count) for share in curve))
        axes.fill_between(DIFFICULTIES, low, high, color=color, alpha=0.2, linewidth=0)
        axes.plot(DIFFICULTIES, curve, color=color, marker="o", markersize=4, label=name)
    axes.axvline(1, color="#bdbdbd", linewidth=1, linestyle=":")
    axes.text(1.01, 0.02, "hardest of training", transform=axes.get_xaxis_transform(), fontsize=8, color="#757575")
    axes.set_xlabel("difficulty of the simulated capture")
    axes.set_ylabel("recall@1")
    axes.set_ylim(min(min(min(curve) for curve in curves.values()) - 0.05, 0.6), 1.005)
    axes.grid(axis="y", color="#eeeeee")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    figure.tight_layout()
    figure.savefig(path)


def failures(options, rounds=24, shown=8):
    """Captures of publishable images, far harder than in training, until enough of them fail."""
    catalog = options.output / "sheet-catalog"
    run(options.command, "index", options.sheet_images, "--catalog", catalog, "--model", options.model)
    files = files_in(options.sheet_images)
    behind = files_in(generated_folder(options.output / "generated"))
    failed, asked = [], 0
    for number in range(rounds):
        folder = options.output / f"sheet-{number}"
        captured(files, DIFFICULTIES[-1], folder, behind)
        _, right = measured(options.command, catalog, folder, "standard")
        asked += len(right)
        failed += [folder / f"{index:05}.jpg" for index, fine in enumerate(right) if not fine]
        if len(failed) >= shown:
            break
    print(f"sheet: {len(failed)} of {asked} captures at difficulty {DIFFICULTIES[-1]} failed")
    if failed:
        page, sheet = options.output / "failures.html", options.output / "failures.png"
        run(
            options.command,
            "search",
            "--catalog",
            catalog,
            "--limit",
            3,
            "--min-confidence",
            0,
            "--sheet",
            page,
            *failed[:shown],
        )
        # The size of two lines of cards.
        size = "--window-size=1280,1120"
        picture = f"--screenshot={sheet.resolve()}"
        address = page.resolve().as_uri()
        run("chromium", "--headless", "--no-sandbox", "--hide-scrollbars", size, picture, address)
        # A fifth of the size, and nothing that one would see.
        Image.open(sheet).convert("RGB").quantize(256).save(sheet, optimize=True)


if __name__ == "__main__":
    main()
